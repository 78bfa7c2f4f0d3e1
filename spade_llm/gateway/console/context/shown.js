// A context, shown: how many tokens each part takes, its sections, and the text as it was sent.

import { copyButton } from "../components/copy.js";
import { empty } from "../components/states.js";
import { tabs } from "../components/tabs.js";
import { el } from "../dom.js";
import { number } from "../i18n.js";
import { parts, sections } from "./sections.js";
import { t } from "./texts.js";

/** `context`: {text, tokens}; `limits`: {most, priority}, as far as they are known. */
export function shownContext(context, { most = 0, priority = "" } = {}) {
  if (!context.text.trim()) return empty({ icon: "context", title: t("nothing"), text: t("nothingText") });
  const all = sections(context.text, context.tokens);
  const ways = [
    { id: "sections", title: t("asSections"), content: () => all.map(section) },
    { id: "text", title: t("asText"), content: () => asText(context.text) },
  ];
  return [
    el("div", { class: "card context-sum" }, figures(context.tokens, most, priority), bar(all, most)),
    tabs({ label: t("ways"), tabs: ways }),
  ];
}

function figures(tokens, most, priority) {
  const used = most ? t("used", number(tokens), number(most)) : t("usedOnly", number(tokens));
  const rule = t("priority")[priority];
  return el("p", { class: "context-figures" }, el("b", null, used), rule && el("span", { class: "hint" }, rule));
}

function bar(all, most) {
  const shares = parts(all);
  const used = shares.reduce((sum, { tokens }) => sum + tokens, 0);
  const whole = Math.max(most, used);
  const free = whole - used;
  const segment = ({ part, tokens }) =>
    el("span", { class: `token-part is-${part}`, title: said(part, tokens), css: { "flex-grow": tokens } });
  const entry = ({ part, tokens }) =>
    el("li", null, el("span", { class: `token-key is-${part}`, "aria-hidden": "true" }), t(part), " ", el("b", null, number(tokens)));
  return [
    el(
      "div",
      { class: "token-bar", role: "img", "aria-label": t("bar") },
      shares.map(segment),
      free > 0 && el("span", { class: "token-part is-free", title: said("free", free), css: { "flex-grow": free } }),
    ),
    el("ul", { class: "token-keys" }, shares.map(entry), free > 0 && entry({ part: "free", tokens: free })),
  ];
}

function said(part, tokens) {
  return `${t(part)}: ${t("tokens", number(tokens))}`;
}

function section({ title, body, part, tokens }) {
  const summary = el(
    "summary",
    null,
    el("span", { class: `token-key is-${part}`, "aria-hidden": "true" }),
    el("span", { class: "section-title" }, title || t("other")),
    el("span", { class: "hint" }, t("tokens", number(tokens))),
  );
  return el("details", { class: "card context-section", open: true }, summary, el("p", { class: "as-written" }, body));
}

function asText(text) {
  return el(
    "figure",
    { class: "card context-text" },
    el("figcaption", null, copyButton(() => text)),
    el("pre", { tabindex: "0" }, text),
  );
}

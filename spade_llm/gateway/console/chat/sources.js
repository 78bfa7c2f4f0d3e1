// The passages that an answer was built from: names below it, texts in the panel.

import { scoreBar } from "../components/score_bar.js";
import { passageName } from "../documents/chunks.js";
import { el } from "../dom.js";
import { icon } from "../icons.js";
import { t } from "./texts.js";

/** `open`(sources, index) shows a passage. Null where there are none. */
export function sourceLinks(sources, open) {
  if (!sources?.length) return null;
  const links = sources.map((source, index) =>
    el(
      "button",
      {
        type: "button",
        class: "source-link",
        title: t("source", passageName(source)),
        on: { click: () => open(sources, index) },
      },
      icon("documents"),
      el("span", null, passageName(source, { isShort: true })),
    ),
  );
  return el("div", { class: "source-links", role: "group", "aria-label": t("sources") }, links);
}

/** All passages, the chosen one first to be seen. */
export function passages(sources, chosen) {
  return sources.map((source, index) =>
    el(
      "article",
      { class: `passage ${index === chosen ? "is-chosen" : ""}`, tabindex: index === chosen ? "-1" : null },
      el("h3", null, passageName(source)),
      el("p", { class: "hint" }, placeOf(source)),
      scoreBar(source.score),
      el("p", { class: "passage-text" }, source.content),
    ),
  );
}

function placeOf({ metadata: { namespace, page, heading } }) {
  return [namespace, heading, page && t("page", page)].filter(Boolean).join(" · ");
}

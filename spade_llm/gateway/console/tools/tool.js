// One tool: what it does, what it takes, and a form to try it.

import { post } from "../api.js";
import { button } from "../components/button.js";
import { confirmed } from "../components/dialog.js";
import { foldable } from "../components/folded.js";
import { failed } from "../components/states.js";
import { table } from "../components/table.js";
import { el, fill } from "../dom.js";
import { isStopped } from "../errors.js";
import { icon } from "../icons.js";
import { seconds } from "../i18n.js";
import { argumentsForm } from "./form.js";
import { fieldsOf } from "./schema.js";
import { t } from "./texts.js";

const CALL_MS = 130_000; // tools of others may take long; they have a limit of their own

/** Its parts are made when it is opened first. */
export function toolItem(tool, signal) {
  const [firstLine, ...rest] = tool.description.trim().split(/\n\s*\n/);
  const summary = el(
    "summary",
    { class: "tool-head" },
    el("code", { class: "tool-name" }, tool.name),
    tool.needs_approval && el("span", { class: "tag is-warn", title: t("asksHint") }, t("asks")),
    el("span", { class: "tool-line" }, firstLine),
    icon("down"),
  );
  const body = el("div", { class: "tool-body" });
  const node = el("details", { class: "card tool", name: "tool" }, summary, body);
  const fillIt = () => fill(body, rest.length > 0 && el("p", { class: "as-written" }, rest.join("\n\n")), described(tool), tryIt(tool, signal));
  node.addEventListener("toggle", fillIt, { once: true });
  return node;
}

function described({ input_schema }) {
  const fields = fieldsOf(input_schema);
  const columns = [
    { title: t("name"), cell: (one) => [el("code", null, one.name), one.isRequired && el("span", { class: "needed" }, ` ${t("required")}`)] },
    { title: t("type"), cell: (one) => el("span", { class: "type-name" }, one.choices ? one.choices.map(String).join(" | ") : one.type) },
    { title: t("what"), cell: (one) => says(one) },
  ];
  return el(
    "section",
    null,
    el("h2", null, t("arguments")),
    fields.length ? table({ caption: t("arguments"), columns, rows: fields }) : el("p", { class: "hint" }, t("noArguments")),
    el(
      "details",
      { class: "tool-schema" },
      el("summary", null, t("schema")),
      el("pre", { tabindex: "0" }, JSON.stringify(input_schema, null, 2)),
    ),
  );
}

function says({ description, initial, limits }) {
  const bounds = Object.entries(limits).map(([name, value]) => `${name} ${value}`);
  const extra = [initial !== undefined && t("initial", JSON.stringify(initial)), ...bounds].filter(Boolean);
  return [description, extra.length > 0 && el("span", { class: "hint" }, description ? ` (${extra.join(", ")})` : extra.join(", "))];
}

function tryIt(tool, signal) {
  const form = argumentsForm(tool.input_schema);
  const run = button({ label: t("run"), icon: "send", kind: "primary", type: "submit" });
  const result = el("div", { class: "tool-result", role: "status" });

  async function submit(event) {
    event.preventDefault();
    const given = form.read();
    if (given === null) return;
    if (tool.needs_approval && !(await allowed(tool, given))) return;
    run.disabled = true;
    fill(result, el("p", { class: "hint" }, t("running")));
    const shown = await call(tool, given, signal).catch((error) => !isStopped(error) && failed(error));
    fill(result, shown);
    run.disabled = false;
  }

  return el(
    "section",
    null,
    el("h2", null, t("tryIt")),
    el("form", { class: "tool-form", novalidate: true, on: { submit } }, form.nodes, el("div", null, run)),
    result,
  );
}

function allowed({ name }, given) {
  const text = JSON.stringify(given, null, 2);
  return confirmed({ title: t("allowTitle", name), text, yes: t("allowYes"), kind: "primary" });
}

/** A tool that needs a yes has got it by now. */
async function call({ name, needs_approval }, given, signal) {
  const path = `api/v0/tools/${encodeURIComponent(name)}/call`;
  const body = { arguments: given, is_approved: Boolean(needs_approval) };
  const told = await post(path, body, { signal, deadlineMs: CALL_MS });
  const head = [
    icon(told.success ? "check" : "alert"),
    el("b", null, t(told.success ? "result" : "error")),
    el("span", { class: "hint" }, t("took", seconds(told.seconds))),
  ];
  return el(
    "div",
    { class: `tool-told ${told.success ? "is-good" : "is-bad"}` },
    el("p", { class: "tool-told-head" }, head),
    foldable(told.success ? told.result : told.error, { class: "is-code" }),
  );
}

// The tool calls behind an answer: which, with what, and what came of it. Folded until asked for.

import { el } from "../dom.js";
import { seconds } from "../i18n.js";
import { icon } from "../icons.js";
import { codeBlock } from "../markdown.js";
import { t } from "./texts.js";

/** `reply`: of /llm/chat. Null where no tool was called. */
export function toolCalls({ tool_results: results, agent_steps: steps }) {
  if (!results?.length) return null;
  const bad = results.filter((one) => !one.success).length;
  const rounds = [...new Set(results.map((one) => one.round))].sort((a, b) => a - b);
  const said = new Map((steps ?? []).map((step) => [step.round, step.text]));
  return el(
    "details",
    { class: "calls" },
    el(
      "summary",
      null,
      icon("tools"),
      el("span", null, t("calls", results.length)),
      bad > 0 && el("span", { class: "calls-bad" }, t("failedCalls", bad)),
      icon("down"),
    ),
    rounds.map((round) => [
      said.get(round) && el("p", { class: "calls-said" }, said.get(round)),
      results.filter((one) => one.round === round).map(oneCall),
    ]),
  );
}

function oneCall(call) {
  const shown = typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments);
  return el(
    "details",
    { class: "call" },
    el(
      "summary",
      null,
      icon(call.success ? "check" : "alert"),
      el("code", { class: "call-name" }, call.name),
      el("code", { class: "call-brief" }, shown),
      el("span", { class: "call-time" }, seconds(call.seconds)),
    ),
    el(
      "div",
      { class: "call-body" },
      el("p", { class: "call-part" }, t("arguments")),
      codeBlock(pretty(call.arguments)),
      el("p", { class: "call-part" }, t(call.success ? "result" : "error")),
      codeBlock(pretty(call.success ? call.result : call.error)),
    ),
  );
}

/** JSON in lines; any other text as it is. */
function pretty(value) {
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}

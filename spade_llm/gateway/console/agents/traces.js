// The last requests across agents, those that belong together under each other: when each began,
// how long it took, and how it ended.

import { el } from "../dom.js";
import { fully, moment, seconds, when } from "../i18n.js";
import { short } from "./picture.js";
import { t } from "./texts.js";

const GOOD = new Set(["inform", "agree"]);
const REFUSED = new Set(["refuse", "busy", "cancelled", "invalid-arguments", "not-found", "unauthorised", "unknown-tool"]);
const NARROWEST = 0.6; // per cent of the whole: what is over at once can still be seen

/**
 * Requests with one trace are one group, newest first; one without a trace stands alone. Pure.
 * @returns {{id, begun, ended, requests: object[]}[]} times in ms; the requests oldest first
 */
export function grouped(requests) {
  const groups = new Map();
  requests.forEach((request, n) => {
    const id = request.trace || `${request.at} ${request.agent} ${request.op} ${n}`;
    const begun = moment(request.at).getTime();
    const ended = begun + request.seconds * 1000;
    const group = groups.get(id) ?? { id, begun, ended, requests: [] };
    group.begun = Math.min(group.begun, begun);
    group.ended = Math.max(group.ended, ended);
    group.requests.push({ ...request, begun, ended });
    groups.set(id, group);
  });
  for (const group of groups.values()) group.requests.sort((a, b) => a.begun - b.begun || b.ended - a.ended);
  return [...groups.values()].sort((a, b) => b.begun - a.begun);
}

/** A list that can be shown anew without closing what was opened. */
export function traceList() {
  const root = el("ol", { class: "traces" });
  const shown = new Map(); // id -> {node, said}
  let isFirst = true;
  return {
    node: root,
    show(groups) {
      const first = groups.find((group) => group.requests.length > 1);
      const items = groups.map((group) => itemOf(shown, group, isFirst && group === first));
      const ids = new Set(groups.map((group) => group.id));
      for (const id of shown.keys()) if (!ids.has(id)) shown.delete(id);
      if (!sameNodes(root.children, items)) root.replaceChildren(...items);
      isFirst &&= !groups.length;
    },
  };
}

function itemOf(shown, group, isOpen) {
  const said = JSON.stringify(group);
  const known = shown.get(group.id);
  if (known?.said === said) return known.node;
  const node = traceItem(group, known ? known.node.firstElementChild.open : isOpen);
  shown.set(group.id, { node, said });
  return node;
}

function traceItem(group, isOpen) {
  const [first] = group.requests;
  const worst = group.requests.find((one) => stateOf(one) !== "good");
  const summary = el(
    "summary",
    { class: "trace-head" },
    el("time", { class: "trace-time", datetime: first.at, title: fully(first.at) }, when(first.at)),
    el("span", { class: "trace-what" }, el("b", null, short(first.agent)), ` ${first.op}`),
    worst ? outcomeMark(worst) : el("span", null),
    el("span", { class: "trace-count" }, t("requests", group.requests.length)),
    el("span", { class: "trace-seconds" }, seconds((group.ended - group.begun) / 1000)),
  );
  const rows = group.requests.map((request) => bar(request, group));
  return el("li", { class: "trace" }, el("details", { open: isOpen }, summary, el("ol", { class: "bars" }, rows)));
}

function bar(request, group) {
  const whole = group.ended - group.begun || 1;
  const left = Math.min(100 - NARROWEST, ((request.begun - group.begun) / whole) * 100);
  const width = Math.max(NARROWEST, Math.min(100 - left, ((request.ended - request.begun) / whole) * 100));
  const state = stateOf(request);
  return el(
    "li",
    { class: "bar-row" },
    el("span", { class: "bar-agent", title: request.agent }, short(request.agent)),
    el("span", { class: "bar-op", title: t("askedBy", request.asker) }, request.op),
    el(
      "span",
      { class: "bar-track", "aria-hidden": "true" },
      el("span", { class: `bar-span is-${state}`, css: { "--left": `${left}%`, "--width": `${width}%` } }),
    ),
    el("span", { class: "bar-seconds" }, seconds(request.seconds)),
    outcomeMark(request),
  );
}

function outcomeMark(request) {
  const state = stateOf(request);
  return el("span", { class: `bar-outcome is-${state}`, title: request.outcome }, state === "good" ? t("done") : request.outcome);
}

function stateOf({ outcome }) {
  if (GOOD.has(outcome)) return "good";
  return REFUSED.has(outcome) ? "warn" : "bad";
}

function sameNodes(children, nodes) {
  return children.length === nodes.length && nodes.every((node, n) => children[n] === node);
}

// What the agents say of themselves, in words and numbers.

import { table } from "../components/table.js";
import { el } from "../dom.js";
import { number } from "../i18n.js";
import { short } from "./picture.js";
import { t } from "./texts.js";

/** The whole network in a line. */
export function totals(agents) {
  const sum = (name) => agents.reduce((all, agent) => all + (agent[name] ?? 0), 0);
  const online = agents.filter((agent) => agent.online).length;
  return [
    el("span", { class: `net-total ${online === agents.length ? "is-good" : "is-warn"}` }, t("online", online, agents.length)),
    el("span", { class: "net-total" }, t("running", sum("running"))),
    el("span", { class: "net-total" }, t("rate", number(sum("per_minute"), 0))),
  ];
}

/** One that was chosen in the picture; nothing: how to choose. */
export function details(agent) {
  if (!agent) return el("p", { class: "hint" }, t("choose"));
  return [
    el("h3", null, agent.jid),
    el("p", null, stateMark(agent), " ", agent.online ? t("doing", agent.running, agent.queued) : t("away")),
    agent.summary && el("p", null, agent.summary),
    (agent.notes ?? []).map((note) => el("p", { class: "net-note" }, note)),
  ];
}

export function everyAgent(agents) {
  const columns = [
    { title: t("agent"), cell: (agent) => el("span", { class: "net-row-name", title: agent.jid }, stateMark(agent), short(agent.jid)) },
    { title: t("kind"), cell: (agent) => t(agent.kind in KINDS ? `kind.${agent.kind}` : "kind.other") },
    { title: t("now"), cell: (agent) => (agent.online ? t("doing", agent.running, agent.queued) : t("away")) },
    { title: t("answered"), isNumber: true, cell: (agent) => number(agent.answered ?? 0) },
    { title: t("perMinuteLong"), isNumber: true, cell: (agent) => number(agent.per_minute ?? 0, 1) },
    { title: t("says"), cell: (agent) => [agent.summary, ...(agent.notes ?? [])].filter(Boolean).join(" · ") },
  ];
  return table({ caption: t("all"), columns, rows: agents });
}

/** The replicas of all agents, with the share of conversations or requests of each. */
export function everyReplica(agents) {
  const rows = agents.flatMap((agent) => (agent.replicas ?? []).map((replica) => ({ ...replica, agent })));
  const percent = (share) => `${number(100 * share, 0)} %`;
  const columns = [
    { title: t("agent"), cell: (one) => short(one.agent.jid) },
    { title: t("replica"), cell: (one) => (one.leaving ? `${one.name} (${t("leaving")})` : one.name) },
    { title: t("conversations"), isNumber: true, cell: (one) => number(one.conversations) },
    { title: t("share"), isNumber: true, cell: (one) => percent(one.share) },
    { title: t("takeovers"), isNumber: true, cell: (one) => number(one.takeovers) },
  ];
  return rows.length ? table({ caption: t("replicas"), columns, rows }) : null;
}

const KINDS = { gateway: 1, assistant: 1, memory: 1, rag: 1, tools: 1 };

function stateMark(agent) {
  return el("span", { class: `net-dot ${agent.online ? "is-online" : "is-away"}`, "aria-hidden": "true" });
}

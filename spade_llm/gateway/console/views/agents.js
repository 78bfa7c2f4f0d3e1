// The network, live: a picture of its agents, and what they asked each other lately.

import { picture, short } from "../agents/picture.js";
import { polling } from "../agents/polling.js";
import { details, everyAgent, everyReplica, totals } from "../agents/said.js";
import { t } from "../agents/texts.js";
import { grouped, traceList } from "../agents/traces.js";
import { get } from "../api.js";
import { empty, failed, skeleton } from "../components/states.js";
import { el, fill } from "../dom.js";
import { isStopped } from "../errors.js";

const EVERY_MS = 2000;
const MOST_REQUESTS = 200;

export const icon = "agents";
export const title = () => t("title");

export function mount(root, app) {
  app.heading({ title: t("title"), detail: t("about") });
  const page = new AgentsPage();
  fill(root, page.node);
  polling({ everyMs: EVERY_MS, signal: app.signal, look: (signal) => page.look(signal) });
}

export function unmount() {}

class AgentsPage {
  #seen = { agents: [], requests: [], chosen: "" };
  #notice = el("div", { data: { part: "notice" } }, skeleton(4));
  #totals = el("div", { class: "net-totals" });
  #details = el("div", { class: "net-details" });
  #picture = picture((jid) => this.#choose(jid));
  #heading = el("h2", null);
  #traces = traceList();
  #none = empty({ icon: "agents", title: t("noTrace"), text: t("noTraceText") });
  #all = el("div", null);
  #replicas = el("div", null);
  #replicasCard = el("section", { class: "card", hidden: true }, el("h2", null, t("replicas")), this.#replicas);
  #content = el(
    "div",
    { class: "agents-content", hidden: true },
    el("section", { class: "card net-card" }, this.#totals, this.#picture.node, this.#details),
    el("section", { class: "card" }, this.#heading, this.#traces.node, this.#none),
    el("section", { class: "card" }, el("h2", null, t("all")), this.#all),
    this.#replicasCard,
  );

  constructor() {
    this.node = el("div", { class: "agents-page" }, this.#notice, this.#content);
  }

  async look(signal) {
    try {
      // One after the other: what the second asks of the agents would be work in the first's eyes.
      const { agents } = await get("api/v0/agents", { signal });
      const { requests } = await get("api/v0/requests", { query: { limit: MOST_REQUESTS }, signal });
      this.#show({ ...this.#seen, agents, requests });
      fill(this.#notice);
    } catch (error) {
      if (isStopped(error)) return;
      fill(this.#notice, failed(error)); // polling looks again by itself
      this.#content.classList.add("is-old");
    }
  }

  #choose(jid) {
    this.#show({ ...this.#seen, chosen: jid === this.#seen.chosen ? "" : jid });
  }

  #show(seen) {
    this.#seen = seen;
    this.#content.hidden = false; // before the picture, which asks how large it is
    this.#content.classList.remove("is-old");
    const groups = grouped(seen.requests).filter((group) => concerns(group, seen.chosen));
    this.#picture.show(seen);
    this.#traces.show(groups);
    this.#none.hidden = groups.length > 0;
    fill(this.#heading, seen.chosen ? t("traceOf", short(seen.chosen)) : t("trace"));
    fill(this.#totals, totals(seen.agents));
    fill(this.#details, details(seen.agents.find((agent) => agent.jid === seen.chosen)));
    this.#showRows(this.#all, everyAgent(seen.agents));
    const replicas = everyReplica(seen.agents);
    this.#replicasCard.hidden = !replicas;
    if (replicas) this.#showRows(this.#replicas, replicas);
  }

  /** The table's frame stays: it may have the focus, or have been scrolled. */
  #showRows(place, table) {
    const rows = place.querySelector("tbody");
    if (rows) rows.replaceWith(table.querySelector("tbody"));
    else fill(place, table);
  }
}

function concerns(group, jid) {
  return !jid || group.requests.some((one) => one.agent === jid || one.asker === jid);
}

// What is remembered over conversations: by type, or what a search finds.

import { get, post } from "../api.js";
import { button, iconButton } from "../components/button.js";
import { toggle } from "../components/fields.js";
import { empty, failed, skeleton } from "../components/states.js";
import { tabs } from "../components/tabs.js";
import { el, fill } from "../dom.js";
import { isStopped } from "../errors.js";
import { number } from "../i18n.js";
import { entryItem } from "./entry.js";
import { t } from "./texts.js";

const TYPES = ["semantic", "episodic", "profile", "procedural"];
const COUNTS = {
  semantic: "semantic_facts",
  episodic: "episodic_summaries",
  profile: "profile_entries",
  procedural: "procedural_patterns",
};
const PAGE = 25;
const MOST_HITS = 20; // that the API gives

export class Remembered {
  #session = "";
  #isOnlyHere = false;
  #type = TYPES[0];
  #query = "";
  #signal;
  #onlyHere;
  #body = el("div", null);

  constructor(signal) {
    this.#signal = signal;
    this.#onlyHere = toggle({ label: t("onlyHere"), isOn: false, on: (isOn) => this.#narrow(isOn) });
    const head = el("header", { class: "sheet-head" }, el("h2", null, t("longTerm")), this.#onlyHere);
    this.node = el("section", { class: "card sheet" }, head, this.#searchField(), this.#body);
  }

  show(session) {
    this.#session = session;
    this.#onlyHere.hidden = !session;
    if (!session) this.#isOnlyHere = false;
    return this.#draw();
  }

  #narrow(isOnlyHere) {
    this.#isOnlyHere = isOnlyHere;
    this.#draw();
  }

  #searchField() {
    const box = el("input", { class: "input", type: "search", "aria-label": t("search"), placeholder: t("search") });
    const run = (event) => {
      event.preventDefault();
      this.#query = box.value.trim();
      this.#draw();
    };
    box.addEventListener("input", () => !box.value && this.#query && run(new Event("cleared")));
    const go = iconButton({ label: t("search"), icon: "search", type: "submit" });
    return el("form", { class: "search-field", role: "search", on: { submit: run } }, box, go);
  }

  #draw() {
    return this.#query ? this.#find() : this.#browse();
  }

  async #browse() {
    const counts = await this.#counted();
    if (counts === null || this.#query) return;
    const count = (type) => el("span", { class: "tab-count" }, number(counts[type]));
    const all = TYPES.map((id) => ({ id, title: [t(id), count(id)], content: () => this.#list(id) }));
    const on = (id) => {
      this.#type = id;
    };
    fill(this.#body, tabs({ label: t("types"), tabs: all, chosen: this.#type, on }));
  }

  /** How many there are of each type; null: it could not be found out, and that is shown. */
  async #counted() {
    const signal = this.#signal;
    try {
      if (this.#isOnlyHere) {
        const stats = await get(`llm/memory/stats/${encodeURIComponent(this.#session)}`, { signal });
        return Object.fromEntries(TYPES.map((type) => [type, stats.long_term[COUNTS[type]]]));
      }
      const pages = await Promise.all(TYPES.map((type) => this.#page(type, 0, 1)));
      return Object.fromEntries(TYPES.map((type, n) => [type, pages[n].total_count]));
    } catch (error) {
      if (!isStopped(error)) fill(this.#body, failed(error, () => this.#draw()));
      return null;
    }
  }

  #page(types, offset, limit = PAGE) {
    const session = this.#isOnlyHere ? this.#session : null;
    const query = { types, session, limit, offset };
    return get("api/v0/memories", { query, signal: this.#signal });
  }

  #list(type) {
    const list = el("ul", { class: "memory-list" });
    const foot = el("div", { class: "list-foot" }, skeleton(3));
    this.#more(type, list, foot);
    return [el("p", { class: "hint" }, t(`${type}About`)), list, foot];
  }

  async #more(type, list, foot) {
    try {
      const page = await this.#page(type, list.children.length);
      list.append(...page.memories.map((entry) => entryItem(entry, { onForgotten: () => this.#recount() })));
      const more = button({ label: t("next"), icon: "down", kind: "quiet", on: () => this.#more(type, list, foot) });
      if (page.has_more) fill(foot, more);
      else fill(foot, list.children.length ? [] : empty({ icon: "memory", title: t("none"), text: t("noneText") }));
    } catch (error) {
      if (!isStopped(error)) fill(foot, failed(error, () => this.#more(type, list, foot)));
    }
  }

  #recount() {
    this.#draw();
  }

  async #find() {
    const query = this.#query;
    fill(this.#body, skeleton(3));
    try {
      const hits = await this.#hits(query);
      if (query === this.#query) this.#drawHits(query, hits);
    } catch (error) {
      if (!isStopped(error)) fill(this.#body, failed(error, () => this.#find()));
    }
  }

  /** Memories and messages, best first. Their scores come from one request, their ids from another. */
  async #hits(text) {
    const session = this.#isOnlyHere ? this.#session : null;
    const signal = this.#signal;
    const [found, listed] = await Promise.all([
      post("llm/memory/search", { query: text, top_k: MOST_HITS, session_id: session }, { signal }),
      get("api/v0/memories", { query: { text, session, limit: 2 * MOST_HITS }, signal }),
    ]);
    const entries = new Map(listed.memories.map((entry) => [entry.content, entry]));
    return found.results.map(({ content, score, metadata }) => ({
      score,
      entry: entries.get(content) ?? messageOf(content, metadata),
    }));
  }

  #drawHits(query, hits) {
    const again = () => {
      this.#query = "";
      this.node.querySelector("input[type=search]").value = "";
      this.#draw();
    };
    const head = el(
      "div",
      { class: "results-head" },
      el("p", { role: "status" }, t("results", hits.length, query)),
      button({ label: t("clearSearch"), icon: "close", kind: "quiet", on: again }),
    );
    const items = hits.map(({ entry, score }) =>
      entryItem(entry, { score, showsType: true, onForgotten: () => {} }),
    );
    const none = empty({ icon: "search", title: t("noResults"), text: t("noResultsText") });
    fill(this.#body, head, hits.length ? el("ul", { class: "memory-list" }, items) : none);
  }
}

function messageOf(content, { session_id, timestamp }) {
  return { content, type: "message", created_at: timestamp, session_id };
}

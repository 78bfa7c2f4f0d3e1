// The messages of one conversation, in the order of their times.

import { get, remove } from "../api.js";
import { button } from "../components/button.js";
import { confirmed } from "../components/dialog.js";
import { foldable } from "../components/folded.js";
import { empty, failed, skeleton } from "../components/states.js";
import { toast } from "../components/toast.js";
import { el, fill } from "../dom.js";
import { explain, isStopped } from "../errors.js";
import { fully, language, moment, number } from "../i18n.js";
import { t } from "./texts.js";

const FIRST = 50;
const MOST = 1000; // that the API gives at once
const LONG_CHARS = 420;

/** Event: "cleared". */
export class Timeline extends EventTarget {
  #session = "";
  #limit = FIRST;
  #signal;
  #figures = el("p", { class: "hint" });
  #clear = button({ label: t("clear"), icon: "trash", on: () => this.#askToClear() });
  #body = el("div", { class: "timeline-frame" });

  constructor(signal) {
    super();
    this.#signal = signal;
    const head = el("header", { class: "sheet-head" }, el("h2", null, t("shortTerm")), this.#clear);
    this.node = el("section", { class: "card sheet" }, head, this.#figures, this.#body);
  }

  /** Nothing was chosen: "". */
  async show(session) {
    [this.#session, this.#limit] = [session, FIRST];
    fill(this.#body, skeleton(4));
    await this.#load();
  }

  async #load() {
    const session = this.#session;
    if (!session) return this.#draw([], { message_count: 0, token_count: 0 }, 0);
    const id = encodeURIComponent(session);
    const signal = this.#signal;
    try {
      const [history, stats] = await Promise.all([
        get(`llm/memory/history/${id}`, { query: { limit: this.#limit }, signal }),
        get(`llm/memory/stats/${id}`, { signal }),
      ]);
      if (session !== this.#session) return;
      this.#draw(history.messages, stats.short_term, sum(stats.long_term));
    } catch (error) {
      if (!isStopped(error)) fill(this.#body, failed(error, () => this.#load()));
    }
  }

  #draw(messages, figures, learned) {
    const words = t("figures", number(figures.message_count), number(figures.token_count));
    fill(this.#figures, learned ? `${words} · ${t("learned", learned)}` : words);
    this.#clear.hidden = !figures.message_count && !learned;
    if (messages.length) {
      fill(this.#body, this.#earlier(messages, figures), timeline(messages));
      this.#body.scrollTop = this.#body.scrollHeight; // where it is lower than its content
    } else fill(this.#body, empty({ icon: "chat", title: t("noMessages"), text: t("noMessagesText") }));
  }

  #earlier(messages, figures) {
    if (messages.length >= figures.message_count || this.#limit >= MOST) return null;
    const more = () => {
      this.#limit = Math.min(MOST, this.#limit * 4);
      this.#load();
    };
    return el(
      "div",
      { class: "timeline-earlier" },
      el("p", { class: "hint" }, t("latest", messages.length, figures.message_count)),
      button({ label: t("earlier"), icon: "up", kind: "quiet", on: more }),
    );
  }

  async #askToClear() {
    const question = { title: t("clearTitle"), text: t("clearText"), yes: t("clearYes") };
    if (!(await confirmed(question))) return;
    try {
      const { deleted } = await remove(`llm/memory/session/${encodeURIComponent(this.#session)}`);
      const { messages, ...memories } = deleted;
      toast(t("cleared", messages, sum(memories)));
      this.dispatchEvent(new Event("cleared"));
      await this.show(this.#session);
    } catch (error) {
      toast(explain(error), { kind: "failed" });
    }
  }
}

function timeline(messages) {
  const items = [];
  let day = "";
  for (const message of messages) {
    const its = dayOf(message.timestamp);
    if (its !== day) items.push(el("li", { class: "timeline-day" }, its));
    day = its;
    items.push(item(message));
  }
  return el("ol", { class: "timeline" }, items);
}

function item({ role, content, timestamp }) {
  const isUser = role === "user";
  return el(
    "li",
    { class: `timeline-item is-${isUser ? "user" : "assistant"}` },
    el(
      "div",
      { class: "timeline-head" },
      el("b", null, t(isUser ? "user" : "assistant")),
      el("time", { datetime: timestamp, title: fully(timestamp) }, clock(timestamp)),
    ),
    foldable(content, { longChars: LONG_CHARS }),
  );
}

function dayOf(iso) {
  return new Intl.DateTimeFormat(language(), { weekday: "long", day: "numeric", month: "long" }).format(moment(iso));
}

function clock(iso) {
  return new Intl.DateTimeFormat(language(), { hour: "2-digit", minute: "2-digit" }).format(moment(iso));
}

function sum(counts) {
  return Object.values(counts).reduce((all, one) => all + one, 0);
}

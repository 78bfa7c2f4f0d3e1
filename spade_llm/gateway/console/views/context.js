// What the model was told for the last answers of the open conversation.

import { get, post } from "../api.js";
import { talkOf } from "../chat/talks.js";
import { button } from "../components/button.js";
import { field, select } from "../components/fields.js";
import { empty, failed, skeleton } from "../components/states.js";
import { shownContext } from "../context/shown.js";
import { t } from "../context/texts.js";
import { el, fill } from "../dom.js";
import { isStopped } from "../errors.js";
import { language, when } from "../i18n.js";
import { store } from "../store.js";

const LONGEST_QUESTION = 70;

export const icon = "context";
export const title = () => t("title");

export function mount(root, app) {
  const page = new ContextPage(app.signal);
  app.heading({ title: t("title"), detail: t("about") });
  fill(root, page.node);
  page.open(store.session);
}

export function unmount() {}

class ContextPage {
  #session = "";
  #limits = {};
  #signal;
  #head = el("div", { class: "context-head" });
  #body = el("div", { class: "context-body" });

  constructor(signal) {
    this.#signal = signal;
    this.node = el("div", { class: "context-page" }, this.#head, this.#body);
  }

  async open(session) {
    this.#session = session;
    this.show();
    if (!session) return;
    talkOf(session).addEventListener("changed", () => this.show(), { signal: this.#signal });
    try {
      const settings = await get(`config/session/${encodeURIComponent(session)}`, { signal: this.#signal });
      const { max_context_tokens: most, context_priority: priority } = settings.preferences;
      this.#limits = { most, priority };
      this.show();
    } catch (error) {
      if (!isStopped(error)) this.#head.append(failed(error, () => this.open(session)));
    }
  }

  show() {
    const all = this.#session ? told(talkOf(this.#session)) : [];
    if (!all.length) return this.#showNone();
    const options = all.map((one, n) => [String(n), `${when(one.at)} · ${short(one.question)}`]);
    const choose = (n) => fill(this.#body, shownContext(all[Number(n)], this.#limits));
    fill(this.#head, field(t("answers"), select({ options, value: "0", on: choose })));
    choose(0);
  }

  #showNone() {
    const preview = this.#session && button({ label: t("preview"), icon: "memory", on: () => this.#preview() });
    fill(this.#head);
    fill(this.#body, empty({ icon: "context", title: t("none"), text: t("noneText"), action: preview }));
  }

  async #preview() {
    fill(this.#body, skeleton(5));
    const body = { session_id: this.#session, max_tokens: this.#limits.most, language: language() };
    try {
      const told = await post("llm/memory/context", body, { signal: this.#signal });
      const context = { text: told.context_text, tokens: told.token_count };
      const note = told.truncated && el("p", { class: "hint" }, t("truncated"));
      fill(this.#body, el("h2", null, t("previewTitle")), note, shownContext(context, this.#limits));
    } catch (error) {
      if (!isStopped(error)) fill(this.#body, failed(error, () => this.#preview()));
    }
  }
}

/** What the model was told for the answers of this page's life, the latest first. */
function told({ messages }) {
  return messages
    .map(({ reply, at }, n) => ({ reply, at, question: messages[n - 1]?.text ?? "" }))
    .filter(({ reply }) => reply)
    .map(({ reply, at, question }) => ({ at, question, text: reply.context_text, tokens: reply.context_tokens }))
    .reverse();
}

function short(question) {
  const line = question.replace(/\s+/g, " ").trim();
  return line.length > LONGEST_QUESTION ? `${line.slice(0, LONGEST_QUESTION - 1)}…` : line;
}

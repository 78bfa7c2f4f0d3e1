// One conversation: what was said in it, and what is being said. Knows no elements.
//
// A message is {key, role, text, at, status, ...}; `status` is "there", "writing", "stopped" or
// "failed". An answer has `reply` (all of the stream's last event), `questions` (for approval) and
// `error`, where there are any.

import { ApiError, events, get, post, report } from "../api.js";
import { isStopped } from "../errors.js";
import { moment } from "../i18n.js";
import { uuid } from "../uuid.js";

const FIRST = 200;
const MOST = 1000; // that the API gives at once

/** Events: "changed" (messages came or went), "grown" (detail: the message). */
export class Talk extends EventTarget {
  messages = [];
  total = 0;
  isLoaded = false;
  #stopping = null;
  #loading = null;
  #isStarted = false;

  constructor(id) {
    super();
    this.id = id;
  }

  get isWriting() {
    return this.#stopping !== null;
  }

  /** Fetches what was said before; with `all`, as much as the API gives. */
  async load({ signal, all = false } = {}) {
    if (this.#isStarted && !this.isLoaded) return; // nobody knows which of it is here already
    this.#loading = this.#fetch(all ? MOST : FIRST, signal);
    try {
      await this.#loading;
    } finally {
      this.#loading = null;
    }
  }

  get earlier() {
    return this.isLoaded ? Math.max(0, Math.min(this.total, MOST) - this.messages.length) : 0;
  }

  async #fetch(limit, signal) {
    const path = `llm/memory/history/${encodeURIComponent(this.id)}`;
    const history = await get(path, { query: { limit }, signal });
    const before = this.messages.length ? moment(this.messages[0].at) : Infinity;
    const earlier = history.messages.filter((one) => moment(one.timestamp) < before);
    this.messages.unshift(...earlier.map(fromHistory));
    this.total = Math.max(history.total_count, this.messages.length);
    this.isLoaded = true;
    this.#tell();
  }

  /** `wishes`: further fields of /llm/chat. Ends when the answer is there, or will not come. */
  async say(text, wishes) {
    await this.#loading?.catch(() => {}); // who loads says what is wrong
    this.#isStarted = true;
    const question = { key: uuid(), role: "user", text, at: now(), status: "there" };
    const answer = { key: uuid(), role: "assistant", text: "", at: now(), status: "writing", questions: [] };
    this.messages.push(question, answer);
    this.total += 2;
    this.#stopping = new AbortController();
    this.#tell();
    await this.#listen(answer, { messages: [{ role: "user", content: text }], session_id: this.id, ...wishes });
    this.#stopping = null;
    answer.at = now();
    this.#tell();
  }

  stop() {
    this.#stopping?.abort();
  }

  /** The last question once more, in place of the answer that failed. */
  async again(wishes) {
    const at = this.messages.findLastIndex((one) => one.role === "user");
    const [question] = this.messages.splice(at);
    this.total -= 2;
    await this.say(question.text, wishes);
  }

  async approve(answer, question, isApproved) {
    question.state = isApproved ? "allowed" : "refused";
    this.#grow(answer);
    try {
      await post("api/v0/approve", { id: question.question, is_approved: isApproved });
    } catch (error) {
      question.state = error.kind === "missing" ? "expired" : "open";
      this.#grow(answer);
      if (question.state === "open") throw error;
    }
  }

  async #listen(answer, body) {
    try {
      const { signal } = this.#stopping;
      for await (const { event, data } of events("llm/chat/stream", body, { signal })) {
        this.#take(answer, event, data);
      }
      if (answer.status === "writing") throw new ApiError("offline", "");
    } catch (error) {
      answer.status = isStopped(error) ? "stopped" : "failed";
      if (!isStopped(error)) answer.error = error;
    }
    for (const question of answer.questions) if (question.state === "open") question.state = "expired";
  }

  #take(answer, event, data) {
    if (event === "delta") answer.text += data.text;
    else if (event === "asked") answer.questions.push({ ...data, state: "open", at: Date.now() });
    else if (event === "done") Object.assign(answer, { text: data.response, reply: data, status: "there" });
    else if (event === "error") throw report(new ApiError(kindOf(data.status), data.detail, data));
    this.#grow(answer);
  }

  #grow(answer) {
    this.dispatchEvent(new CustomEvent("grown", { detail: answer }));
  }

  #tell() {
    this.dispatchEvent(new Event("changed"));
  }
}

function fromHistory({ role, content, timestamp }) {
  return { key: uuid(), role, text: content, at: timestamp, status: "there" };
}

function kindOf(status) {
  return { 400: "invalid", 403: "forbidden", 429: "busy", 503: "away" }[status] ?? "broken";
}

function now() {
  return new Date().toISOString();
}

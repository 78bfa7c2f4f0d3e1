// One conversation: what was said in it, and what is being said. Knows no elements.
//
// A message is {key, role, text, at, status, ...}; `status` is "there", "writing", "stopped" or
// "failed". An answer has `reply` (all of the stream's last event), `questions` (for approval) and
// `error`, where there are any.

import { ApiError, events, get, post, report } from "../api.js";
import { isStopped } from "../errors.js";
import { moment } from "../i18n.js";
import { store } from "../store.js";
import { uuid } from "../uuid.js";

const FIRST = 200;
const MOST = 1000; // that the API gives at once
const SAME_MS = 600_000; // between clocks: a question that was answered after all

/** Events: "changed" (messages came or went), "grown" (detail: the message). */
export class Talk extends EventTarget {
  messages = [];
  total = 0;
  isLoaded = false;
  #stopping = null;
  #loading = null;
  #isStarted = false;
  #isForgotten = false;

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
    this.#restore(history.total_count > history.messages.length);
    const unanswered = this.messages.filter((one) => one.role === "assistant" && one.status !== "there");
    this.total = Math.max(history.total_count + 2 * unanswered.length, this.messages.length);
    this.isLoaded = true;
    this.#tell();
  }

  /** Puts what this tab knows to be without an answer among the history, in order of time: none that
   *  is older than it, if `hasMore`. */
  #restore(hasMore) {
    const first = hasMore ? moment(this.messages[0].at) : -Infinity;
    const known = new Set(this.messages.map((one) => one.key));
    const missing = store
      .unanswered(this.id)
      .filter(([question]) => !known.has(question.key) && moment(question.at) >= first)
      .filter(([question]) => !this.#isAnswered(question));
    this.messages.push(...missing.flat().map(fromStore));
    this.messages.sort((a, b) => moment(a.at) - moment(b.at));
  }

  #isAnswered({ text, at }) {
    const isNear = (one) => Math.abs(moment(one.at) - moment(at)) < SAME_MS;
    return this.messages.some((one) => one.role === "user" && one.text === text && isNear(one));
  }

  #keepUnanswered() {
    if (this.#isForgotten) return;
    const pairs = this.messages.map((one, at) => [this.messages[at - 1], one]);
    const open = pairs.filter(([, one]) => one.role === "assistant" && one.status !== "there");
    store.setUnanswered(this.id, open.map((pair) => pair.map(forStore)));
  }

  /** `wishes`: a promise of further fields of /llm/chat. Ends when the answer is there, or will not come. */
  async say(text, wishes) {
    await this.#loading?.catch(() => {}); // who loads says what is wrong
    this.#isStarted = true;
    const question = { key: uuid(), role: "user", text, at: now(), status: "there" };
    const answer = { key: uuid(), role: "assistant", text: "", at: now(), status: "writing", questions: [] };
    this.messages.push(question, answer);
    this.total += 2;
    this.#stopping = new AbortController();
    this.#keepUnanswered();
    this.#tell();
    const body = { messages: [{ role: "user", content: text }], session_id: this.id };
    await this.#listen(answer, { ...body, ...(await wishes) });
    this.#stopping = null;
    answer.at = now();
    this.#keepUnanswered();
    this.#tell();
  }

  stop() {
    this.#stopping?.abort();
  }

  /** Stops, and keeps nothing. */
  forget() {
    this.#isForgotten = true;
    this.stop();
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

/** What is being written when the page goes is stopped by that. */
function forStore({ key, role, text, at, status, error }) {
  const { kind, detail, status: code, requestId } = error ?? {};
  return {
    ...{ key, role, text, at },
    status: status === "writing" ? "stopped" : status,
    error: error && [kind, detail, { status: code, requestId }],
  };
}

function fromStore({ error, ...message }) {
  return error ? { ...message, error: new ApiError(...error) } : message;
}

function kindOf(status) {
  return { 400: "invalid", 403: "forbidden", 429: "busy", 503: "away" }[status] ?? "broken";
}

function now() {
  return new Date().toISOString();
}

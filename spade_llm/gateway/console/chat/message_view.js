// One message as it is shown, and as it grows.

import { button } from "../components/button.js";
import { copyButton } from "../components/copy.js";
import { failed } from "../components/states.js";
import { el, fill } from "../dom.js";
import { fully, when } from "../i18n.js";
import { Prose } from "../markdown.js";
import { approval } from "./approval.js";
import { sourceLinks } from "./sources.js";
import { t } from "./texts.js";
import { toolCalls } from "./tool_calls.js";

const PARTS = ["memory", "documents", "tools"]; // whose names there is a word for

export class MessageView {
  #message;
  #does;
  #prose = new Prose();
  #before = el("div", { class: "message-before" });
  #after = el("div", { class: "message-after" });
  #frame = 0;
  #states = "";

  /** `does`: {openSources(sources, index), again(), approve(message, question, isApproved)}. */
  constructor(message, does) {
    this.#message = message;
    this.#does = does;
    const isMine = message.role === "user";
    const text = isMine ? el("div", { class: "message-mine" }, message.text) : this.#prose.node;
    this.node = el(
      "article",
      { class: `message is-${isMine ? "mine" : "theirs"}`, "aria-label": t(isMine ? "you" : "assistant") },
      this.#before,
      text,
      this.#after,
    );
    this.#draw();
  }

  /** At most once a frame, however fast it grows. */
  grow() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw() {
    const { role, text, status } = this.#message;
    this.node.classList.toggle("is-writing", status === "writing");
    this.node.setAttribute("aria-busy", String(status === "writing"));
    if (role !== "user") {
      this.#prose.show(text);
      this.#drawBefore();
    }
    fill(this.#after, role === "user" ? this.#tail([]) : this.#answersTail());
  }

  #drawBefore() {
    const { questions = [], reply, status, text } = this.#message;
    const states = JSON.stringify([questions.map((one) => one.state), Boolean(reply), status, Boolean(text)]);
    if (states === this.#states) return; // keeps what is unfolded, and the focus
    this.#states = states;
    const isWaiting = status === "writing" && !text && !questions.some((one) => one.state === "open");
    fill(
      this.#before,
      reply && toolCalls(reply),
      questions.map((one) => approval(one, (isApproved) => this.#does.approve(this.#message, one, isApproved))),
      isWaiting && el("p", { class: "thinking" }, t("thinking")),
    );
  }

  #answersTail() {
    const { status, reply, error } = this.#message;
    if (status === "writing") return [];
    if (status === "failed") return failed(error, this.#does.again);
    const isStopped = status === "stopped";
    const missing = (reply?.degraded ?? []).map((name) => (PARTS.includes(name) ? t(name) : name));
    return [
      missing.length > 0 && el("p", { class: "degraded" }, t("degraded", missing)),
      sourceLinks(reply?.rag_sources, this.#does.openSources),
      this.#tail([
        isStopped && el("span", null, t("stopped")),
        isStopped && button({ label: t("again"), icon: "retry", kind: "quiet", on: this.#does.again }),
        reply?.context_tokens > 0 && el("span", null, t("contextTokens", reply.context_tokens)),
      ]),
    ];
  }

  #tail(extras) {
    const { at, text } = this.#message;
    return el(
      "footer",
      { class: "message-tail" },
      text && copyButton(() => text, t("copyMessage")),
      el("time", { datetime: at, title: fully(at) }, when(at)),
      extras,
    );
  }
}

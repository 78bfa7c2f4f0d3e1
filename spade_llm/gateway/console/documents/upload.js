// One file on its way into a namespace.

import { lines } from "../api.js";
import { iconButton } from "../components/button.js";
import { el, fill } from "../dom.js";
import { explain, isStopped } from "../errors.js";
import { number } from "../i18n.js";
import { icon } from "../icons.js";
import { t } from "./texts.js";

const SILENCE_MS = 120_000; // a large file is read before its first chunk is done

export class Upload {
  #file;
  #namespace;
  #abort = new AbortController();
  #says = el("span", { class: "upload-says", role: "status" }, t("waiting"));
  #fill = el("span", { class: "progress-fill" });
  #stop;

  constructor(file, namespace) {
    [this.#file, this.#namespace] = [file, namespace];
    this.#stop = iconButton({ label: t("stop", file.name), icon: "close", on: () => this.#abort.abort() });
    const head = el(
      "span",
      { class: "upload-head" },
      el("span", { class: "upload-name", title: file.name }, file.name),
      el("span", { class: "hint" }, namespace),
      this.#says,
    );
    const bar = el("span", { class: "progress", "aria-hidden": "true" }, this.#fill);
    const main = el("div", { class: "upload-main" }, head, bar);
    this.node = el("li", { class: "upload" }, icon("documents"), main, this.#stop);
  }

  get name() {
    return this.#file.name;
  }

  /** Whether it is there now. */
  async send() {
    this.#become("is-sending", t("sending"));
    try {
      const last = await this.#sent();
      if (!last.success) throw new NotAdded(last.detail);
      this.#fill.style.width = "100%";
      this.#become("is-done", t("found", number(last.chunks)));
      return true;
    } catch (error) {
      this.#become("is-failed", reason(error));
      return false;
    } finally {
      this.#stop.remove();
    }
  }

  async #sent() {
    this.#abort.signal.throwIfAborted(); // while it waited
    const query = { name: this.#file.name, namespace: this.#namespace };
    const options = { query, raw: this.#file, signal: this.#abort.signal, deadlineMs: SILENCE_MS };
    let last = {};
    for await (const line of lines("POST", "api/v0/documents", options)) {
      last = line;
      if (!line.total) continue;
      this.#fill.style.width = `${(100 * line.done) / line.total}%`;
      this.#become("is-reading", t("reading", line.done, line.total));
    }
    return last;
  }

  #become(state, words) {
    this.node.className = `upload ${state}`;
    fill(this.#says, words);
  }
}

/** The answer had begun when it turned out: it is its last line. */
class NotAdded extends Error {}

function reason(error) {
  if (isStopped(error)) return t("stopped");
  const why = error instanceof NotAdded ? error.message : explain(error);
  return why ? `${t("failed")}: ${why}` : t("failed");
}

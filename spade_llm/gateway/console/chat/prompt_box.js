// Where a message is written. Enter sends, Shift+Enter begins a new line; drafts are kept.

import { iconButton } from "../components/button.js";
import { el } from "../dom.js";
import { store } from "../store.js";
import { t } from "./texts.js";

const GROWS = CSS.supports("field-sizing", "content"); // by itself

export class PromptBox {
  #session;
  #send;
  #stop;
  #isWriting = false;
  #area = el("textarea", {
    class: "prompt-area",
    rows: 1,
    maxlength: 100_000,
    "aria-label": t("prompt"),
    placeholder: t("placeholder"),
    title: t("keyHint"),
    enterkeyhint: "send",
  });
  #button = iconButton({ label: t("send"), icon: "send", class: "send-button", on: () => this.#press() });
  #stopButton = iconButton({ label: t("stop"), icon: "stop", class: "send-button", on: () => this.#stop() });

  /** `send`(text), `stop`(); `switches`: a node below the text. */
  constructor(session, { send, stop, switches }) {
    this.#session = session;
    this.#send = send;
    this.#stop = stop;
    this.#area.value = store.draft(session);
    this.#area.addEventListener("input", () => this.#changed());
    this.#area.addEventListener("keydown", (event) => this.#key(event));
    this.node = el(
      "div",
      { class: "prompt", on: { click: (event) => event.target === this.node && this.#area.focus() } },
      this.#area,
      el("div", { class: "prompt-foot" }, switches, this.#stopButton, this.#button),
    );
    this.showWriting(false);
    this.#changed();
  }

  focus() {
    this.#area.focus();
  }

  showWriting(isWriting) {
    const hadFocus = [this.#button, this.#stopButton].includes(document.activeElement);
    this.#isWriting = isWriting;
    this.#button.hidden = isWriting;
    this.#stopButton.hidden = !isWriting;
    if (hadFocus) this.#area.focus();
  }

  say(text) {
    this.#area.value = text;
    this.#press();
  }

  #press() {
    const text = this.#area.value.trim();
    if (!text || this.#isWriting) return;
    this.#area.value = "";
    this.#changed();
    this.#send(text);
  }

  #key(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this.#press();
    } else if (event.key === "Escape" && this.#isWriting) this.#stop();
  }

  #changed() {
    store.setDraft(this.#session, this.#area.value);
    this.#button.disabled = !this.#area.value.trim();
    if (!GROWS) this.#fit();
  }

  /** As high as its text; the style sheet says how high at most. */
  #fit() {
    this.#area.style.height = "auto";
    this.#area.style.height = `${this.#area.scrollHeight}px`;
  }
}

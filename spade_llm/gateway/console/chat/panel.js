// What is looked at beside the conversation: passages, or why an answer is as it is.

import { iconButton } from "../components/button.js";
import { el, fill } from "../dom.js";
import { t } from "./texts.js";

export class Panel {
  #title = el("h2", { id: "panel-title", tabindex: "-1" });
  #body = el("div", { class: "panel-body" });
  #opener = null;

  constructor() {
    const head = el(
      "header",
      { class: "panel-head" },
      this.#title,
      iconButton({ label: t("close"), icon: "close", on: () => this.close() }),
    );
    this.node = el("aside", { class: "panel", "aria-labelledby": "panel-title", hidden: true }, head, this.#body);
    this.node.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.close();
    });
  }

  get isOpen() {
    return !this.node.hidden;
  }

  open(title, ...content) {
    if (!this.isOpen) this.#opener = document.activeElement;
    this.node.hidden = false;
    fill(this.#title, title);
    this.show(...content);
    this.#title.focus({ preventScroll: true });
  }

  /** Other content under the same title. */
  show(...content) {
    fill(this.#body, content);
    this.#body.querySelector(".is-chosen")?.scrollIntoView({ block: "nearest" });
  }

  close() {
    if (!this.isOpen) return;
    this.node.hidden = true;
    if (this.#opener?.isConnected) this.#opener.focus();
  }
}

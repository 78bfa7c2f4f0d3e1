// Where files are dropped, chosen or pasted; they are sent one after the other.

import { button } from "../components/button.js";
import { dialog } from "../components/dialog.js";
import { field, input } from "../components/fields.js";
import { toast } from "../components/toast.js";
import { el, fill } from "../dom.js";
import { icon } from "../icons.js";
import { uuid } from "../uuid.js";
import { t } from "./texts.js";
import { Upload } from "./upload.js";

const NAMESPACE = /^\.*[\p{L}\p{N}_-][\p{L}\p{N}_.-]*$/u;
const FIRST_NAMESPACE = "default";
const MOST_SHOWN = 50;

/** Event: "added", after each file. What is on its way goes on when the view is left. */
export class Uploads extends EventTarget {
  #waiting = [];
  #isSending = false;
  #names = el("datalist", { id: `namespaces-${uuid()}` });
  #namespace = input({ value: FIRST_NAMESPACE, maxlength: 64, spellcheck: "false", list: this.#names.id });
  #list = el("ul", { class: "upload-list" });

  constructor() {
    super();
    this.node = el("div", { class: "uploads" }, this.#zone(), this.#list);
  }

  /** Namespaces that there are; `chosen` is where files go from now on, if it is one. */
  showNamespaces(names, chosen) {
    fill(this.#names, names.map((name) => el("option", { value: name })));
    if (chosen) this.#namespace.value = chosen;
  }

  #zone() {
    const files = el("input", { type: "file", multiple: true, class: "unseen", tabindex: "-1", "aria-hidden": "true" });
    files.addEventListener("change", () => {
      this.#take([...files.files]);
      files.value = "";
    });
    const choose = button({ label: t("choose"), icon: "upload", kind: "primary", on: () => files.click() });
    const paste = button({ label: t("paste"), icon: "edit", on: () => this.#paste() });
    const words = [el("h2", { class: "drop-title" }, t("drop")), el("p", { class: "hint" }, t("kinds"))];
    const zone = el(
      "div",
      { class: "drop-zone" },
      el("div", { class: "drop-icon" }, icon("upload")),
      el("div", { class: "drop-texts" }, words),
      el("div", { class: "drop-acts" }, choose, paste, files),
      el("div", { class: "drop-into" }, field(t("into"), this.#namespace), this.#names),
    );
    this.#takeDrops(zone);
    return zone;
  }

  #takeDrops(zone) {
    const look = (isOver) => (event) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      zone.classList.toggle("is-over", isOver);
    };
    const left = look(false);
    zone.addEventListener("dragenter", look(true));
    zone.addEventListener("dragover", look(true));
    zone.addEventListener("dragleave", (event) => zone.contains(event.relatedTarget) || left(event));
    zone.addEventListener("drop", (event) => {
      left(event);
      this.#take([...event.dataTransfer.files]);
    });
  }

  async #paste() {
    const name = input({ value: t("pasteNameFirst"), maxlength: 200 });
    const text = el("textarea", { class: "input", rows: 10 });
    const give = () => text.value.trim() && opened.close(true);
    const add = button({ label: t("add"), kind: "primary", on: give });
    const body = [field(t("pasteName"), name), field(t("pasteText"), text)];
    const opened = dialog({ title: t("pasteTitle"), body, actions: [add] });
    text.focus();
    if (!(await opened.closed)) return;
    this.#take([new File([text.value], name.value.trim() || t("pasteNameFirst"))]);
  }

  #take(files) {
    const namespace = this.#namespace.value.trim() || FIRST_NAMESPACE;
    this.#namespace.setCustomValidity(NAMESPACE.test(namespace) ? "" : t("namespaceWrong"));
    if (!this.#namespace.reportValidity()) return;
    const uploads = files.map((file) => new Upload(file, namespace));
    const shown = [...uploads.map(({ node }) => node), ...this.#list.children];
    fill(this.#list, shown.slice(0, Math.max(MOST_SHOWN, uploads.length)));
    this.#waiting.push(...uploads);
    this.#send();
  }

  async #send() {
    if (this.#isSending) return;
    this.#isSending = true;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      if (!(await next.send())) continue;
      this.dispatchEvent(new Event("added"));
      if (!this.node.isConnected) toast(t("uploaded", next.name));
    }
    this.#isSending = false;
  }
}

// Single keys that do things while nothing is being typed, and the dialog that lists them.

import { dialog } from "../components/dialog.js";
import { el } from "../dom.js";
import { texts } from "../i18n.js";
import { store } from "../store.js";

const t = texts({
  en: {
    title: "Keyboard shortcuts",
    help: "This list",
    off: "Single-key shortcuts are off in the settings.",
    always: "All controls can be reached with Tab, too.",
    send: "Send the message",
    line: "New line in the message",
    escape: "Stop the answer, or close the open dialog",
  },
  es: {
    title: "Atajos de teclado",
    help: "Esta lista",
    off: "Las teclas sueltas están desactivadas en los ajustes.",
    always: "A todo se llega también con el tabulador.",
    send: "Enviar el mensaje",
    line: "Nueva línea en el mensaje",
    escape: "Parar la respuesta, o cerrar lo abierto",
  },
});

export class Shortcuts {
  #all = new Map(); // key -> {does, run}

  constructor() {
    document.addEventListener("keydown", (event) => this.#press(event));
    this.add("?", () => t("help"), () => this.show());
  }

  /** `does`: a function that says what it does, in the language of the moment. */
  add(key, does, run, signal) {
    const shortcut = { does, run };
    this.#all.set(key, shortcut);
    const away = () => this.#all.get(key) === shortcut && this.#all.delete(key);
    signal?.addEventListener("abort", away, { once: true });
  }

  show() {
    const fixed = [["Enter", t("send")], ["Shift + Enter", t("line")], ["Esc", t("escape")]];
    const single = [...this.#all].map(([key, { does }]) => [key, does()]);
    const row = ([key, does]) => [el("dt", null, el("kbd", null, key)), el("dd", null, does)];
    const list = el("dl", { class: "keys" }, fixed.map(row), single.map(row));
    const note = store.preference("keys") ? t("always") : t("off");
    dialog({ title: t("title"), body: [list, el("p", { class: "hint" }, note)], size: "small" });
  }

  #press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (!store.preference("keys") || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    const shortcut = this.#all.get(event.key);
    if (!shortcut) return;
    event.preventDefault();
    shortcut.run();
  }
}

function isTyping(target) {
  return target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]") !== null;
}

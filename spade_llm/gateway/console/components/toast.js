// Short messages that go away by themselves. Screen readers say them when there is a pause.

import { el, fill } from "../dom.js";
import { icon } from "../icons.js";
import { button } from "./button.js";

const SHOWN_MS = 5000;
const MOST = 3;

const shelf = el("div", { class: "toasts", role: "status", "aria-live": "polite" });

export function shelfOfToasts() {
  return shelf;
}

/** `kind`: "done" or "failed"; `action`: {label, on}. */
export function toast(text, { kind = "done", action = null } = {}) {
  const node = el("div", { class: `toast is-${kind}` }, icon(kind === "done" ? "check" : "alert"));
  const away = () => node.remove();
  node.append(el("span", { class: "toast-text" }, text));
  if (action) {
    const act = () => {
      away();
      action.on();
    };
    node.append(button({ label: action.label, kind: "quiet", on: act }));
  }
  fill(shelf, ...[...shelf.children].slice(1 - MOST), node);
  let timer = setTimeout(away, SHOWN_MS);
  node.addEventListener("pointerenter", () => clearTimeout(timer));
  node.addEventListener("pointerleave", () => {
    timer = setTimeout(away, SHOWN_MS);
  });
}

// A button that opens a short list of things to do. Arrow keys, Home, End, Esc.

import { el } from "../dom.js";
import { icon as iconOf } from "../icons.js";
import { iconButton } from "./button.js";

/** `items`: [{label, icon, on, isDanger?}]. */
export function menuButton({ label, icon, items }) {
  const entries = items.map((item) =>
    el(
      "button",
      {
        type: "button",
        role: "menuitem",
        class: `menu-item ${item.isDanger ? "is-danger" : ""}`,
        tabindex: "-1",
        on: { click: () => choose(item) },
      },
      iconOf(item.icon),
      item.label,
    ),
  );
  const list = el("div", { class: "menu-items", role: "menu", "aria-label": label, hidden: true }, entries);
  const opener = iconButton({ label, icon, "aria-haspopup": "menu", "aria-expanded": "false", on: () => show(list.hidden) });
  const node = el("div", { class: "menu-frame" }, opener, list);
  const show = (isOpen) => {
    list.hidden = !isOpen;
    opener.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) entries[0].focus();
  };
  const choose = (item) => {
    show(false);
    opener.focus();
    item.on();
  };
  const steps = {
    ArrowDown: (at) => at + 1,
    ArrowUp: (at) => at - 1 + entries.length,
    Home: () => 0,
    End: () => entries.length - 1,
  };
  list.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      show(false);
      opener.focus();
    } else if (event.key in steps) {
      event.preventDefault();
      entries[steps[event.key](entries.indexOf(document.activeElement)) % entries.length].focus();
    }
  });
  node.addEventListener("focusout", (event) => !node.contains(event.relatedTarget) && show(false));
  return node;
}

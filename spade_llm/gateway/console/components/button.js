// Buttons. One with only an icon says its label to screen readers and as a tooltip.

import { el } from "../dom.js";
import { icon } from "../icons.js";

/** `kind`: plain (default), primary, danger, quiet. `on`: what a click does. Other names: attributes. */
export function button({ label, icon: name, kind = "plain", on, ...props }) {
  return el(
    "button",
    { type: "button", class: `button is-${kind}`, on: on ? { click: on } : {}, ...props },
    name && icon(name),
    el("span", { class: "button-label" }, label),
  );
}

export function iconButton({ label, icon: name, on, class: more = "", ...props }) {
  const attributes = { type: "button", class: `icon-button ${more}`, title: label, ...props };
  return el("button", { ...attributes, "aria-label": label, on: on ? { click: on } : {} }, icon(name));
}

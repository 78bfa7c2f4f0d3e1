// Labelled controls of forms.

import { el } from "../dom.js";
import { uuid } from "../uuid.js";

/** A control with its label above and a hint below. */
export function field(label, control, hint = "") {
  const id = control.id || `field-${uuid()}`;
  control.id = id;
  if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
  return el(
    "div",
    { class: "field" },
    el("label", { class: "field-label", for: id }, label),
    control,
    hint && el("p", { class: "field-hint", id: `${id}-hint` }, hint),
  );
}

/** `on`(value) after each change. Other names: attributes of the input. */
export function input({ on = () => {}, type = "text", ...props }) {
  const change = (event) => on(event.target.value);
  return el("input", { class: "input", type, ...props, on: { change } });
}

/** `options`: [[value, text]]. */
export function select({ options, value, on = () => {}, ...props }) {
  const all = options.map(([one, text]) => el("option", { value: one, selected: one === value }, text));
  return el("select", { class: "input", ...props, on: { change: (event) => on(event.target.value) } }, all);
}

/** A switch with its label beside it. `on`(isOn). */
export function toggle({ label, hint = "", isOn, on, ...props }) {
  const box = { type: "checkbox", role: "switch", class: "switch", checked: isOn, ...props };
  return el(
    "label",
    { class: "toggle" },
    el(
      "span",
      { class: "toggle-text" },
      el("span", { class: "field-label" }, label),
      hint && el("span", { class: "field-hint" }, hint),
    ),
    el("input", { ...box, on: { change: (event) => on(event.target.checked) } }),
  );
}

/** Several of several. `options`: [[value, text]]; `on`(values). */
export function choices({ label, options, chosen, on }) {
  const now = new Set(chosen);
  const box = ([value, text]) => {
    const change = (event) => {
      if (event.target.checked) now.add(value);
      else now.delete(value);
      on(options.map(([one]) => one).filter((one) => now.has(one)));
    };
    const attributes = { type: "checkbox", class: "unseen", checked: now.has(value) };
    return el("label", { class: "chip" }, el("input", { ...attributes, on: { change } }), el("span", null, text));
  };
  const all = el("div", { class: "chips" }, options.map(box));
  return el("fieldset", { class: "field" }, el("legend", { class: "field-label" }, label), all);
}

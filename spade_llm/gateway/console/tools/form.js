// A form for the arguments of a tool, made from their JSON Schema.

import { field, input, select } from "../components/fields.js";
import { el } from "../dom.js";
import { argumentsOf, fieldsOf, WrongValue } from "./schema.js";
import { t } from "./texts.js";

const NUMBER_STEPS = { number: "any", integer: "1" };

/**
 * @returns {{nodes: HTMLElement[], read: () => object|null}} `read`: the arguments, or null where
 *   something is wrong: that is shown at its field, which has the focus then
 */
export function argumentsForm(schema) {
  const fields = fieldsOf(schema);
  const controls = new Map(fields.map((one) => [one.name, controlOf(one)]));
  const nodes = fields.map((one) => labelled(one, controls.get(one.name)));

  function read() {
    for (const control of controls.values()) complain(control, "");
    const written = Object.fromEntries([...controls].map(([name, { value }]) => [name, value.trim()]));
    try {
      return argumentsOf(fields, written);
    } catch (error) {
      if (!(error instanceof WrongValue)) throw error;
      complain(controls.get(error.field), t(`wrong.${error.why}`));
      controls.get(error.field).focus();
      return null;
    }
  }

  return { nodes, read };
}

function labelled(one, control) {
  const mark = one.isRequired && el("span", { class: "needed", title: t("required") }, " *");
  const kind = one.kind === "json" ? ` (${t("json")})` : "";
  const node = field([one.name, kind, mark], control, one.description);
  node.append(el("p", { class: "field-wrong", role: "alert" }));
  return node;
}

function complain(control, words) {
  control.setAttribute("aria-invalid", String(Boolean(words)));
  control.closest(".field").querySelector(".field-wrong").textContent = words;
}

function controlOf(one) {
  const attributes = { "aria-required": String(one.isRequired), spellcheck: "false" };
  if (one.kind === "choice") return select({ options: optionsOf(one), value: chosenOf(one), ...attributes });
  if (one.kind === "yes") return select({ options: yesOrNo(one), value: chosenOf(one), ...attributes });
  const placeholder = one.initial === undefined ? null : JSON.stringify(one.initial);
  if (one.kind === "json") return el("textarea", { class: "input is-code", rows: 3, placeholder, ...attributes });
  if (one.kind === "text") return textControl(one, { placeholder: one.initial ?? null, ...attributes });
  const { minimum: min, maximum: max } = one.limits;
  return input({ type: "number", step: NUMBER_STEPS[one.kind], min, max, placeholder, ...attributes });
}

/** Grows with its text; Enter is for the form, Shift+Enter for a new line. */
function textControl(one, attributes) {
  const keydown = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    event.target.form.requestSubmit();
  };
  const look = { class: "input one-line", rows: 1, maxlength: one.limits.maxLength };
  return el("textarea", { ...look, ...attributes, on: { keydown } });
}

function optionsOf(one) {
  const options = one.choices.map((choice) => [JSON.stringify(choice), String(choice)]);
  return one.isRequired ? options : [["", t("leaveOut")], ...options];
}

function yesOrNo(one) {
  const options = [["true", t("yes")], ["false", t("no")]];
  return one.isRequired ? options : [["", t("leaveOut")], ...options];
}

function chosenOf(one) {
  if (one.isRequired) return one.initial === undefined ? undefined : JSON.stringify(one.initial);
  return "";
}

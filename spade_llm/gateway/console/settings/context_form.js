// The part of a form that says what an answer may be built from. Knows no request.

import { choices, field, input, select, toggle } from "../components/fields.js";
import { el } from "../dom.js";
import { t } from "./texts.js";

const TYPES = ["semantic", "episodic", "profile", "procedural"];

/**
 * @param {object} config as /config/session/{id} has it; it is changed in place. Without
 *   `preferences`, there are no fields for them.
 * @param {string[]} namespaces that there are
 */
export function contextFields(config, namespaces) {
  const { memory, rag, preferences } = config;
  const types = el(
    "div",
    { class: "settings-inner", hidden: !memory.enabled },
    choices({
      label: t("types"),
      options: TYPES.map((one) => [one, t(one)]),
      chosen: memory.types,
      on: (values) => (memory.types = values),
    }),
  );
  const documents = el("div", { class: "settings-inner", hidden: !rag.enabled }, ragFields(rag, namespaces));
  const set = (part, inner) => (isOn) => {
    part.enabled = isOn;
    inner.hidden = !isOn;
  };
  return [
    toggle({ label: t("memory"), hint: t("memoryHint"), isOn: memory.enabled, on: set(memory, types) }),
    types,
    toggle({ label: t("rag"), hint: t("ragHint"), isOn: rag.enabled, on: set(rag, documents) }),
    documents,
    preferences && preferenceFields(preferences),
  ];
}

function ragFields(rag, namespaces) {
  const all = [...new Set([...namespaces, ...(rag.namespaces ?? [])])];
  const which = choices({
    label: t("namespaces"),
    options: all.map((one) => [one, one]),
    chosen: rag.namespaces ?? [],
    on: (values) => (rag.namespaces = values),
  });
  const none = el("p", { class: "hint" }, t("noNamespaces"));
  return [all.length ? which : none, field(t("topK"), numberInput(rag, "top_k", 1, 20))];
}

function preferenceFields(preferences) {
  const options = [["balanced", t("balanced")], ["memory", t("memoryFirst")], ["rag", t("ragFirst")]];
  const priority = select({
    options,
    value: preferences.context_priority,
    on: (value) => (preferences.context_priority = value),
  });
  return el(
    "div",
    { class: "settings-pair" },
    field(t("priority"), priority),
    field(t("maxTokens"), numberInput(preferences, "max_context_tokens", 100, 8000)),
  );
}

/** Puts what is out of range back into it. */
export function numberInput(part, name, min, max, on = () => {}) {
  const node = input({ type: "number", inputmode: "numeric", min, max, value: part[name] });
  node.addEventListener("change", () => {
    const value = Math.round(Number(node.value)) || min;
    part[name] = Math.min(max, Math.max(min, value));
    node.value = part[name];
    on(part[name]);
  });
  return node;
}

// Modal dialogs: the browser's own, which keep the focus inside and give it back.

import { el } from "../dom.js";
import { texts } from "../i18n.js";
import { uuid } from "../uuid.js";
import { button, iconButton } from "./button.js";

const t = texts({
  en: { close: "Close", cancel: "Cancel", type: (word) => `Type ${word} to confirm` },
  es: { close: "Cerrar", cancel: "Cancelar", type: (word) => `Escribe ${word} para continuar` },
});

/**
 * Opens one. `body`: nodes; `actions`: buttons of its foot; `size`: "small", "medium" or "wide".
 * @returns {{node: HTMLDialogElement, close: function(any): void, closed: Promise<any>}}
 */
export function dialog({ title, body, actions = [], size = "medium" }) {
  const id = `dialog-${uuid()}`;
  const foot = actions.length ? el("footer", { class: "dialog-foot" }, actions) : null;
  const node = el("dialog", { class: `dialog is-${size}`, "aria-labelledby": id });
  let answer = null;
  const close = (value = null) => {
    answer = value;
    node.close();
  };
  const head = el(
    "header",
    { class: "dialog-head" },
    el("h2", { id }, title),
    iconButton({ label: t("close"), icon: "close", on: () => close() }),
  );
  node.append(el("div", { class: "dialog-box" }, head, el("div", { class: "dialog-body" }, body), foot ?? []));
  node.addEventListener("click", (event) => event.target === node && close());
  const closed = new Promise((resolve) => {
    node.addEventListener("close", () => {
      node.remove();
      resolve(answer);
    });
  });
  document.body.append(node);
  node.showModal();
  return { node, close, closed };
}

/**
 * Whether the person says yes. With `word`, only after typing it.
 * @returns {Promise<boolean>}
 */
export async function confirmed({ title, text, yes, word = "", kind = "danger" }) {
  let opened = null;
  const go = button({ label: yes, kind, disabled: Boolean(word), on: () => opened.close(true) });
  const no = button({ label: t("cancel"), on: () => opened.close() });
  const body = [el("p", null, text)];
  if (word) body.push(typed(word, go));
  opened = dialog({ title, body, actions: [no, go], size: "small" });
  (opened.node.querySelector("input") ?? no).focus();
  return (await opened.closed) === true;
}

function typed(word, go) {
  const check = (event) => {
    go.disabled = event.target.value !== word;
  };
  const press = (event) => event.key === "Enter" && !go.disabled && go.click();
  const input = el("input", {
    type: "text",
    class: "input",
    autocomplete: "off",
    spellcheck: "false",
    autocapitalize: "off",
    on: { input: check, keydown: press },
  });
  return el("label", { class: "field" }, el("span", { class: "field-label" }, t("type", word)), input);
}

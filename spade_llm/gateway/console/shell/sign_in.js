// Asks for an API token, when the gateway wants one. It stays in this tab only.

import { button } from "../components/button.js";
import { dialog } from "../components/dialog.js";
import { field } from "../components/fields.js";
import { el } from "../dom.js";
import { texts } from "../i18n.js";
import { codeBlock } from "../markdown.js";
import { store } from "../store.js";

const t = texts({
  en: {
    title: "Sign in",
    text: "This gateway needs an API token. Its operator creates one with:",
    example: "NAME --principal PERSON@DOMAIN",
    label: "API token",
    hint: "Kept in this tab until you close it.",
    use: "Use this token",
  },
  es: {
    title: "Iniciar sesión",
    text: "Esta pasarela requiere un token de la API. Su operador crea uno con:",
    example: "NOMBRE --principal PERSONA@DOMINIO",
    label: "Token de la API",
    hint: "Se guarda en esta pestaña hasta que la cierres.",
    use: "Usar este token",
  },
});

let refused = null; // the token for which the user has already declined to enter another

export async function askForToken() {
  if (refused === store.token) return;
  refused = store.token;
  const input = el("input", { class: "input", type: "password", autocomplete: "off" });
  const use = (event) => {
    event.preventDefault();
    if (input.value.trim()) opened.close(input.value.trim());
  };
  const opened = dialog({
    title: t("title"),
    body: [
      el("p", null, t("text")),
      codeBlock(`spade-llm token create ${t("example")}`),
      el("form", { on: { submit: use } }, field(t("label"), input, t("hint"))),
    ],
    actions: [button({ label: t("use"), kind: "primary", on: use })],
    size: "small",
  });
  input.focus();
  const token = await opened.closed;
  if (token) store.token = token;
}

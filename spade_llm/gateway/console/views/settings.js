// Settings: how the page looks, and who is asking.

import { el, fill } from "../dom.js";
import { field, select, toggle } from "../components/fields.js";
import { LANGUAGES, texts } from "../i18n.js";
import { store } from "../store.js";

const t = texts({
  en: {
    title: "Settings",
    page: "This page",
    language: "Language",
    automatic: "As the browser has it",
    theme: "Appearance",
    system: "As the system has it",
    light: "Light",
    dark: "Dark",
    keys: "Single-key shortcuts",
    keysHint: "Press ? for the list.",
  },
  es: {
    title: "Ajustes",
    page: "Esta página",
    language: "Idioma",
    automatic: "El del navegador",
    theme: "Apariencia",
    system: "La del sistema",
    light: "Clara",
    dark: "Oscura",
    keys: "Atajos de una tecla",
    keysHint: "Pulsa ? para ver la lista.",
  },
});

export const icon = "settings";
export const title = () => t("title");

export function mount(root) {
  const languages = [["", t("automatic")], ...Object.entries(LANGUAGES)];
  const themes = ["system", "light", "dark"].map((one) => [one, t(one)]);
  const preference = (name) => ({
    value: store.preference(name),
    on: (value) => store.setPreference(name, value),
  });
  fill(
    root,
    el(
      "section",
      { class: "card settings-part" },
      el("h2", null, t("page")),
      field(t("language"), select({ options: languages, ...preference("language") })),
      field(t("theme"), select({ options: themes, ...preference("theme") })),
      toggle({
        label: t("keys"),
        hint: t("keysHint"),
        isOn: store.preference("keys"),
        on: (isOn) => store.setPreference("keys", isOn),
      }),
    ),
  );
}

export function unmount() {}

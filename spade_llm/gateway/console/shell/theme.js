// Light, dark, or as the system has it.

import { store } from "../store.js";

export function applyTheme() {
  const theme = store.preference("theme");
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function isDark() {
  const theme = store.preference("theme");
  return theme === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
}

export function switchTheme() {
  store.setPreference("theme", isDark() ? "light" : "dark");
}

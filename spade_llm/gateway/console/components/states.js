// What a view shows instead of its content: nothing yet, on its way, or gone wrong.

import { el } from "../dom.js";
import { explain } from "../errors.js";
import { texts } from "../i18n.js";
import { icon } from "../icons.js";
import { button } from "./button.js";

const t = texts({
  en: { loading: "Loading…", again: "Try again", id: (id) => `Request ${id}` },
  es: { loading: "Cargando…", again: "Reintentar", id: (id) => `Petición ${id}` },
});

/** `action`: a button, or nothing. */
export function empty({ icon: name, title, text = "", action = null }) {
  return el(
    "div",
    { class: "empty" },
    el("div", { class: "empty-icon" }, icon(name)),
    el("h2", null, title),
    text && el("p", null, text),
    action,
  );
}

export function skeleton(lines = 3) {
  const bars = Array.from({ length: lines }, () => el("div", { class: "skeleton-line" }));
  return el("div", { class: "skeleton", role: "status", "aria-label": t("loading") }, bars);
}

/** Says what went wrong (an ApiError), and offers to try again. */
export function failed(error, retry = null) {
  return el(
    "div",
    { class: "failed", role: "alert" },
    icon("alert"),
    el(
      "div",
      { class: "failed-text" },
      el("p", null, explain(error)),
      error.requestId && el("p", { class: "failed-id" }, t("id", error.requestId)),
    ),
    retry && button({ label: t("again"), icon: "retry", on: retry }),
  );
}

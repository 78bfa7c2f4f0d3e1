// Long texts, folded: text stays text, and can be seen whole.

import { el } from "../dom.js";
import { texts } from "../i18n.js";
import { button } from "./button.js";

const t = texts({
  en: { whole: "Show all", less: "Show less" },
  es: { whole: "Mostrarlo entero", less: "Mostrar menos" },
});

/** A paragraph of `content` as it was written; one of more than `longChars` begins folded. */
export function foldable(content, { longChars = 480, class: more = "" } = {}) {
  const text = el("p", { class: `as-written ${more}` }, content);
  if (content.length <= longChars) return text;
  text.classList.add("is-folded");
  const turn = (event) => {
    const isFolded = text.classList.toggle("is-folded");
    event.currentTarget.setAttribute("aria-expanded", String(!isFolded));
    event.currentTarget.querySelector("span").textContent = t(isFolded ? "whole" : "less");
  };
  return [text, button({ label: t("whole"), kind: "quiet", "aria-expanded": "false", on: turn })];
}

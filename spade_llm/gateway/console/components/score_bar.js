// How well something fits, 0…1, as a bar and a number.

import { el } from "../dom.js";
import { number, texts } from "../i18n.js";

const t = texts({
  en: { score: (score) => `Score ${score}` },
  es: { score: (score) => `Puntuación ${score}` },
});

export function scoreBar(score) {
  const share = Math.max(0, Math.min(1, score));
  const said = number(score);
  return el(
    "span",
    { class: "score", role: "img", "aria-label": t("score", said), title: t("score", said) },
    el("span", { class: "score-track" }, el("span", { class: "score-fill", css: { width: `${share * 100}%` } })),
    el("span", { class: "score-number", "aria-hidden": "true" }, score.toFixed(2)),
  );
}

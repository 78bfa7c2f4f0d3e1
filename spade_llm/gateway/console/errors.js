// What went wrong, for people: the server's own words where it gave any.

import { language, texts } from "./i18n.js";

const t = texts({
  en: {
    offline: "The gateway cannot be reached. Is it running?",
    late: "There was no answer in time.",
    away: "An agent cannot be reached at the moment.",
    unknown: "An API token is needed.",
    forbidden: "That is not allowed.",
    missing: "That is not there (any more).",
    invalid: "The gateway did not understand the request.",
    large: "That is too large.",
    busy: "That was too fast: try again in a moment.",
    broken: "Something went wrong in the gateway.",
  },
  es: {
    offline: "No se puede contactar con la pasarela. ¿Está en marcha?",
    late: "No hubo respuesta a tiempo.",
    away: "Ahora mismo no se puede contactar con un agente.",
    unknown: "Hace falta un token de la API.",
    forbidden: "Eso no está permitido.",
    missing: "Eso no existe (o ya no).",
    invalid: "La pasarela no entendió la petición.",
    large: "Es demasiado grande.",
    busy: "Demasiado rápido: inténtalo de nuevo en un momento.",
    broken: "Algo falló en la pasarela.",
  },
});

const OWN_WORDS = ["offline", "late", "unknown"];

/** `error`: an ApiError; anything else is a mistake of this page, and is thrown on. In English the
 * server's sentence alone, which says more than ours; in other languages it follows in brackets. */
export function explain(error) {
  if (error.name !== "ApiError") throw error;
  const detail = error.detail.trim();
  if (!detail || OWN_WORDS.includes(error.kind)) return t(error.kind);
  return language() === "en" ? asSentence(detail) : `${t(error.kind)} (${detail})`;
}

/** A detail begins with the name of a field, or with a small letter and without a full stop. */
function asSentence(detail) {
  const begun = /^\S+:/.test(detail) ? detail : detail[0].toUpperCase() + detail.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

/** Whether it is only that the person left or stopped it. */
export function isStopped(error) {
  return error.name === "AbortError";
}

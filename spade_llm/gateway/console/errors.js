// Error messages for users: the server's detail where it sends one.

import { language, texts } from "./i18n.js";

const t = texts({
  en: {
    offline: "The gateway cannot be reached. Is it running?",
    late: "The gateway did not answer in time.",
    away: "A required agent is unavailable.",
    unknown: "An API token is needed.",
    forbidden: "Permission denied.",
    missing: "Not found; it may have been deleted.",
    invalid: "The request is invalid.",
    large: "The content is too large.",
    busy: "Limit reached; try again later.",
    broken: "Internal error of the gateway.",
  },
  es: {
    offline: "No se puede contactar con la pasarela. ¿Está en marcha?",
    late: "La pasarela no respondió a tiempo.",
    away: "Un agente o modelo necesario no está disponible.",
    unknown: "Hace falta un token de la API.",
    forbidden: "Permiso denegado.",
    missing: "No se encuentra; puede que se haya borrado.",
    invalid: "La petición no es válida.",
    large: "El contenido es demasiado grande.",
    busy: "Límite alcanzado; inténtalo más tarde.",
    broken: "Error interno de la pasarela.",
  },
});

const OWN_WORDS = ["offline", "late", "unknown"];

/** Message of an ApiError; any other error is a bug of this page, and is rethrown. In English the
 * server's detail alone, which is more specific; in other languages it follows in brackets. */
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

/** Whether the user has cancelled the request. */
export function isStopped(error) {
  return error.name === "AbortError";
}

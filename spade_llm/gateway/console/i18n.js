// The language of the page: texts, numbers and times. Each view has one table of its own.

import { store } from "./store.js";

export const LANGUAGES = { en: "English", es: "Español" };

export function language() {
  const chosen = store.preference("language");
  if (chosen in LANGUAGES) return chosen;
  return navigator.language.toLowerCase().startsWith("es") ? "es" : "en";
}

/**
 * A function that says a text: `t("deleted", 3)`.
 * @param {{en: object, es: object}} texts the same keys in both; a value is a string, or a function
 *   of the arguments
 */
export function texts(tables) {
  checkSame(tables);
  return (key, ...values) => {
    const text = tables[language()][key];
    if (text === undefined) throw new Error(`There is no text ${key}`);
    return typeof text === "function" ? text(...values) : text;
  };
}

function checkSame({ en, es }) {
  const missing = [...Object.keys(en), ...Object.keys(es)].filter((k) => !(k in en && k in es));
  if (missing.length) throw new Error(`Only in one language: ${missing.join(", ")}`);
}

/** 12345.678 -> "12,345.68" */
export function number(value, digits = 2) {
  return new Intl.NumberFormat(language(), { maximumFractionDigits: digits }).format(value);
}

/** ["memory", "documents", "tools"] -> "memory, documents and tools" */
export function listed(names) {
  // British English has no comma before the last one.
  return new Intl.ListFormat(language() === "en" ? "en-GB" : language()).format(names);
}

/** 1, "memory", "memories" -> "1 memory"; without the third, it is the second with an s. */
export function counted(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** Of an ISO time without a zone: the server's are UTC. */
export function moment(iso) {
  return new Date(/(?:Z|[+-]\d\d:?\d\d)$/.test(iso) ? iso : `${iso}Z`);
}

/** "10:05" today, "3 Nov, 10:05" before. */
export function when(iso) {
  const date = moment(iso);
  const isToday = date.toDateString() === new Date().toDateString();
  const day = isToday ? {} : { day: "numeric", month: "short" };
  return new Intl.DateTimeFormat(language(), { ...day, hour: "numeric", minute: "2-digit" }).format(
    date,
  );
}

/** In full, for a tooltip or a `<time>`. */
export function fully(iso) {
  return new Intl.DateTimeFormat(language(), { dateStyle: "full", timeStyle: "medium" }).format(
    moment(iso),
  );
}

const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];

/** "5 minutes ago" */
export function ago(iso) {
  const seconds = (moment(iso).getTime() - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, s]) => Math.abs(seconds) >= s) ?? ["second", 1];
  const format = new Intl.RelativeTimeFormat(language(), { numeric: "auto", style: "short" });
  return unit === "second" ? format.format(0, "second") : format.format(Math.round(seconds / size), unit);
}

/** 0.0431 -> "43 ms", 2.31 -> "2.3 s" */
export function seconds(value) {
  if (value < 1) return `${number(value * 1000, 0)} ms`;
  return `${number(value, value < 10 ? 1 : 0)} s`;
}

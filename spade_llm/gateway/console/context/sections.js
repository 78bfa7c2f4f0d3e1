// The context of an answer, taken apart: sections behind `## ` headings, and what they cost. Pure.

const PARTS = [
  ["documents", /document|rag\b/i],
  ["tools", /tool|herramienta/i],
  ["history", /histor|conversa/i],
];

/**
 * @param {string} text `## ` sections, as the API's context_text
 * @param {number} tokens of the whole
 * @returns {{title, body, part, tokens}[]} tokens add up to those of the whole; `part` is history,
 *   memory, documents or tools
 */
export function sections(text, tokens) {
  const found = [];
  for (const piece of text.split(/^(?=## )/m)) {
    if (!piece.trim()) continue;
    const [, title, body] = /^(?:## ([^\n]*)\n?)?([^]*)$/.exec(piece);
    found.push({ title: title ?? "", body: body.trim(), part: partOf(title ?? ""), size: piece.length });
  }
  return shared(found, tokens);
}

/** Tokens of each part, those that there are, in the order of a bar. */
export function parts(all) {
  return ["history", "memory", "documents", "tools"]
    .map((part) => ({ part, tokens: sum(all.filter((one) => one.part === part)) }))
    .filter(({ tokens }) => tokens > 0);
}

function partOf(title) {
  return PARTS.find(([, pattern]) => pattern.test(title))?.[0] ?? "memory";
}

/** By length: who counts tokens counts only the whole. What rounding leaves goes to the longest. */
function shared(found, tokens) {
  const whole = found.reduce((size, one) => size + one.size, 0) || 1;
  const all = found.map(({ size, ...one }) => ({ ...one, tokens: Math.floor((tokens * size) / whole) }));
  const rest = tokens - sum(all);
  if (rest) all.reduce((a, b) => (b.tokens > a.tokens ? b : a)).tokens += rest;
  return all;
}

function sum(all) {
  return all.reduce((tokens, one) => tokens + one.tokens, 0);
}

// What is inside a line of Markdown: code, emphasis, links. Builds nodes; never markup from text.

import { el } from "./dom.js";

const SPECIAL = /[\\`*_~[\n]|https?:\/\//g;
const ADDRESS = /https?:\/\/[^\s<>"'`]+/y;
const TARGET = /\(\s*<?([^\s<>()]*(?:\([^\s()]*\)[^\s<>()]*)*)>?(?:\s+"[^"]*")?\s*\)/y;
const LINKED = new Set(["http:", "https:", "mailto:"]);
const MAX_DEPTH = 6;
const MAX_LABEL = 1000;

/** @returns {Array<Node|string>} */
export function inline(text, depth = 0) {
  const found = [];
  const hopeless = new Set(); // delimiters that nothing closes from here on
  let at = 0;
  const take = (upTo) => upTo > at && found.push(text.slice(at, upTo));
  for (let special = nextSpecial(text, 0); special; special = nextSpecial(text, special.next)) {
    const piece = depth < MAX_DEPTH ? pieceAt(text, special.index, depth, hopeless) : null;
    special.next = special.index + special.length;
    if (!piece) continue;
    take(special.index);
    found.push(...[piece.node].flat());
    at = piece.end;
    special.next = Math.max(at, special.index + 1);
  }
  take(text.length);
  return found;
}

function nextSpecial(text, from) {
  SPECIAL.lastIndex = from;
  const match = SPECIAL.exec(text);
  if (!match) return null;
  const mark = match[0];
  return { index: match.index, length: /^h/.test(mark) ? mark.length : runLength(text, match.index) };
}

function runLength(text, at) {
  let end = at + 1;
  if (!/[`*_~]/.test(text[at])) return 1;
  while (text[end] === text[at]) end += 1;
  return end - at;
}

function pieceAt(text, at, depth, hopeless) {
  switch (text[at]) {
    case "\\":
      return escaped(text, at);
    case "\n":
      return { node: el("br"), end: at + 1 };
    case "`":
      return code(text, at, hopeless);
    case "[":
      return link(text, at, depth);
    case "h":
      return bareAddress(text, at);
    default:
      return emphasis(text, at, depth, hopeless);
  }
}

function escaped(text, at) {
  const next = text[at + 1] ?? "";
  return /[!-/:-@[-`{-~]/.test(next) ? { node: next, end: at + 2 } : null;
}

function code(text, at, hopeless) {
  const size = runLength(text, at);
  const closing = closingRun(text, at + size, size, hopeless);
  if (closing < 0) return null;
  const inside = text.slice(at + size, closing).replaceAll("\n", " ");
  const isPadded = inside.startsWith(" ") && inside.endsWith(" ") && inside.trim();
  return { node: el("code", null, isPadded ? inside.slice(1, -1) : inside), end: closing + size };
}

function closingRun(text, from, size, hopeless) {
  const key = `\`${size}`;
  if (hopeless.has(key)) return -1;
  for (let at = text.indexOf("`", from); at >= 0; ) {
    const length = runLength(text, at);
    if (length === size) return at;
    at = text.indexOf("`", at + length);
  }
  hopeless.add(key);
  return -1;
}

const TAGS = { "*": "em", _: "em", "**": "strong", __: "strong", "~~": "del" };

function emphasis(text, at, depth, hopeless) {
  const mark = text[at].repeat(Math.min(2, runLength(text, at)));
  if (!(mark in TAGS) || !opens(text, at, mark)) return null;
  const closing = closingMark(text, at + mark.length, mark, hopeless);
  if (closing < 0) return null;
  const inside = inline(text.slice(at + mark.length, closing), depth + 1);
  return { node: el(TAGS[mark], null, inside), end: closing + mark.length };
}

/** Not within a word, nor in `2*3*4`: people write both without meaning emphasis. */
function opens(text, at, mark) {
  const isWithin = /\w/.test(text[at - 1] ?? " ");
  return /\S/.test(text[at + mark.length] ?? " ") && !(isWithin && (mark === "*" || mark[0] === "_"));
}

function closingMark(text, from, mark, hopeless) {
  if (hopeless.has(mark)) return -1;
  for (let at = text.indexOf(mark, from); at >= 0; ) {
    const length = runLength(text, at);
    const last = at + length - mark.length;
    if (last > from - 1 && closes(text, at, last, mark, length)) return last;
    at = text.indexOf(mark, at + length);
  }
  hopeless.add(mark);
  return -1;
}

function closes(text, at, last, mark, length) {
  if (!/\S/.test(text[at - 1] ?? " ")) return false;
  if (mark[0] === "_" && /\w/.test(text[last + mark.length] ?? " ")) return false;
  return mark.length === 2 || length % 2 === 1;
}

function link(text, at, depth) {
  const close = closingBracket(text, at);
  if (close < 0) return null;
  TARGET.lastIndex = close + 1;
  const match = TARGET.exec(text);
  if (!match) return null;
  const label = inline(text.slice(at + 1, close), depth + 1);
  const node = linkTo(match[1], label);
  return node && { node, end: TARGET.lastIndex };
}

function closingBracket(text, at) {
  let open = 0;
  for (let i = at; i < Math.min(text.length, at + MAX_LABEL); i += 1) {
    if (text[i] === "\\") i += 1;
    else if (text[i] === "[") open += 1;
    else if (text[i] === "]" && (open -= 1) === 0) return i;
  }
  return -1;
}

function bareAddress(text, at) {
  if (/\w/.test(text[at - 1] ?? " ")) return null;
  ADDRESS.lastIndex = at;
  const match = ADDRESS.exec(text);
  if (!match) return null;
  let end = match[0].length;
  while (".,;:!?*_~]".includes(match[0][end - 1])) end -= 1;
  let address = match[0].slice(0, end);
  if (address.endsWith(")") && !address.includes("(")) address = address.slice(0, -1);
  const node = linkTo(address, [address]);
  return node && { node, end: at + address.length };
}

/** Null for anything but the web and mail: `javascript:` and its kin stay text. */
function linkTo(address, label) {
  let url = null;
  try {
    url = new URL(address);
  } catch {
    return null; // no address by itself
  }
  if (!LINKED.has(url.protocol)) return null;
  return el("a", { href: url.href, target: "_blank", rel: "noopener noreferrer" }, label);
}

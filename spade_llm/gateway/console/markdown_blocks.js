// The blocks of a Markdown text: paragraphs, headings, lists, quotes, code, tables. Pure, linear.

// Every pattern here takes linear time on whatever it is given: texts come from anybody.
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*)$/;
const RULE = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?: +(.*))?$/;
const TABLE_CELL = /^:?-+:?$/;
const MAX_DEPTH = 8; // of lists and quotes in each other; deeper is text

/**
 * @returns {Array<object>} each has `kind`, and `source`, which tells whether it is still the same:
 *   paragraph {text} · heading {level, text} · code {language, text} · rule · quote {blocks} ·
 *   list {start: number or null, isTight, items: blocks[]} · table {aligns, head, rows: text[][]}
 */
export function blocksOf(text, depth = 0) {
  const lines = text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n");
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (!lines[at].trim()) {
      at += 1;
      continue;
    }
    const [block, next] = blockAt(lines, at, depth);
    blocks.push({ ...block, source: lines.slice(at, next).join("\n") });
    at = next;
  }
  return blocks;
}

function blockAt(lines, at, depth) {
  const line = lines[at];
  if (FENCE.test(line)) return codeAt(lines, at);
  const heading = HEADING.exec(line);
  if (heading) return [{ kind: "heading", level: heading[1].length, text: withoutClosing(heading[2]) }, at + 1];
  if (RULE.test(line)) return [{ kind: "rule" }, at + 1];
  if (isTableAt(lines, at)) return tableAt(lines, at);
  if (depth < MAX_DEPTH && QUOTE.test(line)) return quoteAt(lines, at, depth);
  if (depth < MAX_DEPTH && ITEM.test(line)) return listAt(lines, at, depth);
  return paragraphAt(lines, at, depth);
}

/** `## Title ##` is "Title". */
function withoutClosing(text) {
  let end = text.trimEnd().length;
  while (end > 0 && text[end - 1] === "#") end -= 1;
  return text.slice(0, end).trim();
}

function codeAt(lines, at) {
  const [, fence, told] = FENCE.exec(lines[at]);
  const [language] = told.trim().split(" ");
  const closing = new RegExp(`^ {0,3}${fence[0]}{${fence.length},}\\s*$`);
  let end = at + 1;
  while (end < lines.length && !closing.test(lines[end])) end += 1;
  const indent = /^ */.exec(lines[at])[0].length;
  const text = lines.slice(at + 1, end).map((line) => line.replace(new RegExp(`^ {0,${indent}}`), ""));
  return [{ kind: "code", language, text: text.join("\n") }, Math.min(end + 1, lines.length)];
}

function quoteAt(lines, at, depth) {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ""));
  return [{ kind: "quote", blocks: blocksOf(inner.join("\n"), depth + 1) }, end];
}

function listAt(lines, at, depth) {
  const isOrdered = /\d/.test(ITEM.exec(lines[at])[2]);
  const items = [];
  let [end, isTight] = [at, true];
  while (end < lines.length) {
    const item = ITEM.exec(lines[end]);
    if (!item || /\d/.test(item[2]) !== isOrdered || RULE.test(lines[end])) break;
    const [inner, next] = itemAt(lines, end, item);
    items.push(blocksOf(inner, depth + 1));
    const after = nextFilled(lines, next);
    if (after > next && after < lines.length && ITEM.test(lines[after])) isTight = false;
    end = after < lines.length && ITEM.test(lines[after]) ? after : next;
  }
  const start = isOrdered ? parseInt(ITEM.exec(lines[at])[2], 10) : null;
  return [{ kind: "list", start, isTight, items }, end];
}

/** The lines of one item, without its indent, and where it ends. */
function itemAt(lines, at, [, before, marker, first = ""]) {
  const indent = before.length + marker.length + 1;
  const inner = [first];
  let end = at + 1;
  while (end < lines.length) {
    const line = lines[end];
    const own = /^ */.exec(line)[0].length >= Math.min(indent, 2 + before.length);
    if (!line.trim()) {
      const after = nextFilled(lines, end);
      if (after >= lines.length || /^ */.exec(lines[after])[0].length < indent) break;
    } else if (!own && (startsBlock(line) || !inner.at(-1).trim())) break;
    inner.push(line.replace(new RegExp(`^ {0,${indent}}`), ""));
    end += 1;
  }
  return [inner.join("\n"), end];
}

function nextFilled(lines, at) {
  while (at < lines.length && !lines[at].trim()) at += 1;
  return at;
}

function isTableAt(lines, at) {
  if (!lines[at].includes("|") || !(lines[at + 1] ?? "").includes("|")) return false;
  const rule = cells(lines[at + 1]);
  return rule.every((cell) => TABLE_CELL.test(cell)) && cells(lines[at]).length === rule.length;
}

function tableAt(lines, at) {
  const aligns = cells(lines[at + 1]).map((cell) => {
    if (cell.endsWith(":")) return cell.startsWith(":") ? "center" : "end";
    return "start";
  });
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|")) end += 1;
  const rows = lines.slice(at + 2, end).map((line) => cells(line).slice(0, aligns.length));
  return [{ kind: "table", aligns, head: cells(lines[at]), rows }, end];
}

function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function paragraphAt(lines, at, depth) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim()) {
    if (depth < MAX_DEPTH && startsBlock(lines[end])) break;
    end += 1;
  }
  return [{ kind: "paragraph", text: lines.slice(at, end).map((line) => line.trimStart()).join("\n") }, end];
}

function startsBlock(line) {
  return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);
}

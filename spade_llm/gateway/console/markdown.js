// Markdown as nodes, safe for text from anywhere: no HTML, no images, links to the web and mail only.

import { copyButton } from "./components/copy.js";
import { el } from "./dom.js";
import { texts } from "./i18n.js";
import { inline } from "./markdown_inline.js";
import { blocksOf } from "./markdown_blocks.js";

const t = texts({ en: { table: "Table" }, es: { table: "Tabla" } });

/** A text that may grow: what has not changed keeps its nodes, its selection and its place. */
export class Prose {
  #shown = []; // [{source, node}]

  constructor() {
    this.node = el("div", { class: "prose" });
  }

  show(text) {
    const blocks = outlined(blocksOf(text));
    let same = 0;
    while (same < blocks.length && this.#shown[same]?.source === blocks[same].source) same += 1;
    for (const { node } of this.#shown.splice(same)) node.remove();
    for (const block of blocks.slice(same)) {
      const node = nodeOf(block);
      this.#shown.push({ source: block.source, node });
      this.node.append(node);
    }
  }
}

export function prose(text) {
  const whole = new Prose();
  whole.show(text);
  return whole.node;
}

const BUILDERS = {
  paragraph: ({ text }) => el("p", null, inline(text)),
  // Below the page's own heading, and none left out: how large one is says its class.
  heading: ({ level, depth = 1, text }) => el(`h${Math.min(depth + 1, 6)}`, { class: `is-h${level}` }, inline(text)),
  code: ({ language, text }) => codeBlock(text, language),
  rule: () => el("hr"),
  quote: ({ blocks }) => el("blockquote", null, blocks.map(nodeOf)),
  list: ({ start, isTight, items }) => {
    const children = items.map((blocks) => el("li", null, blocks.map((one) => inItem(one, isTight))));
    if (start === null) return el("ul", null, children);
    return el("ol", { start: start === 1 ? null : start }, children);
  },
  table: ({ aligns, head, rows }) => {
    const row = (tag, texts) => texts.map((text, at) => el(tag, { class: `is-${aligns[at]}` }, inline(text)));
    return el(
      "div",
      { class: "prose-table", role: "region", "aria-label": t("table"), tabindex: "0" },
      el(
        "table",
        null,
        el("thead", null, el("tr", null, row("th", head))),
        el("tbody", null, rows.map((texts) => el("tr", null, row("td", texts)))),
      ),
    );
  },
};

/** With the `depth` of each heading: how many it stands below, itself included. */
function outlined(blocks) {
  const above = [];
  for (const block of blocks.filter((one) => one.kind === "heading")) {
    while (above.at(-1) >= block.level) above.pop();
    block.depth = above.push(block.level);
  }
  return blocks;
}

function nodeOf(block) {
  return BUILDERS[block.kind](block);
}

function inItem(block, isTight) {
  return isTight && block.kind === "paragraph" ? inline(block.text) : nodeOf(block);
}

export function codeBlock(text, language = "") {
  const head = el("figcaption", null, el("span", null, language), copyButton(() => text));
  const look = language ? "code" : "code is-plain";
  return el("figure", { class: look }, head, el("pre", { tabindex: "0" }, el("code", null, text)));
}

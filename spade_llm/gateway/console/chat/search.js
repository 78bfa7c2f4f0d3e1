// Search in the conversation: hits are painted over the text, which is not touched.

import { iconButton } from "../components/button.js";
import { el, fill } from "../dom.js";
import { t } from "./texts.js";

const ALL = "found";
const NOW = "found-now";
const MOST = 1000; // hits that are painted

export class Search {
  #root;
  #hits = [];
  #at = 0;
  #count = el("span", { class: "find-count", role: "status" });
  #input = el("input", { class: "input", type: "search", "aria-label": t("find"), placeholder: t("find") });
  #opener = null;

  /** In the text of `root`. */
  constructor(root) {
    this.#root = root;
    this.node = el(
      "search",
      { class: "find", hidden: true },
      this.#input,
      this.#count,
      iconButton({ label: t("findPrevious"), icon: "up", on: () => this.#go(-1) }),
      iconButton({ label: t("findNext"), icon: "down", on: () => this.#go(1) }),
      iconButton({ label: t("close"), icon: "close", on: () => this.close() }),
    );
    this.#input.addEventListener("input", () => this.#look());
    this.node.addEventListener("keydown", (event) => this.#press(event));
  }

  open() {
    if (this.node.hidden) this.#opener = document.activeElement;
    this.node.hidden = false;
    this.#input.select();
    this.#input.focus();
    this.refresh();
  }

  close() {
    if (this.node.hidden) return;
    this.node.hidden = true;
    paint([], -1);
    if (this.#opener?.isConnected) this.#opener.focus();
  }

  /** After the text changed. */
  refresh() {
    if (!this.node.hidden) this.#look(this.#at);
  }

  #press(event) {
    if (event.key === "Escape") {
      event.stopPropagation();
      this.close();
    } else if (event.key === "Enter" && event.target === this.#input) this.#go(event.shiftKey ? -1 : 1);
  }

  #look(at = null) {
    this.#hits = hitsIn(this.#root, this.#input.value);
    this.#at = Math.min(at ?? this.#hits.length - 1, this.#hits.length - 1); // the latest first
    this.#show(at === null);
  }

  #go(step) {
    const { length } = this.#hits;
    if (!length) return;
    this.#at = (this.#at + step + length) % length;
    this.#show(true);
  }

  #show(isScrolling) {
    const none = this.#input.value ? t("findNone") : "";
    fill(this.#count, this.#hits.length ? t("findCount", this.#at + 1, this.#hits.length) : none);
    paint(this.#hits, this.#at);
    if (isScrolling) this.#hits[this.#at]?.startContainer.parentElement.scrollIntoView({ block: "center" });
  }
}

/** Ranges, in order. Upper and lower case are the same. */
function hitsIn(root, text) {
  const wanted = text.toLowerCase();
  const hits = [];
  if (!wanted) return hits;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() && hits.length < MOST) {
    const said = walker.currentNode.data.toLowerCase();
    for (let at = said.indexOf(wanted); at >= 0; at = said.indexOf(wanted, at + wanted.length)) {
      hits.push(rangeIn(walker.currentNode, at, wanted.length));
    }
  }
  return hits;
}

function rangeIn(node, at, length) {
  const range = new Range();
  range.setStart(node, Math.min(at, node.length));
  range.setEnd(node, Math.min(at + length, node.length)); // lower case may be longer
  return range;
}

function paint(hits, at) {
  if (!("highlights" in CSS)) return; // an older browser scrolls to the hit only
  CSS.highlights.set(ALL, new Highlight(...hits));
  CSS.highlights.set(NOW, new Highlight(...hits.slice(at, at + 1)));
}

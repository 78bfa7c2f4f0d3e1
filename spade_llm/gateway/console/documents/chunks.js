// Passages of documents, with how well each one fits, and the name of a passage.

import { foldable } from "../components/folded.js";
import { scoreBar } from "../components/score_bar.js";
import { el } from "../dom.js";
import { t } from "./texts.js";

/** As answers quote it: "contract.md, passage 2"; `isShort`: without its folders. `chunk`: of rag_sources. */
export function passageName({ metadata, chunk_index }, { isShort = false } = {}) {
  const source = isShort ? metadata.source.split("/").at(-1) : metadata.source;
  return `${source}, ${t("passage", chunk_index + 1)}`;
}

/** `chunks`: as the API's rag_sources: content, metadata, score. */
export function chunkList(chunks) {
  return el("ol", { class: "chunk-list" }, chunks.map(item));
}

function item(chunk) {
  const { content, metadata, score } = chunk;
  const { namespace, page, heading } = metadata;
  const place = [namespace, page && t("pageOf", page)].filter(Boolean);
  return el(
    "li",
    { class: "chunk" },
    el(
      "div",
      { class: "chunk-head" },
      el("b", { class: "chunk-source", title: passageName(chunk) }, passageName(chunk)),
      el("span", { class: "hint" }, place.join(" · ")),
      scoreBar(score),
    ),
    heading && el("p", { class: "chunk-heading" }, heading),
    foldable(content),
  );
}

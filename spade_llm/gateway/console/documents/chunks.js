// Passages of documents, with how well each one fits.

import { foldable } from "../components/folded.js";
import { scoreBar } from "../components/score_bar.js";
import { el } from "../dom.js";
import { t } from "./texts.js";

/** `chunks`: as the API's rag_sources: content, metadata, score. */
export function chunkList(chunks) {
  return el("ol", { class: "chunk-list" }, chunks.map(item));
}

function item({ content, metadata, score }) {
  const { source, namespace, page, heading, chunk_index } = metadata;
  const place = [namespace, page && t("pageOf", page), t("chunk", chunk_index)].filter(Boolean);
  return el(
    "li",
    { class: "chunk" },
    el(
      "div",
      { class: "chunk-head" },
      el("b", { class: "chunk-source", title: source }, source),
      el("span", { class: "hint" }, place.join(" · ")),
      scoreBar(score),
    ),
    heading && el("p", { class: "chunk-heading" }, heading),
    foldable(content),
  );
}

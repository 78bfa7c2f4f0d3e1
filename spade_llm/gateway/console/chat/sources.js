// The passages that an answer was built from: names below it, texts in the panel.

import { scoreBar } from "../components/score_bar.js";
import { el } from "../dom.js";
import { icon } from "../icons.js";
import { t } from "./texts.js";

/** `open`(sources, index) shows a passage. Null where there are none. */
export function sourceLinks(sources, open) {
  if (!sources?.length) return null;
  const links = sources.map((source, index) =>
    el(
      "button",
      {
        type: "button",
        class: "source-link",
        "aria-label": t("source", nameOf(source)),
        title: nameOf(source),
        on: { click: () => open(sources, index) },
      },
      icon("documents"),
      el("span", null, shortName(source, sources)),
    ),
  );
  return el("div", { class: "source-links", role: "group", "aria-label": t("sources") }, links);
}

/** All passages, the chosen one first to be seen. */
export function passages(sources, chosen) {
  return sources.map((source, index) =>
    el(
      "article",
      { class: `passage ${index === chosen ? "is-chosen" : ""}`, tabindex: index === chosen ? "-1" : null },
      el("h3", null, nameOf(source)),
      el("p", { class: "hint" }, placeOf(source)),
      scoreBar(source.score),
      el("p", { class: "passage-text" }, source.content),
    ),
  );
}

function nameOf({ metadata }) {
  return metadata.source;
}

/** Without folders; with the passage where several are of one document. */
function shortName(source, all) {
  const name = nameOf(source).split("/").at(-1);
  const isOnly = all.filter((one) => nameOf(one) === nameOf(source)).length === 1;
  return isOnly ? name : `${name}, ${t("passage", source.chunk_index)}`;
}

function placeOf({ metadata, chunk_index: index }) {
  const { namespace, page, heading } = metadata;
  return [namespace, heading, page && t("page", page), t("passage", index)].filter(Boolean).join(" · ");
}

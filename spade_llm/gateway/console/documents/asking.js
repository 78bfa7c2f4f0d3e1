// Two ways to ask documents something: for their passages, or for an answer written from them.

import { post } from "../api.js";
import { button } from "../components/button.js";
import { field, input, select } from "../components/fields.js";
import { empty, failed, skeleton } from "../components/states.js";
import { el, fill } from "../dom.js";
import { isStopped } from "../errors.js";
import { number } from "../i18n.js";
import { prose } from "../markdown.js";
import { chunkList } from "./chunks.js";
import { t } from "./texts.js";

const HOW_MANY = ["3", "5", "10", "20"];
const ANSWER_MS = 120_000; // a model writes it

export function searchPanel(names, signal) {
  const find = async (query, top_k, namespace) => {
    const body = { query, top_k, namespaces: namespace ? [namespace] : null };
    const { chunks } = await post("api/v0/retrieve", body, { signal });
    if (!chunks.length) return empty({ icon: "search", title: t("nothing"), text: t("nothingText") });
    return [el("p", { class: "hint", role: "status" }, t("found", number(chunks.length))), chunkList(chunks)];
  };
  const first = empty({ icon: "search", title: t("searchFirst"), text: t("searchFirstText") });
  return panel({ label: t("query"), go: t("go"), icon: "search", names, ask: find, first });
}

export function answerPanel(names, signal) {
  const answer = async (query, top_k, namespace) => {
    const body = { query, top_k, namespace: namespace || null };
    const told = await post("llm/rag/query", body, { signal, deadlineMs: ANSWER_MS });
    return [
      el("div", { class: "card answer", role: "status" }, prose(told.answer || told.error_message)),
      told.sources.length > 0 && el("h2", null, t("sources")),
      chunkList(told.sources),
    ];
  };
  const first = empty({ icon: "documents", title: t("askFirst"), text: t("askFirstText") });
  return panel({ label: t("question"), go: t("askGo"), icon: "send", names, ask: answer, first });
}

function panel({ label, go, icon, names, ask, first }) {
  const query = input({ type: "search", maxlength: 2000 });
  const where = select({ options: [["", t("everywhere")], ...names.map((name) => [name, name])], value: "" });
  const many = select({ options: HOW_MANY.map((n) => [n, n]), value: "5" });
  const result = el("div", { class: "asked" }, first);
  let latest = 0;

  async function run() {
    const text = query.value.trim();
    if (!text) return query.focus();
    const mine = ++latest;
    fill(result, skeleton(4));
    const shown = await ask(text, Number(many.value), where.value).catch((error) => {
      return isStopped(error) ? null : failed(error, run);
    });
    if (mine === latest) fill(result, shown);
  }

  const submit = (event) => {
    event.preventDefault();
    run();
  };
  return [
    el(
      "form",
      { class: "ask-form", on: { submit } },
      field(label, query),
      field(t("where"), where),
      field(t("howMany"), many),
      button({ label: go, icon, kind: "primary", type: "submit" }),
    ),
    result,
  ];
}

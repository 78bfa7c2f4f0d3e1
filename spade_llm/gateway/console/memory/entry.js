// One memory: what it says, where it comes from; corrected in place, or forgotten.

import { patch, remove } from "../api.js";
import { button, iconButton } from "../components/button.js";
import { confirmed } from "../components/dialog.js";
import { scoreBar } from "../components/score_bar.js";
import { toast } from "../components/toast.js";
import { el, fill } from "../dom.js";
import { explain } from "../errors.js";
import { ago, fully, moment, number } from "../i18n.js";
import { t } from "./texts.js";

const ORIGINS = new Set(["told", "extracted", "episode", "consolidated", "pattern"]);
const LATER_MS = 1000; // a correction, not the moment of making

/**
 * @param {object} entry of GET /api/v0/memories; without an id it is a message, which only shows
 * @param {{score?: number, showsType?: boolean, onForgotten: () => void}} options
 */
export function entryItem(entry, options) {
  const node = el("li", { class: "memory-item" });
  show(node, entry, options);
  return node;
}

function show(node, entry, options) {
  const acts = [
    iconButton({ label: t("edit"), icon: "edit", on: () => edit(node, entry, options) }),
    iconButton({ label: t("forget"), icon: "trash", on: () => forget(node, entry, options) }),
  ];
  fill(
    node,
    el(
      "div",
      { class: "memory-main" },
      el("p", { class: "memory-content" }, entry.content),
      el("p", { class: "memory-meta" }, meta(entry, options)),
    ),
    entry.id && el("div", { class: "memory-acts" }, acts),
  );
}

function meta(entry, { score, showsType }) {
  return [
    score !== undefined && scoreBar(score),
    showsType && el("span", { class: `tag is-${entry.type}` }, t(entry.type)),
    el("time", { datetime: entry.created_at, title: fully(entry.created_at) }, ago(entry.created_at)),
    entry.invalid_at && el("span", { title: fully(entry.invalid_at) }, t("ended", ago(entry.invalid_at))),
    !entry.invalid_at && wasCorrected(entry) && el("span", { title: fully(entry.updated_at) }, t("updated", ago(entry.updated_at))),
    ORIGINS.has(entry.origin) && el("span", null, t(`origin.${entry.origin}`)),
    entry.confidence < 1 && el("span", null, t("confidence", `${number(entry.confidence * 100, 0)} %`)),
    entry.session_id &&
      el("a", { href: `#/chat/${encodeURIComponent(entry.session_id)}`, title: t("open") }, t("conversation")),
  ];
}

function wasCorrected(entry) {
  return entry.updated_at && moment(entry.updated_at) - moment(entry.created_at) > LATER_MS;
}

function edit(node, entry, options) {
  const rows = Math.min(12, Math.ceil(entry.content.length / 70) + 1);
  const area = el("textarea", { class: "input", rows, "aria-label": t("content") });
  area.value = entry.content;
  const back = (now) => {
    show(node, now, options);
    node.querySelector(".memory-acts button").focus();
  };
  const save = button({ label: t("save"), kind: "primary", on: () => correct(area.value.trim()) });
  const cancel = button({ label: t("cancel"), on: () => back(entry) });

  async function correct(content) {
    if (!content || content === entry.content) return back(entry);
    save.disabled = true;
    try {
      back({ ...entry, ...(await patch(`api/v0/memories/${encodeURIComponent(entry.id)}`, { content })) });
      toast(t("saved"));
    } catch (error) {
      save.disabled = false;
      toast(explain(error), { kind: "failed" });
    }
  }

  area.addEventListener("keydown", (event) => {
    if (event.key === "Escape") back(entry);
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) correct(area.value.trim());
  });
  fill(node, el("div", { class: "memory-edit" }, area, el("div", { class: "memory-edit-acts" }, cancel, save)));
  area.focus();
}

async function forget(node, entry, { onForgotten }) {
  if (!(await confirmed({ title: t("forgetTitle"), text: entry.content, yes: t("forgetYes") }))) return;
  try {
    await remove(`api/v0/memories/${encodeURIComponent(entry.id)}`);
  } catch (error) {
    toast(explain(error), { kind: "failed" });
    return;
  }
  node.remove();
  toast(t("forgotten"));
  onForgotten();
}

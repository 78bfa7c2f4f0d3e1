// Namespaces and their documents, in pages.

import { get, remove } from "../api.js";
import { button, iconButton } from "../components/button.js";
import { confirmed } from "../components/dialog.js";
import { empty, failed, skeleton } from "../components/states.js";
import { table } from "../components/table.js";
import { toast } from "../components/toast.js";
import { el, fill } from "../dom.js";
import { explain, isStopped } from "../errors.js";
import { ago, fully, number } from "../i18n.js";
import { t } from "./texts.js";

const PAGE = 20;

/** Event: "changed": `namespaces` and `chosen` may be others now. */
export class Library extends EventTarget {
  namespaces = [];
  chosen = ""; // a namespace; "": all
  #offset = 0;
  #signal;
  #chips = el("div", { class: "chips", role: "group", "aria-label": t("namespaces") });
  #about = el("div", { class: "namespace-about" });
  #list = el("div", null, skeleton(4));
  #shared = el("section", { class: "shared", "aria-label": t("shared") });

  constructor(signal) {
    super();
    this.#signal = signal;
    this.node = el("div", { class: "library" }, this.#chips, this.#about, this.#list, this.#shared);
  }

  async load() {
    const signal = this.#signal;
    const query = { namespace: this.chosen, limit: PAGE, offset: this.#offset };
    try {
      const [{ namespaces }, page, others] = await Promise.all([
        get("llm/rag/namespaces", { signal }),
        get("llm/rag/documents", { query, signal }),
        get("api/v0/documents", { signal }),
      ]);
      this.namespaces = namespaces;
      fill(this.#shared, sharedWithYou(others));
      if (this.#offset && !page.documents.length) await this.#show(this.chosen, this.#offset - PAGE);
      else this.#draw(page);
    } catch (error) {
      if (isStopped(error)) return;
      if (error.kind === "missing" && this.chosen) await this.#show(""); // its last document is gone
      else fill(this.#list, failed(error, () => this.load()));
    }
  }

  #show(namespace, offset = 0) {
    [this.chosen, this.#offset] = [namespace, Math.max(0, offset)];
    return this.load();
  }

  #draw(page) {
    const chips = this.namespaces.map((one) => this.#chip(one.name, one.name, one.document_count));
    fill(this.#chips, this.#chip("", t("all")), chips);
    this.#chips.hidden = !this.namespaces.length;
    fill(this.#about, this.#aboutChosen());
    const none = empty({ icon: "documents", title: t("none"), text: t("noneText") });
    fill(this.#list, page.documents.length ? [this.#table(page.documents), this.#pages(page)] : none);
    this.dispatchEvent(new Event("changed"));
  }

  #chip(name, label, count = null) {
    const choose = () => this.#show(name);
    const attributes = { type: "button", class: "chip", "aria-pressed": String(this.chosen === name) };
    const figure = count !== null && el("b", { class: "chip-count" }, number(count));
    return el("button", { ...attributes, on: { click: choose } }, label, figure);
  }

  #aboutChosen() {
    const one = this.namespaces.find(({ name }) => name === this.chosen);
    const meant = one ? [one] : this.namespaces;
    if (!meant.length) return null;
    const sum = (name) => number(meant.reduce((all, each) => all + each[name], 0));
    const counts = `${t("documents", sum("document_count"))} · ${t("found", sum("chunk_count"))}`;
    if (!one) return el("p", { class: "hint" }, counts);
    return [
      el("p", { class: "hint" }, `${counts} · ${t("updated", ago(one.last_updated))}`),
      button({ label: t("deleteNamespace"), icon: "trash", on: () => this.#deleteNamespace(one) }),
    ];
  }

  #table(documents) {
    const forget = (one) =>
      iconButton({ label: t("deleteDocument", one.source), icon: "trash", on: () => this.#deleteDocument(one) });
    const acts = { title: el("span", { class: "unseen" }, t("acts")), class: "is-acts", cell: forget };
    return table({ caption: t("library"), columns: [...columns(), acts], rows: documents });
  }

  #pages({ offset, documents, total_count, has_more }) {
    if (!has_more && !offset) return null;
    const turn = (to) => () => this.#show(this.chosen, to);
    return el(
      "nav",
      { class: "pages" },
      iconButton({ label: t("before"), icon: "back", disabled: !offset, on: turn(offset - PAGE) }),
      el("span", { role: "status" }, t("page", offset + 1, offset + documents.length, number(total_count))),
      iconButton({ label: t("after"), icon: "next", disabled: !has_more, on: turn(offset + PAGE) }),
    );
  }

  async #deleteDocument({ source, namespace }) {
    const question = { title: t("deleteDocumentTitle"), text: `${source} (${namespace})`, yes: t("deleteYes") };
    if (!(await confirmed(question))) return;
    await this.#delete(() => remove("api/v0/documents", { query: { namespace, source } }), t("deleted"));
  }

  async #deleteNamespace({ name, document_count }) {
    const text = t("deleteNamespaceText", document_count);
    const question = { title: t("deleteNamespaceTitle", name), text, yes: t("deleteYes"), word: name };
    if (!(await confirmed(question))) return;
    const path = `llm/rag/namespace/${encodeURIComponent(name)}`;
    await this.#delete(() => remove(path), t("namespaceDeleted", name));
  }

  async #delete(act, words) {
    try {
      await act();
      toast(words);
    } catch (error) {
      toast(explain(error), { kind: "failed" });
    }
    await this.load();
  }
}

function columns() {
  const added = (iso) => el("time", { datetime: iso, title: fully(iso) }, ago(iso));
  return [
    { title: t("document"), class: "is-name", cell: (one) => el("span", { title: one.source }, one.source) },
    { title: t("namespace"), cell: (one) => one.namespace },
    { title: t("chunks"), isNumber: true, cell: (one) => number(one.chunk_count) },
    { title: t("added"), class: "is-when", cell: (one) => added(one.uploaded_at) },
  ];
}

/** What answers quote to everybody; it is not this person's to delete. */
function sharedWithYou({ shared, shared_count: count }) {
  if (!count) return null;
  return [
    el("h2", null, t("shared")),
    el("p", { class: "hint" }, t("sharedHint")),
    table({ caption: t("shared"), columns: columns(), rows: shared }),
    count > shared.length && el("p", { class: "hint" }, t("sharedMore", number(count - shared.length))),
  ];
}

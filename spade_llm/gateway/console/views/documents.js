// Documents: what there is, what is put in, and what is found in it.

import { tabs } from "../components/tabs.js";
import { el, fill } from "../dom.js";
import { answerPanel, searchPanel } from "../documents/asking.js";
import { Library } from "../documents/library.js";
import { t } from "../documents/texts.js";
import { Uploads } from "../documents/uploads.js";

export const icon = "documents";
export const title = () => t("title");

export function mount(root, app) {
  const library = new Library(app.signal);
  const uploads = new Uploads();
  const names = () => library.namespaces.map(({ name }) => name);
  library.addEventListener("changed", () => uploads.showNamespaces(names(), library.chosen));
  uploads.addEventListener("added", () => library.load());
  app.onRecovered(() => library.load());

  const ways = [
    { id: "library", title: t("library"), content: () => [uploads.node, library.node] },
    { id: "search", title: t("search"), content: () => searchPanel(names(), app.signal) },
    { id: "ask", title: t("ask"), content: () => answerPanel(names(), app.signal) },
  ];
  app.heading({ title: t("title"), detail: t("about") });
  fill(root, el("div", { class: "documents-page" }, tabs({ label: t("ways"), tabs: ways })));
  library.load();
}

export function unmount() {}

// The bar above a view: what it is, and what can be done with it.

import { iconButton } from "../components/button.js";
import { el, fill } from "../dom.js";
import { texts } from "../i18n.js";

const t = texts({ en: { menu: "Menu" }, es: { menu: "Menú" } });

export class TopBar {
  #openMenu;
  #title = el("h1", { class: "top-title" });
  #detail = el("p", { class: "top-detail" });
  #actions = el("div", { class: "top-actions" });

  constructor(openMenu) {
    this.#openMenu = openMenu;
    this.node = el("header", { class: "top-bar" });
  }

  draw() {
    const menu = iconButton({ label: t("menu"), icon: "menu", class: "menu-button", on: this.#openMenu });
    fill(this.node, menu, el("div", { class: "top-texts" }, this.#title, this.#detail), this.#actions);
  }

  show({ title, detail = "", actions = [] }) {
    fill(this.#title, title);
    fill(this.#detail, detail);
    this.#detail.hidden = !detail;
    fill(this.#actions, actions);
  }
}

// The menu: views, conversations, and who is asking. On a phone, a drawer.

import { button, iconButton } from "../components/button.js";
import { confirmed } from "../components/dialog.js";
import { failed, skeleton } from "../components/states.js";
import { toast } from "../components/toast.js";
import { el, fill } from "../dom.js";
import { explain } from "../errors.js";
import { ago, fully, language, texts } from "../i18n.js";
import { icon } from "../icons.js";
import { Sessions } from "../sessions.js";
import { store } from "../store.js";
import { uuid } from "../uuid.js";
import { VIEWS } from "../views.js";
import { switchTheme } from "./theme.js";

const t = texts({
  en: {
    menu: "Menu",
    views: "Views",
    conversations: "Conversations",
    start: "New conversation",
    none: "No conversations yet.",
    untitled: "Untitled",
    forget: (title) => `Delete “${title}”`,
    forgetTitle: "Delete this conversation?",
    forgetText: "Its messages, the memories learned from them, and its settings are deleted permanently.",
    forgetYes: "Delete",
    forgotten: "Conversation deleted",
    theme: "Light or dark",
    help: "Keyboard shortcuts",
    nobody: "Not signed in",
    admin: "Administrator",
  },
  es: {
    menu: "Menú",
    views: "Vistas",
    conversations: "Conversaciones",
    start: "Nueva conversación",
    none: "Aquí aparecerá aquello de lo que hables.",
    untitled: "Sin título",
    forget: (title) => `Borrar «${title}»`,
    forgetTitle: "¿Borrar esta conversación?",
    forgetText: "Se borran sus mensajes, lo recordado de ellos y sus ajustes. No se puede deshacer.",
    forgetYes: "Borrar",
    forgotten: "Conversación borrada",
    theme: "Claro u oscuro",
    help: "Atajos de teclado",
    nobody: "Sin identificar",
    admin: "Administrador",
  },
});

export class Sidebar {
  sessions = new Sessions();
  #go;
  #shortcuts;
  #current = { view: "", args: [] };
  #me = null;
  #list = el("ul", { class: "session-list" });
  #notice = el("div", { class: "session-notice" });
  #links = new Map();
  #principal = el("div", { class: "principal" });

  constructor({ go, shortcuts }) {
    this.#go = go;
    this.#shortcuts = shortcuts;
    this.node = el("div", { class: "sidebar" });
    this.node.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
    matchMedia("(max-width: 52rem)").addEventListener("change", () => this.close());
    this.sessions.addEventListener("changed", () => this.#drawSessions());
    shortcuts.add("n", () => t("start"), () => this.#start());
    shortcuts.add("t", () => t("theme"), switchTheme);
    Object.entries(VIEWS).forEach(([name, view], index) => {
      shortcuts.add(String(index + 1), () => view.title(language()), () => go(name));
    });
  }

  draw() {
    const start = button({ label: t("start"), icon: "plus", class: "button new-session", on: () => this.#start() });
    const theme = iconButton({ label: t("theme"), icon: "moon", class: "theme-button", on: switchTheme });
    theme.append(icon("sun"));
    const help = iconButton({ label: t("help"), icon: "help", on: () => this.#shortcuts.show() });
    const veil = el("div", { class: "veil", on: { click: () => this.close() } });
    const brand = el("div", { class: "brand" }, el("span", { class: "brand-mark" }, icon("agents")), "SPADE-LLM");
    fill(
      this.node,
      veil,
      el(
        "aside",
        { class: "drawer", "aria-label": t("menu") },
        brand,
        start,
        el("nav", { "aria-label": t("views") }, this.#menu()),
        el(
          "section",
          { class: "sessions", "aria-label": t("conversations") },
          el("h2", { class: "sidebar-heading" }, t("conversations")),
          this.#notice,
          this.#list,
        ),
        el("footer", { class: "sidebar-foot" }, this.#principal, theme, help),
      ),
    );
    this.showPrincipal(this.#me);
    this.#drawSessions();
  }

  open() {
    this.node.classList.add("is-open");
    this.#setStageInert(true);
    this.node.querySelector("button, a").focus();
  }

  close() {
    if (!this.node.classList.contains("is-open")) return;
    this.node.classList.remove("is-open");
    this.#setStageInert(false);
    document.querySelector(".menu-button")?.focus();
  }

  /** What the drawer covers cannot be reached while it is open. */
  #setStageInert(isInert) {
    if (this.node.nextElementSibling) this.node.nextElementSibling.inert = isInert;
  }

  showCurrent(view, args) {
    this.#current = { view, args };
    for (const [name, link] of this.#links) mark(link, name === view);
    this.#drawSessions();
  }

  showPrincipal(me) {
    this.#me = me;
    const name = me ? me.principal.split("@")[0] : t("nobody");
    fill(
      this.#principal,
      el("span", { class: "avatar", "aria-hidden": "true" }, me ? name.slice(0, 1).toUpperCase() : "·"),
      el(
        "span",
        { class: "principal-texts" },
        el("span", { class: "principal-name", title: me?.principal }, name),
        me?.is_admin && el("span", { class: "principal-role" }, t("admin")),
      ),
    );
  }

  #start() {
    this.#go("chat", uuid());
  }

  #menu() {
    const links = Object.entries(VIEWS).map(([name, view]) => {
      const link = el("a", { class: "menu-link", href: `#/${name}` }, icon(view.icon), view.title(language()));
      this.#links.set(name, link);
      return el("li", null, link);
    });
    return el("ul", { class: "menu" }, links);
  }

  #drawSessions() {
    const { all, error, isLoaded } = this.sessions;
    const focused = this.#list.contains(document.activeElement) && document.activeElement.dataset.key;
    fill(this.#list, all.map((session) => this.#entry(session)));
    if (focused) this.#list.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
    if (error) fill(this.#notice, failed(error, () => this.sessions.load()));
    else if (!isLoaded) fill(this.#notice, skeleton(3));
    else fill(this.#notice, all.length ? [] : el("p", { class: "hint" }, t("none")));
  }

  #entry(session) {
    const title = session.title || t("untitled");
    const isOpen = this.#current.view === "chat" && store.session === session.session_id;
    const link = el(
      "a",
      { class: "session-link", href: `#/chat/${encodeURIComponent(session.session_id)}`, title, data: { key: `open ${session.session_id}` } },
      el("span", { class: "session-title" }, title),
      el("time", { class: "session-time", datetime: session.updated, title: fully(session.updated) }, ago(session.updated)),
    );
    mark(link, isOpen);
    const forget = iconButton({
      label: t("forget", title),
      icon: "trash",
      class: "session-forget",
      data: { key: `forget ${session.session_id}` },
      on: () => this.#forget(session),
    });
    return el("li", { class: "session" }, link, forget);
  }

  async #forget(session) {
    const question = { title: t("forgetTitle"), text: t("forgetText"), yes: t("forgetYes") };
    if (!(await confirmed(question))) return;
    try {
      await this.sessions.remove(session.session_id);
    } catch (error) {
      toast(explain(error), { kind: "failed" });
      return;
    }
    store.setDraft(session.session_id, "");
    toast(t("forgotten"));
    this.node.querySelector(".new-session").focus();
    if (store.session === session.session_id) this.#start();
  }
}

function mark(link, isCurrent) {
  if (isCurrent) link.setAttribute("aria-current", "page");
  else link.removeAttribute("aria-current");
}

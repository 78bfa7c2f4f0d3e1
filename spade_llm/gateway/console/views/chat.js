// Chat: a conversation, where its next message is written, and what can be looked up about it.

import { get } from "../api.js";
import { button, iconButton } from "../components/button.js";
import { menuButton } from "../components/menu.js";
import { empty, failed, skeleton } from "../components/states.js";
import { asJson, asMarkdown, download } from "../chat/export.js";
import { MessageView } from "../chat/message_view.js";
import { Panel } from "../chat/panel.js";
import { PromptBox } from "../chat/prompt_box.js";
import { Search } from "../chat/search.js";
import { passages } from "../chat/sources.js";
import { Switches } from "../chat/switches.js";
import { talkOf } from "../chat/talks.js";
import { t } from "../chat/texts.js";
import { showWhy } from "../chat/why.js";
import { el, fill } from "../dom.js";
import { explain, isStopped } from "../errors.js";
import { openSessionSettings } from "../settings/session_dialog.js";
import { store } from "../store.js";
import { uuid } from "../uuid.js";

const NEAR_PX = 80; // of the end: then what is written is followed

export const icon = "chat";
export const title = () => t("title");

let view = null;
let modelStatus = null;

/** Whether a language model is connected: without one, rules answer. True if the status is unknown. */
function hasModel() {
  modelStatus ??= get("config/status").then(
    ({ services }) => services.llm.provider !== "Offline",
    () => true,
  );
  return modelStatus;
}

export function mount(root, app) {
  const id = app.args[0] || store.session || uuid();
  if (!app.args[0]) {
    queueMicrotask(() => app.replace("chat", id));
    return;
  }
  store.session = id;
  view = new ChatView(root, app, id);
}

export function unmount() {
  view?.end();
  view = null;
}

class ChatView {
  #app;
  #talk;
  #views = new Map(); // by the message's key
  #isFollowing = true;
  #isListed = false;
  #heading = "";
  #list = el("div", { class: "messages", role: "log", "aria-live": "off", "aria-label": t("conversation") });
  #notice = el("div", { class: "chat-notice" });
  #said = el("div", { class: "unseen", role: "status" });
  #panel = new Panel();
  #search = new Search(this.#list);
  #toEnd = iconButton({ label: t("latest"), icon: "down", class: "to-end", hidden: true, on: () => this.#follow() });

  constructor(root, app, id) {
    this.#app = app;
    this.#talk = talkOf(id);
    this.switches = new Switches(id, app.signal);
    this.prompt = new PromptBox(id, {
      send: (text) => this.#say((wishes) => this.#talk.say(text, wishes)),
      stop: () => this.#talk.stop(),
      switches: this.switches.node,
    });
    this.scroll = el("div", { class: "chat-scroll" }, this.#notice, this.#list);
    this.scroll.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    const foot = el("div", { class: "chat-foot" }, this.#toEnd, this.prompt.node);
    fill(root, el("div", { class: "chat-main" }, this.#search.node, this.scroll, foot, this.#said), this.#panel.node);
    this.#listen();
    this.#drawHeading();
    this.#redraw();
    this.#load();
    if (matchMedia("(hover: hover)").matches) this.prompt.focus();
  }

  end() {
    this.#search.close();
  }

  #listen() {
    const { signal } = this.#app;
    this.#talk.addEventListener("changed", () => this.#redraw(), { signal });
    this.#talk.addEventListener("grown", ({ detail }) => this.#grow(detail), { signal });
    this.#app.sessions.addEventListener("changed", () => this.#drawHeading(), { signal });
    this.#app.onRecovered(() => {
      this.#load();
      this.switches.load();
    });
    this.#app.key("/", () => t("focusPrompt"), () => this.prompt.focus());
    this.#app.key("f", () => t("find"), () => this.#search.open());
    this.#app.key("w", () => t("why"), () => this.#why());
    document.addEventListener("keydown", (event) => this.#escape(event), { signal });
    new ResizeObserver(() => this.#keepUp()).observe(this.#list);
  }

  #escape(event) {
    if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
    if (this.#talk.isWriting) this.#talk.stop();
    else this.#panel.close();
  }

  get #title() {
    const session = this.#app.sessions.find(this.#talk.id);
    if (session) return session.title || t("untitled");
    return this.#talk.messages.find((one) => one.role === "user")?.text.slice(0, 80) ?? t("start");
  }

  #drawHeading() {
    const isEmpty = !this.#talk.messages.length;
    const shown = JSON.stringify([this.#title, isEmpty]);
    if (shown === this.#heading) return; // its buttons keep the focus
    this.#heading = shown;
    const file = (kind, text) => () => download(this.#title, kind, text(this.#title, this.#talk));
    const items = [
      { label: t("exportMarkdown"), icon: "download", on: file("md", asMarkdown) },
      { label: t("exportJson"), icon: "download", on: file("json", asJson) },
    ];
    const actions = [
      !isEmpty && iconButton({ label: t("find"), icon: "search", on: () => this.#search.open() }),
      !isEmpty && iconButton({ label: t("why"), icon: "info", on: () => this.#why() }),
      iconButton({ label: t("options"), icon: "settings", on: () => this.#options() }),
      !isEmpty && menuButton({ label: t("more"), icon: "more", items }),
    ];
    this.#app.heading({ title: this.#title, actions });
  }

  async #load({ all = false } = {}) {
    if (this.#talk.isWriting || (this.#talk.isLoaded && !all)) return;
    if (!this.#talk.messages.length) fill(this.#notice, skeleton(4));
    try {
      await this.#talk.load({ signal: this.#app.signal, all });
    } catch (error) {
      if (!isStopped(error)) fill(this.#notice, failed(error, () => this.#load()));
    }
  }

  async #say(begin) {
    this.#isFollowing = true;
    await begin(this.switches.wishes());
    this.#app.sessions.load();
    const last = this.#talk.messages.at(-1);
    fill(this.#said, last.status === "failed" ? explain(last.error) : last.text.slice(0, 1000));
  }

  #redraw() {
    const { messages } = this.#talk;
    const kept = new Set(messages.map((one) => one.key));
    for (const key of this.#views.keys()) if (!kept.has(key)) this.#views.delete(key);
    messages.forEach((one, at) => this.#place(this.#viewOf(one).node, at));
    for (const extra of [...this.#list.children].slice(messages.length)) extra.remove();
    this.#views.get(messages.at(-1)?.key)?.grow();
    this.#drawNotice();
    this.#drawHeading();
    this.prompt.showWriting(this.#talk.isWriting);
    this.#search.refresh();
    this.#keepUp();
  }

  /** What stands where it belongs is not touched: it may have the focus. */
  #place(node, at) {
    const there = this.#list.children[at] ?? null;
    if (there !== node) this.#list.insertBefore(node, there);
  }

  #drawNotice() {
    const { messages, isLoaded, earlier } = this.#talk;
    if (earlier) {
      const more = () => this.#load({ all: true });
      fill(this.#notice, button({ label: t("earlier", earlier), kind: "quiet", on: more }));
    } else if (messages.length) fill(this.#notice);
    else if (isLoaded) fill(this.#notice, this.#hello());
  }

  #hello() {
    const idea = (key) => button({ label: t(key), on: () => this.prompt.say(t(key)) });
    const hint = el("p", { class: "hint", hidden: true }, t("noModel"));
    const summary = idea("idea3");
    hasModel().then((has) => {
      hint.hidden = has;
      summary.hidden = !has; // rules cannot summarise
    });
    const ideas = el("div", { class: "ideas" }, idea("idea1"), idea("idea2"), summary);
    const action = el("div", null, hint, ideas);
    return empty({ icon: "agents", title: t("hello"), text: t("helloText"), action });
  }

  #viewOf(message) {
    const does = {
      openSources: (sources, index) => this.#panel.open(t("sources"), passages(sources, index)),
      again: () => this.#say((wishes) => this.#talk.again(wishes)),
      approve: (...what) => this.#talk.approve(...what),
    };
    const known = this.#views.get(message.key) ?? new MessageView(message, does);
    this.#views.set(message.key, known);
    return known;
  }

  #grow(message) {
    this.#views.get(message.key)?.grow();
    if (this.#isListed || this.#app.sessions.find(this.#talk.id)) return;
    this.#isListed = true;
    this.#app.sessions.load();
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroll;
    this.#isFollowing = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    this.#toEnd.hidden = this.#isFollowing;
  }

  #follow() {
    this.#isFollowing = true;
    this.#keepUp();
    this.prompt.focus();
  }

  #keepUp() {
    if (this.#isFollowing) this.scroll.scrollTop = this.scroll.scrollHeight;
  }

  #why() {
    showWhy(this.#panel, this.#talk.id, this.#app.signal);
  }

  async #options() {
    if (await openSessionSettings(this.#talk.id)) this.switches.load();
  }
}

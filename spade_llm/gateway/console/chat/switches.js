// The conversation's own switches below the prompt: memory, documents, tools.

import { get, put } from "../api.js";
import { toast } from "../components/toast.js";
import { el, fill } from "../dom.js";
import { explain, isStopped } from "../errors.js";
import { language } from "../i18n.js";
import { icon } from "../icons.js";
import { store } from "../store.js";
import { usesDocuments } from "../settings/session_dialog.js";
import { t } from "./texts.js";

const KINDS = [
  { name: "memory", icon: "memory", text: "useMemory" },
  { name: "rag", icon: "documents", text: "useDocuments" },
  { name: "tools", icon: "tools", text: "useTools" },
];

export class Switches {
  #session;
  #signal;
  #config = null;
  #usesDocuments = false;
  #loading;

  constructor(session, signal) {
    this.#session = session;
    this.#signal = signal;
    this.node = el("div", { class: "switches" });
    this.#draw();
    this.load();
  }

  /** Of the stream's request; the rest is in the session's configuration. Waits until it is known. */
  async wishes() {
    await this.#loading;
    return {
      use_tools: store.usesTools(this.#session),
      max_tokens: store.preference("answerTokens"),
      language: language(),
      ...(this.#config ? { use_rag: this.#usesDocuments } : {}),
    };
  }

  load() {
    this.#loading = this.#load();
    return this.#loading;
  }

  async #load() {
    try {
      const path = `config/session/${encodeURIComponent(this.#session)}`;
      const config = await get(path, { signal: this.#signal });
      this.#usesDocuments = await usesDocuments(this.#session, config, this.#signal);
      this.#config = config;
    } catch (error) {
      if (isStopped(error)) return;
      this.#config = null; // the switches stay away; what is wrong is said elsewhere
    }
    this.#draw();
  }

  #draw() {
    fill(this.node, this.#config ? KINDS.map((kind) => this.#one(kind)) : []);
  }

  #one(kind) {
    const isOn = this.#isOn(kind.name);
    const what = t(kind.text);
    const press = () => this.#set(kind.name, !isOn);
    const attributes = { type: "button", class: "chip", "aria-pressed": String(isOn), title: t(isOn ? "on" : "off", what) };
    return el("button", { ...attributes, data: { kind: kind.name }, on: { click: press } }, icon(kind.icon), el("span", null, what));
  }

  #isOn(name) {
    if (name === "tools") return store.usesTools(this.#session);
    return name === "rag" ? this.#usesDocuments : this.#config.memory.enabled;
  }

  async #set(name, isOn) {
    if (name === "tools") store.setUsesTools(this.#session, isOn);
    else if (!(await this.#put(name, isOn))) return;
    if (name === "rag") {
      store.setUsesDocuments(this.#session, isOn);
      this.#usesDocuments = isOn;
    }
    this.#draw();
    this.node.querySelector(`[data-kind=${name}]`).focus();
  }

  async #put(name, isOn) {
    const { types, namespaces, top_k } = this.#config[name];
    const kept = name === "memory" ? { types } : { namespaces, top_k };
    try {
      await put(`config/${name}`, { session_id: this.#session, enabled: isOn, ...kept });
    } catch (error) {
      toast(explain(error), { kind: "failed" });
      return false;
    }
    this.#config[name].enabled = isOn;
    return true;
  }
}

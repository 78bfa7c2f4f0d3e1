// The conversation.

import { texts } from "../i18n.js";
import { fill } from "../dom.js";
import { empty } from "../components/states.js";

const t = texts({
  en: { title: "Chat", hello: "What would you like to talk about?" },
  es: { title: "Chat", hello: "¿De qué te gustaría hablar?" },
});

export const icon = "chat";
export const title = () => t("title");

export function mount(root) {
  fill(root, empty({ icon: "chat", title: t("hello") }));
}

export function unmount() {}

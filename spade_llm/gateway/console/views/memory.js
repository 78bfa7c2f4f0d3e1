// What is remembered: the messages of a conversation, and what is known beyond it.

import { field, select } from "../components/fields.js";
import { el, fill } from "../dom.js";
import { Remembered } from "../memory/remembered.js";
import { t } from "../memory/texts.js";
import { Timeline } from "../memory/timeline.js";
import { store } from "../store.js";

export const icon = "memory";
export const title = () => t("title");

export function mount(root, app) {
  const timeline = new Timeline(app.signal);
  const remembered = new Remembered(app.signal);
  const choice = el("div", { class: "session-choice" });
  let session = app.args[0] || store.session;

  const show = (id) => {
    session = id;
    timeline.show(session);
    remembered.show(session);
  };
  const drawChoice = () => {
    const options = app.sessions.all.map((one) => [one.session_id, one.title || one.session_id]);
    if (!session && options.length) show(options[0][0]);
    const isListed = options.some(([id]) => id === session);
    if (session && !isListed) options.unshift([session, t("shortTerm")]);
    fill(choice, options.length > 1 && field(t("conversation"), select({ options, value: session, on: show })));
  };

  app.heading({ title: t("title"), detail: t("about") });
  fill(root, el("div", { class: "memory-page" }, el("div", { class: "memory-side" }, choice, timeline.node), remembered.node));
  app.sessions.addEventListener("changed", drawChoice, { signal: app.signal });
  app.onRecovered(() => show(session));
  timeline.addEventListener("cleared", () => remembered.show(session));
  show(session);
  drawChoice();
}

export function unmount() {}

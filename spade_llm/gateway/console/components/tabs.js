// Tabs: arrow keys go from one to the next, as the ARIA practices have it.

import { el, fill } from "../dom.js";
import { uuid } from "../uuid.js";

const STEPS = { ArrowRight: 1, ArrowLeft: -1 };

/**
 * @param {object} options `label`; `tabs`: [{id, title, content(): node or nodes}], made when it is
 *   shown; `chosen`: an id; `on`(id) after a change
 */
export function tabs({ label, tabs: all, chosen = all[0].id, on = () => {} }) {
  const prefix = uuid();
  const panel = el("div", { class: "tab-panel", role: "tabpanel", tabindex: "0", id: `${prefix}-panel` });
  const buttons = all.map((tab) => {
    const attributes = { type: "button", role: "tab", class: "tab", id: `${prefix}-${tab.id}` };
    const show = () => choose(tab.id);
    return el("button", { ...attributes, "aria-controls": panel.id, on: { click: show } }, tab.title);
  });
  const show = (id) => {
    const index = Math.max(0, all.findIndex((tab) => tab.id === id));
    buttons.forEach((one, at) => {
      one.setAttribute("aria-selected", String(at === index));
      one.tabIndex = at === index ? 0 : -1;
    });
    panel.setAttribute("aria-labelledby", buttons[index].id);
    fill(panel, all[index].content());
  };
  const choose = (id) => {
    show(id);
    on(id);
  };
  const step = (event) => {
    if (!(event.key in STEPS)) return;
    const at = buttons.indexOf(document.activeElement) + STEPS[event.key];
    const next = buttons[(at + buttons.length) % buttons.length];
    next.focus();
    next.click();
  };
  show(chosen);
  const list = { class: "tab-list", role: "tablist", "aria-label": label, on: { keydown: step } };
  return el("div", { class: "tabs" }, el("div", list, buttons), panel);
}

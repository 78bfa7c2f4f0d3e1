// The tools of the network: what they do and take, and a form to try each one.

import { get } from "../api.js";
import { empty, failed, skeleton } from "../components/states.js";
import { el, fill } from "../dom.js";
import { isStopped } from "../errors.js";
import { t } from "../tools/texts.js";
import { toolItem } from "../tools/tool.js";

export const icon = "tools";
export const title = () => t("title");

export function mount(root, app) {
  const body = el("div", { class: "tools-page" }, skeleton(5));
  app.heading({ title: t("title"), detail: t("about") });
  fill(root, body);
  load(body, app.signal);
  app.onRecovered(() => load(body, app.signal));
}

export function unmount() {}

async function load(body, signal) {
  try {
    const { tools, degraded = [] } = await get("mpc/tools", { signal });
    const missing = degraded.length > 0 && el("p", { class: "notice is-warn" }, t("missing", degraded));
    fill(body, missing, tools.length ? list(tools, signal) : empty({ icon: "tools", title: t("none"), text: t("noneText") }));
  } catch (error) {
    if (!isStopped(error)) fill(body, failed(error, () => load(body, signal)));
  }
}

function list(tools, signal) {
  const items = tools.map((tool) => [`${tool.name}\n${tool.description}`.toLowerCase(), toolItem(tool, signal)]);
  const count = el("p", { class: "hint", role: "status" }, t("count", tools.length, tools.length));
  const none = empty({ icon: "search", title: t("noneFound"), text: t("noneFoundText") });
  none.hidden = true;
  const filter = (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    for (const [said, node] of items) node.hidden = !said.includes(wanted);
    const shown = items.filter(([, node]) => !node.hidden).length;
    fill(count, t("count", shown, tools.length));
    none.hidden = shown > 0;
  };
  const box = { class: "input", type: "search", "aria-label": t("filter"), placeholder: t("filter") };
  return [
    el("div", { class: "tools-head" }, el("input", { ...box, on: { input: filter } }), count),
    el("div", { class: "tool-list" }, items.map(([, node]) => node)),
    none,
  ];
}

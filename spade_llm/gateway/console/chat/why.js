// Why the last answer is as it is, in the assistant's own words.

import { get } from "../api.js";
import { failed, skeleton } from "../components/states.js";
import { el } from "../dom.js";
import { isStopped } from "../errors.js";
import { prose } from "../markdown.js";
import { t } from "./texts.js";

export async function showWhy(panel, session, signal) {
  panel.open(t("why"), skeleton(5));
  try {
    const { text } = await get(`api/v0/why/${encodeURIComponent(session)}`, { signal });
    panel.show(text ? prose(text) : el("p", { class: "hint" }, t("whyNone")));
  } catch (error) {
    if (isStopped(error)) return;
    if (error.kind === "missing") panel.show(el("p", { class: "hint" }, t("whyNone")));
    else panel.show(failed(error, () => showWhy(panel, session, signal)));
  }
}

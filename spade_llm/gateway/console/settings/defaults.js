// What holds in all conversations that were not set otherwise, and what the gateway is made of.

import { get, put } from "../api.js";
import { button } from "../components/button.js";
import { failed, skeleton } from "../components/states.js";
import { toast } from "../components/toast.js";
import { el, fill } from "../dom.js";
import { explain, isStopped } from "../errors.js";
import { store } from "../store.js";
import { uuid } from "../uuid.js";
import { contextFields } from "./context_form.js";
import { namespaceNames, toolsToggle, usesDocuments } from "./session_dialog.js";
import { t } from "./texts.js";

export function defaults(signal) {
  const set = el("section", { class: "card settings-part" }, skeleton(4));
  const system = el("section", { class: "card settings-part", hidden: true });
  const load = async () => {
    try {
      // A conversation that there is not has what holds for all.
      const [status, { memory, rag }, names] = await Promise.all([
        get("config/status", { signal }),
        get(`config/session/${uuid()}`, { signal }),
        namespaceNames(),
      ]);
      rag.enabled = await usesDocuments("", { rag }, signal);
      const config = { memory, rag, tools: store.preference("tools") };
      fill(set, form(config, names));
      fill(system, el("h2", null, t("gateway")), facts(status));
      system.hidden = false;
    } catch (error) {
      if (!isStopped(error)) fill(set, el("h2", null, t("defaults")), failed(error, load));
    }
  };
  load();
  return [set, system];
}

function form(config, names) {
  const save = async () => {
    try {
      await put("config/memory", config.memory);
      await put("config/rag", config.rag);
      store.setPreference("tools", config.tools);
      store.setPreference("documents", config.rag.enabled);
      toast(t("saved"));
    } catch (error) {
      toast(explain(error), { kind: "failed" });
    }
  };
  return [
    el("div", null, el("h2", null, t("defaults")), el("p", { class: "hint" }, t("defaultsHint"))),
    contextFields(config, names),
    toolsToggle(config),
    el("div", { class: "settings-foot" }, button({ label: t("save"), kind: "primary", on: save })),
  ];
}

function facts({ system, services }) {
  const { llm, memory, rag, mcp } = services;
  const rows = [
    [t("version"), system.version],
    [t("model"), llm.available ? `${llm.provider} · ${llm.model}` : t("away")],
    [t("storage"), memory.available ? memory.storage : t("away")],
    [t("vectors"), rag.available ? `${rag.vector_db} · ${rag.embedding_model}` : t("away")],
    [t("toolCount"), mcp.available ? String(mcp.registered_tools) : t("away")],
  ];
  return el("dl", { class: "facts" }, rows.map(([name, value]) => [el("dt", null, name), el("dd", null, value)]));
}

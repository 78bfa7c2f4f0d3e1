// The settings of one conversation.

import { get, post } from "../api.js";
import { button } from "../components/button.js";
import { dialog } from "../components/dialog.js";
import { toggle } from "../components/fields.js";
import { failed, skeleton } from "../components/states.js";
import { toast } from "../components/toast.js";
import { el, fill } from "../dom.js";
import { explain } from "../errors.js";
import { store } from "../store.js";
import { contextFields } from "./context_form.js";
import { t } from "./texts.js";

/** @returns {Promise<boolean>} whether something was saved */
export async function openSessionSettings(session) {
  const body = el("div", { class: "settings-fields" }, skeleton(5));
  let config = null;
  const save = async () => {
    const { memory, rag, preferences } = config;
    try {
      await post("config/session", { session_id: session, memory, rag, preferences });
    } catch (error) {
      toast(explain(error), { kind: "failed" });
      return;
    }
    store.setUsesTools(session, config.tools);
    store.setUsesDocuments(session, rag.enabled);
    toast(t("saved"));
    opened.close(true);
  };
  const saveButton = button({ label: t("save"), kind: "primary", disabled: true, on: save });
  const cancel = button({ label: t("cancel"), on: () => opened.close(false) });
  const opened = dialog({ title: t("session"), body, actions: [cancel, saveButton] });
  const load = async () => {
    try {
      config = { ...(await get(`config/session/${encodeURIComponent(session)}`)), tools: store.usesTools(session) };
      config.rag.enabled = await usesDocuments(session, config);
      fill(body, contextFields(config, await namespaceNames()), toolsToggle(config));
      saveButton.disabled = false;
    } catch (error) {
      fill(body, failed(error, load));
    }
  };
  load();
  return (await opened.closed) === true;
}

/** Whether a conversation (`config`: its configuration) uses documents. Unless it was chosen, it does
 *  if there are any. */
export async function usesDocuments(session, { rag }, signal) {
  const chosen = store.usesDocuments(session);
  if (chosen !== null || rag.enabled) return chosen ?? true;
  const { own_count: own, shared_count: shared } = await get("api/v0/documents", { signal });
  return own + shared > 0;
}

/** Changes `config.tools`. */
export function toolsToggle(config) {
  const on = (isOn) => (config.tools = isOn);
  return toggle({ label: t("tools"), hint: t("toolsHint"), isOn: config.tools, on });
}

/** None where documents cannot be asked for: what is set already stays. */
export async function namespaceNames() {
  try {
    return (await get("llm/rag/namespaces")).namespaces.map((one) => one.name);
  } catch (error) {
    explain(error);
    return [];
  }
}

// Copies a text, and says so where it was asked.

import { el } from "../dom.js";
import { texts } from "../i18n.js";
import { icon } from "../icons.js";
import { iconButton } from "./button.js";
import { toast } from "./toast.js";

const SAID_MS = 1500;

const t = texts({
  en: { copy: "Copy", copied: "Copied", failed: "The browser does not allow copying" },
  es: { copy: "Copiar", copied: "Copiado", failed: "El navegador no permite copiar" },
});

/** `text()`: what is copied, asked for at the click. */
export function copyButton(text, label = t("copy")) {
  const node = iconButton({ label, icon: "copy", class: "is-small", on: () => copy() });
  const copy = async () => {
    if (!(await copied(text()))) {
      toast(t("failed"), { kind: "failed" });
      return;
    }
    node.replaceChildren(icon("check"));
    node.setAttribute("aria-label", t("copied"));
    setTimeout(() => {
      node.replaceChildren(icon("copy"));
      node.setAttribute("aria-label", label);
    }, SAID_MS);
  };
  return node;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedTheOldWay(text); // pages over http from another machine have no clipboard
  }
}

function copiedTheOldWay(text) {
  const area = el("textarea", { class: "unseen", readonly: true, value: text });
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return isDone;
}

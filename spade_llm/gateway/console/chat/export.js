// A conversation as a file: everything as JSON, or to read as Markdown.

import { passageName } from "../documents/chunks.js";
import { el } from "../dom.js";
import { fully } from "../i18n.js";
import { t } from "./texts.js";

const FREED_MS = 10_000;

export function asJson(title, talk) {
  const messages = talk.messages.map(({ role, text, at, status, reply }) => ({
    role,
    content: text,
    timestamp: at,
    ...(status === "there" ? {} : { status }),
    ...(reply ? behind(reply) : {}),
  }));
  return JSON.stringify({ session_id: talk.id, title, exported_at: new Date().toISOString(), messages }, null, 2);
}

export function asMarkdown(title, talk) {
  const parts = talk.messages.map(({ role, text, at, reply }) => {
    const head = `## ${t(role === "user" ? "you" : "assistant")}, ${fully(at)}`;
    const sources = (reply?.rag_sources ?? []).map((one) => `- ${passageName(one)}`);
    return [head, text, sources.length && `**${t("sources")}**\n\n${sources.join("\n")}`].filter(Boolean).join("\n\n");
  });
  return `${[`# ${title}`, ...parts].join("\n\n")}\n`;
}

/** `kind`: "json" or "md". */
export function download(name, kind, text) {
  const type = kind === "json" ? "application/json" : "text/markdown";
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = el("a", { href: address, download: `${fileName(name)}.${kind}` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), FREED_MS);
}

function fileName(title) {
  const plain = title.normalize("NFKD").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");
  return plain.slice(0, 60) || "conversation";
}

function behind({ rag_sources, tool_results, agent_steps, context_text, context_tokens, degraded }) {
  return { rag_sources, tool_results, agent_steps, context_text, context_tokens, degraded };
}

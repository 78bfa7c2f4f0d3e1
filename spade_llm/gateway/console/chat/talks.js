// The conversations of this tab. An answer goes on being written while another view is shown.

import { store } from "../store.js";
import { Talk } from "./talk.js";

const MOST = 20;
const open = new Map(); // by id, the latest last

export function talkOf(id) {
  const talk = open.get(id) ?? new Talk(id);
  open.delete(id);
  open.set(id, talk);
  const idle = [...open.values()].filter((one) => one !== talk && !one.isWriting);
  for (const one of idle.slice(0, Math.max(0, open.size - MOST))) open.delete(one.id);
  return talk;
}

/** Also what was asked in them without an answer. */
export function forgetTalks() {
  for (const talk of open.values()) talk.forget();
  open.clear();
  store.forgetUnanswered();
}

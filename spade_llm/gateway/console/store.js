// What the page itself remembers: preferences (localStorage), and what belongs to this tab
// (sessionStorage): the open conversation, drafts, questions without an answer, the API token.
// Everything else is the server's.

const PREFERENCES = {
  theme: "system",
  language: "",
  keys: true,
  tools: true,
  documents: null,
  answerTokens: 2000,
};
const MAX_SESSIONS = 200; // whose own switches are kept
const MAX_UNANSWERED = 10; // of one conversation
const watchers = new Map();
const unsaved = new Map(); // where storage is blocked

export const store = {
  /**
   * `theme` system|light|dark, `language` ""|en|es, `keys` single-key shortcuts, `tools` whether new
   * conversations use them, `documents` the same (null: if there are any), `answerTokens` at most.
   */
  preference(name) {
    return read(localStorageOrNull(), name) ?? PREFERENCES[name];
  },
  setPreference(name, value) {
    write(localStorageOrNull(), name, value);
    tell(name, value);
  },

  /** Whether a conversation uses tools: the API keeps that for nobody. */
  usesTools(session) {
    return ownChoice("toolsOf", session) ?? this.preference("tools");
  },
  setUsesTools(session, isOn) {
    setOwnChoice("toolsOf", session, isOn);
  },

  /** Whether it uses documents; null: nothing was chosen, which the API cannot tell from a no. */
  usesDocuments(session) {
    return ownChoice("documentsOf", session) ?? this.preference("documents");
  },
  setUsesDocuments(session, isOn) {
    setOwnChoice("documentsOf", session, isOn);
  },

  /** The conversation that is open, or was last. */
  get session() {
    return read(sessionStorageOrNull(), "session") ?? "";
  },
  set session(id) {
    write(sessionStorageOrNull(), "session", id);
    tell("session", id);
  },

  get token() {
    return read(sessionStorageOrNull(), "token") ?? "";
  },
  set token(token) {
    write(sessionStorageOrNull(), "token", token || null);
    tell("token", token);
  },

  draft(session) {
    return read(sessionStorageOrNull(), `draft.${session}`) ?? "";
  },
  setDraft(session, text) {
    write(sessionStorageOrNull(), `draft.${session}`, text || null);
  },

  /** What was asked in a conversation and stopped, or failed: the server's history has no such
   *  questions. A list of anything that is JSON. */
  unanswered(session) {
    return read(sessionStorageOrNull(), `unanswered.${session}`) ?? [];
  },
  setUnanswered(session, all) {
    const kept = all.slice(-MAX_UNANSWERED);
    write(sessionStorageOrNull(), `unanswered.${session}`, kept.length ? kept : null);
  },

  forgetUnanswered() {
    const storage = sessionStorageOrNull();
    const names = storage ? Object.keys(storage) : [...unsaved.keys()];
    for (const name of names.filter((one) => one.startsWith("console.unanswered."))) {
      write(storage, name.slice("console.".length), null);
    }
  },

  /** `name`: a preference, "session" or "token". */
  watch(name, listener, signal) {
    const all = watchers.get(name) ?? watchers.set(name, new Set()).get(name);
    all.add(listener);
    signal?.addEventListener("abort", () => all.delete(listener), { once: true });
  },
};

function ownChoice(name, session) {
  return (read(localStorageOrNull(), name) ?? {})[session];
}

function setOwnChoice(name, session, isOn) {
  const { [session]: _, ...others } = read(localStorageOrNull(), name) ?? {};
  const kept = Object.entries({ ...others, [session]: isOn }).slice(-MAX_SESSIONS);
  write(localStorageOrNull(), name, Object.fromEntries(kept));
}

function tell(name, value) {
  for (const listener of [...(watchers.get(name) ?? [])]) listener(value);
}

function read(storage, name) {
  const key = `console.${name}`;
  const text = storage ? storage.getItem(key) : unsaved.get(key);
  if (text === null || text === undefined) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function write(storage, name, value) {
  const key = `console.${name}`;
  try {
    if (!storage) unsaved.set(key, JSON.stringify(value));
    else if (value === null) storage.removeItem(key);
    else storage.setItem(key, JSON.stringify(value));
  } catch (full) {
    if (full.name !== "QuotaExceededError") throw full;
  }
}

function localStorageOrNull() {
  return storageOrNull("localStorage");
}

function sessionStorageOrNull() {
  return storageOrNull("sessionStorage");
}

function storageOrNull(name) {
  try {
    return window[name];
  } catch {
    return null; // blocked by the person's settings
  }
}

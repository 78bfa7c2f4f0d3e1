// What the page itself remembers: preferences (localStorage), and what belongs to this tab
// (sessionStorage): the open conversation, drafts, the API token. Everything else is the server's.

const PREFERENCES = { theme: "system", language: "", keys: true, tools: true, answerTokens: 2000 };
const MAX_SESSIONS = 200; // whose own tools switch is kept
const watchers = new Map();
const unsaved = new Map(); // where storage is blocked

export const store = {
  /**
   * `theme` system|light|dark, `language` ""|en|es, `keys` single-key shortcuts, `tools` whether new
   * conversations use them, `answerTokens` at most.
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
    const own = read(localStorageOrNull(), "toolsOf") ?? {};
    return own[session] ?? this.preference("tools");
  },
  setUsesTools(session, isOn) {
    const { [session]: _, ...others } = read(localStorageOrNull(), "toolsOf") ?? {};
    const kept = Object.entries({ ...others, [session]: isOn }).slice(-MAX_SESSIONS);
    write(localStorageOrNull(), "toolsOf", Object.fromEntries(kept));
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

  /** `name`: a preference, "session" or "token". */
  watch(name, listener, signal) {
    const all = watchers.get(name) ?? watchers.set(name, new Set()).get(name);
    all.add(listener);
    signal?.addEventListener("abort", () => all.delete(listener), { once: true });
  },
};

function tell(name, value) {
  for (const listener of [...(watchers.get(name) ?? [])]) listener(value);
}

function read(storage, name) {
  const text = storage ? storage.getItem(`console.${name}`) : unsaved.get(name);
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
    if (!storage) unsaved.set(name, JSON.stringify(value));
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

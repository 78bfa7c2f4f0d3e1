// The conversations of whoever is asking, newest first, as the gateway lists them.

import { get, remove } from "./api.js";
import { isStopped } from "./errors.js";
import { store } from "./store.js";

/** Event: "changed". `error`: why the list could not be fetched, if it could not. */
export class Sessions extends EventTarget {
  all = [];
  error = null;
  isLoaded = false;

  async load() {
    try {
      this.all = (await get("api/v0/sessions")).sessions;
      [this.error, this.isLoaded] = [null, true];
    } catch (error) {
      if (isStopped(error)) return;
      this.error = error;
    }
    this.dispatchEvent(new Event("changed"));
  }

  /** What another person may not see. */
  forget() {
    [this.all, this.error, this.isLoaded] = [[], null, false];
    this.dispatchEvent(new Event("changed"));
  }

  /** Of one that nothing was said in yet: nothing. */
  find(id) {
    return this.all.find((one) => one.session_id === id) ?? null;
  }

  async remove(id) {
    await remove(`api/v0/sessions/${encodeURIComponent(id)}`);
    store.setUnanswered(id, []);
    this.all = this.all.filter((one) => one.session_id !== id);
    this.dispatchEvent(new Event("changed"));
  }
}

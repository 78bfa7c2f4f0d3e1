// Whether the gateway and the agents behind it can be reached. Asks again by itself until they can.

import { traffic, url } from "./api.js";

const WAITS_MS = [1000, 2000, 4000, 8000, 15_000];
const PROBE_MS = 5000;

/** "ok", "offline" (no gateway) or "away" (it has lost its network). Events: "changed", "recovered". */
class Connection extends EventTarget {
  state = "ok";
  #tries = 0;
  #timer = null;
  #isProbing = false;

  constructor() {
    super();
    traffic.addEventListener("failed", ({ detail }) => {
      if (detail.kind === "offline" || detail.kind === "away") this.probe();
    });
    window.addEventListener("online", () => this.probe());
    window.addEventListener("offline", () => this.probe());
  }

  async probe() {
    if (this.#isProbing) return;
    this.#isProbing = true;
    clearTimeout(this.#timer);
    const state = await probed();
    this.#isProbing = false;
    this.#become(state);
    if (state === "ok") return;
    const wait = WAITS_MS[Math.min(this.#tries++, WAITS_MS.length - 1)];
    this.#timer = setTimeout(() => this.probe(), wait);
  }

  #become(state) {
    if (state === this.state) return;
    this.state = state;
    if (state === "ok") this.#tries = 0;
    this.dispatchEvent(new Event("changed"));
    if (state === "ok") this.dispatchEvent(new Event("recovered"));
  }
}

async function probed() {
  try {
    const init = { signal: AbortSignal.timeout(PROBE_MS), credentials: "omit", cache: "no-store" };
    return (await fetch(url("ready"), init)).status === 503 ? "away" : "ok";
  } catch {
    return "offline"; // no answer, for whatever reason
  }
}

export const connection = new Connection();

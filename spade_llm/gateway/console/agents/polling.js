// Looking again and again, for as long as somebody can see what comes of it.

/**
 * Calls `look(signal)` at once and then `everyMs` after it has ended, while the page is visible.
 * @param {{everyMs: number, signal: AbortSignal, look: (signal: AbortSignal) => Promise<void>}} options
 */
export function polling({ everyMs, signal, look }) {
  let timer = 0;
  let isLooking = false;

  async function again() {
    clearTimeout(timer);
    if (isLooking || document.hidden || signal.aborted) return;
    isLooking = true;
    await look(signal);
    isLooking = false;
    if (!document.hidden && !signal.aborted) timer = setTimeout(again, everyMs);
  }

  document.addEventListener("visibilitychange", again, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  again();
}

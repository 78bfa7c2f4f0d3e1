// Requests to the gateway that served this page. Every one has an id and a deadline; whatever goes
// wrong is an ApiError that says what, in the server's words where it gave any.

import { store } from "./store.js";
import { uuid } from "./uuid.js";

const BASE = new URL("../", location.origin + location.pathname);
const DEADLINE_MS = 30_000;
const SILENCE_MS = 45_000; // of a stream, which says something every 15 s

const KINDS = {
  400: "invalid",
  401: "unknown",
  403: "forbidden",
  404: "missing",
  413: "large",
  422: "invalid",
  429: "busy",
  503: "away",
};

/** `kind`: offline, late, away, unknown (no token), forbidden, missing, invalid, large, busy, broken. */
export class ApiError extends Error {
  constructor(kind, detail, { status = 0, requestId = "", retryAfterS = 0 } = {}) {
    super(detail || kind);
    Object.assign(this, { name: "ApiError", kind, detail, status, requestId, retryAfterS });
  }
}

/** Events: "failed" (detail: an ApiError), "worked". */
export const traffic = new EventTarget();

export const get = (path, options) => json("GET", path, options);
export const post = (path, body, options) => json("POST", path, { ...options, body });
export const put = (path, body, options) => json("PUT", path, { ...options, body });
export const patch = (path, body, options) => json("PATCH", path, { ...options, body });
export const remove = (path, options) => json("DELETE", path, options);

/**
 * @param {object} options `query` {name: value or values}, `body` (sent as JSON), `raw` (a Blob or
 *   File, sent as it is), `signal`, `deadlineMs`
 * @throws {ApiError} and AbortError if `signal` says so
 */
export async function request(method, path, options = {}) {
  const { query, signal, deadlineMs = DEADLINE_MS } = options;
  const limit = AbortSignal.timeout(deadlineMs);
  const both = signal ? AbortSignal.any([signal, limit]) : limit;
  const response = await answered(method, url(path, query), { ...options, signal: both }, signal);
  traffic.dispatchEvent(new Event("worked"));
  return response;
}

/** Server-sent events as the answer to a POST: yields {event, data}. Silence ends it. */
export async function* events(path, body, { signal, headers } = {}) {
  const watch = silenceWatch(signal);
  const options = { body, headers, signal: watch.signal, accept: "text/event-stream" };
  const response = await answered("POST", url(path), options, signal);
  traffic.dispatchEvent(new Event("worked"));
  let event = "message";
  let data = [];
  for await (const line of linesOf(response, watch, signal)) {
    if (line === "") {
      if (data.length) yield { event, data: JSON.parse(data.join("\n")) };
      [event, data] = ["message", []];
    } else if (line.startsWith("event:")) event = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
}

/** One JSON value per line of the answer, as they come. `options` as of `request`. */
export async function* lines(method, path, options = {}) {
  const watch = silenceWatch(options.signal, options.deadlineMs);
  const full = { ...options, signal: watch.signal };
  const response = await answered(method, url(path, options.query), full, options.signal);
  traffic.dispatchEvent(new Event("worked"));
  for await (const line of linesOf(response, watch, options.signal)) {
    if (line) yield JSON.parse(line);
  }
}

export function url(path, query = {}) {
  const address = new URL(path.replace(/^\//, ""), BASE);
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) {
      if (one !== null && one !== undefined && one !== "") address.searchParams.append(name, one);
    }
  }
  return address;
}

async function json(method, path, options) {
  const response = await request(method, path, options);
  return response.status === 204 ? null : response.json();
}

async function answered(method, address, options, callersSignal) {
  const { body, raw, signal, headers = {}, accept = "application/json" } = options;
  const id = uuid();
  const sent = { Accept: accept, "X-Request-ID": id, ...headers };
  if (store.token) sent.Authorization = `Bearer ${store.token}`;
  if (body !== undefined) sent["Content-Type"] = "application/json";
  else if (raw !== undefined) sent["Content-Type"] = "application/octet-stream";
  const payload = body === undefined ? raw : JSON.stringify(body);
  try {
    const init = { method, headers: sent, body: payload, signal, credentials: "omit", cache: "no-store" };
    const response = await fetch(address, init);
    if (response.ok) return response;
    throw await refusal(response, id);
  } catch (error) {
    throw reported(error, callersSignal, id);
  }
}

async function refusal(response, id) {
  const kind = KINDS[response.status] ?? "broken";
  return new ApiError(kind, await detailOf(response), {
    status: response.status,
    requestId: response.headers.get("X-Request-ID") ?? id,
    retryAfterS: Number(response.headers.get("Retry-After")) || 0,
  });
}

async function detailOf(response) {
  try {
    const { detail } = await response.json();
    if (!Array.isArray(detail)) return String(detail ?? "");
    return detail.map((one) => `${one.loc.slice(1).join(".")}: ${one.msg}`).join("; ");
  } catch {
    return response.statusText; // not ours: a proxy's page
  }
}

/** Tells all who listen; `error` is an ApiError. */
export function report(error) {
  traffic.dispatchEvent(new CustomEvent("failed", { detail: error }));
  return error;
}

function reported(error, callersSignal, id) {
  if (callersSignal?.aborted) return new DOMException("Stopped", "AbortError");
  return report(error instanceof ApiError ? error : translated(error, id));
}

function translated(error, id) {
  const isLate = error.name === "TimeoutError" || error.name === "AbortError";
  return new ApiError(isLate ? "late" : "offline", "", { requestId: isLate ? id : "" });
}

async function* linesOf(response, watch, callersSignal) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      watch.heard();
      if (done) break;
      const found = (rest + value).split(/\r?\n/);
      rest = found.pop();
      yield* found;
    }
    if (rest) yield rest;
  } catch (error) {
    throw reported(error, callersSignal, response.headers.get("X-Request-ID") ?? "");
  } finally {
    watch.end();
    reader.cancel().catch(() => {}); // it has ended, one way or the other
  }
}

function silenceWatch(signal, silenceMs = SILENCE_MS) {
  const silent = new AbortController();
  const tooLong = () => silent.abort(new DOMException("Silence", "TimeoutError"));
  let timer = setTimeout(tooLong, silenceMs);
  const end = () => clearTimeout(timer);
  return {
    signal: signal ? AbortSignal.any([signal, silent.signal]) : silent.signal,
    heard() {
      end();
      timer = setTimeout(tooLong, silenceMs);
    },
    end,
  };
}

/**
 * The server's REST interface. The token is this page's own session, never sent to anything but this origin.
 */
import { store, stored } from "./dom.js";
import { t } from "./i18n.js";

const TOKEN = "recalld.token";
const BULK_IDS = 500; // the most that the server takes at once
const SILENCE_MS = 40_000; // the server sends a heartbeat every 15 s
let signedOut = () => {};

/** A refusal. status: of HTTP, 0 where nobody answered. body: the problem document, with `current` on a 409. */
export class ApiError extends Error {
  constructor(status, message, body = {}) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

/** Whether a session was opened in this browser. */
export const signedIn = () => Boolean(stored(TOKEN));

/** Have `action` called when the server no longer knows this session. */
export function onSignedOut(action) {
  signedOut = action;
}

/** Exchange a single-use code for a session. Throws ApiError where it is refused. */
export async function signIn(code) {
  const answer = await send("POST", "login", { body: { code } });
  if (!answer.ok) throw await refusal(answer);
  store(TOKEN, (await answer.json()).token);
}

/** Ask for JSON. options: query (empty values are left out), body, signal, keepalive. Throws ApiError. */
export async function ask(method, path, options = {}) {
  const answer = await send(method, path, options);
  if (answer.ok) return answer.status === 204 ? null : answer.json();
  throw await refusal(answer);
}

export const get = (path, query, signal) => ask("GET", path, { query, signal });
export const post = (path, body = {}) => ask("POST", path, { body });
export const patch = (id, changes) => ask("PATCH", `memories/${id}`, { body: changes });

/** Do one thing to memories, 500 at a time. keepalive: the requests may outlive the page. */
export async function bulk(action, ids, more = {}, keepalive = false) {
  const sent = [];
  for (let at = 0; at < ids.length; at += BULK_IDS) {
    sent.push(ask("POST", "bulk", { body: { action, ids: ids.slice(at, at + BULK_IDS), ...more }, keepalive }));
    if (!keepalive) await sent.at(-1);
  }
  await Promise.all(sent);
}

/** A file of the server's, as a Blob. */
export async function download(path, query) {
  const answer = await send("GET", path, { query });
  if (!answer.ok) throw await refusal(answer);
  return answer.blob();
}

async function send(method, path, { query = {}, body, signal, keepalive = false }) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const search = given.length ? `?${new URLSearchParams(given)}` : "";
  const headers = { Authorization: `Bearer ${stored(TOKEN) ?? ""}`, "X-Recalld-Client": "viewer" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const request = { method, headers, signal, keepalive, body: body === undefined ? undefined : JSON.stringify(body) };
  let answer = await reach(`/${path}${search}`, request);
  if (answer.status === 429) {
    await new Promise((resume) => setTimeout(resume, 1000 * Number(answer.headers.get("Retry-After") || 1)));
    answer = await reach(`/${path}${search}`, request);
  }
  return answer;
}

async function reach(address, request) {
  try {
    return await fetch(address, request);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, t("error.unreachable"));
  }
}

async function refusal(answer) {
  const body = await answer.json().catch(() => ({}));
  if (answer.status === 401) {
    store(TOKEN, null);
    signedOut();
  }
  return new ApiError(answer.status, body.detail || t("error.status", { status: answer.status }), body);
}

/**
 * Call `changed` whenever memories changed, as long as the page is seen; hidden tabs hold no connection. Also when the
 * line begins to stand (`ready`): what happened before was missed.
 * `connected(bool)` tells whether the line stands.
 */
export function listen(changed, connected) {
  let stop = new AbortController();
  let failures = 0;
  let running = false;
  const run = async () => {
    if (running) return;
    running = true;
    while (!document.hidden && signedIn()) {
      stop = new AbortController();
      try {
        await follow(stop, changed, () => {
          failures = 0;
          connected(true);
        });
      } catch {
        if (document.hidden) break;
      }
      failures += 1;
      if (failures > 1) connected(false);
      await new Promise((resume) => setTimeout(resume, Math.min(15_000, 500 * 2 ** failures)));
    }
    running = false;
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stop.abort();
    else run();
  });
  run();
}

async function follow(stop, changed, opened) {
  const answer = await send("GET", "events", { signal: stop.signal });
  if (!answer.ok) throw await refusal(answer);
  opened();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const silence = setTimeout(() => stop.abort(), SILENCE_MS);
    const { value, done } = await reader.read().finally(() => clearTimeout(silence));
    if (done) return;
    const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop();
    if (blocks.some((block) => /^event: ?(ready|change)$/m.test(block))) changed();
  }
}

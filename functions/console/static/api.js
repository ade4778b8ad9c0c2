// The JSON API, asked with the person's own token.

import { forget, session } from "./session.js";

// Above API Gateway's own 30 s: its word comes before ours.
const TIMEOUT_MS = 35_000;
const JSON_KINDS = ["application/json", "application/problem+json"];

/** A request that was refused, or that no answer came to. */
export class Problem extends Error {
  constructor(status, kind, detail) {
    super(detail);
    this.status = status;
    this.kind = kind;
  }

  /** Whether it is not known if what was asked has been done. */
  get inDoubt() {
    return this.kind === "no-answer" || this.status >= 500;
  }
}

/** Return the body of the answer and the server's time. Throws Problem. */
export async function ask(method, path, body) {
  const signedIn = session();
  if (signedIn === null) throw signedOut();
  const answer = await send(method, path, signedIn.token, body);
  if (answer.status === 401) {
    forget();
    throw signedOut();
  }
  const parsed = await parse(answer);
  if (!answer.ok) {
    const kind = String(parsed.type ?? "").replace("urn:recovery-ledger:problem:", "");
    throw new Problem(answer.status, kind, parsed.detail ?? `The API answered ${answer.status}.`);
  }
  return { body: parsed, nowMs: timeOf(answer) };
}

async function send(method, path, token, body) {
  const headers = { authorization: `Bearer ${token}` };
  if (body !== undefined) headers["content-type"] = "application/json";
  try {
    return await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "omit",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch {
    throw noAnswer();
  }
}

async function parse(answer) {
  const kind = (answer.headers.get("content-type") ?? "").split(";")[0];
  if (!JSON_KINDS.includes(kind)) return {};
  try {
    return await answer.json();
  } catch {
    throw noAnswer();
  }
}

/** Return the server's time in ms: an age must not depend on this machine's clock. */
function timeOf(answer) {
  const said = Date.parse(answer.headers.get("date") ?? "");
  return Number.isNaN(said) ? Date.now() : said;
}

function noAnswer() {
  return new Problem(0, "no-answer", "No answer came.");
}

function signedOut() {
  return new Problem(401, "signed-out", "You are signed out. Sign in again.");
}

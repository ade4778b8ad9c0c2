// Who is signed in: an authorization code with PKCE, and one id token that this tab keeps.

const SESSION = "session";
const ASKED = "asked:";
// Enough that a token does not end between two clicks.
const MARGIN_MS = 30_000;
const TOKEN_TIMEOUT_MS = 30_000;

/** Return the token with what it says of its owner, null when nobody is signed in any more. */
export function session() {
  const kept = sessionStorage.getItem(SESSION);
  if (kept === null) return null;
  const claims = claimsOf(kept);
  if (claims === null || claims.exp * 1000 - MARGIN_MS < Date.now()) {
    forget();
    return null;
  }
  const groups = Array.isArray(claims["cognito:groups"]) ? claims["cognito:groups"] : [];
  return { token: kept, name: claims.email ?? claims.sub, tenant: claims["custom:tenant_id"], groups };
}

/** Forget the token. */
export function forget() {
  sessionStorage.removeItem(SESSION);
}

/** Leave for the sign-in pages, to come back to where we are now. */
export async function signIn() {
  const { client_id, sign_in_url } = await configuration();
  const [state, nonce, verifier] = [secret(), secret(), secret()];
  const back = location.pathname + location.hash;
  sessionStorage.setItem(ASKED + state, JSON.stringify({ nonce, verifier, back }));
  const challenge = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  location.assign(
    `${sign_in_url}/oauth2/authorize?${new URLSearchParams({
      response_type: "code",
      client_id,
      redirect_uri: returnAddress(),
      scope: "openid",
      state,
      nonce,
      code_challenge: base64url(new Uint8Array(challenge)),
      code_challenge_method: "S256",
    })}`,
  );
}

/** Leave the sign-in pages too, so that the next person has to sign in. */
export async function signOut() {
  forget();
  const { client_id, sign_in_url } = await configuration();
  const after = new URLSearchParams({ client_id, logout_uri: `${location.origin}/console` });
  location.assign(`${sign_in_url}/logout?${after}`);
}

/**
 * Redeem the code that the sign-in pages sent, and return the path that the person came from.
 * Throws an Error with words for a person when it was not this tab that asked.
 */
export async function redeem(search) {
  const answer = new URLSearchParams(search);
  const kept = sessionStorage.getItem(ASKED + answer.get("state"));
  if (kept === null) throw new Error("This tab did not ask to sign in, or has already done so.");
  sessionStorage.removeItem(ASKED + answer.get("state"));
  if (!answer.has("code")) throw new Error("The sign-in pages sent no code.");
  const asked = JSON.parse(kept);
  const token = await tokenFor(answer.get("code"), asked.verifier);
  const claims = claimsOf(token);
  if (claims === null || claims.nonce !== asked.nonce) {
    throw new Error("The token is not the answer to what this tab asked.");
  }
  sessionStorage.setItem(SESSION, token);
  return asked.back;
}

async function tokenFor(code, verifier) {
  const { client_id, sign_in_url } = await configuration();
  const answer = await fetch(`${sign_in_url}/oauth2/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id,
      code,
      redirect_uri: returnAddress(),
      code_verifier: verifier,
    }),
    credentials: "omit",
    signal: AbortSignal.timeout(TOKEN_TIMEOUT_MS),
  });
  if (!answer.ok) throw new Error("The sign-in pages did not accept their own code.");
  // The access and refresh tokens that come with it are not kept: nothing here has use for them.
  return (await answer.json()).id_token;
}

async function configuration() {
  const answer = await fetch("/console/config.json");
  if (!answer.ok) throw new Error("The configuration of this page could not be read.");
  return answer.json();
}

function returnAddress() {
  return `${location.origin}/signed-in`;
}

/** Return what a token says. Only the API checks it; the page shows it and asks by it. */
function claimsOf(token) {
  try {
    const bytes = atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (c) => c.charCodeAt(0))));
  } catch {
    return null;
  }
}

function secret() {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

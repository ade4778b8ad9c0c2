// Who is signed in, with the way out; or the way in.

import { button, element, say, saySilence, show } from "./dom.js";
import { session, signIn, signOut } from "./session.js";
import { shown } from "./text.js";

/** Show who is signed in, at the top of the page. */
export function showPerson() {
  const signedIn = session();
  const place = document.getElementById("person");
  if (signedIn === null) return place.replaceChildren();
  const tenant = signedIn.tenant ? [" · ", shown(signedIn.tenant)] : [];
  return place.replaceChildren(
    element("span", { class: "who" }, shown(signedIn.name), ...tenant),
    button({ class: "quiet" }, () => signOut(), "Sign out"),
  );
}

/** Show the way in. Nobody is sent there unasked: a scanner that runs scripts stays here. */
export function showWayIn(title, why) {
  showPerson();
  saySilence();
  show(
    element("section", { class: "way-in" },
      element("h1", {}, title),
      element("p", {}, why),
      button({ class: "main" }, () => signIn(), "Sign in"),
    ),
  );
}

/** Say why something could not be read or done; who is signed out meanwhile is shown the way in. */
export function sayProblem(words, problem) {
  if (problem.kind === "signed-out") {
    showWayIn("You are signed out", "Nothing was done. Sign in again, and you come back to this page.");
  } else {
    say("failed", words, shown(problem.message));
  }
}

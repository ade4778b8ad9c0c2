// Back from the sign-in pages: redeem the code, and go on where the person came from.

import { element, ownLink, show } from "./dom.js";
import { redeem } from "./session.js";
import { shown } from "./text.js";

const search = location.search;
// A code works once; it has no business in the history of this tab.
history.replaceState(null, "", location.pathname);
try {
  const back = new URL(await redeem(search), location.origin);
  if (back.origin !== location.origin) throw new Error("That is not a page of ours.");
  location.replace(back);
} catch (error) {
  show(
    element("h1", {}, "You are not signed in"),
    element("p", {}, shown(error.message)),
    element("p", {}, "Nothing was done. Open the page that you came from once more."),
    element("p", {}, ownLink("/console", {}, "The recovery console")),
  );
}

// What was made for a customer: whether it can be fetched now, and one press that fetches it.
//
// The link to this page opens nothing by itself. The API checks each time, for the person's own
// token, and the address that it answers with lives for a minute: one is asked for with each press.

import { ask } from "./api.js";
import { button, element, facts, say, saySilence, show } from "./dom.js";
import { showPerson, showWayIn } from "./person.js";
import { session } from "./session.js";
import { shown } from "./text.js";
import { momentFrom } from "./time.js";

const ADDRESS = /^\/artifact\/(run_[a-z2-7]{26})$/;
const REFUSALS = {
  "artifact-expired": "This link has ended",
  "artifact-not-ready": "It cannot be fetched now",
  "artifact-not-found": "There is nothing for you here",
  "run-not-found": "There is nothing for you here",
  "not-permitted": "This is for the customer only",
};

async function open() {
  const named = ADDRESS.exec(location.pathname);
  if (named === null) {
    return show(
      element("h1", {}, "This link is not complete"),
      element("p", {}, "Open it once more from where you got it."),
    );
  }
  if (session() === null) {
    return showWayIn("Please sign in", "A file waits for you. Sign in to fetch it: only you can.");
  }
  showPerson();
  return load(named[1]);
}

async function load(runId) {
  try {
    showReady(runId, await ask("GET", `/runs/${runId}/artifact`));
  } catch (problem) {
    showRefusal(problem);
  }
}

function showReady(runId, { body, nowMs }) {
  const get = button({ class: "main" }, () => fetchIt(), "Fetch the file");

  async function fetchIt() {
    get.disabled = true;
    saySilence();
    try {
      const fresh = await ask("GET", `/runs/${runId}/artifact`);
      location.assign(downloadAddress(fresh.body.url));
      say("told", "Your browser is fetching it.");
    } catch (problem) {
      if (problem.kind === "no-answer") say("failed", "No answer came. Try again.");
      else showRefusal(problem);
    }
    get.disabled = false;
  }

  show(
    element("h1", {}, "Your file is ready"),
    facts(
      ["Can be fetched until", momentFrom(Date.parse(body.valid_until), nowMs)],
      ["Reference", shown(body.artifact_id)],
    ),
    element("div", { class: "answers" }, get),
  );
}

/** Return an address that can only be fetched, whatever the answer holds. */
function downloadAddress(text) {
  const address = new URL(text);
  if (address.protocol !== "https:" && address.protocol !== location.protocol) {
    throw new Error("The file's address is not one that a browser should open.");
  }
  return address;
}

function showRefusal(problem) {
  if (problem.kind === "signed-out") return open();
  const title = Object.hasOwn(REFUSALS, problem.kind ?? "") ? REFUSALS[problem.kind] : "This could not be shown";
  return show(
    element("h1", {}, title),
    element("p", {}, shown(problem.message)),
    button({}, () => open(), "Look again"),
  );
}

open();

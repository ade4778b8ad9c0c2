// The console: the list, or the one run that the address names.

import { element, say, saySilence, show } from "./dom.js";
import { showPerson, showWayIn } from "./person.js";
import { reviews } from "./reviews.js";
import { run } from "./run.js";
import { session } from "./session.js";
import { shown } from "./text.js";

const RUN_ADDRESS = /^#(run_[a-z2-7]{26})$/;
let reader = 0;

async function open() {
  const mine = ++reader;
  const stillHere = () => mine === reader;
  if (session() === null) return wayIn();
  showPerson();
  saySilence();
  try {
    const named = RUN_ADDRESS.exec(location.hash);
    const showIt = await (named ? run(named[1], stillHere) : reviews());
    if (stillHere()) showIt();
  } catch (problem) {
    if (stillHere()) failed(problem);
  }
}

function failed(problem) {
  if (problem.kind === "signed-out") return wayIn();
  show(element("h1", {}, "This could not be shown"), element("p", {}, shown(problem.message)));
  return say("failed", "Nothing was changed.");
}

function wayIn() {
  showWayIn("Recovery console", "Runs that wait for a person, with what is proven of each. For operators.");
}

addEventListener("hashchange", open);
open();

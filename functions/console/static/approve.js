// A customer's approval: exactly what is asked, until when, and two answers.
//
// Opening the page reads, and changes nothing. Only a press of a button decides: one POST, by the
// person's own token, with the digest of what this page has shown.

import { ask } from "./api.js";
import { button, element, facts, ownLink, say, saySilence, show } from "./dom.js";
import { showPerson, showWayIn } from "./person.js";
import { session } from "./session.js";
import { shown } from "./text.js";
import { momentFrom } from "./time.js";

const STAFF = ["agents", "operators"];
const ADDRESS = /^\/approve\/(run_[a-z2-7]{26})\/(apr_[a-z2-7]{26})$/;

async function open() {
  const named = ADDRESS.exec(location.pathname);
  if (named === null) {
    return show(
      element("h1", {}, "This link is not complete"),
      element("p", {}, "Open it once more from where you got it. Nothing was done."),
    );
  }
  if (session() === null) {
    return showWayIn("Please sign in", "You are asked to decide about something. Sign in to see exactly what. Opening this page decided nothing.");
  }
  showPerson();
  return load(...named.slice(1));
}

async function load(runId, approvalId) {
  try {
    const { body, nowMs } = await ask("GET", `/runs/${runId}`);
    if (body.approval === null) showStanding(body);
    else if (body.approval.approval_id !== approvalId) showOther(body);
    else showQuestion(body, nowMs);
  } catch (problem) {
    if (problem.kind === "signed-out") return open();
    show(element("h1", {}, "This could not be shown"), element("p", {}, shown(problem.message)));
  }
  return undefined;
}

function showQuestion(status, nowMs) {
  const { approval } = status;
  const staff = session().groups.some((group) => STAFF.includes(group));
  const expires = momentFrom(Date.parse(approval.expires_at), nowMs);
  const words = approval.asked.map(inWords).join(", and ");
  const yes = button({ class: "main" }, () => decide("approve"), "Approve: ", shown(words));
  const no = button({}, () => decide("decline"), "Decline: nothing more is done");

  async function decide(decision) {
    yes.disabled = no.disabled = true;
    saySilence();
    try {
      const path = `/runs/${status.run_id}/approvals/${approval.approval_id}/decision`;
      const { body } = await ask("POST", path, { decision, digest: approval.digest });
      showStanding(body);
      say("told", decision === "approve" ? "Your approval is on record." : "You declined. That is on record.");
    } catch (problem) {
      await load(status.run_id, approval.approval_id);
      if (problem.inDoubt) say("failed", "It is not known whether your answer arrived. If the question is still shown, you can answer again; it counts once.");
      else say("failed", shown(problem.message));
    }
  }

  show(
    element("h1", {}, "Do you approve exactly this?"),
    element("ol", { class: "asked" },
      approval.asked.map((part) =>
        element("li", { class: "card" },
          element("div", { class: "card-top" },
            element("h2", {}, shown(part.label)),
            part.amount && element("span", { class: "amount" }, shown(part.amount)),
          ),
          plainly(part),
        ),
      ),
    ),
    element("p", { class: "lead" }, "Valid until ", expires, ". Nothing else is done with your approval, and nothing without it."),
    staff
      ? element("p", { class: "note warned" }, "You are signed in as staff. Only the customer can decide.")
      : element("div", { class: "answers" }, yes, no),
  );
}

/** Return what else is bound by a yes, in words; the amount is told above it. */
function plainly(part) {
  const rest = Object.entries(part.fields).filter(
    ([name]) => !part.amount || (name !== "amount_minor" && name !== "currency"),
  );
  // A value stays exactly what it is: it is what the yes is bound to.
  return facts(...rest.map(([name, value]) => [shown(name.replace(/_id$/, "").replaceAll("_", " ")), shown(value)]));
}

function inWords(part) {
  const label = part.label.charAt(0).toLowerCase() + part.label.slice(1);
  return part.amount ? `${label} ${part.amount}` : label;
}

function showOther(status) {
  const page = `/approve/${status.run_id}/${status.approval.approval_id}`;
  show(
    element("h1", {}, "This question was replaced"),
    element("p", {}, "A newer one is open. "),
    element("p", {}, ownLink(page, {}, "Show what is asked now")),
  );
}

function showStanding(status) {
  show(
    element("h1", {}, shown(status.message)),
    element("p", { class: "lead" }, "Nothing is asked of you now."),
    status.proven.length > 0 &&
      element("section", {},
        element("h2", {}, "What is proven"),
        element("ul", { class: "several" }, status.proven.map((claim) => element("li", {}, shown(claim)))),
      ),
    status.effects.length > 0 && element("section", {}, element("h2", {}, "What was done"),
      element("ul", { class: "cards" }, status.effects.map((effect) =>
        element("li", { class: "card" },
          facts(
            [shown(effect.operation.replaceAll("_", " ")), shown(effect.status)],
            ["Record", effect.record_id && shown(effect.record_id)],
          ),
        ),
      )),
    ),
    button({}, () => open(), "Look again"),
  );
}

open();

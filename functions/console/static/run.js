// One run: what happened, what may be done, what is known, and how it came to this.

import { actions, sayRefusal } from "./actions.js";
import { ask } from "./api.js";
import { button, element, facts, ownLink, say, saySilence, show } from "./dom.js";
import { effects, fields } from "./effects.js";
import { sayProblem } from "./person.js";
import { record } from "./providers.js";
import { runState } from "./states.js";
import { shown } from "./text.js";
import { moment, momentFrom } from "./time.js";

// While the run is at work the page follows it: every few seconds, and not for ever.
const FOLLOW_MS = 4_000;
const MAX_FOLLOWS = 60;

/** Return how to show the run as it is now; `stillHere()` tells whether the reader has gone on. */
export async function run(runId, stillHere) {
  const page = new RunPage(runId, stillHere);
  const seen = await page.read();
  return () => page.show(seen);
}

class RunPage {
  constructor(runId, stillHere) {
    this.path = `/runs/${encodeURIComponent(runId)}`;
    this.stillHere = stillHere;
    this.follows = 0;
    this.timer = 0;
  }

  read() {
    return ask("GET", `${this.path}/view`);
  }

  show({ body: view, nowMs }) {
    const found = view.facts;
    show(
      element("p", {}, ownLink("#", { class: "back" }, "← All that wait")),
      element("h1", {}, shown(view.summary)),
      this.standing(found),
      actions(view, (offer, reason) => this.act(view, offer, reason)),
      effects(view, nowMs),
      approval(view, nowMs),
      this.customerWords(),
      trail(view.trail),
      about(found, nowMs),
      element("details", { class: "raw" },
        element("summary", {}, "Everything, as the API sends it"),
        element("pre", {}, shown(JSON.stringify(view, null, 2), { lines: true })),
      ),
    );
    this.follow(found);
  }

  standing(found) {
    return element("div", { class: "standing" },
      runState(found.state),
      found.engineering && element("span", { class: "tag" }, "for engineering"),
      found.review_reason && element("p", {}, element("strong", {}, "Why: "), shown(found.review_reason)),
      found.review_also?.length > 0 &&
        element("p", {}, "And since: ", shown(found.review_also.join("; "))),
      found.settled_in_review?.length > 0 &&
        element("p", {}, "Found out since: ", shown(found.settled_in_review.join(", ")), "."),
      button({ class: "quiet" }, () => this.again(), "Look again"),
    );
  }

  async again() {
    try {
      const seen = await this.read();
      if (this.stillHere()) this.show(seen);
    } catch (problem) {
      if (this.stillHere()) sayProblem("The run could not be read: ", problem);
    }
  }

  async act(view, offer, reason) {
    const body = { action: offer.action, view_version: view.facts.view_version, reason };
    if (offer.effect_id) body.effect_id = offer.effect_id;
    saySilence();
    try {
      const seen = await ask("POST", `${this.path}/actions`, body);
      this.follows = 0;
      this.show(seen);
      say("told", "Done, and on record: ", shown(offer.label), ".");
    } catch (problem) {
      if (problem.kind === "signed-out") return sayProblem("", problem);
      await this.again();
      sayRefusal(problem);
    }
    return undefined;
  }

  /** Look again while the run is at work, unless the reader is elsewhere or writing something. */
  follow(found) {
    clearTimeout(this.timer);
    if (found.state !== "active" || this.follows >= MAX_FOLLOWS) return;
    this.follows += 1;
    this.timer = setTimeout(() => {
      if (!this.stillHere()) return;
      if (document.hidden || readerIsBusy()) this.follow(found);
      else this.again();
    }, FOLLOW_MS);
  }

  /** Personal, and read only when somebody asks: each reading leaves a line in the log. */
  customerWords() {
    const place = element("div", {});
    place.append(
      button({}, () => this.readWords(place), "Show who the customer is and what they wrote"),
    );
    return element("section", { "aria-labelledby": "words" },
      element("h2", { id: "words" }, "The customer's own words"),
      place,
    );
  }

  async readWords(place) {
    try {
      const { body } = await ask("GET", `${this.path}/customer-words`);
      place.replaceChildren(untrusted(body));
    } catch (problem) {
      sayProblem("The customer's words could not be read: ", problem);
    }
  }
}

/** Whether a new view would take something from under the reader's hands or eyes. */
function readerIsBusy() {
  const main = document.getElementById("main");
  const at = document.activeElement;
  const elsewhere = main.contains(at) && at !== main && at.tagName !== "H1";
  return elsewhere || document.querySelector("dialog, details[open], .untrusted") !== null;
}

function untrusted(body) {
  return element("div", { class: "untrusted", role: "note" },
    element("p", { class: "warning" },
      element("span", { "aria-hidden": "true", class: "sign" }, "!"),
      "Written by others, and not checked. It explains the request; nothing in it is an instruction to you.",
    ),
    facts(
      ["Name", body.untrusted_customer_name ? shown(body.untrusted_customer_name) : "none, or erased"],
      ["Words", body.untrusted_customer_text ? shown(body.untrusted_customer_text, { lines: true }) : "none, or erased"],
    ),
  );
}

function approval(view, nowMs) {
  const asked = view.facts.approval;
  if (asked === null) return null;
  const open = view.facts.state === "awaiting_approval" && asked.state === "pending" && !asked.expired;
  const page = `/approve/${view.facts.run_id}/${asked.approval_id}`;
  return element("section", { "aria-labelledby": "approval" },
    element("h2", { id: "approval" }, "The customer's approval"),
    element("div", { class: "card" },
      facts(
        ["State", element("span", {}, shown(asked.state), asked.expired && ", expired")],
        ["Decided", momentFrom(asked.decided_at_ms, nowMs)],
        ["Decided by", asked.decided_by && element("code", {}, shown(asked.decided_by))],
        [asked.expired ? "Was valid until" : "Valid until", momentFrom(asked.expires_at_ms, nowMs)],
        ...view.asked.map((part) => [
          shown(part.label),
          fields(part.fields, view.exponents),
        ]),
        ["Page for the customer", open && ownLink(page, {}, shown(location.origin + page))],
        ["Digest", element("code", {}, shown(asked.digest))],
      ),
    ),
  );
}

function trail(events) {
  return element("section", { "aria-labelledby": "trail" },
    element("h2", { id: "trail" }, "How it came to this"),
    element("p", { class: "lead" }, `The newest ${events.length} events, newest first.`),
    element("ol", { class: "trail" }, [...events].reverse().map(event)),
  );
}

function event(found) {
  const moved = found.prior_state && found.state && found.prior_state !== found.state
    ? [" ", shown(found.prior_state), " → ", shown(found.state)]
    : [];
  return element("li", {},
    element("div", { class: "when" }, `#${found.sequence} `, moment(found.at_ms)),
    element("div", {},
      element("strong", {}, shown(found.kind.replaceAll("_", " "))), ...moved,
      element("div", {}, shown(found.reason)),
      element("small", {},
        "by ", shown(found.actor.kind), " ", element("code", {}, shown(found.actor.actor_id)),
        found.subject && [" about ", element("code", {}, shown(found.subject))],
      ),
    ),
  );
}

function about(found, nowMs) {
  return element("section", { "aria-labelledby": "about" },
    element("h2", { id: "about" }, "The run"),
    element("div", { class: "card" },
      facts(
        ["Run", element("code", {}, shown(found.run_id))],
        ["Customer", record(found.customer_id)],
        ["Tenant", shown(found.tenant_id)],
        ["Workflow", shown(found.workflow)],
        ["Last verified checkpoint", found.last_verified_checkpoint ? shown(found.last_verified_checkpoint) : "none yet"],
        ["Proven", found.claims.length > 0 && shown(found.claims.join(" "))],
        ["Next", shown(found.next_state)],
        ["Opened", momentFrom(found.opened_at_ms, nowMs)],
        ["Closed", momentFrom(found.closed_at_ms, nowMs)],
        ["Executions", `${found.executions}`],
        ["View", `${found.view_version}`],
      ),
    ),
  );
}

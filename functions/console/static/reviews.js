// What waits for a person, longest waiting first.

import { ask } from "./api.js";
import { button, element, facts, ownLink, say, saySilence, show } from "./dom.js";
import { sayProblem } from "./person.js";
import { record } from "./providers.js";
import { shown } from "./text.js";
import { length, moment } from "./time.js";

const RUN_ID = /^run_[a-z2-7]{26}$/;

/** Return the page of the list, read now. */
export async function reviews() {
  const list = element("ul", { class: "reviews" });
  const more = button({ class: "more" }, () => further(list, more), "Show those that wait less long");
  const first = await ask("GET", "/reviews");
  add(list, more, first);
  return () =>
    show(
      element("h1", {}, "Runs that wait for a person"),
      element("p", { class: "lead" }, "Longest waiting first. Nothing here goes on by itself unless it says so."),
      list,
      more,
      byId(),
    );
}

async function further(list, more) {
  more.disabled = true;
  try {
    add(list, more, await ask("GET", `/reviews?cursor=${encodeURIComponent(more.dataset.cursor)}`));
    saySilence();
  } catch (problem) {
    sayProblem("The next page could not be read: ", problem);
  }
  more.disabled = false;
}

function add(list, more, { body, nowMs }) {
  list.append(...body.reviews.map((found) => review(found, nowMs)), ...body.unreadable.map(damaged));
  more.hidden = body.next_cursor === null;
  more.dataset.cursor = body.next_cursor ?? "";
  if (list.children.length === 0 && more.hidden) {
    list.append(element("li", { class: "empty" }, "Nothing waits for a person now."));
  }
}

function review(found, nowMs) {
  return element("li", { class: "card review" },
    element("div", { class: "card-top" },
      element("span", { class: "waits" }, `waiting ${length(nowMs - found.waiting_since_ms)}`),
      found.engineering && element("span", { class: "tag" }, "for engineering"),
      found.amount && element("span", { class: "amount" }, shown(found.amount)),
    ),
    element("h2", {}, heading(found)),
    facts(
      [told("unknown", "?", "Unknown"), found.unknown.length > 0 && several(found.unknown)],
      [told("conflict", "≠", "Refused, or differs"), found.contrary.length > 0 && several(found.contrary)],
      [told("confirmed", "✓", "Confirmed"), found.confirmed.length > 0 ? several(found.confirmed) : "nothing yet"],
    ),
    element("p", { class: "small" },
      "Customer ", record(found.customer_id), " · ", shown(found.workflow), " · since ",
      moment(found.waiting_since_ms), " · ", element("code", {}, shown(found.run_id)),
    ),
  );
}

/** Return a run that waits and whose record cannot be read: an engineer has to look. */
function damaged(runId) {
  return element("li", { class: "card review" },
    element("h2", {}, "This run cannot be read"),
    element("p", {}, "Its record is damaged, or newer than this console. Tell an engineer."),
    element("p", { class: "small" }, element("code", {}, shown(runId))),
  );
}

function told(kind, sign, words) {
  const mark = element("span", { "aria-hidden": "true", class: `sign ${kind}` }, sign);
  return element("span", {}, mark, words);
}

/** Return the reason as the way to the run; one whose id is not ours leads nowhere. */
function heading(found) {
  const reason = shown(found.reason || "no reason was given");
  return RUN_ID.test(found.run_id) ? ownLink(`#${found.run_id}`, {}, reason) : reason;
}

function several(words) {
  return element("ul", { class: "several" }, words.map((word) => element("li", {}, shown(word))));
}

function byId() {
  const field = element("input", {
    id: "run-id", type: "text", autocomplete: "off", spellcheck: "false", maxlength: "40",
    placeholder: "run_…",
  });
  const form = element("form", { class: "by-id" },
    element("label", { for: "run-id" }, "Open a run by its id"),
    element("div", { class: "row" }, field, element("button", { type: "submit" }, "Open")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const wanted = field.value.trim();
    if (RUN_ID.test(wanted)) location.hash = wanted;
    else say("warned", "A run's id is “run_” and 26 letters and digits.");
  });
  return form;
}

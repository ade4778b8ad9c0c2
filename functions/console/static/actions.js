// What an operator may do: each named by its consequence, confirmed with a reason, done once.

import { button, element, say } from "./dom.js";
import { shown } from "./text.js";

const MAX_REASON_CHARACTERS = 500;

/** Return the actions; `act(offer, reason)` does one and settles when it is answered. */
export function actions(view, act) {
  const sorted = [...view.offers].sort((one, other) => Number(other.allowed) - Number(one.allowed));
  return element("section", { "aria-labelledby": "actions" },
    element("h2", { id: "actions" }, "What you may do"),
    element("ul", { class: "actions" },
      sorted.map((offer, index) => (offer.allowed ? allowed(view, offer, act) : refused(offer, index))),
    ),
  );
}

function allowed(view, offer, act) {
  const kind = offer.consequence.moves_money ? "act moves-money" : "act";
  return element("li", {},
    button({ class: kind }, () => confirm(view, offer, act),
      element("span", { class: "act-label" }, shown(offer.label)),
      element("span", { class: "act-follows" }, follows(view, offer)),
    ),
    element("p", { class: "words" }, shown(offer.consequence.words), about(offer)),
  );
}

/** Return an action that is not allowed now: it can be reached, and says why it does nothing. */
function refused(offer, index) {
  const why = `refused-${index}`;
  return element("li", {},
    element("button", { type: "button", class: "act", "aria-disabled": "true", "aria-describedby": why },
      element("span", { class: "act-label" }, shown(offer.label)),
      element("span", { class: "act-follows" }, "Not now"),
    ),
    element("p", { class: "words", id: why }, shown(offer.refused_because), about(offer)),
  );
}

function about(offer) {
  return offer.effect_id ? [" About ", element("code", {}, shown(offer.effect_id)), "."] : null;
}

/** Return what the action does to the outside, shortest first. */
function follows(view, offer) {
  const { reads, writes, moves_money: movesMoney } = offer.consequence;
  const parts = [];
  if (movesMoney) {
    const sign = element("span", { "aria-hidden": "true", class: "sign" }, "¤");
    parts.push(element("strong", {}, sign, "Moves money", view.amount && [": ", shown(view.amount)]));
  }
  if (writes.length > 0) parts.push(element("span", {}, "May write: ", shown(writes.join(", "))));
  if (reads.length > 0) parts.push(element("span", {}, "Reads: ", shown(reads.join(", "))));
  if (parts.length === 0) parts.push(element("span", {}, "Touches nothing outside"));
  return parts;
}

function confirm(view, offer, act) {
  const reason = element("textarea", {
    id: "reason", rows: "3", maxlength: `${MAX_REASON_CHARACTERS}`, required: true,
  });
  const go = element("button", { type: "submit", class: "main" }, "Do it: ", shown(offer.label));
  const cancel = button({}, () => dialog.close(), "Cancel");
  const form = element("form", {},
    element("h2", { id: "asked" }, shown(offer.label), "?"),
    element("p", { class: "act-follows" }, follows(view, offer)),
    element("p", {}, shown(offer.consequence.words), about(offer)),
    element("label", { for: "reason" }, "Why? It is kept in the trail, with your id."),
    reason,
    element("div", { class: "row end" }, cancel, go),
  );
  const dialog = element("dialog", { "aria-labelledby": "asked" }, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (reason.value.trim() === "") {
      reason.value = "";
      reason.reportValidity();
      return;
    }
    // Once: a second press of a slow button must not be a second choice.
    for (const part of [go, cancel, reason]) part.disabled = true;
    go.replaceChildren("Working…");
    await act(offer, reason.value);
    dialog.close();
  });
  dialog.addEventListener("cancel", (event) => go.disabled && event.preventDefault());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  reason.focus();
}

/** Say what became of an action that was not done, or of which it is not known. */
export function sayRefusal(problem) {
  if (problem.kind === "view-changed") {
    say("warned", "The run has changed since you looked, so nothing was done. Here it is as it is now.");
  } else if (problem.inDoubt) {
    say("failed", "It is not known whether that was done. Look at the trail before you choose again. ",
      shown(problem.message));
  } else {
    say("failed", "Nothing was done: ", shown(problem.message));
  }
}

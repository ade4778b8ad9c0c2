// States in words and signs; no state is told by its colour alone.

import { element } from "./dom.js";
import { shown } from "./text.js";

const EFFECTS = {
  planned: ["○", "planned, not begun"],
  attempting: ["…", "being made now"],
  accepted: ["◔", "accepted, not finished"],
  confirmed: ["✓", "confirmed"],
  unknown: ["?", "unknown: may be done already"],
  rejected: ["✕", "refused by the provider"],
  conflict: ["≠", "in conflict with the provider's records"],
  contradicted: ["!", "contradicted by the provider since"],
};
const RUNS = {
  active: ["…", "at work"],
  awaiting_approval: ["?", "waits for the customer"],
  review: ["!", "in review: waits for a person"],
  completed: ["✓", "completed"],
  closed: ["■", "closed"],
};

/** Return the state of an effect. */
export function effectState(state) {
  return badge(EFFECTS, state);
}

/** Return the state of a run. */
export function runState(state) {
  return badge(RUNS, state);
}

function badge(known, state) {
  if (!Object.hasOwn(known, state)) return element("span", { class: "state" }, shown(state));
  const [sign, words] = known[state];
  return element(
    "span",
    { class: `state ${state}` },
    element("span", { "aria-hidden": "true", class: "sign" }, sign),
    words,
  );
}

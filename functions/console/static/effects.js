// One outside write: its state, what proves it, and what protects it from being made twice.

import { element, facts } from "./dom.js";
import { record } from "./providers.js";
import { effectState } from "./states.js";
import { shown } from "./text.js";
import { momentFrom } from "./time.js";

// Two ways to say one amount; both are told as one where the currency's decimals are known.
const AMOUNT_FIELDS = new Set(["amount_minor", "currency"]);
// Fields that hold an id of a provider's record.
const RECORD_FIELDS = new Set(["charge_id", "customer_id", "refund_id", "subscription_id"]);

/** Return the effects, and what was not begun. */
export function effects({ facts: found, exponents }, nowMs) {
  const cards = found.effects.map((effect) => card(effect, exponents, nowMs));
  const rest = found.not_begun.map((label) =>
    element("li", { class: "card effect" },
      element("div", { class: "card-top" },
        element("h3", {}, shown(label)),
        element("span", { class: "state" }, element("span", { "aria-hidden": "true", class: "sign" }, "○"), "not begun"),
      ),
    ),
  );
  return element("section", { "aria-labelledby": "effects" },
    element("h2", { id: "effects" }, "Outside writes"),
    element("ul", { class: "cards" }, cards, rest),
  );
}

function card(effect, exponents, nowMs) {
  const readBack = any(effect.proven_fields);
  const equal = readBack && same(effect.proven_fields, effect.bound);
  return element("li", { class: "card effect" },
    element("div", { class: "card-top" },
      element("h3", {}, shown(effect.label), effect.over && " (another one counts in its place)"),
      effectState(effect.state),
      effect.overdue && element("span", { class: "tag" }, "overdue"),
      effect.undone && element("span", { class: "tag" }, "taken back since"),
      effect.may_be_undone && !effect.undone && element("span", { class: "tag" }, "may be taken back since"),
    ),
    facts(
      ["Provider's record", effect.attested ? "none: an operator's word" : effect.record_id && record(effect.record_id)],
      ["Provider says", effect.provider_status && shown(effect.provider_status)],
      ["Intended, and read back equal", equal && fields(effect.bound, exponents)],
      ["Read back from the provider", readBack && !equal && fields(effect.proven_fields, exponents)],
      ["Intended", !equal && any(effect.bound) && fields(effect.bound, exponents)],
      ["Unsettled since", momentFrom(effect.unsettled_since_ms, nowMs)],
      ["Somebody is told", momentFrom(effect.overdue_at_ms, nowMs)],
      ["Read again", momentFrom(effect.recheck_at_ms, nowMs)],
      ["Seen at the same target", effect.remarks?.length > 0 && list(effect.remarks)],
      ["Records in question", effect.candidates.length > 0 && candidates(effect.candidates, exponents, nowMs)],
    ),
    element("details", {},
      element("summary", {}, "Key and attempts"),
      facts(
        ["Attempts", `${effect.attempts}`],
        ["Last fault", effect.last_fault && shown(effect.last_fault)],
        ["Idempotency key", element("code", {}, shown(effect.idempotency_key))],
        ["Generation", `${effect.generation}`],
        ["First used", momentFrom(effect.key_first_used_at_ms, nowMs)],
        [
          effect.key_protects_until_ms <= nowMs ? "Protected until" : "Protects until",
          momentFrom(effect.key_protects_until_ms, nowMs),
        ],
        ["Effect", element("code", {}, shown(effect.effect_id))],
      ),
    ),
  );
}

/**
 * Return named values. Ids of a provider's records are linked where they look like some, and an
 * amount is written as people do, with the decimals that the ledger knows of its currency.
 */
export function fields(values, exponents) {
  const amount = amountOf(values, exponents);
  const rest = Object.entries(values).filter(([name]) => amount === null || !AMOUNT_FIELDS.has(name));
  return facts(
    ["amount", amount && element("strong", {}, shown(amount))],
    ...rest.map(([name, value]) => [
      shown(name.replaceAll("_", " ")),
      RECORD_FIELDS.has(name) ? record(value) : shown(value),
    ]),
  );
}

/** Return an amount such as `USD 79.00`, null when it cannot be told for certain. */
function amountOf({ amount_minor: minor, currency }, exponents) {
  if (!Number.isSafeInteger(minor) || minor < 0 || !Object.hasOwn(exponents, currency)) return null;
  const decimals = exponents[currency];
  const digits = `${minor}`.padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  return decimals === 0 ? `${currency} ${whole}` : `${currency} ${whole}.${digits.slice(-decimals)}`;
}

function same(one, other) {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}

function candidates(found, exponents, nowMs) {
  return element("ul", { class: "several" },
    found.map((candidate) =>
      element("li", {},
        record(candidate.record_id), " (", shown(candidate.provider_status), ") ",
        fields(candidate.fields, exponents),
        element("small", {}, "read ", momentFrom(candidate.read_at_ms, nowMs)),
      ),
    ),
  );
}

function list(words) {
  return element("ul", { class: "several" }, words.map((word) => element("li", {}, shown(word))));
}

function any(values) {
  return Object.keys(values).length > 0;
}

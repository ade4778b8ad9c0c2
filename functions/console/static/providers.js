// Where a provider shows a record. The address is ours; of the record only an id that looks like one.

import { shown } from "./text.js";

const STRIPE = "https://dashboard.stripe.com";
const ID = "[A-Za-z0-9_]{1,200}";
const PAGES = [
  [new RegExp(`^re_${ID}$`), "refunds"],
  [new RegExp(`^(ch|py)_${ID}$`), "payments"],
  [new RegExp(`^sub_${ID}$`), "subscriptions"],
  [new RegExp(`^cus_${ID}$`), "customers"],
];

/** Return the id, linked when it is one that a provider's page is known for, else as text. */
export function record(id) {
  const page = typeof id === "string" ? PAGES.find(([pattern]) => pattern.test(id)) : undefined;
  if (page === undefined) return shown(id);
  const link = document.createElement("a");
  link.href = `${STRIPE}/${page[1]}/${id}`;
  link.rel = "noopener noreferrer";
  link.target = "_blank";
  link.className = "record";
  link.append(shown(id));
  return link;
}

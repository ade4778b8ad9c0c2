// Elements are made here and nowhere else; text goes in as text.

// Attributes that hold words or states. None of them can load, run, style or lead anywhere.
const ATTRIBUTES = new Set([
  "aria-describedby", "aria-disabled", "aria-hidden", "aria-label", "aria-labelledby", "autocomplete",
  "class", "datetime", "disabled", "for", "id", "maxlength", "name", "open", "placeholder", "required",
  "role", "rows", "scope", "spellcheck", "tabindex", "type",
]);

const OWN_ADDRESS = /^(\/console|#|#run_[a-z2-7]{26}|\/approve\/run_[a-z2-7]{26}\/apr_[a-z2-7]{26})$/;

/** Return a new element. A child is an element, or text; false and null are left out. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (!ATTRIBUTES.has(attribute)) throw new Error(`${attribute} is not set here`);
    if (value !== false && value !== null) made.setAttribute(attribute, value === true ? "" : value);
  }
  made.append(...given(children));
  return made;
}

function given(children) {
  return children.flat().filter((child) => child !== false && child !== null && child !== undefined && child !== "");
}

/** Return a button that calls `press`. */
export function button(attributes, press, ...children) {
  const made = element("button", { type: "button", ...attributes }, ...children);
  made.addEventListener("click", press);
  return made;
}

/** Return a link to one of our own pages: a path or a fragment, never what somebody sent. */
export function ownLink(address, attributes, ...children) {
  if (!OWN_ADDRESS.test(address)) throw new Error("not an address of ours");
  const made = element("a", attributes, ...children);
  made.href = address;
  return made;
}

/** Return terms with their values, in the order given; a value that is null is left out. */
export function facts(...rows) {
  const list = element("dl", { class: "facts" });
  for (const [term, value] of rows) {
    if (value === null || value === undefined || value === false) continue;
    list.append(element("div", {}, element("dt", {}, term), element("dd", {}, value)));
  }
  return list;
}

/** Put `content` in the place of what the page shows, and the reader's place at its beginning. */
export function show(...content) {
  const main = document.getElementById("main");
  main.replaceChildren(...given(content));
  const heading = main.querySelector("h1");
  if (heading) {
    heading.setAttribute("tabindex", "-1");
    heading.focus({ preventScroll: true });
  }
}

/** Say something that screen readers speak too; `kind` is "told", "warned" or "failed". */
export function say(kind, ...content) {
  const signs = { told: "✓", warned: "!", failed: "✕" };
  const sign = element("span", { "aria-hidden": "true", class: "sign" }, signs[kind]);
  document
    .getElementById("message")
    .replaceChildren(element("p", { class: `note ${kind}` }, sign, element("span", {}, ...content)));
}

/** Take back what was said last. */
export function saySilence() {
  document.getElementById("message").replaceChildren();
}

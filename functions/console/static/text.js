// Text of others, made visible as it is: nothing in it acts, and nothing in it hides.

// Characters that nobody sees, or that turn the order of what stands around them.
const HIDDEN = /([\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0])/u;

// Longer text is cut: a page that cannot be scrolled helps nobody.
const MAX_CHARACTERS = 20_000;

/**
 * Return an element that holds `value` as text, apart from the direction of what surrounds it, with
 * every hidden character shown by its number. With `lines`, line breaks and tabs stay what they are.
 */
export function shown(value, { lines = false } = {}) {
  const isolated = document.createElement("bdi");
  isolated.className = lines ? "shown lines" : "shown";
  const text = String(value ?? "");
  for (const piece of text.slice(0, MAX_CHARACTERS).split(HIDDEN)) {
    if (piece !== "") isolated.append(isHidden(piece, lines) ? number(piece) : piece);
  }
  if (text.length > MAX_CHARACTERS) isolated.append(" … (cut)");
  return isolated;
}

function isHidden(piece, lines) {
  if (lines && (piece === "\n" || piece === "\t")) return false;
  return HIDDEN.test(piece);
}

function number(character) {
  const mark = document.createElement("span");
  mark.className = "hidden-character";
  const code = character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  mark.textContent = `U+${code}`;
  return mark;
}

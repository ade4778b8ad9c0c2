// Times in the ledger's own zone, and how long ago in words.

const MAX_MS = 8.64e15; // the last moment that a Date can hold
const MOMENT = new Intl.DateTimeFormat("en-GB", {
  timeZone: "UTC",
  dateStyle: "medium",
  timeStyle: "medium",
});

function isMoment(ms) {
  return Number.isSafeInteger(ms) && Math.abs(ms) <= MAX_MS;
}

/** Return a moment, in UTC as in logs and trail; null for none. */
export function moment(ms) {
  if (!isMoment(ms)) return null;
  const made = document.createElement("time");
  made.dateTime = new Date(ms).toISOString();
  made.textContent = `${MOMENT.format(ms)} UTC`;
  return made;
}

/** Return a length of time in its two largest units, for example `3 h 12 min`. */
export function length(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const parts = [
    [Math.floor(seconds / 86400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return "0 s";
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(" ");
}

/** Return a moment with its distance from now; null for none. */
export function momentFrom(ms, nowMs) {
  const made = moment(ms);
  if (made === null) return null;
  const whole = document.createElement("span");
  const distance = ms > nowMs ? `in ${length(ms - nowMs)}` : `${length(nowMs - ms)} ago`;
  whole.append(made, ` (${distance})`);
  return whole;
}

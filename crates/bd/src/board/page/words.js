// Times, durations, numbers and names, as the board spells them.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

// Making a formatter costs far more than using one.
const FULL = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
const MONTH = new Intl.DateTimeFormat('en', { month: 'short' });
const COUNT = new Intl.NumberFormat('en-US');

/**
 * Spells a duration: "42 s", "44 min", "2 h 10", "3 d 18 h".
 * @param {number} ms
 */
export function duration(ms) {
  const positive = Math.max(0, ms);
  if (positive < MINUTE) return `${Math.floor(positive / 1000)} s`;
  if (positive < HOUR) return `${Math.floor(positive / MINUTE)} min`;
  if (positive < DAY) return `${Math.floor(positive / HOUR)} h ${two(Math.floor(positive / MINUTE) % 60)}`;
  const days = Math.floor(positive / DAY);
  const hours = Math.floor(positive / HOUR) % 24;
  return hours && days < 10 ? `${days} d ${hours} h` : `${days} d`;
}

/** @param {number} number */
function two(number) {
  return String(number).padStart(2, '0');
}

/**
 * Spells a time of day, or a date if it is not within a day of `now`.
 * @param {number} ms
 * @param {number} now
 */
export function clock(ms, now) {
  const date = new Date(ms);
  if (Math.abs(now - ms) < 20 * HOUR) return `${two(date.getHours())}:${two(date.getMinutes())}`;
  const month = MONTH.format(date);
  const year = new Date(now).getFullYear() === date.getFullYear() ? '' : ` ${date.getFullYear()}`;
  return `${date.getDate()} ${month}${year}`;
}

/**
 * Spells a time in full, for titles.
 * @param {number} ms
 */
export function fullTime(ms) {
  return FULL.format(ms);
}

/**
 * Spells a number with thousands separators.
 * @param {number} value
 */
export function number(value) {
  return COUNT.format(value);
}

/**
 * Spells a place in a list: "1st", "2nd", "11th".
 * @param {number} place
 */
export function ordinal(place) {
  const isTeen = Math.floor(place / 10) % 10 === 1;
  return `${number(place)}${(isTeen ? undefined : [undefined, 'st', 'nd', 'rd'][place % 10]) ?? 'th'}`;
}

/**
 * Spells a count with its noun.
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function counted(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/**
 * Splits an actor into its name and the fainter host.
 * @param {string} actor
 * @returns {[string, string]}
 */
export function nameAndHost(actor) {
  const at = actor.indexOf('@');
  return at > 0 ? [actor.slice(0, at), actor.slice(at)] : [actor, ''];
}

/**
 * Returns the milliseconds of a time in any of the spellings of the protocol.
 * @param {unknown} time
 * @returns {number}
 */
export function toMs(time) {
  if (typeof time === 'number') return time;
  if (Array.isArray(time)) return Number(time[0]);
  const text = String(time ?? '');
  return /^\d+(\.\d+)?$/.test(text) ? Number(text.split('.')[0]) : Date.parse(text) || 0;
}

/**
 * Splits two texts into the words that are only in one of them and those in both.
 * @param {string} before
 * @param {string} after
 * @returns {{ before: [boolean, string][], after: [boolean, string][] }}
 */
export function wordDifference(before, after) {
  const a = before.split(/(\s+)/);
  const b = after.split(/(\s+)/);
  if (a.length * b.length > 1_000_000) return { before: [[true, before]], after: [[true, after]] };
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] = a[i] === b[j]
        ? common[(i + 1) * width + j + 1] + 1
        : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  /** @type {[boolean, string][]} */
  const left = [];
  /** @type {[boolean, string][]} */
  const right = [];
  /** @param {[boolean, string][]} side @param {boolean} own @param {string} word */
  const push = (side, own, word) => {
    const last = side[side.length - 1];
    if (last && last[0] === own) last[1] += word;
    else side.push([own, word]);
  };
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      push(left, false, a[i++]);
      push(right, false, b[j++]);
    } else if (j >= b.length || (i < a.length && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      push(left, true, a[i++]);
    } else {
      push(right, true, b[j++]);
    }
  }
  return { before: joined(left), after: joined(right) };
}

/** Joins neighbouring words that differ into one, with the space between them. @param {[boolean, string][]} parts @returns {[boolean, string][]} */
function joined(parts) {
  /** @type {[boolean, string][]} */
  const out = [];
  for (const [own, text] of parts) {
    const [before, gap] = out.slice(-2);
    if (own && gap && before?.[0] && !gap[0] && !gap[1].trim()) {
      before[1] += gap[1] + text;
      out.pop();
    } else out.push([own, text]);
  }
  return out;
}

/** Makes the first letter of a text a capital. @param {string} text */
export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Makes a message a sentence. @param {string} text */
export function asSentence(text) {
  return `${capital(text).replace(/\.$/, '')}.`;
}

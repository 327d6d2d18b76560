// When the person at this browser last left: everything "since you left" counts from there.

const MARKER = 'bd-board-left';
/** A person who looks again after this long has been away. */
const AWAY_MS = 60 * 60_000;

/** Returns when the person at this browser last left, and records that the page is visible now. */
export function leftAt() {
  const now = Date.now();
  /** @type {{ seen: number, left: number }} */
  let known = { seen: 0, left: now - 12 * 60 * 60_000 };
  try {
    known = { ...known, ...JSON.parse(localStorage.getItem(MARKER) ?? '{}') };
    if (known.seen && now - known.seen > AWAY_MS) known.left = known.seen;
    localStorage.setItem(MARKER, JSON.stringify({ seen: now, left: known.left }));
  } catch {
    // Without storage, a night is twelve hours.
  }
  return known.left;
}

/** Records that the page is visible. @param {number} left */
export function recordSeen(left) {
  try {
    localStorage.setItem(MARKER, JSON.stringify({ seen: Date.now(), left }));
  } catch {
    // Without storage there is no marker.
  }
}

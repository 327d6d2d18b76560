// When the person at this browser last left: everything "since you left" counts from there. All tabs share the marker.

const MARKER = 'bd-board-left';
/** A person who looks again after this long has been away. */
const AWAY_MS = 60 * 60_000;
/** Without a marker, a night is this long. */
export const NIGHT_MS = 12 * 60 * 60_000;

/** @returns {{ seen: number, left: number }} */
function readMarker() {
  try {
    const { seen = 0, left = 0 } = JSON.parse(localStorage.getItem(MARKER) ?? '{}');
    return { seen: Number(seen) || 0, left: Number(left) || 0 };
  } catch {
    return { seen: 0, left: 0 };
  }
}

/** Records that the person looks at the page, and returns when they last left. @param {number} [known] what this tab knows of it */
export function leftAt(known = 0) {
  const now = Date.now();
  const marker = readMarker();
  const away = marker.seen && now - marker.seen > AWAY_MS ? marker.seen : 0;
  // Another tab may know better: an older time never replaces a newer one.
  const left = Math.max(known, marker.left, away) || now - NIGHT_MS;
  try {
    localStorage.setItem(MARKER, JSON.stringify({ seen: now, left }));
  } catch {
    // Without storage there is no marker.
  }
  return left;
}

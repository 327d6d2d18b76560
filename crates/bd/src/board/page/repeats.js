// Two clicks on one button are one action, unless the bead went back in between to what it was. The second click of a
// double click does nothing else, either: the first may have put another button under the pointer.

import { writesBegun } from './api.js';
import { beads } from './beads.js';

/** Within this time, the same action on the same bead is the second click of a double click. */
const DOUBLE_CLICK_MS = 600;

/** @typedef {{ id: string, before: string, moved: boolean, until: number }} Sent */

/** @type {Map<string, Sent>} what was sent, by the action */
const sent = new Map();

/** What an action changes about a bead. @param {string} id */
function shapeOf(id) {
  const bead = beads.get(id);
  return bead ? JSON.stringify([bead.status, bead.assignee, bead.priority, bead.after, bead.notes?.length]) : '';
}

/** Whether an action is not the repetition of one that was just sent. Counts as sent from here on. @param {Record<string, unknown>} action */
export function beginOnce(action) {
  const key = JSON.stringify(action);
  if ((sent.get(key)?.until ?? 0) > performance.now()) return false;
  const id = String(action.id ?? action.from ?? '');
  sent.set(key, { id, before: shapeOf(id), moved: false, until: Infinity });
  return true;
}

/** The action succeeded at this time of its start. @param {Record<string, unknown>} action @param {number} start */
export function keepSent(action, start) {
  const one = sent.get(JSON.stringify(action));
  if (one) one.until = start + DOUBLE_CLICK_MS;
}

/** The action failed and may be tried again at once. @param {Record<string, unknown>} action */
export function dropSent(action) {
  sent.delete(JSON.stringify(action));
}

/** Everything may be done again, because something was undone. */
export function dropAllSent() {
  sent.clear();
}

// A bead that was claimed and then released by somebody can be claimed again, however quickly.
beads.addEventListener('change', () => {
  for (const [key, one] of sent) {
    if (one.until < performance.now()) sent.delete(key);
    else if (shapeOf(one.id) !== one.before) one.moved = true;
    else if (one.moved) sent.delete(key);
  }
});

/** A click this soon after one that wrote, and this near to it, belongs to the same double click. */
const SECOND_CLICK_MS = 400;
const SECOND_CLICK_PX = 24;

/** The last click, and how many writes were sent before it. */
let lastClick = { at: -Infinity, x: 0, y: 0, writes: 0 };

// Dialogs and messages disappear with a click, too, so all clicks count.
addEventListener('click', (event) => {
  // A key has no position, and what it acts on does not move.
  if (event.detail === 0) return;
  const { clientX: x, clientY: y, timeStamp: at } = event;
  const isNear = at - lastClick.at < SECOND_CLICK_MS && Math.hypot(x - lastClick.x, y - lastClick.y) < SECOND_CLICK_PX;
  const isSecond = isNear && writesBegun() !== lastClick.writes;
  lastClick = { at, x, y, writes: isSecond ? lastClick.writes : writesBegun() };
  if (!isSecond) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);

// Two clicks on one button are one action, unless the bead went back in between to what it was.

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

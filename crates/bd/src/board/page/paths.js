// What follows from the edges: the longest chain of unfinished beads, and when each can be done at the earliest.

import { DEFAULT_MINUTES } from './groups.js';

/** @typedef {import('./beads.js').Bead} Bead */

/** @param {Bead | undefined} bead */
export const isOpen = (bead) => bead !== undefined && bead.status !== 'closed';

/**
 * Returns the longest chain of unfinished beads by estimated time. Only beads with edges can be part of it.
 * @param {Map<string, Bead>} all
 * @param {Map<string, string[]>} waiting
 * @returns {Bead[]}
 */
export function longestPath(all, waiting) {
  /** @type {Map<string, { minutes: number, next: string | null }>} */
  const best = new Map();
  /** @type {Set<string>} */
  const active = new Set();
  const isWork = (/** @type {string} */ id) => isOpen(all.get(id)) && all.get(id)?.type !== 'epic';
  const roots = [...waiting.keys()].filter(isWork);
  for (const root of roots) {
    /** @type {[string, boolean][]} */
    const stack = [[root, false]];
    for (let top = stack.pop(); top; top = stack.pop()) {
      const [id, finished] = top;
      const after = (waiting.get(id) ?? []).filter((other) => isOpen(all.get(other)));
      if (finished) {
        active.delete(id);
        let chosen = null;
        let minutes = 0;
        for (const other of after) {
          const known = best.get(other);
          if (known && known.minutes > minutes) [minutes, chosen] = [known.minutes, other];
        }
        best.set(id, { minutes: minutes + (all.get(id)?.minutes ?? DEFAULT_MINUTES), next: chosen });
      } else if (!best.has(id) && !active.has(id)) {
        active.add(id);
        stack.push([id, true]);
        for (const other of after) if (!best.has(other) && !active.has(other)) stack.push([other, false]);
      }
    }
  }
  let at = null;
  let longest = 0;
  for (const id of roots) {
    const known = best.get(id);
    if (known && known.next && known.minutes > longest) [longest, at] = [known.minutes, id];
  }
  const path = [];
  for (let depth = 0; at && depth < 10_000; depth++) {
    const bead = all.get(at);
    if (bead) path.push(bead);
    at = best.get(at)?.next ?? null;
  }
  return path;
}

/** When a bead can be done if it starts at a time. @param {Bead} bead @param {number} start @param {number} now */
export function endFrom(bead, start, now) {
  const used = bead.status === 'in_progress' && bead.claimed ? now - bead.claimed : 0;
  return start + Math.max(0, (bead.minutes ?? DEFAULT_MINUTES) * 60_000 - used);
}

/**
 * Returns when each bead that waits for others can be done at the earliest. Beads that wait for a cycle are missing.
 * @param {Map<string, Bead>} all
 * @param {Map<string, string[]>} waiting
 * @param {number} now
 * @returns {Map<string, number>}
 */
export function endsOfWaiting(all, waiting, now) {
  /** @type {Map<string, number>} */
  const ends = new Map();
  const before = (/** @type {Bead} */ bead) => (bead.after ?? []).filter((id) => isOpen(all.get(id)));
  /** @type {Map<string, number>} how many unfinished beads each one still waits for */
  const left = new Map();
  const ready = [];
  for (const id of waiting.keys()) {
    const bead = all.get(id);
    if (bead && isOpen(bead) && !before(bead).length) ready.push(bead);
  }
  for (let bead = ready.pop(); bead; bead = ready.pop()) {
    const start = Math.max(now, ...before(bead).map((id) => ends.get(id) ?? now));
    ends.set(bead.id, endFrom(bead, start, now));
    for (const id of waiting.get(bead.id) ?? []) {
      const next = all.get(id);
      if (!next || !isOpen(next)) continue;
      const count = (left.get(id) ?? before(next).length) - 1;
      left.set(id, count);
      if (count === 0) ready.push(next);
    }
  }
  return ends;
}

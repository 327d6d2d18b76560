// The beads of each epic, with their counts, kept up to date one bead at a time.

/** @typedef {import('./beads.js').Bead} Bead */
/** @typedef {import('./beads.js').State} State */

/**
 * @typedef {object} Group
 * @property {string} key the id of the epic; empty for beads without one
 * @property {Map<string, Bead>} members without epics
 * @property {number} version grows with every change of a member
 * @property {Record<State, number>} count
 * @property {number} minutes the work that is left, by the estimates
 * @property {number[]} open the number of unfinished members of each priority
 * @property {Set<string>} asking the members with an open question
 */

/** @typedef {{ group: Group, bead: Bead, state: State }} Entry */

/** How deep epics may be nested. */
const DEPTH = 50;

/** An estimate for beads without one, as `bd plan` uses it. */
export const DEFAULT_MINUTES = 60;

export class Groups {
  /** @param {(id: string) => Bead | undefined} find */
  constructor(find) {
    this.find = find;
    /** @type {Map<string, Group>} */
    this.all = new Map();
    /** @type {Map<string, Entry>} */
    this.entries = new Map();
  }

  /** The topmost ancestor of a bead. @param {Bead} bead @returns {Bead | undefined} */
  topOf(bead) {
    let at = bead.parent ? this.find(bead.parent) : undefined;
    for (let depth = 0; at?.parent && depth < DEPTH; depth++) at = this.find(at.parent) ?? at;
    return at;
  }

  /** @param {string} key */
  group(key) {
    let group = this.all.get(key);
    if (!group) {
      group = { key, members: new Map(), version: 0, count: { ready: 0, blocked: 0, held: 0, closed: 0, deferred: 0 }, minutes: 0, open: [0, 0, 0, 0, 0], asking: new Set() };
      this.all.set(key, group);
    }
    return group;
  }

  /** Adds a bead, or replaces what was known of it. @param {Bead} bead @param {State} state */
  place(bead, state) {
    this.remove(bead.id);
    const top = this.topOf(bead);
    if (bead.type === 'epic') {
      if (!top) this.group(bead.id).version++;
      return;
    }
    const group = this.group(top?.id ?? '');
    group.version++;
    group.members.set(bead.id, bead);
    this.entries.set(bead.id, { group, bead, state });
    this.tally(group, bead, state, 1);
  }

  /** @param {string} id */
  remove(id) {
    const entry = this.entries.get(id);
    if (!entry) return;
    this.entries.delete(id);
    entry.group.version++;
    entry.group.members.delete(id);
    this.tally(entry.group, entry.bead, entry.state, -1);
  }

  /** @param {Group} group @param {Bead} bead @param {State} state @param {1 | -1} by */
  tally(group, bead, state, by) {
    group.count[state] += by;
    if (state !== 'closed') {
      group.minutes += by * (bead.minutes ?? DEFAULT_MINUTES);
      group.open[Math.min(4, bead.priority)] += by;
    }
    if (bead.asks && by > 0) group.asking.add(bead.id);
    else group.asking.delete(bead.id);
  }

  /** The groups with something to show: the most urgent first, then those with the most open work. Beads without an epic come last. */
  sorted() {
    const shown = [...this.all.values()].filter((group) => {
      const epic = this.find(group.key);
      return group.members.size || (epic && epic.type === 'epic' && epic.status !== 'closed' && !this.topOf(epic));
    });
    const best = (/** @type {Group} */ group) => group.open.findIndex((count) => count > 0) >>> 0;
    const open = (/** @type {Group} */ group) => group.members.size - group.count.closed;
    return shown.sort((a, b) => Number(!a.key) - Number(!b.key) || best(a) - best(b) || open(b) - open(a));
  }
}

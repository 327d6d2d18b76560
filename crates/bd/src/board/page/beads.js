// The beads in the browser: what the server sent, and what follows from it.

import { exported } from './api.js';
import { Groups } from './groups.js';
import { leftAt, NIGHT_MS } from './marker.js';
import { put, take } from './multimap.js';
import { endFrom, endsOfWaiting, isOpen, longestPath } from './paths.js';
import { toMs } from './words.js';

/** @typedef {import('./types.js').Bead} Bead */
/** @typedef {import('./types.js').State} State */
/** @typedef {import('./types.js').Agent} Agent */
/** @typedef {import('./types.js').StoreEvent} StoreEvent */
/** @typedef {import('./types.js').Pulse} Pulse */
/** @typedef {import('./types.js').About} About */

/** How many changed beads are remembered for lists that follow them one by one. */
const JOURNAL = 2_000;

/** The events that show as notes while they come. */
const FEED_TYPES = ['note', 'closed', 'asked', 'answered', 'cancelled'];

/** The events that show as incidents of a night. */
const INCIDENT_TYPES = ['asked', 'conflict', 'expired', 'reopened', 'cancelled', 'sync_failed', 'sync_recovered'];

/** The most notes and incidents that are kept. */
const MOST_EVENTS = 500;

export class Beads extends EventTarget {
  constructor() {
    super();
    /** @type {Map<string, Bead>} */
    this.all = new Map();
    /** @type {Map<string, string[]>} the beads that wait for a bead */
    this.waiting = new Map();
    /** @type {Map<string, string[]>} */
    this.children = new Map();
    /** @type {Record<State, Map<string, Bead>>} the beads in each state, without epics */
    this.sets = { ready: new Map(), blocked: new Map(), held: new Map(), closed: new Map(), deferred: new Map() };
    /** @type {Map<string, Bead>} unfinished beads with a due date */
    this.dated = new Map();
    this.groups = new Groups((id) => this.all.get(id));
    /** @type {Pulse | null} */
    this.pulse = null;
    /** @type {About} */
    this.about = { name: '', host: '', actor: '', read_only: false, version: '' };
    /** @type {any[]} */
    this.findings = [];
    /** When the last word from the server came, and whether the stream is open. */
    this.heard = Date.now();
    this.live = false;
    this.loaded = false;
    this.ahead = 0;
    /** What grows when something changes: anything; a bead; an edge or what counts along it; which beads there are and their epics; a closed bead; the queue; the time. */
    this.version = 0;
    this.content = 0;
    this.links = 0;
    this.shape = 0;
    this.closes = 0;
    this.queue = 0;
    this.ticks = 0;
    /** @type {Map<string, unknown>} */
    this.memo = new Map();
    /** @type {Map<string, { version: string | number, value: unknown }>} */
    this.results = new Map();
    /** @type {[number, string][]} the beads that changed lately, with the content they belong to */
    this.journal = [];
    /** The first content that the journal covers. */
    this.journalFrom = 0;
    /** @type {Set<string>} ids that changed just now */
    this.glowing = new Set();
    this.left = exported ? exported.exported - NIGHT_MS : leftAt();
  }

  /** The time at the server. It stops while the server does not answer; in an exported file, it is that of the export. */
  now() {
    return (this.live ? Date.now() : this.heard) + this.ahead;
  }

  /** @param {{ about: About, beads: Bead[], pulse: Pulse }} snapshot */
  load(snapshot) {
    this.about = snapshot.about;
    this.all = new Map(snapshot.beads.map((bead) => [bead.id, bead]));
    this.loaded = true;
    this.reindex();
    this.setPulse(snapshot.pulse);
  }

  /** @param {Pulse} pulse */
  setPulse(pulse) {
    if (String(this.pulse?.queue) !== String(pulse.queue)) this.queue++;
    // The server leaves out what did not change.
    this.pulse = { ...this.pulse, ...pulse };
    this.ahead = exported ? 0 : pulse.now - Date.now();
    if (Math.abs(this.ahead) < 2_000) this.ahead = 0;
    this.touch();
  }

  /** Takes over the beads that changed. The cost follows their number, not the size of the store. @param {{ ids: string[], beads: Bead[], events: StoreEvent[] }} change */
  change(change) {
    const now = new Map(change.beads.map((bead) => [bead.id, bead]));
    this.content++;
    /** @type {Set<string>} */
    const affected = new Set();
    for (const id of change.ids) this.replace(id, now.get(id), affected);
    for (const id of affected) this.settle(id);
    if (this.journal.length > JOURNAL) {
      this.journalFrom = this.journal[this.journal.length - JOURNAL / 2][0];
      this.journal = this.journal.filter(([content]) => content > this.journalFrom);
    }
    this.glowing = new Set(change.ids);
    if (this.pulse) {
      append(this.pulse.feed.events, change.events.filter((event) => FEED_TYPES.includes(event.type)));
      append(this.pulse.incidents.events, change.events.filter((event) => INCIDENT_TYPES.includes(event.type)));
    }
    this.touch();
  }

  /** Replaces a bead and its edges, and adds the beads whose state or epic may change with it. @param {string} id @param {Bead | undefined} bead @param {Set<string>} affected */
  replace(id, bead, affected) {
    const old = this.all.get(id);
    if (bead) this.all.set(id, bead);
    else this.all.delete(id);
    affected.add(id);
    const edgesChanged = String(old?.after ?? '') !== String(bead?.after ?? '');
    if (edgesChanged) {
      for (const before of old?.after ?? []) take(this.waiting, before, id);
      for (const before of bead?.after ?? []) put(this.waiting, before, id);
    }
    if (old?.parent !== bead?.parent) {
      if (old?.parent) take(this.children, old.parent, id);
      if (bead?.parent) put(this.children, bead.parent, id);
    }
    const behind = this.waiting.get(id) ?? [];
    const opened = isOpen(old) !== isOpen(bead);
    if (opened) for (const other of behind) affected.add(other);
    const isLinked = edgesChanged || behind.length || bead?.after?.length;
    if (isLinked && (edgesChanged || opened || old?.minutes !== bead?.minutes || old?.status !== bead?.status || old?.type !== bead?.type)) this.links++;
    if (!old || !bead || old.parent !== bead.parent || old.type !== bead.type) {
      this.shape++;
      for (const below of this.below(id)) affected.add(below);
    }
  }

  /** Everything below a bead. @param {string} id */
  below(id) {
    /** @type {Set<string>} */
    const seen = new Set();
    const open = [id];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      for (const child of this.children.get(next) ?? []) {
        if (seen.has(child) || child === id) continue;
        seen.add(child);
        open.push(child);
      }
    }
    return seen;
  }

  /** Sorts a bead into the indexes again. @param {string} id */
  settle(id) {
    const bead = this.all.get(id);
    if (this.sets.closed.has(id) || bead?.status === 'closed') this.closes++;
    for (const set of Object.values(this.sets)) set.delete(id);
    this.dated.delete(id);
    this.journal.push([this.content, id]);
    if (bead) this.insert(bead);
    else this.groups.remove(id);
  }

  /** @param {Bead} bead */
  insert(bead) {
    const state = this.state(bead);
    if (bead.type !== 'epic') this.sets[state].set(bead.id, bead);
    if (bead.due && state !== 'closed') this.dated.set(bead.id, bead);
    this.groups.place(bead, state);
  }

  /** Builds all indexes from nothing. */
  reindex() {
    this.waiting = new Map();
    this.children = new Map();
    for (const bead of this.all.values()) {
      for (const before of bead.after ?? []) put(this.waiting, before, bead.id);
      if (bead.parent) put(this.children, bead.parent, bead.id);
    }
    for (const set of Object.values(this.sets)) set.clear();
    this.dated.clear();
    this.groups = new Groups((id) => this.all.get(id));
    this.results.clear();
    for (const bead of this.all.values()) this.insert(bead);
    this.content++;
    this.links++;
    this.shape++;
    this.closes++;
    this.journal = [];
    this.journalFrom = this.content;
  }

  /** The ids of the beads that changed after a content; null if that is too long ago. @param {number} content */
  changedSince(content) {
    if (content < this.journalFrom) return null;
    let from = this.journal.length;
    while (from > 0 && this.journal[from - 1][0] > content) from--;
    return new Set(this.journal.slice(from).map(([, id]) => id));
  }

  touch() {
    this.version++;
    this.memo.clear();
    this.dispatchEvent(new Event('change'));
  }

  /** Time has passed: relative times move on, and deferred beads may be ready. */
  tick() {
    this.ticks++;
    const due = [...this.sets.deferred.values()].filter((bead) => this.state(bead) !== 'deferred');
    if (due.length) this.content++;
    for (const bead of due) this.settle(bead.id);
    this.touch();
  }

  /**
   * Remembers a result until something changes.
   * @template T
   * @param {string} key
   * @param {() => T} compute
   * @returns {T}
   */
  once(key, compute) {
    if (!this.memo.has(key)) this.memo.set(key, compute());
    return /** @type {T} */ (this.memo.get(key));
  }

  /**
   * Remembers a result until its version changes.
   * @template T
   * @param {string} key
   * @param {string | number} version
   * @param {() => T} compute
   * @returns {T}
   */
  onceFor(key, version, compute) {
    const known = this.results.get(key);
    if (known && known.version === version) return /** @type {T} */ (known.value);
    const value = compute();
    this.results.set(key, { version, value });
    return value;
  }

  /** @param {string} id */
  get(id) {
    return this.all.get(id);
  }

  /** @param {Bead} bead @returns {Bead[]} */
  blockers(bead) {
    const found = (bead.after ?? []).map((id) => this.all.get(id));
    return /** @type {Bead[]} */ (found.filter((other) => other && other.status !== 'closed'));
  }

  /** @param {Bead} bead @returns {State} */
  state(bead) {
    if (bead.status === 'closed') return 'closed';
    if (bead.status === 'in_progress') return 'held';
    if (bead.after?.some((id) => isOpen(this.all.get(id)))) return 'blocked';
    if (bead.word === 'blocked') return 'blocked';
    if ((bead.deferred ?? 0) > this.now() || bead.word === 'deferred') return 'deferred';
    return 'ready';
  }

  /** The beads in a state, without epics. @param {State} state @returns {Bead[]} */
  inState(state) {
    return this.onceFor(`in ${state}`, state === 'closed' ? this.closes : this.content, () => [...this.sets[state].values()]);
  }

  /** The beads that an agent can take: ready, and no question about them waits for an answer. */
  free() {
    return this.onceFor('free', this.content, () => this.inState('ready').filter((bead) => !bead.asks));
  }

  /**
   * The ids of all unfinished beads that wait for one, directly or through others.
   * @param {string} id
   * @returns {Set<string>}
   */
  behind(id) {
    const known = this.onceFor('behind', this.links, () => /** @type {Map<string, Set<string>>} */ (new Map()));
    let seen = known.get(id);
    if (seen) return seen;
    seen = new Set();
    known.set(id, seen);
    const open = [id];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      for (const waiting of this.waiting.get(next) ?? []) {
        if (waiting !== id && !seen.has(waiting) && isOpen(this.all.get(waiting))) {
          seen.add(waiting);
          open.push(waiting);
        }
      }
    }
    return seen;
  }

  /** The place of each bead in the queue. @returns {Map<string, number>} */
  places() {
    return this.onceFor('places', this.queue, () => new Map((this.pulse?.queue ?? []).map((id, index) => [id, index + 1])));
  }

  /** The place of a bead in the queue, or where it belongs if the queue that we know is older. @param {Bead} bead */
  placeOf(bead) {
    const known = this.places().get(bead.id);
    if (known) return known;
    const last = this.onceFor('lastPlaces', `${this.queue} ${this.content}`, () => {
      /** @type {number[]} the last place of each priority and those before it */
      const places = [0, 0, 0, 0, 0];
      for (const [id, place] of this.places()) places[Math.min(4, this.all.get(id)?.priority ?? 4)] = place;
      for (let priority = 1; priority < 5; priority++) places[priority] = Math.max(places[priority], places[priority - 1]);
      return places;
    });
    return last[Math.min(4, bead.priority)] + 0.5;
  }

  /** The topmost ancestor of a bead. @param {Bead} bead @returns {Bead | undefined} */
  epicOf(bead) {
    return this.groups.topOf(bead);
  }

  /** The epics with everything below them, the most urgent first. */
  epics() {
    return this.onceFor('epics', this.content, () => this.groups.sorted());
  }

  /** The longest chain of unfinished beads by estimated time. @returns {Bead[]} */
  criticalPath() {
    return this.onceFor('critical', this.links, () => longestPath(this.all, this.waiting));
  }

  /** When all of these beads can be done at the earliest; 0 if they are closed or wait in a cycle. @param {Iterable<Bead>} list */
  expectedEnd(list) {
    const ends = this.onceFor('ends', `${this.links} ${this.ticks}`, () => endsOfWaiting(this.all, this.waiting, this.now()));
    const now = this.now();
    let last = 0;
    for (const bead of list) {
      if (bead.status === 'closed') continue;
      const waits = bead.after?.some((id) => isOpen(this.all.get(id)));
      const end = waits ? ends.get(bead.id) : endFrom(bead, now, now);
      if (end === undefined) return 0;
      last = Math.max(last, end);
    }
    return last;
  }

  /** The agents: who holds, closed or noted something, or has a session. Someone who only filed beads is none. @returns {Agent[]} */
  agents() {
    return this.once('agents', () => (this.pulse?.agents ?? []).filter((agent) => agent.holds.length || agent.closed || agent.notes || (agent.sessions.length && agent.actor !== this.about.actor)));
  }

  /** @returns {Set<string>} */
  critical() {
    return this.onceFor('criticalIds', this.links, () => new Set(this.criticalPath().map((bead) => bead.id)));
  }

  /** Beads that were closed as done since a time. @param {number} since */
  closedSince(since) {
    return this.inState('closed').filter((bead) => (bead.closed ?? 0) >= since);
  }

  /** How many beads were created since a time. @param {number} since */
  createdSince(since) {
    return this.onceFor('created', `${this.content} ${since}`, () => {
      let count = 0;
      for (const bead of this.all.values()) if (bead.created >= since) count++;
      return count;
    });
  }
}

/** The one collection of this tab. */
export const beads = new Beads();

/** Appends the events that a list does not have yet. @param {StoreEvent[]} list @param {StoreEvent[]} more */
function append(list, more) {
  if (!more.length) return;
  const key = (/** @type {StoreEvent} */ event) => `${event.at} ${event.id} ${event.type}`;
  const known = new Set(list.map(key));
  list.push(...more.filter((event) => !known.has(key(event))));
  list.splice(0, list.length - MOST_EVENTS);
}

/** Records that the person looks at the page, or did until now. Who comes back after a long time left when they last looked. */
export function markSeen() {
  if (exported) return;
  const left = leftAt(beads.left);
  if (left === beads.left) return;
  beads.left = left;
  beads.touch();
}

/** Moves the marker to now: everything is seen. */
export function markAllSeen() {
  beads.left = Date.now();
  markSeen();
  beads.touch();
}

/** When the last exchange with the remote succeeded, if there is a remote. */
export function lastSync() {
  const sync = beads.pulse?.status?.sync;
  return sync?.last_success ? toMs(sync.last_success) : 0;
}

// The beads in the browser: what the server sent, and what follows from it.

import { toMs } from './words.js';

/**
 * @typedef {object} Bead
 * @property {string} id
 * @property {string} title
 * @property {'open' | 'in_progress' | 'closed'} status
 * @property {string} [word]
 * @property {number} priority
 * @property {string} type
 * @property {string[]} [labels]
 * @property {string} [parent]
 * @property {string[]} [after]
 * @property {string} [assignee]
 * @property {boolean} [offered]
 * @property {number} [claimed]
 * @property {string} [fence]
 * @property {number} [lease]
 * @property {number} created
 * @property {string} creator
 * @property {number} updated
 * @property {number} [closed]
 * @property {string} [closer]
 * @property {number} [minutes]
 * @property {number} [due]
 * @property {number} [deferred]
 * @property {boolean} [asks]
 * @property {number[]} [notes]
 *
 * @typedef {'ready' | 'blocked' | 'held' | 'closed' | 'deferred'} State
 *
 * @typedef {object} Agent
 * @property {string} actor
 * @property {'dead' | 'hung' | 'quiet' | 'working' | 'idle'} state
 * @property {string | null} last_seen
 * @property {string | null} last_write
 * @property {{ id: string, title: string, since: string, expires: string | null, expired: boolean, offered: boolean }[]} holds
 * @property {{ session: string, last_seen: string, gone: boolean }[]} sessions
 * @property {number} closed
 * @property {number} created
 * @property {number} notes
 * @property {number} busy_ms
 *
 * @typedef {object} StoreEvent
 * @property {string} type
 * @property {string} at
 * @property {string} [id]
 * @property {string} [title]
 * @property {string} [by]
 * @property {string} [text]
 * @property {string[]} [fields]
 * @property {string} [assignee]
 *
 * @typedef {object} Pulse
 * @property {number} now
 * @property {any} status
 * @property {Agent[]} agents
 * @property {any[]} questions
 * @property {any[]} conflicts
 * @property {{ kind: string, ids: string[] }[]} cycles
 * @property {string[]} queue
 * @property {{ events: StoreEvent[] }} feed
 * @property {{ events: StoreEvent[] }} incidents
 * @property {Record<string, { unread: number, reserved: string[] }>} mail
 *
 * @typedef {{ name: string, host: string, actor: string, read_only: boolean, version: string }} About
 */

/** An estimate for beads without one, as `bd plan` uses it. */
export const DEFAULT_MINUTES = 60;

const MARKER = 'bd-board-left';
/** Someone who looks again after this long has been away. */
const AWAY_MS = 60 * 60_000;

export class Beads extends EventTarget {
  constructor() {
    super();
    /** @type {Map<string, Bead>} */
    this.all = new Map();
    /** @type {Map<string, string[]>} the beads that wait for a bead */
    this.waiting = new Map();
    /** @type {Map<string, string[]>} */
    this.children = new Map();
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
    this.version = 0;
    /** @type {Map<string, unknown>} */
    this.memo = new Map();
    /** @type {Set<string>} ids that changed just now */
    this.glowing = new Set();
    this.left = leftAt();
  }

  /** The time at the server. It stops while the server does not answer. */
  now() {
    return (this.live ? Date.now() : this.heard) + this.ahead;
  }

  /** @param {{ about: About, beads: Bead[], pulse: Pulse }} snapshot */
  load(snapshot) {
    this.about = snapshot.about;
    this.all = new Map(snapshot.beads.map((bead) => [bead.id, bead]));
    this.loaded = true;
    this.setPulse(snapshot.pulse);
    this.reindex();
  }

  /** @param {Pulse} pulse */
  setPulse(pulse) {
    this.pulse = pulse;
    this.ahead = pulse.now - Date.now();
    if (Math.abs(this.ahead) < 2_000) this.ahead = 0;
    this.touch();
  }

  /** @param {{ ids: string[], beads: Bead[], events: StoreEvent[] }} change */
  change(change) {
    const now = new Map(change.beads.map((bead) => [bead.id, bead]));
    for (const id of change.ids) {
      const bead = now.get(id);
      if (bead) this.all.set(id, bead);
      else this.all.delete(id);
    }
    this.glowing = new Set(change.ids);
    if (this.pulse) {
      const shown = change.events.filter((event) => ['note', 'closed', 'asked', 'answered', 'cancelled'].includes(event.type));
      const known = new Set(this.pulse.feed.events.map((event) => `${event.at} ${event.id} ${event.type}`));
      this.pulse.feed.events.push(...shown.filter((event) => !known.has(`${event.at} ${event.id} ${event.type}`)));
    }
    this.reindex();
  }

  reindex() {
    this.waiting = new Map();
    this.children = new Map();
    for (const bead of this.all.values()) {
      for (const before of bead.after ?? []) put(this.waiting, before, bead.id);
      if (bead.parent) put(this.children, bead.parent, bead.id);
    }
    this.touch();
  }

  touch() {
    this.version++;
    this.memo.clear();
    this.dispatchEvent(new Event('change'));
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
    if ((bead.after ?? []).some((id) => (this.all.get(id)?.status ?? 'closed') !== 'closed')) return 'blocked';
    if (bead.word === 'blocked') return 'blocked';
    if ((bead.deferred ?? 0) > this.now() || bead.word === 'deferred') return 'deferred';
    return 'ready';
  }

  /** The beads of each state, without epics. @returns {Record<State, Bead[]>} */
  byState() {
    return this.once('byState', () => {
      /** @type {Record<State, Bead[]>} */
      const out = { ready: [], blocked: [], held: [], closed: [], deferred: [] };
      for (const bead of this.all.values()) if (bead.type !== 'epic') out[this.state(bead)].push(bead);
      return out;
    });
  }

  /**
   * The ids of all unfinished beads that wait for one, directly or through others.
   * @param {string} id
   * @returns {Set<string>}
   */
  behind(id) {
    return this.once(`behind ${id}`, () => {
      /** @type {Set<string>} */
      const seen = new Set();
      const open = [id];
      for (let next = open.pop(); next !== undefined; next = open.pop()) {
        for (const waiting of this.waiting.get(next) ?? []) {
          if (waiting !== id && !seen.has(waiting) && this.all.get(waiting)?.status !== 'closed') {
            seen.add(waiting);
            open.push(waiting);
          }
        }
      }
      return seen;
    });
  }

  /** The place of each bead in the queue. @returns {Map<string, number>} */
  places() {
    return this.once('places', () => new Map((this.pulse?.queue ?? []).map((id, index) => [id, index + 1])));
  }

  /** The topmost ancestor of a bead. @param {Bead} bead @returns {Bead | undefined} */
  epicOf(bead) {
    let at = bead.parent ? this.all.get(bead.parent) : undefined;
    for (let depth = 0; at?.parent && depth < 50; depth++) at = this.all.get(at.parent) ?? at;
    return at;
  }

  /**
   * The epics with everything below them, the largest amount of open work first.
   * @returns {{ epic: Bead | null, beads: Bead[] }[]}
   */
  epics() {
    return this.once('epics', () => {
      /** @type {Map<string, { epic: Bead | null, beads: Bead[] }>} */
      const groups = new Map();
      for (const bead of this.all.values()) {
        const epic = this.epicOf(bead);
        if (bead.type === 'epic' && !epic) {
          if (!groups.has(bead.id)) groups.set(bead.id, { epic: bead, beads: [] });
          continue;
        }
        if (bead.type === 'epic') continue;
        const key = epic?.id ?? '';
        const group = groups.get(key) ?? { epic: epic ?? null, beads: [] };
        group.beads.push(bead);
        groups.set(key, group);
      }
      const open = (/** @type {Bead[]} */ beads) => beads.filter((bead) => bead.status !== 'closed').length;
      const best = (/** @type {Bead[]} */ beads) => Math.min(5, ...beads.filter((bead) => bead.status !== 'closed').map((bead) => bead.priority));
      const all = [...groups.values()].filter((group) => group.beads.length || group.epic?.status !== 'closed');
      return all.sort((a, b) => Number(!a.epic) - Number(!b.epic) || best(a.beads) - best(b.beads) || open(b.beads) - open(a.beads));
    });
  }

  /** The longest chain of unfinished beads by estimated time. @returns {Bead[]} */
  criticalPath() {
    return this.once('critical', () => {
      /** @type {Map<string, { minutes: number, next: string | null }>} */
      const best = new Map();
      const open = [...this.all.values()].filter((bead) => bead.status !== 'closed' && bead.type !== 'epic');
      /** @type {Set<string>} */
      const active = new Set();
      for (const root of open) {
        /** @type {[string, boolean][]} */
        const stack = [[root.id, false]];
        for (let top = stack.pop(); top; top = stack.pop()) {
          const [id, finished] = top;
          const after = (this.waiting.get(id) ?? []).filter((other) => this.all.get(other)?.status !== 'closed');
          if (finished) {
            active.delete(id);
            let chosen = null;
            let minutes = 0;
            for (const other of after) {
              const known = best.get(other);
              if (known && known.minutes > minutes) [minutes, chosen] = [known.minutes, other];
            }
            best.set(id, { minutes: minutes + (this.all.get(id)?.minutes ?? DEFAULT_MINUTES), next: chosen });
          } else if (!best.has(id) && !active.has(id)) {
            active.add(id);
            stack.push([id, true]);
            for (const other of after) if (!best.has(other) && !active.has(other)) stack.push([other, false]);
          }
        }
      }
      let at = null;
      let longest = 0;
      for (const bead of open) {
        const known = best.get(bead.id);
        if (known && known.next && known.minutes > longest) [longest, at] = [known.minutes, bead.id];
      }
      const path = [];
      for (let depth = 0; at && depth < 10_000; depth++) {
        const bead = this.all.get(at);
        if (bead) path.push(bead);
        at = best.get(at)?.next ?? null;
      }
      return path;
    });
  }

  /**
   * When each unfinished bead can be done at the earliest, by the estimates and what it waits for. Beads that
   * wait for a cycle are missing.
   * @returns {Map<string, number>}
   */
  earliestEnds() {
    return this.once('earliestEnds', () => {
      /** @type {Map<string, number>} */
      const ends = new Map();
      /** @type {Map<string, number>} how many unfinished beads each one still waits for */
      const left = new Map();
      const ready = [];
      for (const bead of this.all.values()) {
        if (bead.status === 'closed') continue;
        const count = this.blockers(bead).length;
        left.set(bead.id, count);
        if (!count) ready.push(bead);
      }
      const now = this.now();
      for (let bead = ready.pop(); bead; bead = ready.pop()) {
        const start = Math.max(now, ...this.blockers(bead).map((other) => ends.get(other.id) ?? now));
        const used = bead.status === 'in_progress' && bead.claimed ? now - bead.claimed : 0;
        ends.set(bead.id, start + Math.max(0, (bead.minutes ?? DEFAULT_MINUTES) * 60_000 - used));
        for (const id of this.waiting.get(bead.id) ?? []) {
          const count = (left.get(id) ?? 0) - 1;
          left.set(id, count);
          const next = this.all.get(id);
          if (count === 0 && next) ready.push(next);
        }
      }
      return ends;
    });
  }

  /** When all of these beads can be done at the earliest; 0 if they are closed or wait in a cycle. @param {Bead[]} list */
  expectedEnd(list) {
    const ends = this.earliestEnds();
    let last = 0;
    for (const bead of list) {
      if (bead.status === 'closed') continue;
      const end = ends.get(bead.id);
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
    return this.once('criticalIds', () => new Set(this.criticalPath().map((bead) => bead.id)));
  }

  /** Beads that were closed as done since a time. @param {number} since */
  closedSince(since) {
    return this.byState().closed.filter((bead) => (bead.closed ?? 0) >= since);
  }
}

/** The one collection of this tab. */
export const beads = new Beads();

/**
 * Appends to a list in a map.
 * @template K, V
 * @param {Map<K, V[]>} map
 * @param {K} key
 * @param {V} value
 */
export function put(map, key, value) {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

/** Returns when the person at this browser last left, and records that the page is visible now. */
function leftAt() {
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

/** Records that the page is visible. */
export function markSeen() {
  try {
    localStorage.setItem(MARKER, JSON.stringify({ seen: Date.now(), left: beads.left }));
  } catch {
    // Without storage there is no marker.
  }
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

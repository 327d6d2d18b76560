// The timetable of agents: past thin, present thick, the lease ahead. *Now* and *Last night* share the axis.

import { beads, lastSync } from './beads.js';
import { s } from './dom.js';
import { put } from './multimap.js';
import { clock, toMs } from './words.js';

const HOUR_MS = 60 * 60_000;

/**
 * @typedef {object} Axis
 * @property {number} from
 * @property {number} to
 * @property {number[]} hours
 * @property {number} now
 */

/**
 * Returns an axis from the hour before `from` to `ahead` after now.
 * @param {number} from
 * @param {number} ahead
 * @param {number} [most] how many hours may be labelled
 * @param {number} [step] in which steps the axis moves on, in milliseconds
 * @returns {Axis}
 */
export function axisOf(from, ahead, most = 8, step = 1) {
  const now = Math.ceil(beads.now() / step) * step;
  const begin = new Date(Math.min(from, now - HOUR_MS));
  begin.setMinutes(0, 0, 0);
  const to = now + ahead;
  const span = to - begin.getTime();
  const hoursApart = [1, 2, 3, 6, 12, 24, 48, 96, 168, 336, 720].find((hours) => span / (hours * HOUR_MS) <= most) ?? 2000;
  const hours = [];
  for (let at = begin.getTime(); at < to; at += hoursApart * HOUR_MS) hours.push(at);
  return { from: begin.getTime(), to, hours, now };
}

/** @param {Axis} axis @param {number} ms */
export function percent(axis, ms) {
  const share = (ms - axis.from) / (axis.to - axis.from);
  return `${(Math.max(0, Math.min(1, share)) * 100).toFixed(2)}%`;
}

/** @param {Axis} axis @param {number} from @param {number} to */
export function extent(axis, from, to) {
  const begin = Math.max(axis.from, Math.min(from, axis.to));
  const end = Math.max(begin, Math.min(to, axis.to));
  return { x: percent(axis, begin), width: `${(((end - begin) / (axis.to - axis.from)) * 100).toFixed(2)}%` };
}

/** @param {Axis} axis */
export function gridLines(axis) {
  return axis.hours.map((at) => s('line.g', { x1: percent(axis, at), x2: percent(axis, at), y1: 0, y2: '100%' }));
}

/** @param {Axis} axis */
export function axisLabels(axis) {
  const near = (axis.to - axis.from) / 14;
  const labels = axis.hours.filter((at) => Math.abs(at - axis.now) > near).map((at, index) =>
    s('text.axis', { x: percent(axis, at), y: 12, 'text-anchor': index || at > axis.from ? 'middle' : 'start', class: index % 2 ? 'odd' : '' }, clock(at, axis.now)));
  return s('svg.strip.labels', { 'aria-hidden': 'true' }, labels,
    s('text.axis.now', { x: percent(axis, axis.now), y: 12, 'text-anchor': 'middle' }, clock(axis.now, axis.now)));
}

/** @typedef {'gone' | 'slow' | 'working' | 'quiet' | 'idle' | 'unknown'} Shown */

/**
 * Says what is really known about an agent. One on another machine is only known as of the last sync.
 * @param {import('./beads.js').Agent} agent
 * @returns {Shown}
 */
export function shownState(agent) {
  const host = agent.actor.split('@')[1]?.split('/')[0] ?? '';
  const isElsewhere = host !== '' && host !== beads.about.host && !agent.sessions.length;
  const holds = agent.holds.some((held) => !held.offered);
  if (isElsewhere && holds && lastSync() && beads.now() - lastSync() > 5 * 60_000 && agent.state !== 'working') return 'unknown';
  if (agent.state === 'dead') return 'gone';
  if (agent.state === 'hung') return 'slow';
  return agent.state;
}

/** @type {Record<Shown, [string, string, string]>} the icon, the class and the words of each state */
export const SHOWN_WORDS = {
  gone: ['gone', 'bad', 'no sign of life'],
  slow: ['slow', 'wait', 'no progress'],
  working: ['held', 'act', 'working'],
  quiet: ['held', 'act', 'quiet'],
  idle: ['idle', 'faint', 'idle'],
  unknown: ['unknown', 'faint', 'not heard of'],
};

/** What the board knows of each agent's state. @returns {Map<string, Shown>} */
function agentStateMap() {
  return beads.once('agentStates', () => new Map((beads.pulse?.agents ?? []).map((agent) => [agent.actor, shownState(agent)])));
}

/** @param {string} actor @returns {Shown} */
export function agentStateOf(actor) {
  return agentStateMap().get(actor) ?? 'working';
}

/** The states of all agents in one text, which changes when one of them does. */
export function agentStates() {
  return beads.once('agentStatesText', () => [...agentStateMap()].join());
}

/** The closed beads of each agent. */
export function closedByAgent() {
  return beads.onceFor('closedByAgent', beads.closes, () => {
    /** @type {Map<string, import('./beads.js').Bead[]>} */
    const out = new Map();
    for (const bead of beads.inState('closed')) if (bead.closer) put(out, bead.closer, bead);
    return out;
  });
}

/** Everything that the strip of an agent shows, in short. @param {Axis} axis @param {import('./beads.js').Agent} agent */
export function stripSignature(axis, agent) {
  const closed = closedByAgent().get(agent.actor) ?? [];
  const notes = agent.holds.map((held) => beads.get(held.id)?.notes?.length ?? 0);
  return JSON.stringify([axis.from, axis.to, closed.length, closed[closed.length - 1]?.id, agent.closed, agent.holds, shownState(agent), agent.last_write, shownState(agent) === 'gone' ? agent.last_seen : 0, lastSync(), notes]);
}

/**
 * The strip of an agent.
 * @param {Axis} axis
 * @param {import('./beads.js').Agent} agent
 */
export function agentStrip(axis, agent) {
  const shapes = gridLines(axis);
  for (const bead of closedByAgent().get(agent.actor) ?? []) {
    if (!bead.closed || bead.closed < axis.from || !bead.claimed) continue;
    shapes.push(s('rect.b-closed', { ...extent(axis, bead.claimed, bead.closed - 2 * 60_000), y: 11, height: 6 }, s('title', {}, `${bead.id} ${bead.title}`)));
  }
  const state = shownState(agent);
  for (const held of agent.holds.filter((one) => !one.offered)) {
    const since = toMs(held.since);
    const seen = toMs(agent.last_seen) || since;
    const wrote = Math.max(since, toMs(agent.last_write) || since);
    const known = state === 'unknown' ? Math.max(since, lastSync()) : axis.now;
    const good = state === 'gone' ? Math.max(since, seen) : state === 'slow' ? wrote : known;
    shapes.push(s('rect.b-held', { ...extent(axis, since, good), y: 8, height: 12 }));
    for (const note of beads.get(held.id)?.notes ?? []) {
      if (note > since && note < good) shapes.push(s('rect.b-note', { x: percent(axis, note), y: 8, width: 1, height: 12 }));
    }
    if (good < axis.now) shapes.push(s(`rect.b-${state === 'gone' ? 'gone' : state === 'slow' ? 'slow' : 'unknown'}`, { ...extent(axis, good, axis.now), y: 8, height: 12 }));
    if (held.expires) {
      const end = toMs(held.expires);
      const style = state === 'gone' ? 'bad' : state === 'slow' ? 'wait' : state === 'unknown' ? 'faint' : '';
      if (end > axis.now) {
        shapes.push(s('line.b-lease', { class: style, x1: percent(axis, axis.now), x2: percent(axis, end), y1: 14, y2: 14 }),
          s('line.b-lease', { class: style, x1: percent(axis, end), x2: percent(axis, end), y1: 10, y2: 18 }));
      }
    }
  }
  shapes.push(s('line.nowline', { x1: percent(axis, axis.now), x2: percent(axis, axis.now), y1: 0, y2: '100%' }));
  return s('svg.strip', { role: 'img', 'aria-label': `${agent.closed} closed, ${SHOWN_WORDS[state][2]}` }, shapes);
}

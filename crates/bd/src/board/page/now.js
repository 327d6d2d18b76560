// *Now*: four answers, what is stuck, who does what, what is handed out next, notes as they come.

import { actOnAgent, agentPanel } from './agent-panel.js';
import { askMessage, cut, takeBack } from './actions.js';
import { closedElsewhere } from './api.js';
import { beads, lastSync, markAllSeen } from './beads.js';
import { h, icon, s } from './dom.js';
import { needs } from './needs.js';
import { actorName, button, cutLine, empty, glow, head, idLink, priorityMark, timeOf } from './parts.js';
import { SHOWN_WORDS, agentStrip, axisLabels, axisOf, shownState, stripSignature } from './strips.js';
import { View, currentRoute } from './view.js';
import { clock, counted, duration, fullTime, number, toMs } from './words.js';

const HOUR_OF_MS = 60 * 60_000;
/** The axis moves on in steps, so that the strips stay as they are in between. */
const AXIS_STEP_MS = 30_000;

/** The kinds of matters that stop work. */
const STUCK_KINDS = ['question', 'gone', 'slow', 'cycle', 'free', 'blocked'];

export class NowView extends View {
  feedEnd = '';

  /** @override */
  content() {
    const agent = currentRoute().rest[0] === 'agent' ? currentRoute().rest[1] : '';
    return [this.answers(), h('div.nowgrid', {}, h('div.stack', {}, this.stuck(), this.agents()),
      agent ? h('aside.stack.agent', { 'data-key': `agent-${agent}`, 'aria-label': agent }, ...agentPanel(agent)) : h('aside.stack', { 'data-key': 'rail', 'aria-label': 'Next and notes' }, this.next(), this.notes()))];
  }

  answers() {
    const closed = beads.sets.closed.size + closedElsewhere();
    const since = beads.closedSince(beads.left);
    const created = beads.createdSince(beads.left);
    const stuck = stuckMatters();
    const behind = new Set(stuck.flatMap((one) => [...(one.bead ? beads.behind(one.bead) : [])]));
    const urgent = [...behind].filter((id) => (beads.get(id)?.priority ?? 4) <= 1).length;
    const agents = beads.agents();
    const states = agents.map(shownState);
    const working = states.filter((state) => state === 'working' || state === 'slow' || state === 'quiet').length;
    const others = [['gone', 'gone'], ['idle', 'idle'], ['unknown', 'not heard of']]
      .map(([state, word]) => [states.filter((one) => one === state).length, word]).filter(([count]) => count).map(([count, word]) => `${count} ${word}`);
    const needed = needs();
    const oldest = needed.reduce((first, one) => (one.since && one.since < (first?.since ?? Infinity) ? one : first), /** @type {any} */ (null));
    /** @param {string} href @param {string} k @param {(Node | string | false)[]} v @param {string} w */
    const one = (href, k, v, w) => h('a', { href }, h('span.k', {}, k), h('span.v', {}, ...v), h('span.w', {}, w));
    return h('section.answers', { 'aria-label': 'Four answers' }, h('div', {},
      one('#/night', `Done since you left at ${clock(beads.left, beads.now())}`, [number(since.length), sparkline(since)], `closed; ${number(created)} created, ${number(closed)} of ${number(closed + openCount())} closed in all`),
      one('#/now', 'Stuck', [number(stuck.length)], behind.size ? `${counted(behind.size, 'bead')} ${behind.size === 1 ? 'waits' : 'wait'} behind them, ${urgent} ${urgent === 1 ? 'is' : 'are'} P0 or P1` : stuck.length ? 'nothing waits behind them' : 'nothing stands still'),
      one('#/now', 'Working now', [number(working), h('small', {}, `of ${agents.length}`)], others.join(', ') || (agents.length ? 'all of them' : 'no agent holds a bead'))),
    h('a.needed', { href: '#/needs', class: needed.length ? 'bad-count' : '' }, h('span.k', {}, 'Needs you'), h('span.v', {}, number(needed.length)),
      h('span.w', {}, oldest ? `oldest: ${oldest.kindWord} from ${clock(oldest.since, beads.now())}, ${duration(beads.now() - oldest.since)} ago` : 'nothing')));
  }

  stuck() {
    const matters = this.steady('stuck', stuckMatters(), (one) => one.key);
    const shown = matters.slice(0, Math.min(this.shown('stuck'), this.windows.stuck ? Infinity : 8));
    return h('section.sec.stuck', {}, head('Stuck', matters.length, 'ordered by how many beads wait behind'),
      matters.length ? null : h('p.dim.small', {}, 'Nothing stands still.'),
      h('div.rows', { 'data-steady': 'stuck' }, shown.map((one) => h('div.row', { 'data-key': one.key, 'data-row': one.key, 'data-bead': one.bead, 'data-agent': one.actor },
        h('span.mid', { class: one.style }, icon(one.icon, one.kind)),
        h('span.what', {}, one.bead ? idLink(one.bead) : null, h('a.strong.cut', { href: one.bead ? `#/bead/${encodeURIComponent(one.bead)}` : '#/needs' }, beads.get(one.bead ?? '')?.title ?? one.title)),
        h('span.why.cut', { title: one.short }, one.short),
        h('span.num.dim', {}, one.behind ? `${number(one.behind)} wait` : ''),
        h('span.acts', {}, ...one.shortActions)))),
      shown.length < matters.length ? h('a.rest.small.dim', { href: '#/needs' }, `${number(matters.length - shown.length)} more in Needs you`) : null);
  }

  agents() {
    const agents = beads.agents();
    if (!agents.length) {
      const ready = beads.free().length;
      return h('section.sec', {}, head('Agents', 0), beads.all.size
        ? empty('No agent holds a bead.', `${counted(ready, 'bead')} ${ready === 1 ? 'is' : 'are'} ready. An agent takes the next one with `, h('code', {}, 'bd next'), '.')
        : empty('No beads yet.', 'Press ', h('kbd', {}, 'c'), ' to write the first, or import: ', h('code', {}, 'bd import issues.jsonl'), '.'));
    }
    const leases = agents.flatMap((agent) => agent.holds.map((held) => toMs(held.expires ?? 0) - beads.now()));
    const ahead = Math.ceil((Math.min(3 * HOUR_OF_MS, Math.max(HOUR_OF_MS / 2, ...leases) * 1.15)) / AXIS_STEP_MS) * AXIS_STEP_MS;
    const axis = axisOf(Math.max(beads.left, beads.now() - 24 * HOUR_OF_MS), ahead, 8, AXIS_STEP_MS);
    const rank = { gone: 0, slow: 1, working: 2, quiet: 2, idle: 3, unknown: 4 };
    const sorted = [...agents].sort((a, b) => rank[shownState(a)] - rank[shownState(b)] || a.actor.localeCompare(b.actor));
    const list = this.steady('agents', sorted, (agent) => agent.actor);
    const shown = list.slice(0, this.shown('agents'));
    const row = (/** @type {import('./beads.js').Agent} */ agent) => {
      const state = shownState(agent);
      const [glyph, style, word] = SHOWN_WORDS[state];
      const held = agent.holds.filter((one) => !one.offered);
      const first = held[0];
      const bead = first && beads.get(first.id);
      const seen = toMs(agent.last_seen);
      const isLate = state === 'gone' || state === 'slow';
      const sign = state === 'unknown' ? clock(lastSync(), beads.now()) : seen ? duration(beads.now() - seen) : '–';
      const inHand = first ? duration(beads.now() - toMs(first.since)) : '–';
      const signature = JSON.stringify([held, state, bead?.priority, first && beads.critical().has(first.id), sign, inHand, agent.closed, first && glow(first.id), beads.about.read_only, stripSignature(axis, agent)]);
      return this.parts.get(`agent ${agent.actor}`, signature, () => h('tr', { 'data-key': agent.actor, 'data-row': `agent ${agent.actor}`, 'data-bead': first?.id, 'data-agent': agent.actor, class: `${isLate ? 'warn' : ''} ${first ? glow(first.id) : ''}` },
        h('td.c-name', {}, h('span.who', {}, h('span.mid', { class: style }, icon(glyph, word)), h('a.cut', { href: `#/now/agent/${encodeURIComponent(agent.actor)}`, 'data-first': '' }, actorName(agent.actor)))),
        h('td.c-hold', {}, first
          ? h('span.holds', {}, idLink(first.id), bead && bead.priority === 0 && priorityMark(0), beads.critical().has(first.id) && h('b', { title: 'on the critical path' }, '»'), h('a.cut', { href: `#/bead/${encodeURIComponent(first.id)}`, title: first.title, tabindex: -1 }, first.title),
            held.length > 1 && h('span.faint.small', {}, `+${held.length - 1}`), state === 'gone' && button('Take back', 'take-back', { bead: first.id }, 'word'))
          : h('span.holds.dim', {}, agent.closed ? `waits for work, closed ${agent.closed}` : 'waits for work')),
        h('td.c-sign', { class: state === 'gone' ? 'bad strong' : '', title: state === 'unknown' ? `not heard of since ${fullTime(lastSync())}, the last sync` : seen ? fullTime(seen) : '' }, sign),
        h('td.c-strip', {}, agentStrip(axis, agent)),
        h('td.c-lease', {}, inHand)));
    };
    return h('section.sec', {}, head('Agents', agents.length, 'trouble first, then by name'),
      h('table.lanes', { 'data-steady': 'agents' },
        h('thead', {}, h('tr.colhead', {}, h('th.c-name', { scope: 'col' }, 'Agent'), h('th.c-hold', { scope: 'col' }, 'Holds'), h('th.c-sign', { scope: 'col' }, 'Last sign'), h('th.c-strip', { scope: 'col' }, h('span.vh', {}, 'Timetable'), axisLabels(axis)), h('th.c-lease', { scope: 'col' }, 'In hand'))),
        h('tbody', {}, shown.map(row))),
      cutLine(shown.length, list.length, 'agents', 'agents'), legend());
  }

  next() {
    const queue = beads.pulse?.queue ?? [];
    // An epic without work left is handed out, too; elsewhere, epics are not counted as beads.
    const ready = beads.free().length + queue.filter((id) => beads.get(id)?.type === 'epic').length;
    const shown = queue.slice(0, 7).map((id) => beads.get(id)).filter((bead) => bead !== undefined);
    return h('section.sec.next', {}, head('Handed out next', `${number(ready)} ready`),
      whyNothingBetter(), shown.length ? null : h('p.dim.small', {}, 'Nothing is ready.'),
      h('ol', {}, shown.map((bead, index) => h('li', { 'data-key': bead.id, class: glow(bead.id) }, h('span.faint.small', {}, index + 1), priorityMark(bead.priority), h('a.cut', { href: `#/bead/${encodeURIComponent(bead.id)}`, title: bead.title }, bead.title), idLink(bead.id)))),
      ready > shown.length ? h('a.rest.small.dim', { href: '#/board?q=s:ready' }, `${number(ready - shown.length)} more`) : null);
  }

  notes() {
    const all = beads.pulse?.feed.events ?? [];
    const list = this.querySelector('.notes');
    let events = all;
    // While a person reads, nothing moves: newer notes are counted.
    if (list?.matches(':hover, :focus-within') && this.feedEnd) {
      const at = all.findIndex((event) => feedKey(event) === this.feedEnd);
      if (at >= 0) events = all.slice(0, at + 1);
    }
    const newer = all.length - events.length;
    this.feedEnd = events.length ? feedKey(events[events.length - 1]) : '';
    const shown = events.slice(-30).reverse();
    return h('section.sec', {}, head('Notes', undefined, newer ? `${newer} newer` : 'as they come'),
      shown.length ? null : h('p.dim.small', {}, 'No notes yet. An agent writes one with bd note.'),
      h('ul.notes', {}, shown.map((event) => this.note(event))), events.length > shown.length ? h('p.small.dim', {}, `The latest ${shown.length}. bd activity lists all.`) : null);
  }

  /** @param {import('./beads.js').StoreEvent} event */
  note(event) {
    const style = beads.glowing.has(event.id ?? '') && beads.now() - toMs(event.at) < 10_000 ? 'new' : '';
    return this.parts.get(`note ${feedKey(event)}`, `${style} ${clock(toMs(event.at), beads.now())}`, () => h('li', { 'data-key': feedKey(event), class: style },
      timeOf(toMs(event.at)),
      h('div', {}, h('p.by', {}, actorName(event.by ?? ''), idLink(event.id ?? '')), h('p.clip', {}, event.type === 'closed' ? h('span.done.mid.lead1', {}, icon('closed'), 'closed') : event.type === 'asked' ? h('span.bad.mid.lead1', {}, icon('person'), 'asks') : null, event.text ?? event.title ?? ''))));
  }

  /** @override */
  connectedCallback() {
    super.connectedCallback();
    this.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey) || !(event.target instanceof HTMLTextAreaElement)) return;
      const send = event.target.closest('form')?.querySelector('[data-do="send"]');
      if (send instanceof HTMLElement) send.click();
    });
  }

  /** @override @param {string} action @param {DOMStringMap} data @param {HTMLElement} element */
  act(action, data, element) {
    if (actOnAgent(action, data, element)) return;
    if (action === 'answer') location.hash = '#/needs';
    else if (action === 'message') void askMessage(data.actor ?? '', data.bead ?? '');
    else if (action === 'cut') void cut(data.from ?? '', data.to ?? '');
  }

  /** @override @param {string} key */
  key(key) {
    const row = this.selectedRow();
    const agent = row?.dataset.agent ?? currentRoute().rest[1] ?? '';
    const bead = row?.dataset.bead ?? beads.pulse?.agents.find((one) => one.actor === agent)?.holds[0]?.id ?? '';
    if (key === 'Escape' && currentRoute().rest.length) location.hash = '#/now';
    else if (key === 't' && agent && bead) void takeBack(bead);
    else if (key === 'm' && agent && bead) void askMessage(agent, bead);
    else if (key === 'L') markAllSeen();
    else return false;
    return true;
  }

  /** @override @returns {[string, string][]} */
  keys() {
    return [['j k', 'move'], ['↵', 'open'], ['m', 'message'], ['t', 'take back'], ['c', 'new bead'], ['/', 'search'], ['1–5', 'views'], ['u', 'undo']];
  }
}

/** @param {import('./beads.js').StoreEvent} event */
const feedKey = (event) => `${event.at} ${event.id} ${event.type}`;

function openCount() {
  const { ready, blocked, held, deferred } = beads.sets;
  return ready.size + blocked.size + held.size + deferred.size;
}

/** The matters that stop work, by how many beads wait behind them. A holder that is gone does no harm if nothing waits. */
export function stuckMatters() {
  return beads.once('stuck', () => needs().filter((one) => STUCK_KINDS.includes(one.kind) && (one.kind !== 'gone' || one.behind)).sort((a, b) => b.behind - a.behind || (a.since ?? 0) - (b.since ?? 0)));
}

/** Says why nothing of a higher priority is free. */
function whyNothingBetter() {
  const best = beads.free().reduce((lowest, bead) => Math.min(lowest, bead.priority), 5);
  const better = beads.inState('blocked').filter((bead) => bead.priority < best);
  if (!better.length) return null;
  const top = better.reduce((lowest, bead) => Math.min(lowest, bead.priority), 5);
  const roots = new Map();
  for (const bead of better.filter((one) => one.priority === top).slice(0, 500)) {
    for (const before of beads.blockers(bead)) if (beads.state(before) !== 'blocked') roots.set(before.id, (roots.get(before.id) ?? 0) + 1);
  }
  const first = [...roots].sort((a, b) => b[1] - a[1]).slice(0, 3).map(([id]) => id);
  if (!first.length) return null;
  const list = first.flatMap((id, index) => [index ? (index === first.length - 1 ? ' or ' : ', ') : '', idLink(id)]);
  return h('p.small.dim', {}, `Every blocked P${top} waits for `, ...list, roots.size > first.length ? ' or others.' : '.');
}

/** @param {import('./beads.js').Bead[]} closed */
function sparkline(closed) {
  const from = beads.left;
  const bars = Array(9).fill(0);
  const width = Math.max(1, (beads.now() - from) / bars.length);
  for (const bead of closed) bars[Math.min(bars.length - 1, Math.floor(((bead.closed ?? 0) - from) / width))]++;
  const most = Math.max(1, ...bars);
  return s('svg.spark', { viewBox: '0 0 108 18', 'aria-hidden': 'true' }, bars.map((count, index) => s('rect', { x: index * 12, y: 18 - (count / most) * 18, width: 10, height: (count / most) * 18 })));
}

function legend() {
  /** @param {SVGElement[]} shapes @param {string} word */
  const one = (shapes, word) => h('span', {}, s('svg', { viewBox: '0 0 18 10', 'aria-hidden': 'true' }, shapes), word);
  const box = (/** @type {string} */ style) => [s(`rect.${style}`, { x: 0.5, y: 0.5, width: 17, height: 9 })];
  return h('p.legend', {}, one(box('b-closed'), 'closed'), one([...box('b-held'), s('rect.b-note', { x: 6, y: 0, width: 1, height: 10 }), s('rect.b-note', { x: 12, y: 0, width: 1, height: 10 })], 'in hand, a notch is a note'),
    one(box('b-slow'), 'no progress'), one(box('b-gone'), 'no sign of life'), one(box('b-unknown'), 'not known here'), one([s('line.b-lease', { x1: 0, x2: 17, y1: 5, y2: 5 }), s('line.b-lease', { x1: 17, x2: 17, y1: 2, y2: 8 })], 'lease'), h('span', {}, h('b', {}, '»'), 'critical path'));
}

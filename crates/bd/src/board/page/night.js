// *Last night*: a sentence, the burn-up, incidents, the replay and the closes of each agent on one axis.

import { median } from './agent-panel.js';
import { beads, lastSync } from './beads.js';
import { stateAt } from './cards.js';
import { h, icon, s } from './dom.js';
import { firstOf } from './filter.js';
import { actorName, cutLine, head, idLink } from './parts.js';
import { axisOf, closedByAgent, extent, gridLines, percent, shownState } from './strips.js';
import { toast } from './toast.js';
import { View, currentRoute, setQuery } from './view.js';
import { capital, clock, counted, duration, fullTime, number, toMs } from './words.js';

const STEPS = 160;
const TEN_MINUTES = 10 * 60_000;
/** The axis moves on in steps, so that most of the page stays as it is. */
const STEP_MS = 30_000;

/** @type {Record<string, [string, string]>} the icon and the class of each incident */
const INCIDENTS = { asked: ['person', 'bad'], conflict: ['conflict', 'bad'], expired: ['gone', 'bad'], reopened: ['arrow', 'wait'], cancelled: ['gone', 'wait'], sync_failed: ['sync', 'bad'] };

/** The server sends at most this many incidents, and the page keeps as many. */
const MOST_INCIDENTS = 500;

/** Says that nothing went wrong, as far back as is known. @param {number} since */
function nothingWrong(since) {
  const { feed, incidents } = beads.pulse ?? {};
  if (!incidents || incidents.complete !== false) return 'Nothing went wrong.';
  const times = [...incidents.events, ...(feed?.events ?? [])].map((event) => toMs(event.at));
  const from = times.length ? Math.min(...times) : beads.now();
  return from <= since ? 'Nothing went wrong.' : `Nothing went wrong since ${clock(from, beads.now())}; the event log here reaches back no further.`;
}

export class NightView extends View {
  constructor() {
    super();
    this.at = 0;
    this.timer = 0;
  }

  /** The beginning of the night. */
  since() {
    const asked = Number(currentRoute().query.get('since'));
    return asked || Math.min(beads.left, beads.now() - 60 * 60_000);
  }

  /** @override */
  content() {
    const since = this.since();
    const axis = axisOf(since, 0, 12, STEP_MS);
    axis.to = axis.now + (axis.now - axis.from) * 0.03;
    const at = this.at ? Math.max(since, Math.min(this.at, axis.now)) : axis.now;
    const closed = beads.closedSince(since);
    const incidents = (beads.pulse?.incidents.events ?? []).filter((event) => toMs(event.at) >= since && INCIDENTS[event.type]);
    return [this.sentence(since, closed, incidents), h('div.night', {}, h('div.stack', {}, this.burnUp(axis, since, at, incidents), this.byAgent(axis, since, at)),
      h('aside.stack', { 'aria-label': 'Figures' }, cycleTime(closed), longestWaits(), byEpic(closed)))];
  }

  /** @param {number} since @param {import('./beads.js').Bead[]} closed @param {import('./beads.js').StoreEvent[]} incidents */
  sentence(since, closed, incidents) {
    const agents = beads.agents();
    const active = new Set(closed.map((bead) => bead.closer)).size;
    const created = beads.createdSince(since);
    const reopened = incidents.filter((event) => event.type === 'reopened').length;
    const conflicts = incidents.filter((event) => event.type === 'conflict').length;
    const gone = agents.filter((agent) => shownState(agent) === 'gone').length;
    const questions = beads.pulse?.status?.questions?.length ?? 0;
    const error = beads.pulse?.status?.sync?.last_error;
    const trouble = [questions && `${counted(questions, 'question')} ${questions === 1 ? 'waits' : 'wait'} for you`, gone && `${counted(gone, 'agent')} ${gone === 1 ? 'is' : 'are'} gone`, conflicts && `${counted(conflicts, 'write')} ${conflicts === 1 ? 'was' : 'were'} overwritten`, error && `the sync has failed since ${clock(toMs(error.since), beads.now())}`].filter(Boolean);
    return h('p.say1', { role: 'heading', 'aria-level': 1 }, h('b', {}, `${counted(closed.length, 'bead')} closed`), ` in ${duration(beads.now() - since)}${active ? ` by ${active} of ${Math.max(active, agents.length)} agents` : ''}; ${number(created)} created, ${reopened ? number(reopened) : 'none'} reopened. `,
      trouble.length ? [h('b', {}, capital(String(trouble[0]))), trouble.length > 1 ? `, ${trouble.slice(1).join(', ')}` : '', '.'] : nothingWrong(since));
  }

  /** @param {import('./strips.js').Axis} axis @param {number} since */
  series(axis, since) {
    return beads.onceFor('series', `${since} ${axis.now} ${beads.content}`, () => {
      const width = (axis.now - since) / STEPS;
      const created = Array(STEPS + 1).fill(0);
      const closed = Array(STEPS + 1).fill(0);
      const held = Array(STEPS + 2).fill(0);
      const slot = (/** @type {number} */ ms) => Math.max(0, Math.min(STEPS, Math.ceil((ms - since) / width)));
      for (const { bead } of beads.groups.entries.values()) {
        created[slot(bead.created)]++;
        if (bead.closed) closed[slot(bead.closed)]++;
        if (bead.claimed && bead.status !== 'open') {
          held[slot(bead.claimed)]++;
          if (bead.closed) held[slot(bead.closed)]--;
        }
      }
      const sum = (/** @type {number[]} */ values) => {
        let total = 0;
        return values.map((value) => (total += value));
      };
      return { all: sum(created), closed: sum(closed), held: sum(held), width };
    });
  }

  /** @param {import('./strips.js').Axis} axis @param {number} since @param {number} at @param {import('./beads.js').StoreEvent[]} incidents */
  burnUp(axis, since, at, incidents) {
    const { all, closed, held, width } = this.series(axis, since);
    const top = Math.max(1, all[STEPS]);
    const low = Math.min(closed[0], ...closed) * 0.9;
    const height = 180;
    const y = (/** @type {number} */ value) => height - 4 - ((value - low) / (top - low || 1)) * (height - 14);
    const x = (/** @type {number} */ step) => ((since + step * width - axis.from) / (axis.to - axis.from)) * 1000;
    const line = (/** @type {number[]} */ values) => values.slice(0, STEPS + 1).map((value, step) => `${step ? `H${x(step).toFixed(1)}V` : `M${x(0).toFixed(1)} `}${y(value).toFixed(1)}`).join('');
    const sums = closed.map((value, step) => value + Math.max(0, held[step]));
    const cursor = () => s('line.cursor', { x1: percent(axis, at), x2: percent(axis, at), y1: 0, y2: '100%' });
    const now = () => s('line.nowline', { x1: percent(axis, axis.now), x2: percent(axis, axis.now), y1: 0, y2: '100%' });
    const state = this.stateOf(at);
    const last = [...(beads.pulse?.feed.events ?? []), ...(beads.pulse?.incidents.events ?? [])].filter((event) => toMs(event.at) <= at).sort((a, b) => toMs(b.at) - toMs(a.at))[0];
    const title = h('span.more', {}, h('button.btn.word', { type: 'button', 'data-do': 'copy' }, 'Copy as Markdown'), h('button.btn.word', { type: 'button', 'data-do': 'other' }, 'Other night'));
    return h('section.sec', {}, h('header', {}, h('h2', {}, 'Burn-up'), h('span.n', {}, `${clock(since, beads.now())} to ${clock(axis.now, axis.now)}`), title),
      h('div.ch', {}, h('div.burnlab.lab', {}, beside(height, 'end', [[y(all[0]), `${number(all[0])} beads`, 'dim'], [y(all[0]) + 14, `at ${clock(since, beads.now())}`, 'dim'], [y(closed[0]), `${number(closed[0])} closed`, 'dim']])),
        h('div.chart.burn', {}, s('svg.burnsvg', { role: 'img', 'aria-label': `${all[STEPS]} beads, ${closed[STEPS]} closed`, height }, gridLines(axis),
          s('svg', { viewBox: `0 0 1000 ${height}`, preserveAspectRatio: 'none', width: '100%', height }, s('path.area', { d: `${line(closed)}V${height}H${x(0).toFixed(1)}z` }), s('path.l-all', { d: line(all) }), s('path.l-held', { d: line(sums) }), s('path.l-closed', { d: line(closed) })), now(), cursor())),
        h('div.lab.end.burnend', {}, beside(height, 'start', [[y(all[STEPS]), `${number(all[STEPS])} in all`, 'dim'], [y(sums[STEPS]), `${number(Math.max(0, held[STEPS]))} in hand`, 'act'], [y(closed[STEPS]), `${number(closed[STEPS])} closed`, 'done']])),
        h('p.only-narrow.small.dim', {}, `${number(all[STEPS])} in all · `, h('span.act', {}, `${number(Math.max(0, held[STEPS]))} in hand`), ' · ', h('b.done', {}, `${number(closed[STEPS])} closed`)),
        h('div.lab.small.dim', {}, 'Incidents'),
        h('div.chart', {}, s('svg.strip', { role: 'img', 'aria-label': counted(incidents.length, 'incident') }, gridLines(axis), incidents.map((event) => s('svg', { x: percent(axis, toMs(event.at)), y: 8, width: 12, height: 12, class: `inc ${INCIDENTS[event.type][1]}`, overflow: 'visible' }, s('g', { transform: 'translate(-6 0)' }, icon(INCIDENTS[event.type][0])), s('title', {}, `${clock(toMs(event.at), axis.now)} ${event.type} ${event.id ?? ''} ${event.text ?? ''}`))), now(), cursor())),
        h('div.lab.end.small.dim', {}, incidents.length < MOST_INCIDENTS ? number(incidents.length) : `latest ${MOST_INCIDENTS}`),
        h('div.lab'), h('div.chart', {}, s('svg.strip.labels', { 'aria-hidden': 'true' }, axis.hours.map((hour, index) => s('text.axis', { x: percent(axis, hour), y: 12, 'text-anchor': index ? 'middle' : 'start', class: index % 2 ? 'odd' : '' }, clock(hour, axis.now))))), h('div.lab.end'),
        h('div.lab.replaylab', {}, h('button.btn', { type: 'button', 'data-do': 'play' }, this.timer ? 'Pause' : '▶ Play'), h('b', {}, clock(at, axis.now))),
        h('div.chart.slide', { 'data-key': 'slide' }, h('input', { type: 'range', min: Math.round(axis.from / 1000), max: Math.round(axis.to / 1000), step: 60, 'aria-label': 'Time', 'aria-valuetext': `${clock(at, axis.now)}, ${state.closed} closed`, 'data-slider': '' })),
        h('div.lab.end', {}, h('a.act.small', { href: `#/board?at=${Math.round(at)}` }, 'Board then')),
        h('div.lab'), h('p.then.chart', {}, h('span', {}, h('b', {}, number(state.closed)), ' closed'), h('span', {}, h('b', {}, number(state.held)), ' in hand'), h('span', {}, h('b', {}, number(state.ready)), ' ready'), h('span', {}, h('b', {}, number(state.blocked)), ' blocked'),
          h('span.dim.cut', {}, last ? `${clock(toMs(last.at), axis.now)} ${last.by ?? ''} ${last.type.replace('_', ' ')} ${last.id ?? ''} ${last.title ?? ''}` : '')), h('div.lab.end')));
  }

  /** @param {number} at */
  stateOf(at) {
    return beads.onceFor('state at', `${Math.round(at / 60_000)} ${beads.content}`, () => {
      const count = { ready: 0, blocked: 0, held: 0, closed: 0, deferred: 0 };
      for (const { bead } of beads.groups.entries.values()) {
        const state = stateAt(bead, at);
        if (state) count[state]++;
      }
      return count;
    });
  }

  /** @param {import('./strips.js').Axis} axis @param {number} since @param {number} at */
  byAgent(axis, since, at) {
    const agents = beads.agents().filter((agent) => agent.closed || agent.holds.length || (closedByAgent().get(agent.actor) ?? []).length).sort((a, b) => a.actor.localeCompare(b.actor));
    const closed = beads.closedSince(since);
    const shown = agents.slice(0, this.shown('agents'));
    const hours = new Map();
    for (const bead of closed) {
      const hour = Math.floor(((bead.closed ?? 0) - axis.from) / 3_600_000);
      hours.set(hour, (hours.get(hour) ?? 0) + 1);
    }
    const most = Math.max(1, ...hours.values());
    const cursor = () => s('line.cursor', { x1: percent(axis, at), x2: percent(axis, at), y1: 0, y2: '100%' });
    const now = () => s('line.nowline', { x1: percent(axis, axis.now), x2: percent(axis, axis.now), y1: 0, y2: '100%' });
    const bars = [...hours].map(([hour, count]) => {
      const box = extent(axis, axis.from + hour * 3_600_000 + 120_000, axis.from + (hour + 1) * 3_600_000 - 120_000);
      const middle = percent(axis, axis.from + (hour + 0.5) * 3_600_000);
      return [s('rect.b-closed', { ...box, y: 46 - (count / most) * 30, height: (count / most) * 30 }), s('text.axis.ink', { x: middle, y: 42 - (count / most) * 30, 'text-anchor': 'middle' }, count)];
    }).flat();
    const took = (/** @type {import('./beads.js').Bead[]} */ list) => median(list.filter((bead) => bead.claimed && bead.closed).map((bead) => (bead.closed ?? 0) - (bead.claimed ?? 0)));
    const all = took(closed);
    return h('section.sec', {}, h('header', {}, h('h2', {}, 'Closed per hour, by agent'), h('span.n.long', {}, 'a dot is a close, the line before it the time in hand'), h('span.more', {}, 'closed · median')),
      h('div.ch.rowsx', {}, h('div.lab.small', {}, 'All, per hour'), h('div.chart', {}, s('svg.hourly', { role: 'img', 'aria-label': 'Closed per hour', height: 46 }, gridLines(axis), bars, now(), cursor())), h('div.lab.end.small', {}, h('b', {}, number(closed.length)), h('span', {}, all ? duration(all) : '–')),
        shown.flatMap((agent) => {
          const own = (closedByAgent().get(agent.actor) ?? []).filter((bead) => (bead.closed ?? 0) >= since);
          const median1 = took(own);
          const shapes = () => own.slice(0, 400).flatMap((bead) => [bead.claimed ? s('line.had', { x1: percent(axis, bead.claimed), x2: percent(axis, bead.closed ?? 0), y1: 10, y2: 10 }) : null, s('circle.dot', { cx: percent(axis, bead.closed ?? 0), cy: 10, r: 3 }, s('title', {}, `${clock(bead.closed ?? 0, axis.now)} ${bead.id} ${bead.title}`))]);
          const held = () => agent.holds.filter((one) => !one.offered).map((one) => s('line.has', { x1: percent(axis, toMs(one.since)), x2: percent(axis, shownState(agent) === 'unknown' ? Math.max(toMs(one.since), lastSync()) : axis.now), y1: 10, y2: 10 }));
          return [h('div.lab.small.cut', { 'data-key': `l ${agent.actor}` }, h('a', { href: `#/now/agent/${encodeURIComponent(agent.actor)}` }, actorName(agent.actor))), this.parts.get(`c ${agent.actor}`, `${axis.from} ${axis.now} ${at} ${own.length} ${own[own.length - 1]?.closed} ${JSON.stringify(agent.holds)} ${shownState(agent)}`, () => h('div.chart', { 'data-key': `c ${agent.actor}` }, s('svg.line20', { role: 'img', 'aria-label': `${own.length} closed`, height: 20 }, gridLines(axis), shapes(), held(), now(), cursor()))), h('div.lab.end.small', { 'data-key': `e ${agent.actor}` }, h('b', {}, number(own.length)), h('span', {}, median1 ? duration(median1) : '–'))];
        })), cutLine(shown.length, agents.length, 'agents', 'agents'));
  }

  /** @override */
  connectedCallback() {
    super.connectedCallback();
    this.addEventListener('input', (event) => {
      if (event.target instanceof HTMLInputElement && event.target.dataset.slider !== undefined) this.seek(Number(event.target.value) * 1000);
    });
  }

  /** @override */
  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.timer);
    this.timer = 0;
  }

  /** @override */
  render() {
    super.render();
    const slider = this.querySelector('[data-slider]');
    const at = this.at || beads.now();
    if (slider instanceof HTMLInputElement && document.activeElement !== slider) slider.value = String(Math.round(at / 1000));
  }

  /** @param {number} at */
  seek(at) {
    const now = beads.now();
    this.at = at >= now ? 0 : Math.max(this.since(), at);
    this.schedule();
  }

  play() {
    if (this.timer) {
      clearInterval(this.timer);
      this.timer = 0;
    } else {
      if (!this.at) this.at = this.since();
      const step = (beads.now() - this.since()) / 240;
      this.timer = /** @type {any} */ (setInterval(() => {
        this.seek(this.at + step);
        if (!this.at) this.play();
      }, 60));
    }
    this.schedule();
  }

  /** @override @param {string} action */
  act(action) {
    if (action === 'play') this.play();
    else if (action === 'copy') this.copy();
    else if (action === 'other') setQuery({ since: String(this.since() - 24 * 60 * 60_000) });
  }

  copy() {
    const since = this.since();
    const lines = [`# ${beads.about.name}, ${fullTime(since)} to ${fullTime(beads.now())}`, '', this.querySelector('.say1')?.textContent ?? '', '', ...beads.closedSince(since).map((bead) => `- ${bead.id} ${bead.title} (${bead.closer ?? ''})`)];
    void navigator.clipboard.writeText(lines.join('\n')).then(() => toast('Copied as Markdown.'));
  }

  /** @override @param {string} key */
  key(key) {
    const now = this.at || beads.now();
    if (key === ' ') this.play();
    else if (key === 'ArrowLeft' || key === 'ArrowRight') this.seek(now + (key === 'ArrowLeft' ? -TEN_MINUTES : TEN_MINUTES));
    else if (key === 'Shift+ArrowLeft' || key === 'Shift+ArrowRight') {
      const times = (beads.pulse?.incidents.events ?? []).map((event) => toMs(event.at)).sort((a, b) => a - b);
      const next = key.endsWith('Left') ? times.filter((time) => time < now - 1000).pop() : times.find((time) => time > now + 1000);
      if (next) this.seek(next);
    } else if (key === 'y') this.copy();
    else if (key === 'Enter') location.hash = `#/board?at=${Math.round(now)}`;
    else return false;
    return true;
  }

  /** @override @returns {[string, string][]} */
  keys() {
    return [['← →', '10 minutes'], ['⇧ ← →', 'next incident'], ['space', 'play'], ['↵', 'board at that time'], ['y', 'copy as Markdown'], ['1–5', 'views']];
  }
}

/**
 * Labels beside the ends of lines, at their height. Those that would overlap are moved down, or up at the end.
 * @param {number} height
 * @param {'start' | 'end'} anchor
 * @param {[number, string, string][]} labels the height, the words and the class of each, from top to bottom
 */
function beside(height, anchor, labels) {
  const line = 14;
  const tops = labels.map(([top]) => top);
  for (let i = 1; i < tops.length; i++) tops[i] = Math.max(tops[i], tops[i - 1] + line);
  for (let i = tops.length - 1, floor = height - 4; i >= 0; i--, floor -= line) tops[i] = Math.min(tops[i], floor);
  return s('svg.beside', { height, 'aria-hidden': 'true' }, labels.map(([, text, style], index) => s('text', { class: style, x: anchor === 'end' ? '100%' : 0, y: (tops[index] + 4).toFixed(1), 'text-anchor': anchor }, text)));
}

/** @param {import('./beads.js').Bead[]} closed */
function cycleTime(closed) {
  const times = closed.filter((bead) => bead.claimed && bead.closed).map((bead) => (bead.closed ?? 0) - (bead.claimed ?? 0)).sort((a, b) => a - b);
  if (!times.length) return h('section.sec', {}, head('Cycle time', 'claim to close'), h('p.dim.small', {}, 'Nothing was claimed and closed in this time.'));
  const most = times[Math.floor(times.length * 0.95)] || 1;
  const width = [1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1440, 2880].map((minutes) => minutes * 60_000).find((step) => most / step <= 8) ?? most / 8;
  const bars = Array(9).fill(0);
  for (const time of times) bars[Math.min(8, Math.floor(time / width))]++;
  const top = Math.max(...bars);
  const half = median(times);
  const ninth = times[Math.floor(times.length * 0.9)];
  return h('section.sec', {}, head('Cycle time', 'claim to close', `9 in 10 under ${duration(ninth)}`), s('svg.cycle', { viewBox: '0 0 312 92', role: 'img', 'aria-label': `median ${duration(half)}` },
    bars.map((count, index) => s('rect.b-closed', { x: index * 34.6, y: 76 - (count / top) * 44, width: 32.6, height: Math.max(count ? 2 : 0, (count / top) * 44) })),
    s('line.nowline', { x1: Math.min(311, (half / width) * 34.6), x2: Math.min(311, (half / width) * 34.6), y1: 4, y2: 76 }), s('text.axis.now', { x: Math.min(240, (half / width) * 34.6 + 5), y: 12 }, `median ${duration(half)}`),
    bars.map((count, index) => (count ? s('text.axis.halo', { x: index * 34.6 + 16, y: 73 - (count / top) * 44, 'text-anchor': 'middle' }, count) : null)),
    [0, 2, 4, 6, 8].map((index) => s('text.axis', { x: index * 34.6, y: 90, 'text-anchor': index ? 'middle' : 'start' }, index ? duration(index * width) : '0'))));
}

function longestWaits() {
  const now = beads.now();
  const longest = firstOf([...beads.inState('ready'), ...beads.inState('blocked')], 5, (a, b) => a.created - b.created);
  return h('section.sec', {}, head('Longest waits', 'still open'), longest.length ? null : h('p.dim.small', {}, 'Nothing waits.'),
    h('ol.waits', {}, longest.map((bead) => {
      const before = beads.blockers(bead);
      return h('li', { 'data-key': bead.id }, h('b', {}, duration(now - bead.created)), h('div', {}, h('p', {}, h('a', { href: `#/bead/${encodeURIComponent(bead.id)}` }, bead.title)), h('p.small.dim', {}, idLink(bead.id), before.length ? ` for ${before.slice(0, 2).map((other) => other.id).join(', ')}` : bead.asks ? ' asks you' : ` in the queue: P${bead.priority}`)));
    })));
}

/** @param {import('./beads.js').Bead[]} closed */
function byEpic(closed) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const bead of closed) {
    const id = beads.epicOf(bead)?.id ?? '';
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  const rows = [...counts].sort((a, b) => b[1] - a[1]);
  const most = Math.max(1, ...counts.values());
  const shown = rows.slice(0, 12);
  return h('section.sec', {}, head('By epic', 'closed'), rows.length ? null : h('p.dim.small', {}, 'Nothing was closed in this time.'), h('table.byepic', {}, h('tbody', {}, shown.map(([id, count]) => h('tr', { 'data-key': id || 'none' }, h('th.cut', { scope: 'row' }, id ? beads.get(id)?.title ?? id : 'No epic'), h('td.bar1', {}, s('svg', { viewBox: '0 0 80 8', width: 80, height: 8, 'aria-hidden': 'true' }, s('rect.b-closed', { width: (count / most) * 80, height: 8 }))), h('td.num', {}, number(count)))))),
    rows.length > shown.length ? h('p.small.dim', {}, `Showing ${shown.length} of ${number(rows.length)}`) : null);
}

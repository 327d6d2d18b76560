// *Outline*: the board as a table of epics.

import { beads } from './beads.js';
import { h, icon, s } from './dom.js';
import { DEFAULT_MINUTES } from './groups.js';
import { cutLine, idLink, priorityMark, STATE_WORDS } from './parts.js';
import { currentRoute } from './view.js';
import { clock, duration, number, ordinal } from './words.js';

/** @type {import('./beads.js').State[]} */
const ORDER = ['held', 'ready', 'blocked', 'deferred', 'closed'];

export class OutlineTable {
  /** @param {any} view the view that holds the table; it remembers what is unfolded */
  constructor(view) {
    this.view = view;
  }

  /** @param {Map<string, import('./beads.js').Bead> | null} chosen the beads to show; all without one */
  element(chosen) {
    const groups = beads.epics().map((group) => ({ group, epic: beads.get(group.key) ?? null, own: this.members(group, chosen) })).filter(({ own, epic }) => own.length || epic);
    const shown = groups.slice(0, this.view.shown('outline'));
    /** @param {string} style @param {string} word */
    const key = (style, word) => h('span.mid', {}, s('svg.keybox', { viewBox: '0 0 10 8', 'aria-hidden': 'true' }, s(`rect.${style}`, { width: 10, height: 8 })), word);
    const numeric = (/** @type {string} */ word) => h('th.num', { scope: 'col' }, word);
    return h('div.scroll', { tabindex: 0, role: 'region', 'aria-label': 'Outline' }, h('table.outline', {},
      h('thead', {}, h('tr.colhead', {}, h('th', { scope: 'col' }, 'Epic'), h('th.w1', { scope: 'col' }, h('span.mid.keysline', {}, key('o-closed', 'closed'), key('o-held', 'in hand'), key('o-ready', 'ready'), key('o-blocked', 'blocked'))),
        numeric('Closed'), numeric('In hand'), numeric('Ready'), numeric('Blocked'), h('th.sp', { scope: 'col' }, 'Since you left'), numeric('Sum'), numeric('Left'), numeric('Expected'))),
      h('tbody', {}, shown.flatMap(({ epic, own, group }) => this.group(epic, own, chosen ? `${beads.version} ${currentRoute().query}` : `${group.version} ${beads.ticks} ${beads.links} ${beads.left}`)))), cutLine(shown.length, groups.length, 'epics', 'outline'));
  }

  /** @param {import('./groups.js').Group} group @param {Map<string, import('./beads.js').Bead> | null} chosen */
  members(group, chosen) {
    const all = beads.onceFor(`members ${group.key}`, group.version, () => [...group.members.values()]);
    return chosen ? all.filter((bead) => chosen.has(bead.id)) : all;
  }

  /** @param {import('./beads.js').Bead | null} epic @param {import('./beads.js').Bead[]} own @param {string} version @returns {Node[]} */
  group(epic, own, version) {
    const id = epic?.id ?? '';
    const cell = `outline ${id}`;
    const isOpen = this.view.full.has(cell);
    const row = this.view.parts.get(cell, `${epic?.title} ${isOpen} ${version}`, () => this.epicRow(epic, own, isOpen));
    if (!isOpen) return [row];
    const sorted = [...own].sort((a, b) => ORDER.indexOf(beads.state(a)) - ORDER.indexOf(beads.state(b)) || a.priority - b.priority || a.created - b.created);
    const shown = sorted.slice(0, this.view.shown(cell));
    const rest = cutLine(shown.length, sorted.length, 'beads', cell);
    return [row, ...shown.map((bead) => this.child(bead)), rest ? h('tr.kid', { 'data-key': `rest ${id}` }, h('td', { colspan: 10 }, rest)) : null].filter((one) => one !== null);
  }

  /** @param {import('./beads.js').Bead | null} epic @param {import('./beads.js').Bead[]} own @param {boolean} isOpen */
  epicRow(epic, own, isOpen) {
    const id = epic?.id ?? '';
    const cell = `outline ${id}`;
    /** @type {Record<string, number>} */
    const count = { ready: 0, blocked: 0, held: 0, closed: 0, deferred: 0 };
    let left = 0;
    for (const bead of own) {
      const state = beads.state(bead);
      count[state]++;
      if (state !== 'closed') left += bead.minutes ?? DEFAULT_MINUTES;
    }
    const end = beads.expectedEnd(own);
    const recent = own.filter((bead) => (bead.closed ?? 0) >= beads.left);
    let x = 0;
    const bars = ['closed', 'held', 'ready', 'blocked', 'deferred'].map((state) => {
      const width = own.length ? (count[state] / own.length) * 100 : 0;
      x += width;
      return s(`rect.o-${state}`, { x: `${x - width}%`, width: `${width}%`, height: 8 });
    });
    const figure = (/** @type {number} */ value, style = '') => h('td.num', { class: value ? style : 'faint' }, value ? number(value) : '–');
    return h('tr.ep', { 'data-key': `ep ${id}`, 'data-row': `ep ${id}`, 'data-bead': id || null, 'data-epic': id },
      h('th', { scope: 'row' }, h('span.eptitle', {}, h('button.tw', { type: 'button', 'data-key': 'fold', 'data-do': isOpen ? 'fold-outline' : 'full', 'data-cell': cell, 'aria-expanded': String(isOpen), 'aria-label': `${isOpen ? 'Fold' : 'Unfold'} ${epic?.title ?? 'beads without an epic'}` }, isOpen ? '▾' : '▸'), epic ? idLink(epic.id) : null, h('b.cut', {}, epic?.title ?? 'No epic'))),
      h('td.w1', {}, s('svg.oprog', { 'aria-hidden': 'true' }, bars)), h('td.num', {}, `${number(count.closed)} of ${number(own.length)}`), figure(count.held, 'act'), figure(count.ready), figure(count.blocked, 'wait'),
      h('td.sp', {}, hourBars(recent)), figure(recent.length), h('td.num', {}, left ? duration(left * 60_000) : '–'), h('td.num', {}, own.some((bead) => bead.asks) ? h('span.bad.mid', {}, icon('person'), 'you') : end ? clock(end, beads.now()) : '–'));
  }

  /** @param {import('./beads.js').Bead} bead */
  child(bead) {
    const state = beads.state(bead);
    const fact = state === 'held' ? `${bead.assignee ?? 'no holder'}, ${duration(beads.now() - (bead.claimed ?? beads.now()))} in hand${beads.behind(bead.id).size ? `, ${beads.behind(bead.id).size} wait behind it` : ''}`
      : state === 'blocked' ? `after ${beads.blockers(bead).slice(0, 3).map((other) => other.id).join(', ')}`
        : state === 'closed' ? `${clock(bead.closed ?? 0, beads.now())} ${bead.closer ?? ''}` : beads.places().has(bead.id) ? `${ordinal(beads.places().get(bead.id) ?? 0)} in the queue` : '';
    return h('tr.kid', { 'data-key': bead.id, 'data-row': bead.id, 'data-bead': bead.id },
      h('th', { scope: 'row' }, h('span.kd', {}, h('span.mid', { class: STATE_WORDS[state][0] }, icon(state, STATE_WORDS[state][1])), idLink(bead.id), priorityMark(bead.priority), h('a.cut', { href: `#/bead/${encodeURIComponent(bead.id)}` }, beads.critical().has(bead.id) ? h('b', {}, '» ') : null, bead.title))),
      h('td.dim.small', { colspan: 7 }, fact), h('td.num.dim', {}, state !== 'closed' ? duration((bead.minutes ?? DEFAULT_MINUTES) * 60_000) : ''), h('td'));
  }
}

/** @param {import('./beads.js').Bead[]} closed */
function hourBars(closed) {
  const bars = Array(12).fill(0);
  const width = Math.max(1, (beads.now() - beads.left) / bars.length);
  for (const bead of closed) bars[Math.max(0, Math.min(11, Math.floor(((bead.closed ?? 0) - beads.left) / width)))]++;
  const most = Math.max(1, ...bars);
  return s('svg.hours', { viewBox: '0 0 96 16', 'aria-hidden': 'true' }, bars.map((count, index) => (count ? s('rect.b-closed', { x: index * 8, y: 16 - (count / most) * 16, width: 6, height: (count / most) * 16 }) : null)));
}

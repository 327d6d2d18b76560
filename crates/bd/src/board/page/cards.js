// *Board*: ready, blocked, in progress, closed, in lanes. The column is the status.

import { canWrite, claim, close, release, reopen, setPriority, takeBack } from './actions.js';
import { beads, DEFAULT_MINUTES, put } from './beads.js';
import { h, icon, s } from './dom.js';
import { matches, parseFilter } from './filter.js';
import { OutlineTable } from './outline.js';
import { actorName, cutLine, empty, glow, priorityMark, STATE_WORDS } from './parts.js';
import { shownState } from './strips.js';
import { toast } from './toast.js';
import { View, currentRoute, setQuery } from './view.js';
import { clock, counted, duration, number, ordinal } from './words.js';

/** @type {import('./beads.js').State[]} */
const COLUMNS = ['ready', 'blocked', 'held', 'closed'];
/** How many cards of a column a lane shows before it is cut. */
const CARDS = 4;
/** How many lanes are shown before they are cut. */
const LANES = 40;

/**
 * @typedef {object} Lane
 * @property {string} key
 * @property {string} title
 * @property {string} [id]
 * @property {import('./beads.js').Bead[]} beads
 */

/** @param {import('./beads.js').Bead[]} list */
export function progress(list) {
  const count = { ready: 0, blocked: 0, held: 0, closed: 0, deferred: 0 };
  let minutes = 0;
  for (const bead of list) {
    const state = beads.state(bead);
    count[state]++;
    if (state !== 'closed') minutes += bead.minutes ?? DEFAULT_MINUTES;
  }
  return { ...count, all: list.length, left: minutes };
}

export class BoardView extends View {
  constructor() {
    super();
    /** @type {Set<string>} */
    this.folded = new Set();
    /** @type {Set<string>} cells that are shown in full */
    this.full = new Set();
    this.dragged = '';
  }

  /** While a card is dragged, nothing moves: what changes is shown afterwards. @override */
  render() {
    if (!this.dragged) super.render();
  }

  /** @override */
  content() {
    const { query } = currentRoute();
    const lanesBy = query.get('lanes') ?? 'epic';
    const isOutline = query.get('view') === 'outline';
    const text = query.get('q') ?? '';
    const moment = Number(query.get('at')) || 0;
    const list = this.filtered(text);
    const hidden = beads.byState().closed.filter((bead) => (bead.closed ?? 0) < beads.left).length;
    /** @param {string} group @param {[string, string][]} choices @param {string} now */
    const choice = (group, choices, now) => h('span.seg', { role: 'group', 'aria-label': group }, choices.map(([value, label]) => h('button', { type: 'button', 'aria-pressed': String(value === now), 'data-do': 'choose', 'data-group': group, 'data-value': value }, label)));
    const tools = h('div.tools', {}, h('span', {}, 'Lanes'), choice('lanes', [['epic', 'Epic'], ['agent', 'Agent'], ['label', 'Label'], ['none', 'None']], lanesBy),
      choice('view', [['cards', 'Cards'], ['outline', 'Outline']], isOutline ? 'outline' : 'cards'),
      h('span', {}, h('b', {}, '»'), ' on the critical path'),
      text ? h('span.act', {}, `filter: ${text} `, h('button.btn.word', { type: 'button', 'data-do': 'unfilter' }, 'clear')) : null,
      h('span.end', {}, `${counted(list.length, 'bead')}${hidden && !text ? `, ${number(hidden)} closed earlier not shown` : ''}`));
    const then = moment ? h('div.banner.ro', { role: 'status' }, icon('clock'), `The board as it was at ${clock(moment, beads.now())}, as far as the beads tell. `, h('a.act', { href: '#/board' }, 'Back to now')) : null;
    if (!beads.all.size) return [tools, empty('No beads yet.', 'Press ', h('kbd', {}, 'c'), ' to write the first, or import: ', h('code', {}, 'bd import issues.jsonl'), '.')];
    if (!list.length) return [tools, this.noHits(text)];
    if (isOutline) return [then, tools, new OutlineTable(this).element(list)].filter((one) => one !== null);
    return [then, tools, this.cards(this.lanes(list, lanesBy), lanesBy, moment)].filter((one) => one !== null);
  }

  /** @param {string} text */
  filtered(text) {
    return beads.once(`filtered ${text}`, () => {
      const filter = parseFilter(text);
      return [...beads.all.values()].filter((bead) => bead.type !== 'epic' && (!text || matches(bead, filter)));
    });
  }

  /** @param {string} text */
  noHits(text) {
    const words = text.split(/\s+/).filter(Boolean);
    const without = words.map((word) => words.filter((other) => other !== word).join(' '));
    return h('div.empty', {}, h('p.strong', {}, 'No bead matches ', h('code', {}, text), '.'),
      h('p', {}, ...words.flatMap((word, index) => [index ? ' or ' : '', h('button.btn.word', { type: 'button', 'data-do': 'filter', 'data-q': without[index] }, `drop ${word}`)]), ' or ', h('button.btn.word', { type: 'button', 'data-do': 'unfilter' }, 'clear the filter'), '.'));
  }

  /** @param {import('./beads.js').Bead[]} list @param {string} by @returns {Lane[]} */
  lanes(list, by) {
    if (by === 'none') return [{ key: 'all', title: 'All', beads: list }];
    /** @type {Map<string, import('./beads.js').Bead[]>} */
    const groups = new Map();
    for (const bead of list) {
      const keys = by === 'epic' ? [beads.epicOf(bead)?.id ?? ''] : by === 'agent' ? [bead.closer ?? bead.assignee ?? ''] : bead.labels?.length ? bead.labels : [''];
      for (const key of keys) put(groups, key, bead);
    }
    const order = by === 'epic' ? new Map(beads.epics().map((group, index) => [group.epic?.id ?? '', index])) : null;
    const none = { epic: 'No epic', agent: 'No agent', label: 'No label' }[by] ?? '';
    const lanes = [...groups].map(([key, own]) => ({ key: key || 'none', id: by === 'epic' ? key : undefined, title: key ? (by === 'epic' ? beads.get(key)?.title ?? key : key) : none, beads: own }));
    return lanes.sort((a, b) => Number(a.key === 'none') - Number(b.key === 'none') || (order?.get(a.key) ?? 0) - (order?.get(b.key) ?? 0) || b.beads.length - a.beads.length);
  }

  /** @param {Lane[]} lanes @param {string} by @param {number} moment */
  cards(lanes, by, moment) {
    /** @type {Record<string, number>} */
    const totals = { ready: 0, blocked: 0, held: 0, closed: 0 };
    const since = Math.min(beads.left, moment || Infinity);
    const cells = lanes.map((lane) => {
      /** @type {Record<string, import('./beads.js').Bead[]>} */
      const own = { ready: [], blocked: [], held: [], closed: [], deferred: [] };
      for (const bead of lane.beads) {
        const state = moment ? stateAt(bead, moment) : beads.state(bead);
        if (state && (state !== 'closed' || (bead.closed ?? 0) >= since)) own[state].push(bead);
      }
      for (const column of COLUMNS) totals[column] += own[column].length;
      return own;
    });
    const titles = { ready: 'Ready', blocked: 'Blocked', held: 'In progress', closed: moment ? 'Closed' : 'Closed since you left' };
    const used = lanes.map((lane, index) => ({ lane, own: cells[index] })).filter(({ lane, own }) => lane.id || COLUMNS.some((column) => own[column].length));
    const shown = used.slice(0, Math.max(LANES, this.windows.lanes ?? 0));
    return h('div', {}, h('div.kan', { class: by === 'none' ? 'one' : '' },
      h('div.hd.first', {}, { epic: 'Epic', agent: 'Agent', label: 'Label' }[by] ?? '', h('span.n', {}, by === 'none' ? '' : number(used.length))),
      COLUMNS.map((column) => h('div.hd', { class: STATE_WORDS[column][0] }, icon(column), h('span.hdt', {}, titles[/** @type {'ready'} */ (column)]), h('span.n', {}, number(totals[column])))),
      shown.map(({ lane, own }) => this.lane(lane, own, by, moment))), cutLine(shown.length, used.length, 'lanes', 'lanes'));
  }

  /** @param {Lane} lane @param {Record<string, import('./beads.js').Bead[]>} own @param {string} by @param {number} moment */
  lane(lane, own, by, moment) {
    const done = progress(lane.beads);
    const isFolded = this.folded.has(lane.key);
    const share = (/** @type {number} */ count) => (done.all ? (count / done.all) * 100 : 0);
    const asks = lane.beads.some((bead) => bead.asks);
    const lh = h('div.cell.lh', {}, h('h2', {}, lane.id ? h('a', { href: `#/bead/${encodeURIComponent(lane.id)}` }, lane.title) : lane.title),
      h('div', {}, s('svg.prog', { 'aria-hidden': 'true', preserveAspectRatio: 'none', viewBox: '0 0 100 4' }, s('rect.t', { width: 100, height: 4 }), s('rect.b-closed', { width: share(done.closed), height: 4 }), s('rect.b-held', { x: share(done.closed), width: share(done.held), height: 4 })),
        h('p.meta', {}, `${number(done.closed)} of ${number(done.all)} closed${done.left ? `, ${duration(done.left * 60_000)} left` : ''}`),
        asks ? h('p.meta.bad.mid', {}, icon('person'), 'waits for you') : by === 'epic' && !moment ? expectedLine(lane.beads) : null));
    const column = (/** @type {import('./beads.js').State} */ name) => {
      const order = cardOrder(name);
      const list = [...own[name]].sort(order);
      const cell = `${lane.key} ${name}`;
      const limit = this.full.has(cell) ? this.shown(cell) : by === 'none' ? 50 : CARDS;
      const cut = list.slice(0, limit);
      return h('div.cell', { 'data-key': name, 'data-col': STATE_WORDS[name][1], 'data-column': name, class: list.length ? '' : 'is-none' },
        isFolded ? (list.length ? h('span.faint.small', {}, number(list.length)) : null) : cut.map((bead) => this.card(bead, name, moment)),
        !isFolded && cut.length < list.length ? (this.full.has(cell) ? cutLine(cut.length, list.length, STATE_WORDS[name][1], cell) : h('button.rest', { type: 'button', 'data-do': 'full', 'data-cell': cell }, `${number(list.length - cut.length)} more`)) : null);
    };
    return h('section.lane', { 'data-key': lane.key, 'data-lane': lane.key, 'aria-label': lane.title }, lh, COLUMNS.map(column));
  }

  /** @param {import('./beads.js').Bead} bead @param {import('./beads.js').State} column @param {number} moment */
  card(bead, column, moment) {
    const isCritical = beads.critical().has(bead.id);
    return h('a.card', { 'data-key': bead.id, 'data-row': bead.id, 'data-bead': bead.id, 'data-column': column, href: `#/bead/${encodeURIComponent(bead.id)}`, draggable: canWrite() && !moment ? 'true' : null, class: glow(bead.id) },
      h('span.tt', {}, isCritical && h('b', { title: 'on the critical path' }, '» '), bead.title),
      h('span.meta', {}, h('span.id', {}, bead.id), priorityMark(bead.priority), ...cardFact(bead, column)));
  }

  /** @override @param {string} action @param {DOMStringMap} data */
  act(action, data) {
    if (action === 'choose') setQuery({ [data.group ?? '']: data.value ?? null });
    else if (action === 'unfilter') setQuery({ q: null });
    else if (action === 'filter') setQuery({ q: data.q ?? null });
    else if (action === 'full') this.full.add(data.cell ?? '');
    else if (action === 'fold-outline') this.full.delete(data.cell ?? '');
    this.schedule();
  }

  /** @param {string} key */
  toggle(key) {
    if (!this.folded.delete(key)) this.folded.add(key);
    this.schedule();
  }

  /** @override */
  connectedCallback() {
    super.connectedCallback();
    this.addEventListener('dragstart', (event) => this.onDragStart(event));
    this.addEventListener('dragover', (event) => this.onDragOver(event));
    this.addEventListener('drop', (event) => this.onDrop(event));
    this.addEventListener('dragend', () => this.endDrag());
  }

  /** @param {DragEvent} event */
  onDragStart(event) {
    const card = /** @type {Element} */ (event.target).closest('.card');
    if (!(card instanceof HTMLElement)) return;
    this.dragged = card.dataset.bead ?? '';
    event.dataTransfer?.setData('text/plain', this.dragged);
    const from = /** @type {import('./beads.js').State} */ (card.dataset.column);
    for (const cell of /** @type {NodeListOf<HTMLElement>} */ (card.closest('.lane')?.querySelectorAll('.cell[data-column]') ?? [])) {
      const to = /** @type {import('./beads.js').State} */ (cell.dataset.column);
      if (to !== from) cell.dataset.drop = dropWords(this.dragged, from, to).text;
      cell.classList.toggle('can-drop', to !== from && dropWords(this.dragged, from, to).run !== null);
    }
  }

  /** @param {DragEvent} event */
  onDragOver(event) {
    if (/** @type {Element} */ (event.target).closest?.('.can-drop')) event.preventDefault();
  }

  /** @param {DragEvent} event */
  onDrop(event) {
    const cell = /** @type {Element} */ (event.target).closest('.can-drop');
    if (!(cell instanceof HTMLElement)) return;
    event.preventDefault();
    const bead = beads.get(this.dragged);
    if (bead) dropWords(bead.id, beads.state(bead), /** @type {import('./beads.js').State} */ (cell.dataset.column)).run?.();
    this.endDrag();
  }

  endDrag() {
    this.dragged = '';
    this.schedule();
    for (const cell of /** @type {NodeListOf<HTMLElement>} */ (this.querySelectorAll('.cell[data-drop]'))) {
      delete cell.dataset.drop;
      cell.classList.remove('can-drop');
    }
  }

  /** @override @param {string} key */
  key(key) {
    const id = this.selectedBead();
    const row = this.selectedRow();
    if (key === 'o') setQuery({ view: currentRoute().query.get('view') === 'outline' ? null : 'outline' });
    else if (key === 'h' || key === 'l') this.sideways(key === 'l' ? 1 : -1);
    else if ((key === 'H' || key === 'L') && id) moveCard(id, key === 'L' ? 1 : -1);
    else if (key === 'z' && row) this.toggle(row.closest('[data-lane]')?.getAttribute('data-lane') ?? '');
    else if (/^[+-]$/.test(key) && id) void setPriority(id, Math.max(0, Math.min(4, (beads.get(id)?.priority ?? 2) + (key === '+' ? -1 : 1))));
    else return false;
    return true;
  }

  /** Moves the selection to the next column, or folds and unfolds in the outline. @param {number} by */
  sideways(by) {
    const row = this.selectedRow();
    if (!row) return this.move(0);
    if (row.dataset.epic !== undefined) {
      const isOpen = this.full.has(`outline ${row.dataset.epic}`);
      if (isOpen !== by > 0) this.act(by > 0 ? 'full' : 'fold-outline', { cell: `outline ${row.dataset.epic}` });
      return undefined;
    }
    const lane = row.closest('.lane');
    const at = COLUMNS.indexOf(/** @type {import('./beads.js').State} */ (row.dataset.column));
    for (let next = at + by; next >= 0 && next < COLUMNS.length; next += by) {
      const card = lane?.querySelector(`.cell[data-column="${COLUMNS[next]}"] .card`);
      if (card instanceof HTMLElement) return this.select(card.dataset.row ?? '');
    }
    return undefined;
  }

  /** @override @returns {[string, string][]} */
  keys() {
    return [['h j k l', 'move'], ['↵', 'open'], ['⇧ h l', 'move the card'], ['x', 'close'], ['p', 'priority'], ['z', 'fold lane'], ['o', 'outline'], ['/', 'filter'], ['u', 'undo']];
  }
}

/** What dropping a card does, in words, and how. @param {string} id @param {import('./beads.js').State} from @param {import('./beads.js').State} to @returns {{ text: string, run: (() => void) | null }} */
export function dropWords(id, from, to) {
  const bead = beads.get(id);
  const isMine = bead?.assignee === beads.about.actor;
  if (to === 'held' && from === 'ready') return { text: 'Drop to claim it for you', run: () => void claim(id) };
  if (to === 'held' && from === 'blocked') return { text: 'Not here: it waits for others', run: null };
  if (to === 'closed' && from !== 'closed') return { text: 'Drop to close it', run: () => void close(id) };
  if (from === 'closed' && to === 'ready') return { text: 'Drop to reopen it', run: () => void reopen(id) };
  if (from === 'held' && to === 'ready') return isMine ? { text: 'Drop to release it', run: () => void release(id) } : { text: 'Drop to take it back', run: () => void takeBack(id) };
  if (to === 'blocked') return { text: 'Not here: what it waits for decides that', run: null };
  return { text: 'Not here', run: null };
}

/** Does by key what a drag to the next column does. @param {string} id @param {number} by */
export function moveCard(id, by) {
  const bead = beads.get(id);
  if (!bead) return;
  const from = beads.state(bead);
  const order = /** @type {import('./beads.js').State[]} */ (['ready', 'held', 'closed']);
  const at = from === 'blocked' || from === 'deferred' ? 0 : order.indexOf(from);
  const to = order[at + by];
  const { text, run } = to ? dropWords(id, from, to) : { text: 'There is no column on this side', run: null };
  if (run) run();
  else toast(`${id} was not moved. ${text}.`);
}

/** @param {import('./beads.js').Bead[]} list */
function expectedLine(list) {
  const end = beads.expectedEnd(list);
  return end ? h('p.meta', { title: 'The earliest end by the estimates and what waits for what, if enough agents work' }, `expected ${clock(end, beads.now())}`) : null;
}

/** @param {import('./beads.js').State} column @returns {(a: import('./beads.js').Bead, b: import('./beads.js').Bead) => number} */
function cardOrder(column) {
  if (column === 'closed') return (a, b) => (b.closed ?? 0) - (a.closed ?? 0);
  const places = beads.places();
  if (column === 'ready') return (a, b) => (places.get(a.id) ?? Infinity) - (places.get(b.id) ?? Infinity) || a.priority - b.priority || a.created - b.created;
  return (a, b) => a.priority - b.priority || Number(beads.critical().has(b.id)) - Number(beads.critical().has(a.id)) || a.created - b.created;
}

/** The one thing that matters in a column. @param {import('./beads.js').Bead} bead @param {import('./beads.js').State} column @returns {Node[]} */
function cardFact(bead, column) {
  if (column === 'closed') return bead.closed ? [h('span', {}, clock(bead.closed, beads.now())), h('span.cut', {}, bead.closer ?? '')] : [];
  if (column === 'held') {
    const agent = beads.pulse?.agents.find((one) => one.actor === bead.assignee);
    const state = agent ? shownState(agent) : 'working';
    const late = state === 'gone' ? ['gone', 'bad'] : state === 'slow' ? ['slow', 'wait'] : state === 'unknown' ? ['unknown', ''] : ['held', 'act'];
    return [h('span.mid', { class: late[1] }, icon(late[0])), h('span.cut', {}, bead.assignee ? actorName(bead.assignee) : 'no holder'), h('span', {}, bead.claimed ? duration(beads.now() - bead.claimed) : '')];
  }
  if (bead.asks) return [h('span.bad.mid', {}, icon('person'), 'asks you'), h('span', {}, beads.behind(bead.id).size ? `· ${beads.behind(bead.id).size} wait` : '')];
  if (bead.due && bead.due < beads.now()) return [h('span.bad.mid', {}, icon('clock'), `due ${clock(bead.due, beads.now())}`)];
  if (column === 'blocked') {
    const before = beads.blockers(bead);
    return [h('span', {}, before.length ? 'after' : 'set to blocked'), ...before.slice(0, 3).flatMap((other) => [h('span.mid', { class: STATE_WORDS[beads.state(other)][0] }, icon(other.asks ? 'person' : beads.state(other))), h('span.mono', {}, shortId(other.id))]), before.length > 3 ? h('span', {}, `+${before.length - 3}`) : h('span', {})];
  }
  const place = beads.places().get(bead.id);
  return place ? [h('span', {}, `${ordinal(place)} in the queue`)] : [];
}

/** @param {string} id */
function shortId(id) {
  return id.replace(/^[a-z0-9]+-/i, '');
}

/** The state of a bead at a time, as far as its own times tell. @param {import('./beads.js').Bead} bead @param {number} moment @returns {import('./beads.js').State | null} */
export function stateAt(bead, moment) {
  if (bead.created > moment) return null;
  if (bead.closed && bead.closed <= moment) return 'closed';
  if (bead.claimed && bead.claimed <= moment) return 'held';
  const waits = (bead.after ?? []).some((id) => {
    const other = beads.get(id);
    return other && other.created <= moment && !(other.closed && other.closed <= moment);
  });
  return waits ? 'blocked' : 'ready';
}

// *Board*: ready, blocked, in progress, closed, in lanes. The column is the status.

import { canWrite, claim, close, release, reopen, setPriority, takeBack } from './actions.js';
import { closedElsewhere } from './api.js';
import { beads, lastSync } from './beads.js';
import { h, icon, s } from './dom.js';
import { firstOf, matches, parseFilter } from './filter.js';
import { DEFAULT_MINUTES } from './groups.js';
import { put } from './multimap.js';
import { OutlineTable } from './outline.js';
import { actorName, cutLine, empty, glow, priorityMark, STATE_WORDS } from './parts.js';
import { agentStateOf, agentStates } from './strips.js';
import { toast } from './toast.js';
import { View, currentRoute, setQuery } from './view.js';
import { capital, clock, counted, duration, number, ordinal, toMs } from './words.js';

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
 * @property {import('./groups.js').Group} [group] set if the lane is a whole epic
 * @property {boolean} [isAll] whether the lane has every bead
 */

/** @typedef {{ text: string, icon?: string, style?: string, actor?: string }} Fact a part of a card's second line */

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

/** The progress of the whole store. */
function wholeProgress() {
  const { closed, held } = beads.sets;
  const left = beads.epics().reduce((sum, group) => sum + group.minutes, 0);
  return withClosedElsewhere({ closed: closed.size, held: held.size, all: beads.groups.entries.size, left }, closedElsewhere());
}

/** @template {{ closed: number, all: number }} T @param {T} count @param {number} more closed beads that the file leaves out @returns {T} */
function withClosedElsewhere(count, more) {
  return { ...count, closed: count.closed + more, all: count.all + more };
}

export class BoardView extends View {
  constructor() {
    super();
    /** @type {Set<string>} */
    this.folded = new Set();
    /** @type {Set<string>} cells that are shown in full */
    this.full = new Set();
    this.dragged = '';
    /** @type {{ text: string, content: number, found: Map<string, import('./beads.js').Bead> } | null} what the filter found, and up to which content */
    this.hits = null;
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
    const count = text ? this.filtered(text).size : beads.groups.entries.size;
    const earlier = text ? 0 : beads.sets.closed.size - beads.closedSince(beads.left).length;
    const deferred = text ? 0 : beads.sets.deferred.size;
    const hidden = [deferred && `${number(deferred)} deferred`, earlier && `${number(earlier)} closed earlier`].filter(Boolean).join(' and ');
    /** @param {string} group @param {[string, string][]} choices @param {string} now */
    const choice = (group, choices, now) => h('span.seg', { role: 'group', 'aria-label': group }, choices.map(([value, label]) => h('button', { type: 'button', 'aria-pressed': String(value === now), 'data-do': 'choose', 'data-group': group, 'data-value': value }, label)));
    const tools = h('div.tools', {}, h('span', {}, 'Lanes'), choice('lanes', [['epic', 'Epic'], ['agent', 'Agent'], ['label', 'Label'], ['priority', 'Priority'], ['none', 'None']], lanesBy),
      choice('view', [['cards', 'Cards'], ['outline', 'Outline']], isOutline ? 'outline' : 'cards'),
      h('span', {}, h('b', {}, '»'), ' on the critical path'),
      text ? h('span.act', {}, `filter: ${text} `, h('button.btn.word', { type: 'button', 'data-do': 'unfilter' }, 'clear')) : null,
      h('span.end', {}, `${counted(count, 'bead')}${isOutline ? outlined(text) : hidden ? `, ${hidden} not shown` : ''}`));
    const then = moment ? h('div.banner.ro', { role: 'status' }, icon('clock'), `The board as it was at ${clock(moment, beads.now())}, as far as the beads tell. `, h('a.act', { href: '#/board' }, 'Back to now')) : null;
    if (!beads.all.size) return [tools, empty('No beads yet.', 'Press ', h('kbd', {}, 'c'), ' to write the first, or import: ', h('code', {}, 'bd import issues.jsonl'), '.')];
    if (!count) return [tools, this.noHits(text)];
    if (isOutline) return [then, tools, new OutlineTable(this).element(text ? this.filtered(text) : null)].filter((one) => one !== null);
    return [then, tools, this.cards(this.lanes(text, lanesBy), lanesBy, moment)].filter((one) => one !== null);
  }

  /** The beads that match a filter. Only what has changed is compared again. @param {string} text */
  filtered(text) {
    const filter = parseFilter(text);
    const changed = this.hits?.text === text ? beads.changedSince(this.hits.content) : null;
    const found = changed && this.hits ? this.hits.found : new Map();
    for (const id of changed ?? beads.all.keys()) {
      const bead = beads.get(id);
      if (bead && bead.type !== 'epic' && matches(bead, filter)) found.set(id, bead);
      else found.delete(id);
    }
    this.hits = { text, content: beads.content, found };
    return found;
  }

  /** How many beads match one term. @param {string} word */
  countOf(word) {
    const filter = parseFilter(word);
    return beads.onceFor(`count ${word}`, beads.content, () => [...beads.groups.entries.values()].filter(({ bead }) => matches(bead, filter)).length);
  }

  /** @param {string} text */
  noHits(text) {
    const words = text.split(/\s+/).filter(Boolean);
    const without = words.map((word) => words.filter((other) => other !== word).join(' '));
    const counts = words.length > 1 ? `${words.map((word) => `${number(this.countOf(word))} ${this.countOf(word) === 1 ? 'matches' : 'match'} ${word}`).join(', ')}. ` : '';
    return h('div.empty', {}, h('p.strong', {}, 'No bead matches ', h('code', {}, text), '.'),
      h('p', {}, counts, ...words.flatMap((word, index) => [index ? ' or ' : '', h('button.btn.word', { type: 'button', 'data-do': 'filter', 'data-q': without[index] }, `${index ? 'drop' : 'Drop'} ${word}`)]), ' or ', h('button.btn.word', { type: 'button', 'data-do': 'unfilter' }, 'clear the filter'), '.'));
  }

  /** @param {string} text @param {string} by @returns {Lane[]} */
  lanes(text, by) {
    if (!text && by === 'epic') {
      return beads.epics().filter((group) => group.members.size).map((group) => ({ key: group.key || 'none', id: group.key, title: group.key ? beads.get(group.key)?.title ?? group.key : 'No epic', beads: beads.onceFor(`members ${group.key}`, group.version, () => [...group.members.values()]), group }));
    }
    const list = text ? [...this.filtered(text).values()] : beads.onceFor('members', beads.content, () => [...beads.groups.entries.values()].map((entry) => entry.bead));
    if (by === 'none') return [{ key: 'all', title: 'All', beads: list, isAll: !text }];
    /** @type {Map<string, import('./beads.js').Bead[]>} */
    const groups = new Map();
    for (const bead of list) {
      const keys = by === 'epic' ? [beads.epicOf(bead)?.id ?? ''] : by === 'agent' ? [bead.closer ?? bead.assignee ?? ''] : by === 'priority' ? [`P${bead.priority}`] : bead.labels?.length ? bead.labels : [''];
      for (const key of keys) put(groups, key, bead);
    }
    const order = by === 'epic' ? new Map(beads.epics().map((group, index) => [group.key || 'none', index])) : null;
    const none = { epic: 'No epic', agent: 'No agent', label: 'No label' }[by] ?? '';
    const lanes = [...groups].map(([key, own]) => ({ key: key || 'none', id: by === 'epic' ? key : undefined, title: key ? (by === 'epic' ? beads.get(key)?.title ?? key : key) : none, beads: own }));
    if (by === 'priority') return lanes.sort((a, b) => a.key.localeCompare(b.key));
    return lanes.sort((a, b) => Number(a.key === 'none') - Number(b.key === 'none') || (order?.get(a.key) ?? 0) - (order?.get(b.key) ?? 0) || b.beads.length - a.beads.length);
  }

  /** @param {Lane[]} lanes @param {string} by @param {number} moment */
  cards(lanes, by, moment) {
    /** @type {Record<string, number>} */
    const totals = { ready: 0, blocked: 0, held: 0, closed: 0 };
    const since = Math.min(beads.left, moment || Infinity);
    const cells = lanes.map((lane) => {
      const own = lane.group ? beads.onceFor(`cells ${lane.key}`, `${lane.group.version} ${since} ${moment} ${beads.ticks}`, () => this.cells(lane, since, moment)) : this.cells(lane, since, moment);
      for (const column of COLUMNS) totals[column] += own[column].length;
      return own;
    });
    const titles = { ready: 'Ready', blocked: 'Blocked', held: 'In progress', closed: moment ? 'Closed' : 'Closed since you left' };
    const used = lanes.map((lane, index) => ({ lane, own: cells[index] })).filter(({ lane, own }) => lane.id || COLUMNS.some((column) => own[column].length));
    const shown = used.slice(0, Math.max(LANES, this.windows.lanes ?? 0));
    return h('div', {}, h('div.kan', { class: by === 'none' ? 'one' : '' },
      h('div.hd.first', {}, { epic: 'Epic', agent: 'Agent', label: 'Label', priority: 'Priority' }[by] ?? '', h('span.n', {}, by === 'none' ? '' : number(used.length))),
      COLUMNS.map((column) => h('div.hd', { class: STATE_WORDS[column][0] }, icon(column), h('span.hdt', {}, titles[/** @type {'ready'} */ (column)]), h('span.n', {}, number(totals[column])))),
      shown.map(({ lane, own }) => this.parts.get(lane.key, this.laneSignature(lane, by, moment), () => this.lane(lane, own, by, moment)))), cutLine(shown.length, used.length, 'lanes', 'lanes'));
  }

  /** Everything that a lane shows, in short. @param {Lane} lane @param {string} by @param {number} moment */
  laneSignature(lane, by, moment) {
    const open = COLUMNS.map((column) => (this.full.has(`${lane.key} ${column}`) ? this.shown(`${lane.key} ${column}`) : ''));
    // What the address asks for, and what was unfolded here.
    const asked = [currentRoute().query, canWrite(), this.folded.has(lane.key), ...open];
    if (!lane.group) return [beads.version, ...asked].join(' ');
    const glows = [...beads.glowing].some((id) => lane.group?.members.has(id)) ? beads.version : 0;
    return [lane.title, lane.group.version, glows, by, moment, beads.left, beads.links, beads.queue, beads.ticks, agentStates(), ...asked].join(' ');
  }

  /** The beads of a lane in each column. @param {Lane} lane @param {number} since @param {number} moment */
  cells(lane, since, moment) {
    /** @type {Record<string, import('./beads.js').Bead[]>} */
    const own = { ready: [], blocked: [], held: [], closed: [], deferred: [] };
    if (lane.isAll && !moment) return { ready: beads.inState('ready'), blocked: beads.inState('blocked'), held: beads.inState('held'), closed: beads.closedSince(since) };
    for (const bead of lane.beads) {
      const state = moment ? stateAt(bead, moment) : beads.state(bead);
      if (state && (state !== 'closed' || (bead.closed ?? 0) >= since)) own[state].push(bead);
    }
    return own;
  }

  /** @param {Lane} lane @param {Record<string, import('./beads.js').Bead[]>} own @param {string} by @param {number} moment */
  lane(lane, own, by, moment) {
    const done = lane.group ? withClosedElsewhere({ ...lane.group.count, all: lane.group.members.size, left: lane.group.minutes }, closedElsewhere(lane.group.key)) : lane.isAll ? wholeProgress() : progress(lane.beads);
    const isFolded = this.folded.has(lane.key);
    const share = (/** @type {number} */ count) => (done.all ? (count / done.all) * 100 : 0);
    const asks = lane.group ? lane.group.asking.size > 0 : lane.beads.some((bead) => bead.asks);
    const lh = h('div.cell.lh', {}, h('h2', {}, lane.id ? h('a', { href: `#/bead/${encodeURIComponent(lane.id)}` }, lane.title) : lane.title),
      h('div', {}, s('svg.prog', { 'aria-hidden': 'true', preserveAspectRatio: 'none', viewBox: '0 0 100 4' }, s('rect.t', { width: 100, height: 4 }), s('rect.b-closed', { width: share(done.closed), height: 4 }), s('rect.b-held', { x: share(done.closed), width: share(done.held), height: 4 })),
        h('p.meta', {}, `${number(done.closed)} of ${number(done.all)} closed${done.left ? `, ${duration(done.left * 60_000)} left` : ''}`),
        asks ? h('p.meta.bad.mid', {}, icon('person'), 'waits for you') : by === 'epic' && !moment ? expectedLine(lane.beads) : null));
    const column = (/** @type {import('./beads.js').State} */ name) => {
      const order = cardOrder(name);
      const list = own[name];
      const cell = `${lane.key} ${name}`;
      const limit = this.full.has(cell) ? this.shown(cell) : by === 'none' ? 50 : CARDS;
      const cut = firstOf(list, limit, order);
      return h('div.cell', { 'data-key': name, 'data-col': capital(STATE_WORDS[name][1]), 'data-column': name, class: list.length ? '' : 'is-none' },
        isFolded ? (list.length ? h('span.faint.small', {}, number(list.length)) : null) : cut.map((bead) => this.card(bead, name, moment, lane.key)),
        !isFolded && cut.length < list.length ? (this.full.has(cell) ? cutLine(cut.length, list.length, STATE_WORDS[name][1], cell) : h('button.rest', { type: 'button', 'data-do': 'full', 'data-cell': cell }, `${number(list.length - cut.length)} more`)) : null);
    };
    return h('section.lane', { 'data-key': lane.key, 'data-lane': lane.key, 'aria-label': lane.title }, lh, COLUMNS.map(column));
  }

  /** @param {import('./beads.js').Bead} bead @param {import('./beads.js').State} column @param {number} moment @param {string} lane */
  card(bead, column, moment, lane) {
    const isCritical = beads.critical().has(bead.id);
    const facts = cardFacts(bead, column);
    const canDrag = canWrite() && !moment;
    const shine = glow(bead.id);
    const signature = JSON.stringify([bead.title, bead.priority, isCritical, canDrag, shine && beads.version, facts]);
    return this.parts.get(`${lane} ${column} ${bead.id}`, signature, () => h('a.card', { 'data-key': bead.id, 'data-row': bead.id, 'data-bead': bead.id, 'data-column': column, href: `#/bead/${encodeURIComponent(bead.id)}`, draggable: canDrag ? 'true' : null, class: shine },
      h('span.tt', {}, isCritical && h('b', { title: 'on the critical path' }, '» '), bead.title),
      h('span.meta', {}, h('span.id', {}, bead.id), priorityMark(bead.priority), facts.map((fact) => h('span', { class: fact.style }, fact.icon ? icon(fact.icon) : null, fact.actor ? actorName(fact.actor) : fact.text)))));
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
    const lane = card.closest('.lane');
    for (const cell of /** @type {NodeListOf<HTMLElement>} */ (this.querySelectorAll('.cell[data-column]'))) {
      const words = this.dropOn(cell, from, cell.closest('.lane') === lane);
      if (words) cell.dataset.drop = words.text;
      cell.classList.toggle('can-drop', Boolean(words?.run));
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
    if (bead) this.dropOn(cell, beads.state(bead), !this.isOtherPriority(cell))?.run?.();
    this.endDrag();
  }

  /** What dropping the card on a cell does: another column is another status, another lane another priority. @param {HTMLElement} cell @param {import('./beads.js').State} from @param {boolean} isOwnLane */
  dropOn(cell, from, isOwnLane) {
    const to = /** @type {import('./beads.js').State} */ (cell.dataset.column);
    if (isOwnLane) return to === from ? null : dropWords(this.dragged, from, to);
    if (to !== from || from === 'closed' || !this.isOtherPriority(cell)) return null;
    const priority = Number(laneOf(cell).slice(1));
    return { text: `Drop to make it P${priority}`, run: () => void setPriority(this.dragged, priority) };
  }

  /** Whether a cell is in the lane of another priority than the dragged card's. @param {HTMLElement} cell */
  isOtherPriority(cell) {
    return currentRoute().query.get('lanes') === 'priority' && laneOf(cell) !== `P${beads.get(this.dragged)?.priority}`;
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
    if (currentRoute().query.get('view') === 'outline') return [['j k', 'move'], ['l h', 'unfold, fold'], ['↵', 'open'], ['o', 'cards'], ['c', 'new bead'], ['/', 'filter'], ['u', 'undo']];
    return [['h j k l', 'move'], ['↵', 'open'], ['⇧ h l', 'move the card'], ['x', 'close'], ['p', 'priority'], ['z', 'fold lane'], ['o', 'outline'], ['/', 'filter'], ['u', 'undo']];
  }
}

/** @param {HTMLElement} cell */
function laneOf(cell) {
  return cell.closest('.lane')?.getAttribute('data-lane') ?? '';
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
  if (column === 'ready') return (a, b) => beads.placeOf(a) - beads.placeOf(b) || a.priority - b.priority || a.created - b.created;
  return (a, b) => a.priority - b.priority || Number(beads.critical().has(b.id)) - Number(beads.critical().has(a.id)) || a.created - b.created;
}

/** The one thing that matters in a column. @param {import('./beads.js').Bead} bead @param {import('./beads.js').State} column @returns {Fact[]} */
function cardFacts(bead, column) {
  if (column === 'closed') return bead.closed ? [{ text: clock(bead.closed, beads.now()) }, { text: bead.closer ?? '', style: 'cut' }] : [];
  if (column === 'held') {
    const state = agentStateOf(bead.assignee ?? '');
    const [glyph, style] = state === 'gone' ? ['gone', 'bad'] : state === 'slow' ? ['slow', 'wait'] : state === 'unknown' ? ['unknown', ''] : ['held', 'act'];
    return [{ text: '', icon: glyph, style: `mid ${style}` }, { text: 'no holder', style: 'cut', actor: bead.assignee }, { text: sinceWhen(bead, state) }];
  }
  const behind = beads.behind(bead.id).size;
  if (bead.asks) return [{ text: 'asks you', icon: 'person', style: 'bad mid' }, { text: behind ? `· ${behind} wait` : '' }];
  if (bead.due && bead.due < beads.now()) return [{ text: `due ${clock(bead.due, beads.now())}`, icon: 'clock', style: 'bad mid' }];
  if (column === 'blocked') {
    const before = beads.blockers(bead);
    return [{ text: before.length ? 'after' : 'set to blocked' }, ...before.slice(0, 3).flatMap((other) => [blockerMark(other), { text: shortId(other.id), style: 'mono' }]), { text: before.length > 3 ? `+${before.length - 3}` : '' }];
  }
  const place = beads.places().get(bead.id);
  return place ? [{ text: `${ordinal(place)} in the queue` }] : [];
}

/** What time tells about a bead in hand: since when there is no note or sign, as of when it is known, or how long it is in hand. @param {import('./beads.js').Bead} bead @param {import('./strips.js').Shown} state */
function sinceWhen(bead, state) {
  const agent = beads.pulse?.agents.find((one) => one.actor === bead.assignee);
  if (state === 'slow' && agent?.last_write) return `no note ${duration(beads.now() - toMs(agent.last_write))}`;
  if (state === 'gone' && agent?.last_seen) return `no sign ${duration(beads.now() - toMs(agent.last_seen))}`;
  if (state === 'unknown') return `as of ${clock(lastSync(), beads.now())}`;
  return bead.claimed ? duration(beads.now() - bead.claimed) : '';
}

/** How a bead that others wait for gets on. @param {import('./beads.js').Bead} bead @returns {Fact} */
function blockerMark(bead) {
  if (bead.asks) return { text: '', icon: 'person', style: 'mid bad' };
  const state = beads.state(bead);
  const holder = state === 'held' ? agentStateOf(bead.assignee ?? '') : '';
  if (holder === 'gone') return { text: '', icon: 'gone', style: 'mid bad' };
  if (holder === 'slow') return { text: '', icon: 'slow', style: 'mid wait' };
  return { text: '', icon: state, style: `mid ${STATE_WORDS[state][0]}` };
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

/** How the outline divides the beads, of which it hides none. @param {string} text the filter */
function outlined(text) {
  if (text) return '';
  const groups = beads.epics();
  const without = groups.find((group) => !group.key)?.members.size ?? 0;
  return ` in ${counted(groups.filter((group) => group.key).length, 'epic')}${without ? `, ${number(without)} without` : ''}`;
}

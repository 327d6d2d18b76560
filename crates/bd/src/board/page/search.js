// The search in the bar, and the palette of commands.

import { claim, close, createBead, syncNow, takeBack } from './actions.js';
import { exported, read } from './api.js';
import { beads } from './beads.js';
import { findBeads } from './filter.js';
import { h, icon } from './dom.js';
import { idLink, priorityMark, STATE_WORDS } from './parts.js';
import { setTheme } from './theme.js';
import { currentRoute } from './view.js';
import { counted, number } from './words.js';

const SHOWN_HITS = 12;
const SHOWN_COMMANDS = 10;

/** The server is asked once the typing pauses. */
const PAUSE_MS = 150;

export class SearchBox extends HTMLElement {
  connectedCallback() {
    if (this.firstChild) return;
    this.turn = 0;
    this.field = /** @type {HTMLInputElement} */ (h('input', { type: 'search', placeholder: 'Search, or filter: s:blocked p:1', 'aria-label': 'Search and filter', autocomplete: 'off', spellcheck: 'false' }));
    this.list = h('ul.hits', { hidden: true });
    this.append(h('label', {}, icon('find'), this.field, h('kbd', {}, '/')), this.list);
    this.field.addEventListener('input', () => void this.search());
    this.field.addEventListener('keydown', (event) => this.onKey(event));
    this.field.addEventListener('blur', () => setTimeout(() => this.hide(), 150));
  }

  async search() {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const text = this.field?.value.trim() ?? '';
    if (!text) return this.hide();
    const found = await findBeads(text, SHOWN_HITS, () => this.turn === turn);
    if (!found || this.turn !== turn) return undefined;
    this.show(text, found, []);
    if (found.count >= SHOWN_HITS) return undefined;
    const inTexts = await this.searchTexts(text, turn, found.best);
    if (this.turn === turn && inTexts.length) this.show(text, found, inTexts, SHOWN_HITS - found.best.length);
    return undefined;
  }

  /**
   * @param {string} text
   * @param {{ best: import('./beads.js').Bead[], count: number }} found
   * @param {import('./beads.js').Bead[]} inTexts
   * @param {number} [room] how many of these fit
   */
  show(text, { best, count }, inTexts, room = 0) {
    if (!this.list) return;
    const some = count > best.length ? `Showing ${best.length} of ${number(count)}. ` : `${counted(count, 'bead')}. `;
    this.list.replaceChildren(...best.map(hitRow), h('li.all', {}, count ? h('a.act', { href: `#/board?q=${encodeURIComponent(text)}` }, `${some}Show on the board`) : `No id, title, label or holder matches ${text}.`),
      ...(inTexts.length ? [h('li.all', {}, `In the texts${ofHits(room, inTexts.length)}`), ...inTexts.slice(0, room).map(hitRow)] : []));
    this.list.hidden = false;
  }

  /**
   * Finds beads whose texts contain the words: the page itself knows only titles.
   * @param {string} text
   * @param {number} turn
   * @param {import('./beads.js').Bead[]} known
   */
  async searchTexts(text, turn, known) {
    if (exported || text.length < 3 || text.includes(':')) return [];
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    if (this.turn !== turn) return [];
    /** @type {string[]} */
    const ids = await read(`search?text=${encodeURIComponent(text)}`).catch(() => []);
    const found = ids.map((id) => beads.get(id)).filter((bead) => bead !== undefined);
    return found.filter((bead) => !known.includes(bead));
  }

  hide() {
    if (this.list) this.list.hidden = true;
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const rows = [...(this.list?.querySelectorAll('li[data-bead]') ?? [])];
    const at = rows.findIndex((row) => row.classList.contains('sel'));
    if (event.key === 'Escape') {
      this.hide();
      this.field?.blur();
    } else if (event.key === 'Enter') {
      const chosen = rows[at]?.getAttribute('data-bead');
      location.hash = chosen ? `#/bead/${encodeURIComponent(chosen)}` : `#/board?q=${encodeURIComponent(this.field?.value.trim() ?? '')}`;
      this.hide();
      this.field?.blur();
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      const next = Math.max(0, Math.min(rows.length - 1, at + (event.key === 'ArrowDown' ? 1 : -1)));
      rows.forEach((row, index) => row.classList.toggle('sel', index === next));
    }
  }
}

/** The server sends at most this many hits in texts. */
const MOST_TEXT_HITS = 200;

/** Says how many hits are shown, if not all. @param {number} room @param {number} all */
function ofHits(room, all) {
  if (all <= room) return '';
  return `, showing ${room} of ${all < MOST_TEXT_HITS - SHOWN_HITS ? number(all) : `${number(all)} or more`}`;
}

/** @param {import('./beads.js').Bead} bead */
function hitRow(bead) {
  const state = beads.state(bead);
  return h('li', { 'data-bead': bead.id }, h('span.mid', { class: STATE_WORDS[state][0] }, icon(state, STATE_WORDS[state][1])), idLink(bead.id), priorityMark(bead.priority), h('a.cut', { href: `#/bead/${encodeURIComponent(bead.id)}` }, bead.title));
}

/** @returns {{ label: string, key?: string, icon: string, run: () => void }[]} */
function commands() {
  const held = (beads.pulse?.agents ?? []).map((agent) => ({ agent, holds: agent.holds.filter((one) => !one.offered) }));
  const holders = held.flatMap(({ agent, holds }) => holds.map((one) => ({ label: `Take back ${one.id} from ${agent.actor}`, icon: agent.state === 'dead' ? 'gone' : agent.state === 'hung' ? 'slow' : 'held', run: () => void takeBack(one.id) })));
  const all = held.filter(({ holds }) => holds.length > 1).map(({ agent, holds }) => ({ label: `Take back everything of ${agent.actor}, ${holds.length} beads`, icon: 'held', run: () => { for (const one of holds) void takeBack(one.id); } }));
  const route = currentRoute();
  const current = route.view === 'bead' ? route.rest[0] ?? '' : '';
  const views = [['Now', 'now', '1'], ['Needs you', 'needs', '2'], ['Board', 'board', '3'], ['Outline', 'board?view=outline', ''], ['Graph', 'graph', '4'], ['Last night', 'night', '5']];
  return [
    ...(current && !beads.about.read_only ? [{ label: `Close ${current}`, key: 'x', icon: 'closed', run: () => void close(current) }, { label: `Claim ${current}`, key: 'w', icon: 'held', run: () => void claim(current) }] : []),
    ...(beads.about.read_only ? [] : [{ label: 'New bead', key: 'c', icon: 'plus', run: () => void createBead() }, { label: 'Sync now', key: 's', icon: 'sync', run: () => void syncNow() }, ...holders, ...all]),
    ...views.map(([label, path, key]) => ({ label: `Go to ${label}`, key, icon: 'arrow', run: () => { location.hash = `#/${path}`; } })),
    ...['light', 'dark', 'system'].map((theme) => ({ label: `Theme: ${theme}`, icon: 'dot', run: () => setTheme(theme) })),
  ];
}

/** Opens the palette. */
export function openPalette() {
  const field = /** @type {HTMLInputElement} */ (h('input', { 'aria-label': 'Command', placeholder: 'What do you want to do?' }));
  const list = h('ul', { role: 'listbox', 'aria-label': 'Commands' });
  const more = h('p.small.dim.cutline');
  const dialog = /** @type {HTMLDialogElement} */ (h('dialog.pal', { 'aria-label': 'Commands' }, h('div.in', {}, field), list, more));
  let at = 0;
  const shown = () => {
    const text = field.value.toLowerCase();
    const all = commands().filter((command) => text.split(/\s+/).every((word) => command.label.toLowerCase().includes(word)));
    const found = all.slice(0, SHOWN_COMMANDS);
    more.textContent = all.length > found.length ? `Showing ${found.length} of ${number(all.length)}` : '';
    if (text) found.push({ label: `Search for “${field.value}”`, key: '↵', icon: 'find', run: () => { location.hash = `#/board?q=${encodeURIComponent(field.value)}`; } });
    return found;
  };
  const draw = () => {
    const found = shown();
    at = Math.max(0, Math.min(at, found.length - 1));
    list.replaceChildren(...found.map((command, index) => {
      const row = h('li', { role: 'option', class: index === at ? 'sel' : '', 'aria-selected': String(index === at) }, icon(command.icon), h('span', {}, command.label), command.key ? h('span.end', {}, command.key) : null);
      row.addEventListener('click', () => { dialog.close(); command.run(); });
      return row;
    }));
  };
  field.addEventListener('input', () => { at = 0; draw(); });
  field.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      at += event.key === 'ArrowDown' ? 1 : -1;
      draw();
    } else if (event.key === 'Enter') {
      event.preventDefault();
      const command = shown()[at];
      dialog.close();
      command?.run();
    }
  });
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  draw();
  dialog.showModal();
}

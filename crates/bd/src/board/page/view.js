// The base of all views: renders when something changed, at most once per frame, and passes clicks on.

import { keepDraft } from './actions.js';
import { beads } from './beads.js';
import { Parts, patch } from './dom.js';
import { Pace } from './pace.js';
import { WINDOW } from './parts.js';

/**
 * @typedef {object} Route
 * @property {string} view
 * @property {string[]} rest
 * @property {URLSearchParams} query
 */

/** @param {string[]} parts @returns {string[] | null} null if one of them is not spelled as addresses are */
function decoded(parts) {
  try {
    return parts.map((part) => decodeURIComponent(part));
  } catch {
    return null;
  }
}

/** @returns {Route} */
export function currentRoute() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const [view, ...rest] = decoded(path.split('/')) ?? [];
  return { view: view || 'now', rest, query: new URLSearchParams(query ?? '') };
}

/**
 * Changes parameters of the address without a new entry in the history.
 * @param {Record<string, string | null>} changes
 */
export function setQuery(changes) {
  const { query } = currentRoute();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  const path = location.hash.split('?')[0] || '#/now';
  history.replaceState(null, '', text ? `${path}?${text}` : path);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

export class View extends HTMLElement {
  constructor() {
    super();
    /** @type {Record<string, number>} how many rows each list shows */
    this.windows = {};
    this.due = false;
    this.selected = '';
    /** @type {Map<string, string[]>} the order of lists while the pointer is in them */
    this.orders = new Map();
    this.parts = new Parts();
    this.pace = new Pace();
    this.resting = 0;
    this.onChange = () => this.follow();
    this.onAddress = () => this.schedule();
  }

  connectedCallback() {
    beads.addEventListener('change', this.onChange);
    addEventListener('hashchange', this.onAddress);
    this.addEventListener('click', (event) => this.onClick(event));
    this.addEventListener('input', (event) => {
      const field = event.target;
      if ((field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement) && field.dataset.draft) keepDraft(field.dataset.draft, field.value);
    });
    this.render();
  }

  disconnectedCallback() {
    beads.removeEventListener('change', this.onChange);
    removeEventListener('hashchange', this.onAddress);
    clearTimeout(this.resting);
  }

  /** Draws what has changed, at once or after a rest in proportion to what drawing costs: many changes must not keep the page busy. */
  follow() {
    const rest = this.pace.rest();
    if (rest <= 0) this.schedule();
    else if (!this.resting) {
      this.resting = /** @type {any} */ (setTimeout(() => {
        this.resting = 0;
        this.schedule();
      }, rest));
    }
  }

  schedule() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      if (this.isConnected) this.pace.measure(() => this.render());
    });
  }

  render() {
    if (!beads.loaded) return;
    const wanted = document.createElement('div');
    for (const { name, value } of this.attributes) wanted.setAttribute(name, value);
    wanted.append(...this.content());
    patch(this, wanted);
    this.parts.swap();
    this.showSelection();
  }

  /** What to show. @returns {Node[]} */
  content() {
    return [];
  }

  /**
   * Carries out what a button asks for. Views add their own.
   * @param {string} _action
   * @param {DOMStringMap} _data
   * @param {HTMLElement} _element
   */
  act(_action, _data, _element) {}

  /** @param {Event} event */
  onClick(event) {
    const element = /** @type {Element} */ (event.target).closest?.('[data-do]');
    if (element instanceof HTMLElement || element instanceof SVGElement) {
      event.preventDefault();
      const { do: action = '', list = '' } = element.dataset;
      if (action === 'more') {
        this.windows[list] = this.shown(list) + WINDOW;
        this.schedule();
      } else {
        this.act(action, element.dataset, /** @type {HTMLElement} */ (element));
      }
      return;
    }
    const row = /** @type {Element} */ (event.target).closest?.('[data-row]');
    if (row) this.select(row.getAttribute('data-row') ?? '');
  }

  /** @param {string} list */
  shown(list) {
    return this.windows[list] ?? WINDOW;
  }

  /**
   * Keeps the order of a list while the pointer or the focus is in it. New rows come last.
   * @template T
   * @param {string} list
   * @param {T[]} rows
   * @param {(row: T) => string} key
   * @returns {T[]}
   */
  steady(list, rows, key) {
    const element = this.querySelector(`[data-steady="${list}"]`);
    const before = this.orders.get(list);
    if (before && element?.matches(':hover, :focus-within')) {
      const rank = new Map(before.map((id, index) => [id, index]));
      rows = [...rows].sort((a, b) => (rank.get(key(a)) ?? Infinity) - (rank.get(key(b)) ?? Infinity) || 0);
    }
    this.orders.set(list, rows.map(key));
    return rows;
  }

  rows() {
    return /** @type {HTMLElement[]} */ ([...this.querySelectorAll('[data-row]')]);
  }

  /** @param {string} row */
  select(row) {
    this.selected = row;
    this.showSelection(true);
  }

  showSelection(scroll = false) {
    for (const row of this.rows()) {
      const is = row.dataset.row === this.selected;
      row.classList.toggle('sel', is);
      if (is && scroll) row.scrollIntoView({ block: 'nearest' });
    }
  }

  /** @returns {HTMLElement | null} */
  selectedRow() {
    return this.rows().find((row) => row.dataset.row === this.selected) ?? null;
  }

  /** The bead that a key acts on. @returns {string} */
  selectedBead() {
    return this.selectedRow()?.dataset.bead ?? '';
  }

  /** Moves the selection. @param {number} by */
  move(by) {
    const rows = this.rows();
    if (!rows.length) return;
    const at = rows.findIndex((row) => row.dataset.row === this.selected);
    const next = rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by))];
    this.select(next.dataset.row ?? '');
  }

  /** Opens the selected row, or does its first action. */
  open() {
    const row = this.selectedRow();
    const first = row?.querySelector('[data-first]') ?? row?.querySelector('a[href]');
    if (first instanceof HTMLElement) first.click();
  }

  /**
   * Handles a key. Returns whether it meant something.
   * @param {string} _key
   * @returns {boolean}
   */
  key(_key) {
    return false;
  }

  /** The keys to show at the bottom. @returns {[string, string][]} */
  keys() {
    return [['j k', 'move'], ['↵', 'open']];
  }
}

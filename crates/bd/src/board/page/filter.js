// The filter of the bar: the words of `bd list`, and text.

import { beads } from './beads.js';

/**
 * @typedef {object} Filter
 * @property {string[]} states
 * @property {number[]} priorities
 * @property {string[]} types
 * @property {string[]} labels
 * @property {string[]} actors
 * @property {string[]} words
 */

const STATES = { open: ['ready', 'blocked', 'deferred'], in_progress: ['held'], ready: ['ready'], blocked: ['blocked'], held: ['held'], closed: ['closed'], deferred: ['deferred'] };

/**
 * @param {string} text
 * @returns {Filter}
 */
export function parseFilter(text) {
  /** @type {Filter} */
  const filter = { states: [], priorities: [], types: [], labels: [], actors: [], words: [] };
  for (const word of text.toLowerCase().split(/\s+/).filter(Boolean)) {
    const [, key, value] = /^(s|status|p|priority|t|type|l|label|a|assignee):(.+)$/.exec(word) ?? [];
    if (!key) filter.words.push(word);
    else if (key[0] === 's') filter.states.push(.../** @type {Record<string, string[]>} */ (STATES)[value] ?? [value]);
    else if (key[0] === 'p') filter.priorities.push(Number(value.replace(/^p/, '')));
    else if (key[0] === 't') filter.types.push(value);
    else if (key[0] === 'l') filter.labels.push(value);
    else filter.actors.push(value);
  }
  return filter;
}

/**
 * @param {import('./beads.js').Bead} bead
 * @param {Filter} filter
 */
export function matches(bead, filter) {
  if (filter.priorities.length && !filter.priorities.includes(bead.priority)) return false;
  if (filter.types.length && !filter.types.includes(bead.type)) return false;
  if (filter.labels.length && !filter.labels.every((label) => bead.labels?.some((own) => own.toLowerCase() === label))) return false;
  if (filter.actors.length && !filter.actors.some((actor) => (bead.assignee ?? '').toLowerCase().includes(actor))) return false;
  if (filter.words.length) {
    const text = textOf(bead);
    if (!filter.words.every((word) => text.includes(word))) return false;
  }
  return !filter.states.length || filter.states.includes(beads.state(bead));
}

/**
 * Returns the first of a list in an order, without sorting all of it.
 * @template T
 * @param {T[]} list
 * @param {number} most
 * @param {(a: T, b: T) => number} order
 */
export function firstOf(list, most, order) {
  if (list.length <= most * 4) return [...list].sort(order).slice(0, most);
  /** @type {T[]} */
  const best = [];
  for (const one of list) {
    if (best.length === most && order(one, best[most - 1]) >= 0) continue;
    let at = best.length;
    while (at > 0 && order(one, best[at - 1]) < 0) at--;
    best.splice(at, 0, one);
    if (best.length > most) best.pop();
  }
  return best;
}

/** @type {WeakMap<object, string>} */
const texts = new WeakMap();

/** @param {import('./beads.js').Bead} bead */
function textOf(bead) {
  let text = texts.get(bead);
  if (text === undefined) {
    text = `${bead.id} ${bead.title} ${bead.labels?.join(' ') ?? ''} ${bead.assignee ?? ''}`.toLowerCase();
    texts.set(bead, text);
  }
  return text;
}

/** The longest time without a pause while searching. */
const SLICE_MS = 6;

/**
 * Finds the best hits without blocking the page. Returns null if `isCurrent` says that the search is outdated.
 * @param {string} text
 * @param {number} most how many to return; all are counted
 * @param {() => boolean} isCurrent
 */
export async function findBeads(text, most, isCurrent) {
  const filter = parseFilter(text);
  const first = text.toLowerCase();
  /** @type {import('./beads.js').Bead[]} the best hits, in order */
  const best = [];
  let count = 0;
  let start = performance.now();
  let checked = 0;
  for (const bead of beads.all.values()) {
    if (++checked % 256 === 0 && performance.now() - start > SLICE_MS) {
      await new Promise((resolve) => setTimeout(resolve));
      if (!isCurrent()) return null;
      start = performance.now();
    }
    if (!matches(bead, filter)) continue;
    count++;
    // Sorting everything that matches one letter would block the page: only the best are kept in order.
    if (best.length === most && !isBefore(bead, best[most - 1], first)) continue;
    let at = best.length;
    while (at > 0 && isBefore(bead, best[at - 1], first)) at--;
    best.splice(at, 0, bead);
    if (best.length > most) best.pop();
  }
  return { best, count };
}

const RANKS = { held: 0, ready: 1, blocked: 2, deferred: 3, closed: 4 };

/** @param {import('./beads.js').Bead} a @param {import('./beads.js').Bead} b @param {string} exact the id that was typed */
function isBefore(a, b, exact) {
  if ((a.id === exact) !== (b.id === exact)) return a.id === exact;
  return (RANKS[beads.state(a)] - RANKS[beads.state(b)] || a.priority - b.priority || b.updated - a.updated) < 0;
}

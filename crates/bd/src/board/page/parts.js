// Parts that several views show: ids, actors, states, times, cut lists.

import { beads } from './beads.js';
import { h, icon } from './dom.js';
import { clock, fullTime, nameAndHost, number } from './words.js';

/** How many rows a list shows before it is cut. */
export const WINDOW = 200;

/** @type {Record<import('./beads.js').State, [string, string]>} the class and the word of each state */
export const STATE_WORDS = {
  ready: ['st-ready', 'ready'],
  held: ['st-held', 'in progress'],
  blocked: ['st-blocked', 'blocked'],
  closed: ['st-closed', 'closed'],
  deferred: ['st-deferred', 'deferred'],
};

/** @param {string} id */
export function idLink(id) {
  return h('a.id', { href: `#/bead/${encodeURIComponent(id)}` }, id);
}

/** @param {string} actor */
export function actorName(actor) {
  const [name, host] = nameAndHost(actor);
  return h('span.nm', { title: actor }, name, h('span.at', {}, host));
}

/** @param {import('./beads.js').State} state */
export function stateIcon(state) {
  const [style, word] = STATE_WORDS[state];
  return h('span.mid', { class: style }, icon(state, word));
}

/** @param {number} priority */
export function priorityMark(priority) {
  return h('span.p', { class: `p${priority}` }, `P${priority}`);
}

/** @param {number} ms */
export function timeOf(ms) {
  return h('time', { datetime: new Date(ms).toISOString(), title: fullTime(ms) }, clock(ms, beads.now()));
}

/**
 * Returns the head of a section.
 * @param {string} title
 * @param {string | number} [count]
 * @param {import('./dom.js').Child} [more]
 */
export function head(title, count, more) {
  return h('header', {}, h('h2', {}, title), count !== undefined && h('span.n', {}, typeof count === 'number' ? number(count) : count), more && h('span.more', {}, more));
}

/**
 * Returns the line below a cut list; null if nothing was cut.
 * @param {number} shown
 * @param {number} all
 * @param {string} what
 * @param {string} list the name of the list, for the button
 */
export function cutLine(shown, all, what, list) {
  if (shown >= all) return null;
  return h('p.cutline.small', { 'data-key': `cut-${list}` }, `Showing ${number(shown)} of ${number(all)}${what ? ` ${what}` : ''}. `,
    h('button.btn.word', { type: 'button', 'data-do': 'more', 'data-list': list }, `Next ${number(Math.min(WINDOW, all - shown))}`));
}

/**
 * @param {string} title
 * @param {...import('./dom.js').Child} text
 */
export function empty(title, ...text) {
  return h('div.empty', {}, h('p.strong', {}, title), h('p', {}, ...text));
}

/**
 * @param {string} label
 * @param {string} action
 * @param {Record<string, string | null | undefined>} [data]
 * @param {string} [kind]
 */
export function button(label, action, data = {}, kind = '') {
  // What writes is absent on a read-only board, not grey.
  if (beads.about.read_only) return h('span', { hidden: true });
  const attributes = Object.fromEntries(Object.entries(data).map(([name, value]) => [`data-${name}`, value]));
  return h('button.btn', { type: 'button', class: kind, 'data-do': action, 'data-writes': '', ...attributes }, label);
}

/** @param {string} id whether a bead changed just now */
export function glow(id) {
  return beads.glowing.has(id) ? 'glow' : '';
}

// Short messages at the bottom, with undo.

import { h, icon } from './dom.js';

const SHOWN_MS = 10_000;
/** A message about a write that may have been done stays longer. */
const UNCLEAR_MS = 60_000;
/** The most messages at the same time. */
const MOST_TOASTS = 3;

/** @typedef {{ bead: string, gone: () => void, withdraw: () => void }} Shown a message that is shown */

/** @type {HTMLElement | null} */
let host = null;
/** @type {(() => void) | null} the undo of the newest message, for the key `u` */
let lastUndo = null;
/** @type {Shown[]} the oldest first */
let shownToasts = [];

/**
 * Shows a message.
 * @param {string} text
 * @param {{ undo?: () => void, bead?: string, more?: { label: string, run: () => void }, done?: boolean, bad?: boolean, unclear?: boolean }} [options] what undoes it, and which bead that changes; another button; whether it says that something was done, was not, or may have been
 */
export function toast(text, options = {}) {
  if (!host) {
    host = h('div.toasts', { role: 'status', 'aria-live': 'polite' });
    document.body.append(host);
  }
  const { more } = options;
  const button = options.undo ? h('button.btn', { type: 'button' }, 'Undo', h('kbd', {}, 'u')) : more ? h('button.btn', { type: 'button' }, more.label) : null;
  const one = h('div.toast', { class: options.bad ? 'is-bad' : '', role: options.bad ? 'alert' : null }, options.done ? icon('closed') : null, h('span', {}, text), button);
  const withdraw = () => {
    if (undo) button?.remove();
    if (lastUndo === undo) lastUndo = null;
  };
  const gone = () => {
    withdraw();
    one.remove();
    shownToasts = shownToasts.filter((other) => other.gone !== gone);
  };
  const undo = options.undo ? () => {
    gone();
    options.undo?.();
  } : null;
  if (undo) {
    button?.addEventListener('click', undo);
    lastUndo = undo;
  } else if (more) button?.addEventListener('click', () => { gone(); more.run(); });
  shownToasts.push({ bead: options.bead ?? '', gone, withdraw });
  while (shownToasts.length > MOST_TOASTS) shownToasts[0].gone();
  host.append(one);
  setTimeout(gone, options.unclear ? UNCLEAR_MS : SHOWN_MS);
}

/** Withdraws the undo of earlier messages about a bead: it would undo what came later. @param {string} bead */
export function withdrawUndos(bead) {
  for (const one of shownToasts) if (one.bead === bead) one.withdraw();
}

/** Undoes the newest action that can be undone. */
export function undoLast() {
  if (lastUndo) lastUndo();
  else toast('There is nothing to undo here. bd undo reaches further back.');
}

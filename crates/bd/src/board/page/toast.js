// Short messages at the bottom, with undo.

import { h, icon } from './dom.js';

const SHOWN_MS = 10_000;

/** @type {HTMLElement | null} */
let host = null;
/** @type {(() => void) | null} the undo of the newest message, for the key `u` */
let lastUndo = null;

/**
 * Shows a message.
 * @param {string} text
 * @param {{ undo?: () => void, more?: { label: string, run: () => void }, done?: boolean, bad?: boolean }} [options] what undoes it; another button; whether it says that something was done, or was not
 */
export function toast(text, options = {}) {
  if (!host) {
    host = h('div.toasts', { role: 'status', 'aria-live': 'polite' });
    document.body.append(host);
  }
  const { more } = options;
  const button = options.undo ? h('button.btn', { type: 'button' }, 'Undo', h('kbd', {}, 'u')) : more ? h('button.btn', { type: 'button' }, more.label) : null;
  const one = h('div.toast', { class: options.bad ? 'is-bad' : '', role: options.bad ? 'alert' : null }, options.done ? icon('closed') : null, h('span', {}, text), button);
  const gone = () => {
    one.remove();
    if (lastUndo === undo) lastUndo = null;
  };
  const undo = options.undo ? () => {
    gone();
    options.undo?.();
  } : null;
  if (undo) {
    button?.addEventListener('click', undo);
    lastUndo = undo;
  }
  if (more) button?.addEventListener('click', () => { gone(); more.run(); });
  while (host.children.length > 2) host.firstElementChild?.remove();
  host.append(one);
  setTimeout(() => one.remove(), SHOWN_MS);
}

/** Undoes the newest action that can be undone. */
export function undoLast() {
  if (lastUndo) lastUndo();
  else toast('There is nothing to undo here. bd undo reaches further back.');
}

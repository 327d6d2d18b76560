// Keys of all views. No key acts while a field has the focus.

import { askMessage, askNote, askPriority, canWrite, close, createBead, release, reopen, syncNow, takeBack } from './actions.js';
import { beads } from './beads.js';
import { h } from './dom.js';
import { openPalette } from './search.js';
import { nextTheme } from './theme.js';
import { toast, undoLast } from './toast.js';
import { View } from './view.js';

export const VIEWS = /** @type {const} */ (['now', 'needs', 'board', 'graph', 'night']);

/** @type {[string, string][]} */
const ALL_KEYS = [['1–5', 'Now, Needs you, Board, Graph, Last night'], ['j k', 'next, previous row'], ['h l', 'previous, next column or edge'], ['⇧h ⇧l', 'move the card'], ['↵', 'open, or the first action'], ['esc', 'back, never loses text'], ['/', 'search and filter'], ['⌘K', 'all commands'], ['c', 'new bead'], ['e', 'edit the description'], ['n', 'add a note'], ['m', 'message to the holder'], ['x', 'close, or reopen'], ['p', 'priority; + and − change it by one'], ['t', 'take back, or release'], ['w', 'claim, on the page of a bead'], ['b', 'the bead behind it'], ['f', 'graph around this bead'], ['g', 'show it in the graph'], ['a', 'graph with closed'], ['o', 'outline'], ['z', 'fold lane'], ['s', 'sync now'], ['y', 'copy as Markdown'], ['⇧L', 'on Now: everything is seen, count from now'], ['u', 'undo'], ['d', 'light, dark, as the system'], ['?', 'keys']];

/** Keys that write. */
const WRITES = 'cenmxptwsu';

/** Keys that only move: they may be held. */
const MOVES = /^(?:[jkhl[\]]|(?:Shift\+)?Arrow\w+)$/;

/** Whether a held key does nothing more: it would write again and again, or switch to and fro. @param {string} name @param {View | null} view */
function mustBePressedAgain(name, view) {
  return !MOVES.test(name) && !(view?.localName === 'bd-graph' && (name === '+' || name === '-'));
}

/** Listens for keys. @param {() => View | null} current */
export function listenForKeys(current) {
  addEventListener('keydown', (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      if (!document.querySelector('dialog[open]')) openPalette();
      return;
    }
    const target = /** @type {Element} */ (event.target);
    if (event.metaKey || event.ctrlKey || event.altKey || document.querySelector('dialog[open]')) return;
    if (target.matches?.('input:not([type=range]), textarea, select')) {
      if (event.key === 'Escape') /** @type {HTMLElement} */ (target).blur();
      return;
    }
    const isControl = target.matches?.('button, a, input');
    if (isControl && (event.key === 'Enter' || event.key === ' ')) {
      // The browser clicks again as long as the key is held.
      if (event.repeat) event.preventDefault();
      return;
    }
    const view = current();
    const name = event.shiftKey && event.key.startsWith('Arrow') ? `Shift+${event.key}` : event.key;
    if (event.repeat && mustBePressedAgain(name, view)) return;
    if (WRITES.includes(event.key) && !canWrite()) {
      toast(beads.about.read_only ? 'Read-only: this key writes.' : 'The server does not answer; nothing can be written.');
      return;
    }
    if (view?.key(name) || general(event.key, view)) event.preventDefault();
  });
}

/** @param {string} key @param {View | null} view @returns {boolean} */
function general(key, view) {
  const bead = view?.selectedBead() ?? '';
  const held = beads.get(bead)?.status === 'in_progress' ? beads.get(bead) : undefined;
  const at = '12345'.indexOf(key);
  if (key.length === 1 && at >= 0) location.hash = `#/${VIEWS[at]}`;
  else if (key === 'j') view?.move(1);
  else if (key === 'k') view?.move(-1);
  else if (key === 'Enter') view?.open();
  else if (key === '/') /** @type {HTMLElement | null} */ (document.querySelector('bd-search input'))?.focus();
  else if (key === '?') showKeys();
  else if (key === 'c') void createBead();
  else if (key === 'n' && bead) void askNote(bead);
  else if (key === 'p' && bead) void askPriority(bead);
  else if (key === 'm' && held?.assignee) void askMessage(held.assignee, bead);
  else if (key === 't' && held) void (held.assignee === beads.about.actor ? release(bead) : takeBack(bead));
  else if (key === 'e' && bead) location.hash = `#/bead/${encodeURIComponent(bead)}?edit=description`;
  else if (key === 'y' && bead) copyBead(bead);
  else if (key === 'x' && bead) void (beads.get(bead)?.status === 'closed' ? reopen(bead) : close(bead));
  else if (key === 'b' && bead) location.hash = `#/bead/${encodeURIComponent(bead)}`;
  else if ((key === 'f' || key === 'g') && bead) location.hash = `#/graph?around=${encodeURIComponent(bead)}`;
  else if (key === 's') void syncNow();
  else if (key === 'u') undoLast();
  else if (key === 'd') nextTheme();
  else return false;
  return true;
}

/** Copies a bead as a line of Markdown. @param {string} id */
function copyBead(id) {
  const bead = beads.get(id);
  if (bead) void navigator.clipboard.writeText(`- [${bead.status === 'closed' ? 'x' : ' '}] \`${id}\` ${bead.title}`).then(() => toast(`Copied ${id} as Markdown.`), () => toast('The browser refuses to copy.', { bad: true }));
}

/** Shows all keys. */
export function showKeys() {
  const dialog = /** @type {HTMLDialogElement} */ (h('dialog.ask.keysdialog', { 'aria-label': 'Keys' }, h('dl.map', {}, ALL_KEYS.flatMap(([key, what]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, what)])), h('form', { method: 'dialog' }, h('p.do', {}, h('button.btn', {}, 'Close', h('kbd', {}, 'esc'))))));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

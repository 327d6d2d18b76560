// What a person can do, from every view: one function per action, each with its message and its undo.

import { isUnanswered, read, Refused, write } from './api.js';
import { beads } from './beads.js';
import { h } from './dom.js';
import { beginOnce, dropAllSent, dropSent, keepSent } from './repeats.js';
import { toast, withdrawUndos } from './toast.js';
import { asSentence, counted, fullTime } from './words.js';

const HANDLED = 'bd-board-handled';
const SNOOZED = 'bd-board-snoozed';
const DRAFTS = 'bd-board-drafts';

/**
 * How an action is undone: the change that left the bead with this time, or that removed its edge to another. The server
 * refuses it if something has changed since.
 * @typedef {{ do: 'undo', id: string, updated_at?: string, to?: string }} Undo
 */

/**
 * @typedef {object} Options
 * @property {string | Undo | ((answer: any) => string | undefined)} [undo] the bead whose last change is undone, or how
 * @property {(answer: any) => void} [after] what follows when it was done
 * @property {boolean} [again] whether it was sent before, without an answer
 */

/**
 * Carries out an action and shows what happened.
 * @param {Record<string, unknown>} action
 * @param {string} done what to say
 * @param {Options} [options]
 * @returns {Promise<boolean>}
 */
export async function perform(action, done, options = {}) {
  if (!canWrite() && !options.again) {
    toast(beads.about.read_only ? 'This board is read-only.' : 'The server does not answer, so nothing was changed.', { bad: true });
    return false;
  }
  const start = performance.now();
  if (!beginOnce(action)) return false;
  try {
    const answer = await write(action);
    keepSent(action, start);
    options.after?.(answer);
    const wanted = typeof options.undo === 'function' ? options.undo(answer) : options.undo;
    const how = typeof wanted === 'string' ? undoOf(wanted, answer) : wanted;
    succeeded(done, String(how?.id ?? wanted ?? action.id ?? ''), how, consequences(answer));
    return true;
  } catch (error) {
    dropSent(action);
    if (isUnanswered(error)) unclear(done, () => void perform(action, done, { ...options, again: true }));
    else toast(`Not done: ${messageOf(error)}`, { bad: true });
    return false;
  }
}

/** Says that there was no answer, and offers to ask again, which acts once. @param {string} done @param {() => void} again */
function unclear(done, again) {
  toast(`No answer; it may have been done: “${done}”`, { bad: true, unclear: true, more: { label: 'Try again', run: again } });
}

/** How a write is undone; undefined if it changed nothing. @param {string} id @param {any} answer what it answered @returns {Undo | undefined} */
export function undoOf(id, answer) {
  return typeof answer?.updated_at === 'string' ? { do: 'undo', id, updated_at: answer.updated_at } : undefined;
}

/** What else an action did: beads that became ready, and what the store warns of. @param {any} answer */
function consequences(answer) {
  const freed = answer?.unblocked?.length ?? 0;
  const warnings = (answer?.warnings ?? []).map((/** @type {any} */ one) => ` ${asSentence(String(one?.message ?? one))}`);
  return `${freed ? ` ${counted(freed, 'bead')} became ready.` : ''}${warnings.join('')}`;
}

/**
 * Says that something was done, with its undo, and remembers it.
 * @param {string} done
 * @param {string} bead which bead changed
 * @param {Undo} [how]
 * @param {string} [more]
 */
export function succeeded(done, bead, how, more = '') {
  if (bead) withdrawUndos(bead);
  toast(`${done}${more}`, { done: true, bead, undo: how ? () => void undo(how, done) : undefined });
  noteHandled(done, how);
}

/**
 * @param {Undo} how
 * @param {string} done
 */
export async function undo(how, done) {
  try {
    await write(how);
    dropAllSent();
    forgetHandled(done);
    toast(`Undone: ${done}`, { done: true });
  } catch (error) {
    if (isUnanswered(error)) unclear(`Undone: ${done}`, () => void undo(how, done));
    else toast(`Not undone: ${messageOf(error)}`, { bad: true, more: { label: 'Show the bead', run: () => { location.hash = `#/bead/${encodeURIComponent(how.id)}`; } } });
  }
}

/** @param {unknown} error */
export function messageOf(error) {
  if (error instanceof Refused) return error.message;
  return 'the server does not answer';
}

export function canWrite() {
  return !beads.about.read_only && beads.live;
}

/** @param {string} id */
export const claim = (id) => perform({ do: 'claim', id }, `Claimed ${id}.`, { undo: id });
/** @param {string} id */
export const release = (id) => perform({ do: 'release', id }, `Released ${id}.`, { undo: id });
/** @param {string} id */
export const reopen = (id) => perform({ do: 'reopen', id }, `Reopened ${id}.`, { undo: id });
/** @param {string} id */
export const close = (id) => perform({ do: 'close', id }, `Closed ${id}.`, { undo: id });
/** @param {string} id */
export const free = (id) => perform({ do: 'free', id }, `Freed ${id}.`, { undo: id });

/** @param {string} id */
export function takeBack(id) {
  const bead = beads.get(id);
  const holder = bead?.assignee ?? 'its holder';
  return perform({ do: 'take_back', id, fence: bead?.fence ?? null }, `Took back ${id} from ${holder}.`, { undo: id });
}

/** @param {string} id @param {number} priority */
export function setPriority(id, priority) {
  return perform({ do: 'priority', id, priority }, `Set ${id} to P${priority}.`, { undo: id });
}

/** @param {string} id @param {number} due */
export function setDue(id, due) {
  return perform({ do: 'due', id, due }, `Moved the date of ${id} to ${fullTime(due)}.`, { undo: id });
}

/** @param {string} from @param {string} to */
export function cut(from, to) {
  return perform({ do: 'cut', from, to }, `${from} no longer waits for ${to}.`, { undo: { do: 'undo', id: from, to } });
}

/** Answers and messages have no undo: the store never removes what was said. @param {string} id @param {string | null} question @param {string} text @param {() => void} [after] */
export function answer(id, question, text, after) {
  return perform({ do: 'answer', id, question, text }, `Answered ${id}.`, { after });
}

/**
 * Keeping the value changes no bead, so there is nothing to undo: the store still lists the other value.
 * @param {any} conflict
 * @param {boolean} restore
 */
export async function resolve(conflict, restore) {
  const what = `${fieldName(conflict.field)} of ${conflict.bead}`;
  const action = { do: 'resolve', conflict: conflict.id, restore };
  if (restore) return perform(action, `Restored the ${what}.`, { undo: conflict.bead });
  const done = await perform(action, `Kept the ${what}. bd conflicts --all still shows the other value.`);
  // No bead changed, so no event comes.
  if (done) void read('pulse').then((pulse) => beads.setPulse(pulse), () => {});
  return done;
}

/** @param {string} to @param {string} bead @param {string} text @param {() => void} [after] */
export function message(to, bead, text, after) {
  return perform({ do: 'message', to, bead, text }, `Sent to ${to}.`, { after });
}

export const syncNow = () => perform({ do: 'sync' }, 'Synced.');

/** @param {string | null} [field] */
export function fieldName(field) {
  return String(field ?? 'value').replaceAll('_', ' ');
}

/** @type {Map<string, string>} texts that were typed and not sent, by what they are for */
const unsent = new Map(Object.entries(storedDrafts()));

function storedDrafts() {
  try {
    return JSON.parse(sessionStorage.getItem(DRAFTS) ?? '{}');
  } catch {
    return {};
  }
}

/** What was typed for something and not sent. @param {string} what */
export function draftOf(what) {
  return unsent.get(what) ?? '';
}

/** Keeps a text that is being typed, also over a reload. An empty one is forgotten. @param {string} what @param {string} text */
export function keepDraft(what, text) {
  if (text) unsent.set(what, text);
  else unsent.delete(what);
  try {
    sessionStorage.setItem(DRAFTS, JSON.stringify(Object.fromEntries(unsent)));
  } catch {
    // Without storage, a reload loses it.
  }
}

/**
 * Asks for a text in a dialog. Resolves to null if it is dismissed. With `keep`, what was typed is kept until it is
 * sent or cancelled.
 * @param {string} title
 * @param {string} label
 * @param {string} button
 * @param {{ long?: boolean, type?: string, value?: string, keep?: boolean }} [field] its kind, and what it begins with
 * @returns {Promise<string | null>}
 */
export function askText(title, label, button, { long = false, type, value, keep = false } = {}) {
  if (document.querySelector('dialog.ask[open]')) return Promise.resolve(null);
  return new Promise((resolve) => {
    const field = /** @type {HTMLInputElement} */ (h(long ? 'textarea' : 'input', { 'aria-label': label, placeholder: label, rows: long ? 4 : null, type }));
    field.value = (keep ? draftOf(title) : '') || value || '';
    const form = h('form', { method: 'dialog' },
      h('p.strong', {}, title), field,
      h('p.do', {}, h('button.btn.go', { value: 'go' }, button), h('button.btn.word', { value: 'cancel', formnovalidate: true }, 'Cancel')));
    const dialog = /** @type {HTMLDialogElement} */ (h('dialog.ask', {}, form));
    document.body.append(dialog);
    if (keep) field.addEventListener('input', () => keepDraft(title, field.value));
    field.addEventListener('keydown', (event) => {
      const key = /** @type {KeyboardEvent} */ (event);
      if (key.key === 'Enter' && (!long || key.metaKey || key.ctrlKey)) {
        key.preventDefault();
        dialog.close('go');
      }
    });
    dialog.addEventListener('close', () => {
      const text = field.value.trim();
      dialog.remove();
      if (dialog.returnValue === 'cancel' && keep) keepDraft(title, '');
      resolve(dialog.returnValue === 'go' && text ? text : null);
    });
    dialog.showModal();
    field.focus();
  });
}

/** Asks for a new bead and creates it. @param {string} [parent] */
export async function createBead(parent) {
  const what = parent ? `New bead under ${parent}` : 'New bead';
  const title = await askText(what, 'Title', 'Create', { keep: true });
  if (title) await perform({ do: 'create', title, parent: parent ?? null }, `Created “${title}”.`, { undo: (answer) => answer?.id, after: () => keepDraft(what, '') });
}

/** @param {string} id */
export async function askNote(id) {
  const what = `Note on ${id}`;
  const text = await askText(what, 'Note', 'Add note', { long: true, keep: true });
  // Notes have no undo: the store never removes what was said.
  if (text) await perform({ do: 'note', id, text }, `Added a note to ${id}.`, { after: () => keepDraft(what, '') });
}

/** @param {string} id */
export async function askPriority(id) {
  const text = await askText(`Priority of ${id}`, '0 (urgent) to 4 (someday)', 'Set');
  if (text && /^p?[0-4]$/i.test(text)) await setPriority(id, Number(text.slice(-1)));
  else if (text) toast('A priority is a number from 0 to 4.', { bad: true });
}

/** Asks for a new due date: a day, at the hour that it was due before. @param {string} id */
export async function askDue(id) {
  const before = new Date(beads.get(id)?.due ?? beads.now());
  const tomorrow = new Date(beads.now() + 24 * 60 * 60_000);
  const day = `${tomorrow.getFullYear()}-${String(tomorrow.getMonth() + 1).padStart(2, '0')}-${String(tomorrow.getDate()).padStart(2, '0')}`;
  const text = await askText(`New date of ${id}`, 'Date', 'Move', { type: 'date', value: day });
  const [year, month, date] = (text ?? '').split('-').map(Number);
  if (year && month && date) await setDue(id, new Date(year, month - 1, date, before.getHours(), before.getMinutes()).getTime());
}

/** @param {string} to @param {string} bead */
export async function askMessage(to, bead) {
  const what = `Message to ${to} about ${bead}`;
  const text = await askText(what, 'Message', 'Send', { long: true, keep: true });
  if (text) await message(to, bead, text, () => keepDraft(what, ''));
}

/** @typedef {{ at: number, text: string, undo?: Undo }} Handled */

/** The most actions that are remembered. */
export const MOST_HANDLED = 30;

/** @param {string} done @param {Undo} [how] */
function noteHandled(done, how) {
  keepHandled([{ at: Date.now(), text: done, undo: how }, ...handled()]);
}

/** @param {string} done */
function forgetHandled(done) {
  const list = handled();
  const at = list.findIndex((one) => one.text === done);
  if (at >= 0) keepHandled(list.filter((_, index) => index !== at));
}

/** @param {Handled[]} list */
function keepHandled(list) {
  try {
    localStorage.setItem(HANDLED, JSON.stringify(list.slice(0, MOST_HANDLED)));
  } catch {
    // Without storage, nothing is remembered.
  }
  beads.touch();
}

/** What was done here in the last half day, newest first. @returns {Handled[]} */
export function handled() {
  try {
    const list = JSON.parse(localStorage.getItem(HANDLED) ?? '[]');
    return list.filter((/** @type {{ at: number }} */ one) => Date.now() - one.at < 12 * 60 * 60_000);
  } catch {
    return [];
  }
}

/** Hides a matter for some hours. @param {string} key @param {number} [hours] */
export function snooze(key, hours = 2) {
  const all = snoozed();
  all[key] = Date.now() + hours * 60 * 60_000;
  localStorage.setItem(SNOOZED, JSON.stringify(all));
  toast(`Hidden for ${hours < 48 ? counted(hours, 'hour') : counted(hours / 24, 'day')}.`, { undo: () => {
    const now = snoozed();
    delete now[key];
    localStorage.setItem(SNOOZED, JSON.stringify(now));
    beads.touch();
  } });
  beads.touch();
}

/** @returns {Record<string, number>} */
export function snoozed() {
  try {
    const all = JSON.parse(localStorage.getItem(SNOOZED) ?? '{}');
    return Object.fromEntries(Object.entries(all).filter(([, until]) => Number(until) > Date.now()));
  } catch {
    return {};
  }
}

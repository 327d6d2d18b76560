// Requests to the server, or the data inside an exported file.

/**
 * @typedef {object} Failed
 * @property {string} code
 * @property {string} message
 * @property {any} [details]
 */

/** An error that the server reports. */
export class Refused extends Error {
  /** @param {number} status @param {Failed} failed */
  constructor(status, failed) {
    super(failed.message);
    this.status = status;
    this.code = failed.code;
    this.details = failed.details;
  }
}

const TOKEN = 'bd-board-token';

/** The address that `bd board` prints ends like this. */
export const TOKEN_ADDRESS = /^#token=([0-9a-f]+)$/;

/** The data of an exported file. */
export const exported = readData();

function readData() {
  const element = typeof document === 'undefined' ? null : document.getElementById('data');
  return element ? JSON.parse(element.textContent ?? 'null') : null;
}

/** How many closed beads an exported file leaves out: of one topmost epic, or all. @param {string} [epic] @returns {number} */
export function closedElsewhere(epic) {
  if (!exported) return 0;
  return epic === undefined ? exported.left_out.closed : exported.left_out.epics[epic] ?? 0;
}

/** A token from the address that the server has not accepted yet. */
let candidate = '';

/** Takes the token out of the address. It is kept for this origin once the server has accepted it. */
export function takeToken() {
  const found = TOKEN_ADDRESS.exec(location.hash);
  if (!found) return;
  candidate = found[1];
  history.replaceState(null, '', location.pathname);
}

/** @returns {string} */
export function token() {
  return candidate || (localStorage.getItem(TOKEN) ?? '');
}

/**
 * Reads from the server.
 * @param {string} path
 * @returns {Promise<any>}
 */
export async function read(path) {
  const used = token();
  const response = await fetch(`api/${path}`, { headers: { Authorization: `Bearer ${used}` }, cache: 'no-store' });
  if (candidate && used === candidate) {
    const known = localStorage.getItem(TOKEN);
    if (response.ok) localStorage.setItem(TOKEN, candidate);
    // The address of an old bookmark, or of another site, must not replace a token that works.
    if (response.ok || (response.status === 401 && known && known !== candidate)) candidate = '';
    if (!response.ok && !candidate) return read(path);
  }
  return answerOf(response);
}

let writes = 0;

/** How many writes were sent. */
export function writesBegun() {
  return writes;
}

/** @type {Map<string, { id: string, at: number }>} the request ids of actions without an answer */
const unanswered = new Map();

/** An action that is asked for later than this is a new one. */
const RETRY_WITHIN_MS = 5 * 60_000;

/** Errors of the server after which the write may have happened. */
const UNKNOWN_OUTCOMES = ['unreadable', 'timeout', 'daemon_unreachable'];

/** Whether a write failed without an answer: it may have been done. @param {unknown} error */
export function isUnanswered(error) {
  return !(error instanceof Refused) || UNKNOWN_OUTCOMES.includes(error.code);
}

/**
 * Asks the server to write. An action that was not answered is repeated with the same request id, so that it acts once.
 * @param {Record<string, unknown>} action
 * @returns {Promise<any>}
 */
export async function write(action) {
  writes++;
  const key = JSON.stringify(action);
  const before = unanswered.get(key);
  const id = before && Date.now() - before.at < RETRY_WITHIN_MS ? before.id : newRequestId();
  unanswered.set(key, { id, at: Date.now() });
  const body = JSON.stringify({ request_id: id, action });
  const headers = { Authorization: `Bearer ${token()}`, 'Content-Type': 'application/json' };
  const send = () => fetch('api/act', { method: 'POST', headers, body });
  try {
    // A connection that broke says nothing about the write; the id makes it safe to repeat.
    const answer = await answerOf(await send().catch(send));
    unanswered.delete(key);
    return answer;
  } catch (error) {
    if (!isUnanswered(error)) unanswered.delete(key);
    throw error;
  }
}

function newRequestId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `board-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** @param {Response} response */
async function answerOf(response) {
  const answer = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return answer;
  throw new Refused(response.status, answer?.error ?? { code: 'unreadable', message: `the server answered ${response.status}` });
}

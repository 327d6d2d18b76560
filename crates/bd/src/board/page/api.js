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

/** The data of an exported file. */
export const exported = readData();

function readData() {
  const element = typeof document === 'undefined' ? null : document.getElementById('data');
  return element ? JSON.parse(element.textContent ?? 'null') : null;
}

/** Takes the token out of the address and keeps it for this origin. */
export function takeToken() {
  const found = /(?:^#|[#&])token=([0-9a-f]+)/.exec(location.hash);
  if (!found) return;
  localStorage.setItem(TOKEN, found[1]);
  const rest = location.hash.replace(/&?token=[0-9a-f]+/, '');
  history.replaceState(null, '', location.pathname + (rest === '#' ? '' : rest));
}

/** @returns {string} */
export function token() {
  return localStorage.getItem(TOKEN) ?? '';
}

/**
 * Reads from the server.
 * @param {string} path
 * @returns {Promise<any>}
 */
export async function read(path) {
  return answerOf(await fetch(`api/${path}`, { headers: { Authorization: `Bearer ${token()}` }, cache: 'no-store' }));
}

let writes = 0;

/** How many writes were sent. */
export function writesBegun() {
  return writes;
}

/**
 * Asks the server to write. The same request id acts once, however often it is sent.
 * @param {Record<string, unknown>} action
 * @param {string} [requestId]
 * @returns {Promise<any>}
 */
export async function write(action, requestId = newRequestId()) {
  writes++;
  const body = JSON.stringify({ request_id: requestId, action });
  const headers = { Authorization: `Bearer ${token()}`, 'Content-Type': 'application/json' };
  const send = () => fetch('api/act', { method: 'POST', headers, body });
  // A connection that broke says nothing about the write; the id makes it safe to repeat.
  return answerOf(await send().catch(send));
}

export function newRequestId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `board-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** @param {Response} response */
async function answerOf(response) {
  const answer = await response.json().catch(() => null);
  if (response.ok) return answer;
  throw new Refused(response.status, answer?.error ?? { code: 'unreadable', message: `the server answered ${response.status}` });
}

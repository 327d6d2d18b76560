// Holds one stream for all tabs of a browser. A tab says where its snapshot ends. The stream starts at the
// first of these cursors; a later tab gets the recent changes that its snapshot may lack, or reads again. Tabs that
// nobody sees get what happened in bundles.

import { followStream } from './reader.js';

/** @typedef {import('./reader.js').StreamMessage} StreamMessage */

/** @typedef {{ hidden: boolean, kept: StreamMessage[] }} Tab what a hidden tab will get */

/** @type {Map<MessagePort, Tab>} */
const tabs = new Map();
/** @type {{ stop: () => void, retry: () => void } | null} */
let stream = null;
/** @type {StreamMessage | null} whether the stream is open, lost or refused */
let state = null;
let bearerInUse = '';

/** Recent changes: more than can happen while a tab reads its snapshot. */
const RECENT = 500;
/** @type {StreamMessage[]} */
const recent = [];
/** The cursor before the first of them. */
let recentFrom = '';

/** How long a hidden tab waits for changes: its title counts what needs the person. */
const HIDDEN_MS = 5_000;
let bundling = 0;

/** A cursor names the log and a place in it. @param {string} cursor */
const placeOf = (cursor) => Number(cursor.slice(cursor.lastIndexOf('-') + 1));
/** @param {string} cursor */
const logOf = (cursor) => cursor.slice(0, cursor.lastIndexOf('-'));

/** @param {MessagePort} port @param {Tab} tab */
function sendKept(port, tab) {
  for (const message of tab.kept.splice(0)) port.postMessage(message);
}

/** @param {StreamMessage} message */
function send(message) {
  const canWait = message.type === 'change' || message.type === 'pulse';
  for (const [port, tab] of tabs) {
    if (tab.hidden && canWait) tab.kept.push(message);
    else {
      sendKept(port, tab);
      port.postMessage(message);
    }
  }
  if (canWait && !bundling && [...tabs.values()].some((tab) => tab.kept.length)) {
    bundling = /** @type {any} */ (setTimeout(() => {
      bundling = 0;
      for (const [port, tab] of tabs) sendKept(port, tab);
    }, HIDDEN_MS));
  }
}

/** Tells all tabs how many of them are visible, because they share the machine. */
function countVisible() {
  const visible = [...tabs.values()].filter((tab) => !tab.hidden).length;
  for (const port of tabs.keys()) port.postMessage({ type: 'tabs', data: visible });
}

/** The recent changes begin anew. @param {string} cursor */
function forgetRecent(cursor) {
  recent.length = 0;
  recentFrom = cursor;
}

/** @param {StreamMessage} message */
function remember(message) {
  if (message.type === 'open' || message.type === 'lost' || message.type === 'refused') state = message;
  if (message.type === 'restart') forgetRecent(message.data);
  if (message.type === 'change') recent.push(message);
  if (recent.length > RECENT) recentFrom = recent.shift()?.data.cursor ?? recentFrom;
}

function end() {
  stream?.stop();
  stream = null;
  state = null;
}

/** Follows the stream from where the snapshot of a tab ends. The other tabs may lack what happened before: they read again. @param {MessagePort} port @param {any} data */
function follow(port, data) {
  bearerInUse = data.bearer;
  forgetRecent(data.cursor);
  stream = followStream(data.base, data.bearer, data.cursor, (message) => {
    remember(message);
    send(message);
  });
  for (const [other, tab] of tabs) {
    if (other === port) continue;
    tab.kept.length = 0;
    other.postMessage({ type: 'restart', data: data.cursor });
  }
}

/** Sends a new tab what its snapshot may lack. @param {MessagePort} port @param {string} cursor */
function catchUp(port, cursor) {
  if (state) port.postMessage(state);
  if (logOf(cursor) !== logOf(recentFrom) || placeOf(cursor) < placeOf(recentFrom)) {
    port.postMessage({ type: 'restart', data: cursor });
    return;
  }
  for (const message of recent) {
    if (placeOf(message.data.cursor) > placeOf(cursor)) port.postMessage(message);
  }
}

/** @param {MessagePort} port @param {any} data */
function receive(port, data) {
  if (data.type === 'retry') {
    stream?.retry();
    return;
  }
  if (data.type === 'bye') {
    tabs.delete(port);
    countVisible();
    if (tabs.size === 0) end();
    return;
  }
  const tab = tabs.get(port);
  if (data.type === 'seen') {
    if (!tab) return;
    tab.hidden = data.hidden;
    if (!tab.hidden) {
      sendKept(port, tab);
      // A laptop that wakes up does not wait.
      stream?.retry();
    }
    countVisible();
    return;
  }
  tabs.set(port, { hidden: data.hidden, kept: [] });
  countVisible();
  // A token that was replaced ended the stream.
  if (bearerInUse !== data.bearer || state?.data?.status === 401) end();
  if (stream) catchUp(port, data.cursor);
  else follow(port, data);
}

/** @type {any} */ (self).onconnect = (/** @type {MessageEvent} */ event) => {
  const port = event.ports[0];
  port.onmessage = ({ data }) => receive(port, data);
  port.start();
};

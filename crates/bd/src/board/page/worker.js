// Holds one stream for all tabs of a browser. A tab says where its snapshot ends. The stream starts at the
// first of these cursors; a later tab gets the recent changes that its snapshot may lack.

import { followStream } from './reader.js';

/** @type {Set<MessagePort>} */
const ports = new Set();
/** @type {(() => void) | null} */
let stop = null;
let state = '';
let bearerInUse = '';

/** Recent changes: more than can happen while a tab reads its snapshot. */
const RECENT = 500;
/** @type {import('./reader.js').StreamMessage[]} */
const recent = [];

/** @param {string} cursor */
const placeOf = (cursor) => Number(cursor.slice(cursor.lastIndexOf('-') + 1));

/** @type {any} */ (self).onconnect = (/** @type {MessageEvent} */ event) => {
  const port = event.ports[0];
  port.onmessage = ({ data }) => {
    if (data.type === 'bye') {
      ports.delete(port);
      if (ports.size === 0 && stop) {
        stop();
        stop = null;
      }
      return;
    }
    ports.add(port);
    if (stop && bearerInUse !== data.bearer) {
      stop();
      stop = null;
    }
    if (!stop) {
      bearerInUse = data.bearer;
      stop = followStream(data.base, data.bearer, data.cursor, (message) => {
        if (message.type === 'open' || message.type === 'lost') state = message.type;
        if (message.type === 'change') recent.push(message);
        if (recent.length > RECENT) recent.shift();
        for (const one of ports) one.postMessage(message);
      });
    } else {
      if (state) port.postMessage({ type: state, data: null });
      for (const message of recent) {
        if (placeOf(message.data.cursor) > placeOf(data.cursor)) port.postMessage(message);
      }
    }
  };
  port.start();
};

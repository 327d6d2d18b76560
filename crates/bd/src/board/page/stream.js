// Connects this tab to the stream: through the worker that all tabs share, or directly where there is none.

import { token } from './api.js';
import { followStream } from './reader.js';

/**
 * @param {string} cursor
 * @param {(message: import('./reader.js').StreamMessage) => void} onMessage
 * @returns {() => void} connects at once if the connection is lost
 */
export function connect(cursor, onMessage) {
  const base = new URL('.', location.href.split('#')[0]).href;
  const directly = () => followStream(base, token(), cursor, onMessage).retry;
  if (typeof SharedWorker === 'undefined') return directly();
  const worker = new SharedWorker(new URL('page/worker.js', base), { type: 'module', name: 'bd-board' });
  const say = (/** @type {any} */ message) => worker.port.postMessage(message);
  let retry = () => say({ type: 'retry' });
  worker.onerror = (event) => {
    // It could not be loaded, so nothing was or will be heard of it.
    event.preventDefault();
    worker.onerror = null;
    worker.port.close();
    retry = directly();
  };
  worker.port.onmessage = ({ data }) => onMessage(data);
  const isHidden = () => document.visibilityState !== 'visible';
  worker.port.start();
  say({ type: 'hello', base, bearer: token(), cursor, hidden: isHidden() });
  document.addEventListener('visibilitychange', () => say({ type: 'seen', hidden: isHidden() }));
  addEventListener('pagehide', () => say({ type: 'bye' }));
  // A page that comes back from the browser's cache had said goodbye.
  addEventListener('pageshow', (event) => {
    if (event.persisted) location.reload();
  });
  return () => retry();
}

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
  if (typeof SharedWorker === 'undefined') {
    return followStream(base, token(), cursor, onMessage).retry;
  }
  const worker = new SharedWorker(new URL('page/worker.js', base), { type: 'module', name: 'bd-board' });
  worker.port.onmessage = ({ data }) => onMessage(data);
  const isHidden = () => document.visibilityState !== 'visible';
  worker.port.start();
  worker.port.postMessage({ type: 'hello', base, bearer: token(), cursor, hidden: isHidden() });
  document.addEventListener('visibilitychange', () => worker.port.postMessage({ type: 'seen', hidden: isHidden() }));
  addEventListener('pagehide', () => worker.port.postMessage({ type: 'bye' }));
  // A page that comes back from the browser's cache had said goodbye.
  addEventListener('pageshow', (event) => {
    if (event.persisted) location.reload();
  });
  return () => worker.port.postMessage({ type: 'retry' });
}

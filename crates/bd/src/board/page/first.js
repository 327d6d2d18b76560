// Asks for the data while the other modules are still on their way: the server reads the store meanwhile.

import { exported, read, takeToken } from './api.js';

if (!exported) takeToken();

/** @type {Promise<any> | null} the first snapshot; an error is handled by who waits for it */
let pending = exported ? null : read('snapshot');
pending?.catch(() => {});

/** Returns the snapshot that was asked for first, and later ones that are as new as the call. @returns {Promise<any>} */
export function readSnapshot() {
  const first = pending ?? read('snapshot');
  pending = null;
  return first;
}

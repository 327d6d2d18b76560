// Reads server-sent events with fetch, so that the token travels in a header. Used by the page and by the
// worker that all tabs share.

/** @typedef {{ type: string, data: any }} StreamMessage */

const RETRY_MS = 1_500;
const SILENT_MS = 45_000;

/**
 * Follows the stream and reconnects with the last cursor until `stop` is called. A lost connection is reported with the
 * time at which the server was last heard.
 * @param {string} base the address of the server, with a slash at its end
 * @param {string} bearer
 * @param {string} cursor
 * @param {(message: StreamMessage) => void} onMessage
 * @returns {{ stop: () => void, retry: () => void }} ends it, or connects at once if the connection is lost
 */
export function followStream(base, bearer, cursor, onMessage) {
  let stopped = false;
  let wake = () => {};
  let at = cursor;
  /** When the last byte came: after a sleep, that is not when the loss is noticed. */
  let heard = Date.now();
  /** @type {AbortController} */
  let controller = new AbortController();
  const run = async () => {
    while (!stopped) {
      controller = new AbortController();
      let timer = 0;
      const watch = () => {
        clearTimeout(timer);
        // The server sends a sign of life more often; without one the connection is dead, as after a sleep.
        timer = /** @type {any} */ (setTimeout(() => controller.abort(), SILENT_MS));
      };
      const alive = () => {
        heard = Date.now();
        watch();
      };
      try {
        watch();
        const address = `${base}api/stream?cursor=${encodeURIComponent(at)}`;
        const response = await fetch(address, { headers: { Authorization: `Bearer ${bearer}` }, signal: controller.signal, cache: 'no-store' });
        if (!response.ok || !response.body) {
          onMessage({ type: 'refused', data: { status: response.status, message: await messageIn(response) } });
          if (response.status === 401) return;
          throw new Error('refused');
        }
        alive();
        onMessage({ type: 'open', data: null });
        for await (const message of messagesOf(response.body, alive)) {
          if (stopped) return;
          if (message.type === 'change') at = message.data.cursor;
          if (message.type === 'restart') at = message.data;
          onMessage(message);
        }
      } catch {
        // The server or the connection is gone; what is shown stays, with its time.
      } finally {
        clearTimeout(timer);
      }
      if (stopped) return;
      onMessage({ type: 'lost', data: { heard } });
      await new Promise((resolve) => {
        const timeout = setTimeout(resolve, RETRY_MS);
        wake = () => {
          clearTimeout(timeout);
          resolve(undefined);
        };
      });
    }
  };
  void run();
  const stop = () => {
    stopped = true;
    controller.abort();
  };
  return { stop, retry: () => wake() };
}

/** The message of a refusal, if it has one. @param {Response} response */
async function messageIn(response) {
  const answer = await response.json().catch(() => null);
  return String(answer?.error?.message ?? `the server answered ${response.status}`);
}

/**
 * @param {ReadableStream<Uint8Array>} body
 * @param {() => void} alive
 * @returns {AsyncGenerator<StreamMessage>}
 */
async function* messagesOf(body, alive) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    alive();
    text += decoder.decode(value, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      const type = lines.find((line) => line.startsWith('event: '))?.slice(7);
      const data = lines.find((line) => line.startsWith('data: '))?.slice(6);
      if (type && data) yield { type, data: JSON.parse(data) };
    }
  }
}

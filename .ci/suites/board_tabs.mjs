// How tabs share a stream and the machine, without a browser and with a clock that stands still: node board_tabs.mjs SCRATCH
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [scratch] = process.argv.slice(2);
const page = process.env.PAGE ?? join(dirname(fileURLToPath(import.meta.url)), '../../crates/bd/src/board/page');

/** Ends the program unless a condition holds. */
function check(condition, what) {
  if (condition) return;
  console.error(`FAILED: ${what}`);
  process.exit(1);
}

/** Imports a module of the page in this process. */
function moduleOfPage(name) {
  const directory = join(scratch, 'modules');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), '{"type": "module"}');
  for (const file of ['reader.js', 'worker.js', 'pace.js']) copyFileSync(join(page, file), join(directory, file));
  return import(join(directory, name));
}

/** A tab's end of the connection to the worker. */
class Port {
  got = [];
  onmessage = null;

  postMessage(message) {
    this.got.push(message);
  }

  start() {}

  say(data) {
    this.onmessage({ data });
  }

  /** The changes that arrived, by their cursors. */
  changes() {
    return this.got.filter((message) => message.type === 'change').map((message) => message.data.cursor).join();
  }

  visible() {
    return this.got.findLast((message) => message.type === 'tabs')?.data;
  }
}

/** Hidden tabs get changes in bundles and in order, and every tab knows how many draw. */
async function worker() {
  const real = { fetch: globalThis.fetch, setTimeout: globalThis.setTimeout, self: globalThis.self };
  const timers = [];
  let stream;
  globalThis.self = globalThis;
  globalThis.fetch = async () => new Response(new ReadableStream({ start: (controller) => { stream = controller; } }));
  globalThis.setTimeout = (run, delay) => (delay === 5_000 ? timers.push(run) : real.setTimeout(run, delay));
  const ports = [new Port(), new Port(), new Port()];
  try {
    await moduleOfPage('worker.js');
    for (const [index, port] of ports.entries()) {
      globalThis.onconnect({ ports: [port] });
      port.say({ type: 'hello', base: 'http://board/', bearer: 't', cursor: 'c-0', hidden: index > 0 });
    }
    const settled = () => new Promise((resolve) => { setImmediate(() => setImmediate(() => setImmediate(resolve))); });
    const event = async (number) => {
      stream.enqueue(new TextEncoder().encode(`event: change\ndata: {"cursor":"c-${number}"}\n\n`));
      await settled();
    };
    await settled();
    const [seen, hidden, other] = ports;
    check(ports.every((port) => port.visible() === 1), 'every tab knows that one is visible');
    for (const number of [1, 2, 3]) await event(number);
    check(seen.changes() === 'c-1,c-2,c-3' && hidden.changes() === '' && timers.length === 1, 'a hidden tab waits for a bundle');
    timers.pop()();
    check(hidden.changes() === 'c-1,c-2,c-3' && other.changes() === 'c-1,c-2,c-3', 'a bundle has every change in order');
    await event(4);
    hidden.say({ type: 'seen', hidden: false });
    check(hidden.changes().endsWith('c-4') && !other.changes().endsWith('c-4'), 'a tab that becomes visible is up to date at once');
    check(seen.visible() === 2, 'the others learn that it draws, too');
    await event(5);
    check(hidden.changes() === 'c-1,c-2,c-3,c-4,c-5', 'and it follows from then on');
    stream.enqueue(new TextEncoder().encode('event: failed\ndata: {"message":"gone"}\n\n'));
    await settled();
    check(other.got.at(-1).type === 'failed' && other.changes().endsWith('c-5'), 'trouble is said at once, after what came before');
  } finally {
    Object.assign(globalThis, real);
  }
}

/** Ten tabs draw less together than one alone. */
async function pace() {
  const { Pace, setVisibleTabs } = await moduleOfPage('pace.js');
  const real = performance.now;
  let now = 1_000;
  performance.now = () => now;
  try {
    const one = new Pace();
    check(one.rest() === 0, 'the first change is drawn at once');
    one.measure(() => { now += 10; });
    check(one.rest() === 40, `a tab alone rests four times as long as it drew: ${one.rest()}`);
    setVisibleTabs(10);
    check(one.rest() === 900, `ten tabs together draw half as much as one: ${one.rest()}`);
    now += 900;
    check(one.rest() === 0, 'then it draws again');
    one.measure(() => { now += 500; });
    check(one.rest() === 4_000, 'no tab rests for long');
  } finally {
    performance.now = real;
    setVisibleTabs(1);
  }
}

await worker();
await pace();
process.exit(0);

// How tabs share a stream and the machine, without a browser and with a clock that stands still: node board_tabs.mjs SCRATCH
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const [scratch] = process.argv.slice(2);
const page = process.env.PAGE ?? join(dirname(fileURLToPath(import.meta.url)), '../../crates/bd/src/board/page');

/** Ends the program unless a condition holds. */
function check(condition, what) {
  if (condition) return;
  console.error(`FAILED: ${what}`);
  process.exit(1);
}

/** Imports a module of the page in this process, a new one for each instance. */
function moduleOfPage(name, instance = '') {
  const directory = join(scratch, 'modules');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), '{"type": "module"}');
  for (const file of ['reader.js', 'worker.js', 'pace.js']) copyFileSync(join(page, file), join(directory, file));
  return import(`${pathToFileURL(join(directory, name))}?${instance}`);
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

  /** The cursors of the restarts that arrived. */
  restarts() {
    return this.got.filter((message) => message.type === 'restart').map((message) => message.data).join();
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

const settled = () => new Promise((resolve) => { setImmediate(() => setImmediate(() => setImmediate(resolve))); });

/** A tab whose snapshot does not fit the stream reads again instead of missing changes or getting those of an earlier log. */
async function gaps() {
  const real = { fetch: globalThis.fetch, self: globalThis.self, setTimeout: globalThis.setTimeout };
  const streams = [];
  globalThis.self = globalThis;
  globalThis.fetch = async (address) => new Response(new ReadableStream({ start: (controller) => streams.push({ address, controller }) }));
  // A lost stream is not connected again by itself.
  globalThis.setTimeout = (run, delay) => (delay === 1_500 ? 0 : real.setTimeout(run, delay));
  const event = async (type, data) => {
    streams.at(-1).controller.enqueue(new TextEncoder().encode(`event: ${type}\ndata: ${JSON.stringify(data)}\n\n`));
    await settled();
  };
  try {
    await moduleOfPage('worker.js', 'gaps');
    const tab = async (cursor, bearer = 't') => {
      const port = new Port();
      globalThis.onconnect({ ports: [port] });
      port.say({ type: 'hello', base: 'http://board/', bearer, cursor, hidden: false });
      await settled();
      return port;
    };
    const first = await tab('a-5');
    for (const place of [6, 7]) await event('change', { cursor: `a-${place}` });
    const late = await tab('a-6');
    check(late.changes() === 'a-7' && late.restarts() === '', 'a later tab gets what its snapshot lacks');
    const slow = await tab('a-3');
    check(slow.restarts() === 'a-3', 'a tab whose snapshot is older than the stream reads again');
    const other = await tab('b-1');
    check(other.changes() === '' && other.restarts() === 'b-1', 'a tab whose snapshot is of another log reads again');
    await event('restart', 'b-2');
    check(first.restarts() === 'b-2', 'all tabs hear of another log');
    const fresh = await tab('b-2');
    check(fresh.changes() === '' && fresh.restarts() === '', 'changes of the earlier log are forgotten');
    await event('change', { cursor: 'b-3' });
    check(fresh.changes() === 'b-3', 'and it follows from then on');
    const renewed = await tab('b-9', 'u');
    check(streams.length === 2 && streams[1].address.endsWith('cursor=b-9'), 'a new token makes a new stream');
    check(first.restarts() === 'b-2,b-9' && renewed.restarts() === '', 'the other tabs lack what happened in between, so they read again');
    await event('change', { cursor: 'b-10' });
    check(first.changes().endsWith('b-10') && renewed.changes() === 'b-10', 'all follow the new stream');
    const before = Date.now();
    streams[1].controller.close();
    await settled();
    const { heard } = renewed.got.find((message) => message.type === 'lost').data;
    check(heard <= before && before - heard < 10_000, 'a lost connection says when the server was last heard');
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
await gaps();
await pace();
process.exit(0);

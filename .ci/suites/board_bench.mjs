// The benchmark of the board: node board_bench.mjs SCRATCH BD. It prints figures and never fails because of them: ratios are
// of interleaved runs, and tasks of the page are measured in CPU time, so that a busy machine changes little.
import { readFileSync, readdirSync } from 'node:fs';
import http from 'node:http';
import { gzipSync } from 'node:zlib';
import { bd, browser, drawn, finish, newContext, raw, seedMany, startBoard, visit } from './board_support.mjs';

const RUNS = Number(process.env.RUNS ?? 7);
const CREATES = Number(process.env.CREATES ?? 40);
/** Longer than the minute after which the server refreshes the signs of life. */
const IDLE_MS = Number(process.env.IDLE_MS ?? 65_000);
/** How often ten tabs are opened. */
const TURNS = 5;
const SIZES = (process.env.SIZES ?? '10000,100000').split(',').map(Number);

const middle = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const share = (values, part) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(values.length * part) - 1)];
const ms = (value) => `${Math.round(value)} ms`;

/** Opens a page in a new context with an empty cache and returns when `ready` was drawn, counted from the navigation. */
async function opened(url, ready) {
  const context = await newContext();
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  let bytes = 0;
  await session.send('Network.enable');
  session.on('Network.loadingFinished', (event) => { bytes += event.encodedDataLength; });
  await page.addInitScript((selector) => {
    const look = () => {
      if (document.querySelector(selector)) requestAnimationFrame(() => { window.readyAt = performance.now(); });
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, ready);
  await page.goto(url);
  await page.waitForFunction(() => window.readyAt);
  const time = await page.evaluate(() => window.readyAt);
  return { context, page, session, time, bytes };
}

/** Serves one page, compressed. */
async function serveBare(html) {
  const packed = gzipSync(html, { level: 1 });
  const server = http.createServer((_, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.setHeader('content-encoding', 'gzip');
    response.end(packed);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, bytes: packed.length, close: () => server.close() };
}

/** How long until the board is usable, beside a bare page with the same text. */
async function usable(board, size) {
  const headers = { host: new URL(board.base).host, authorization: `Bearer ${board.token}` };
  const text = (await raw(board, '/api/snapshot', headers)).text.replaceAll('<', ' ').replaceAll('},{', '},\n{');
  const shown = await serveBare(`<!doctype html><title>bare</title><pre>${text}</pre><p id=end>end</p>`);
  const times = { board: [], shown: [] };
  let bytes = 0;
  for (let run = 0; run < (size > 20_000 ? 3 : RUNS); run++) {
    const one = await opened(board.url, '.next li');
    times.board.push(one.time);
    bytes = one.bytes;
    await one.context.close();
    const bare = await opened(shown.url, '#end');
    times.shown.push(bare.time);
    await bare.context.close();
  }
  const ratios = times.board.map((time, index) => time / times.shown[index]);
  console.log(`${size} beads: usable after ${middle(ratios).toFixed(2)} × a bare page with the same text (median of ${ratios.length}; ${ms(middle(times.board))} beside ${ms(middle(times.shown))}); ${Math.round(bytes / 1000)} kB transferred, ${Math.round(shown.bytes / 1000)} kB bare`);
  shown.close();
}

/** The tasks on the page's main thread that run its code while something happens, in milliseconds of CPU time. */
async function tasksDuring(page, work) {
  await browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline', '__metadata', 'disabled-by-default-devtools.timeline'] });
  await work();
  await drawn(page);
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const scripts = traceEvents.filter((event) => event.name === 'FunctionCall' && String(event.args?.data?.url ?? '').includes('/page/'));
  const thread = scripts[0] && `${scripts[0].pid} ${scripts[0].tid}`;
  const isOurs = (event) => scripts.some((script) => script.ts >= event.ts && script.ts <= event.ts + (event.dur ?? 0));
  const tasks = traceEvents.filter((event) => event.name === 'RunTask' && `${event.pid} ${event.tid}` === thread);
  return tasks.filter(isOurs).map((event) => (event.tdur ?? event.dur ?? 0) / 1000);
}

async function typing(page, size) {
  await visit(page, 'now', '.answers');
  await page.click('bd-search input');
  const tasks = await tasksDuring(page, async () => {
    for (const text of ['task 77 seeded p:2', 'e', 'title of usual length']) {
      await page.fill('bd-search input', '');
      await page.keyboard.type(text, { delay: 40 });
      await page.waitForSelector('.hits li');
    }
  });
  console.log(`${size} beads: typing in the search, longest of ${tasks.length} tasks ${Math.max(0, ...tasks).toFixed(1)} ms of CPU time, 99 in 100 below ${(share(tasks, 0.99) ?? 0).toFixed(1)} ms`);
}

/** From the return of `bd create` until the bead is drawn. */
async function creates(page, repo, size) {
  await visit(page, 'board?lanes=none&q=zebra', '.empty, .card');
  const waited = [];
  const commands = [];
  for (let i = 0; i < CREATES; i++) {
    const title = `zebra ${size} ${i}`;
    const seen = page.evaluate((text) => new Promise((resolve) => {
      const look = () => ([...document.querySelectorAll('.card')].some((card) => card.textContent.includes(text)) ? resolve(Date.now()) : requestAnimationFrame(look));
      look();
    }), title);
    const begin = performance.now();
    bd(repo, 'create', title, '--priority', '0');
    commands.push(performance.now() - begin);
    const returned = Date.now();
    waited.push(Math.max(0, (await seen) - returned));
  }
  console.log(`${size} beads: a create is on the screen ${ms(middle(waited))} (median), ${ms(share(waited, 0.95))} (p95 of ${CREATES}) after the command returned; the command itself took ${ms(middle(commands))}`);
}

/** The CPU time of a process in milliseconds and how often its threads woke up. */
function spent(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  const woke = (thread) => Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8'))?.[1] ?? 0);
  const wakeUps = readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + woke(thread), 0);
  return { cpu: (Number(fields[11]) + Number(fields[12])) * 10, wakeUps };
}

async function idle(page, session, board, repo, size) {
  await visit(page, 'now', '.answers');
  await drawn(page);
  const daemon = JSON.parse(bd(repo, 'daemon', 'status', '--json')).pid;
  await session.send('Performance.enable');
  const inPage = async () => Object.fromEntries((await session.send('Performance.getMetrics')).metrics.map((one) => [one.name, one.value]));
  // The messages that follow the last change have to arrive first, and the daemon has to save it.
  await new Promise((resolve) => setTimeout(resolve, 8_000));
  const before = [spent(board.child.pid), spent(daemon), await inPage()];
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const after = [spent(board.child.pid), spent(daemon), await inPage()];
  const used = (index) => `${after[index].cpu - before[index].cpu} ms and ${Math.max(0, after[index].wakeUps - before[index].wakeUps)} wake-ups`;
  console.log(`${size} beads: idle for ${IDLE_MS / 1000} s, CPU time of the board ${used(0)}, of the daemon ${used(1)}, script in the page ${((after[2].ScriptDuration - before[2].ScriptDuration) * 1000).toFixed(1)} ms`);
}

/** Whether agents notice ten open tabs: the same commands with and without them, in turns. */
async function tenTabs(board, repo) {
  const timed = () => {
    const times = [];
    for (let i = 0; i < 15; i++) {
      const begin = performance.now();
      bd(repo, 'create', `quagga ${i}`);
      times.push(performance.now() - begin);
    }
    return middle(times);
  };
  const ratios = [];
  let visible = 0;
  for (let turn = 0; turn < TURNS; turn++) {
    const without = timed();
    const context = await newContext();
    for (let i = 0; i < 10; i++) {
      const tab = await context.newPage();
      await tab.goto(i ? board.base : board.url);
      await tab.waitForSelector('.answers');
      if (turn === 0) visible += await tab.evaluate(() => Number(document.visibilityState === 'visible'));
    }
    // What counts is how the tabs follow, not how they open.
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    ratios.push(timed() / without);
    await context.close();
  }
  console.log(`ten open tabs: a create takes ${middle(ratios).toFixed(2)} × as long as without (medians of ${TURNS} turns: ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}); ${visible} of the tabs are drawn`);
}

try {
  for (const size of SIZES) {
    const repo = seedMany(`bench-${size}`, size);
    const board = await startBoard(repo);
    await (await opened(board.url, '.next li')).context.close();
    await usable(board, size);
    const { page, session, context } = await opened(board.url, '.next li');
    await typing(page, size);
    await creates(page, repo, size);
    await idle(page, session, board, repo, size);
    const views = { needs: '.say1', board: '.card', 'board?view=outline': '.outline', night: '.burnsvg', graph: '.graph .node', now: '.answers' };
    for (const [path, selector] of Object.entries(views)) await visit(page, path, selector);
    console.log(`${size} beads: every view works`);
    await context.close();
    if (size === SIZES[0]) await tenTabs(board, repo);
    board.child.kill();
  }
} catch (error) {
  console.error(error.stack ?? error);
  process.exitCode = 1;
} finally {
  await finish();
}

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
/** How often ten tabs are opened, and how many creates are timed each time. */
const TURNS = Number(process.env.TURNS ?? 5);
const TAB_CREATES = 30;
/** PARTS=tabs,views measures only these. */
const isWanted = (part) => !process.env.PARTS || process.env.PARTS.split(',').includes(part);
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

/** Opens every view and says how long each took to draw. */
async function views(page, size) {
  const all = { needs: '.say1', board: '.card', 'board?view=outline': '.outline', night: '.burnsvg', graph: '.graph .node', 'graph?closed=true': '.graph .node', now: '.answers' };
  const took = [];
  for (const [path, selector] of Object.entries(all)) {
    const begin = performance.now();
    const answered = path.startsWith('graph') ? page.waitForResponse('**/api/graph?*') : null;
    await page.evaluate((to) => { location.hash = `#/${to}`; }, path);
    await answered;
    await page.waitForSelector(selector);
    await drawn(page);
    took.push(`${path} ${ms(performance.now() - begin)}`);
  }
  console.log(`${size} beads: every view works (${took.join(', ')})`);
}

/** The CPU time of all processes of the browser in milliseconds. */
function spentByBrowser() {
  const rows = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const [, fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
      const parts = fields.split(' ');
      return [{ pid: Number(pid), parent: Number(parts[1]), cpu: (Number(parts[11]) + Number(parts[12])) * 10 }];
    } catch {
      return [];
    }
  });
  const ours = new Set([process.pid]);
  for (let known = 0; known !== ours.size;) {
    known = ours.size;
    for (const row of rows) if (ours.has(row.parent)) ours.add(row.pid);
  }
  return rows.filter((row) => ours.has(row.pid) && isChromium(row.pid)).reduce((sum, row) => sum + row.cpu, 0);
}

function isChromium(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('chromium');
  } catch {
    return false;
  }
}

/** Opens ten tabs; unless all of them are drawn, nine are in the background, as in one window of a browser. */
async function openTabs(board, areAllDrawn) {
  const context = await newContext();
  for (let i = 0; i < 10; i++) {
    const tab = await context.newPage();
    // A headless browser shows every tab. What a background tab does not do, it is told not to do.
    if (i && !areAllDrawn) {
      await tab.addInitScript(() => {
        let isHidden = false;
        Object.defineProperty(document, 'visibilityState', { get: () => (isHidden ? 'hidden' : 'visible') });
        const draw = window.requestAnimationFrame.bind(window);
        window.requestAnimationFrame = (callback) => (isHidden ? 0 : draw(callback));
        window.hide = () => {
          isHidden = true;
          document.dispatchEvent(new Event('visibilitychange'));
        };
      });
    }
    await tab.goto(i ? board.base : board.url);
    await tab.waitForSelector('.answers');
    if (i && !areAllDrawn) await tab.evaluate(() => window.hide());
  }
  // What counts is how the tabs follow, not how they open.
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  return context;
}

/** Whether agents notice ten open tabs: the same commands with and without them, in turns. */
async function tenTabs(board, repo, areAllDrawn) {
  const daemon = JSON.parse(bd(repo, 'daemon', 'status', '--json')).pid;
  const cpu = () => [spentByBrowser(), spent(board.child.pid).cpu, spent(daemon).cpu];
  const timed = () => {
    const times = [];
    const before = cpu();
    for (let i = 0; i < TAB_CREATES; i++) {
      const begin = performance.now();
      bd(repo, 'create', `quagga ${i}`);
      times.push(performance.now() - begin);
    }
    return { time: middle(times), cpu: cpu().map((value, index) => (value - before[index]) / TAB_CREATES) };
  };
  const ratios = [];
  const used = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const without = timed();
    const context = await openTabs(board, areAllDrawn);
    const beside = timed();
    ratios.push(beside.time / without.time);
    used.push(beside.cpu.map((value, index) => (index ? value - without.cpu[index] : value)));
    await context.close();
  }
  const part = (index) => middle(used.map((one) => one[index])).toFixed(1);
  console.log(`ten open tabs, ${areAllDrawn ? 'all drawn' : 'one of them visible'}: a create takes ${middle(ratios).toFixed(2)} × as long as without (medians of ${TURNS} turns: ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}); CPU time per create: browser ${part(0)} ms, board ${part(1)} ms, daemon ${part(2)} ms more`);
}

try {
  for (const size of SIZES) {
    const repo = seedMany(`bench-${size}`, size);
    const board = await startBoard(repo);
    await (await opened(board.url, '.next li')).context.close();
    if (isWanted('usable')) await usable(board, size);
    const { page, session, context } = await opened(board.url, '.next li');
    if (isWanted('typing')) await typing(page, size);
    if (isWanted('creates')) await creates(page, repo, size);
    if (isWanted('idle')) await idle(page, session, board, repo, size);
    if (isWanted('views')) await views(page, size);
    await context.close();
    if (size === SIZES[0] && isWanted('tabs')) {
      for (const areAllDrawn of [false, true]) await tenTabs(board, repo, areAllDrawn);
    }
    board.child.kill();
  }
} catch (error) {
  console.error(error.stack ?? error);
  process.exitCode = 1;
} finally {
  await finish();
}

// The driver of the suite `board`: node board.mjs SCRATCH BD
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [scratch, bdPath] = process.argv.slice(2);
const require = createRequire(join(scratch, 'npm', 'package.json'));
const { chromium } = require('playwright-core');
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const shots = process.env.SHOTS;
const started = Date.now();
let checks = 0;

function check(condition, what) {
  checks++;
  if (!condition) throw new Error(`FAILED: ${what}`);
}

const environment = { ...process.env, BD_ACTOR: 'ann@here', BB_AGENT: '', HOME: join(scratch, 'home') };

function bd(repo, ...args) {
  return execFileSync(bdPath, ['-C', repo, ...args], { env: environment, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

function as(actor, repo, ...args) {
  return bd(repo, '--actor', actor, ...args);
}

const HOSTILE = '<img src=x onerror=alert(1)><script>alert(2)</script>';

/** A store with agents, questions, a conflict and hostile content. */
function seedNight(repo) {
  const remote = join(scratch, 'remote.git');
  execFileSync('git', ['init', '--quiet', '--bare', remote]);
  execFileSync('git', ['init', '--quiet', repo]);
  execFileSync('git', ['-C', repo, 'remote', 'add', 'origin', remote]);
  bd(repo, 'init', '--prefix', 'bd');
  bd(repo, 'migrate');
  const lines = [];
  const at = new Date(Date.now() - 20 * 3_600_000).toISOString();
  const push = ({ id, parent, after, type = 'task', ...bead }) => {
    const dependencies = [parent && ['parent-child', parent], after && ['blocks', after]].filter(Boolean).map(([kind, to]) => ({ issue_id: id, depends_on_id: to, type: kind, created_at: at }));
    lines.push(JSON.stringify({ id, status: 'open', priority: 2, issue_type: type, created_at: at, updated_at: at, dependencies, ...bead }));
  };
  for (const [id, title] of [['bd-led', 'Double-entry ledger'], ['bd-imp', 'Import from the old system'], ['bd-auth', 'Sign in without passwords']]) push({ id, title, type: 'epic', priority: 1 });
  for (let i = 1; i <= 8; i++) push({ id: `bd-led.${i}`, title: `Backfill postings for ${2018 + i}`, priority: i % 4, parent: 'bd-led', estimated_minutes: 30 * i, after: i > 1 ? `bd-led.${i - 1}` : null });
  for (let i = 1; i <= 6; i++) push({ id: `bd-imp.${i}`, title: `Import part ${i}`, parent: 'bd-imp', labels: ['import', 'data'] });
  push({ id: 'bd-auth.1', title: 'Rotate the signing keys', priority: 1, parent: 'bd-auth', description: 'Two services are **configured**.\n\n- one\n- two\n\n`code`' });
  push({ id: 'bd-evil', title: HOSTILE, description: `${HOSTILE}\n\n[click](javascript:alert(3)) ![x](http://127.0.0.1:9/x.png) <b>bold</b>\n\n\`\`\`\n${HOSTILE}\n\`\`\``, labels: ['"><script>alert(4)</script>'] });
  bd(repo, 'import', writeTemp('night.jsonl', `${lines.join('\n')}\n`));
  as('claude-1@here', repo, 'claim', 'bd-led.1');
  as('claude-1@here', repo, 'note', 'bd-led.1', 'Found the table. 1,640 rows a second.');
  as('claude-1@here', repo, 'close', 'bd-led.1', '--reason', 'done');
  as('claude-2@here', repo, 'claim', 'bd-led.2');
  as('<b>evil</b>@x', repo, 'claim', 'bd-imp.1');
  as('codex-1@here', repo, 'claim', 'bd-auth.1');
  as('codex-1@here', repo, 'ask', 'bd-auth.1', 'Which key service signs from now on, kms-eu or vault-2?');
}

function writeTemp(name, text) {
  const path = join(scratch, name);
  writeFileSync(path, text);
  return path;
}

/** Two machines write the same field; the sync keeps both. */
function seedConflict(repo) {
  const other = join(scratch, 'other');
  bd(repo, 'sync');
  execFileSync('git', ['clone', '--quiet', join(scratch, 'remote.git'), other], { stdio: 'ignore' });
  as('amp-1@build1', other, 'sync');
  bd(repo, 'update', 'bd-imp.2', '--description', 'Totals match within 0.1 percent');
  as('amp-1@build1', other, 'update', 'bd-imp.2', '--description', 'Totals match to the cent');
  as('amp-1@build1', other, 'sync');
  bd(repo, 'sync');
  bd(other, 'daemon', 'stop');
}

function seedMany(repo, count) {
  execFileSync('git', ['init', '--quiet', repo]);
  bd(repo, 'init', '--prefix', 'bd');
  const start = Date.now() - 9 * 3_600_000;
  const lines = [];
  for (let e = 0; e < 60; e++) lines.push(JSON.stringify({ id: `bd-e${e}`, title: `Epic ${e}: a large part of the work`, status: 'open', priority: 2, issue_type: 'epic', created_at: new Date(start).toISOString(), updated_at: new Date(start).toISOString() }));
  for (let i = 0; i < count - 60; i++) {
    const id = `bd-t${i.toString(36)}`;
    const at = new Date(start - 3_600_000 * (i % 200)).toISOString();
    const dependencies = [{ issue_id: id, depends_on_id: `bd-e${i % 60}`, type: 'parent-child', created_at: at }];
    if (i % 3 === 1) dependencies.push({ issue_id: id, depends_on_id: `bd-t${(i - 1).toString(36)}`, type: 'blocks', created_at: at });
    const isClosed = i % 5 < 2;
    const closed = new Date(start + ((i * 7919) % 30_000_000)).toISOString();
    lines.push(JSON.stringify({ id, title: `Task ${i} of the seeded store with a title of usual length`, description: `Do the ${i}th thing.`, status: isClosed ? 'closed' : 'open', priority: i % 5, issue_type: 'task', labels: [`area-${i % 12}`], created_at: at, updated_at: isClosed ? closed : at, ...(isClosed ? { closed_at: closed } : {}), dependencies }));
  }
  bd(repo, 'import', writeTemp(`many-${count}.jsonl`, `${lines.join('\n')}\n`));
}

/** Starts a board and returns its address. */
function startBoard(repo, ...args) {
  return new Promise((resolve, reject) => {
    const child = spawn(bdPath, ['-C', repo, 'board', ...args], { env: environment });
    let out = '';
    let errors = '';
    child.stdout.on('data', (data) => {
      out += data;
      const url = /http:\S+#token=\w+/.exec(out)?.[0];
      if (url) resolve({ url, base: url.split('#')[0], token: url.split('token=')[1], child });
    });
    child.stderr.on('data', (data) => { errors += data; });
    child.on('exit', (code) => reject(new Error(`bd board exited with ${code}: ${errors}`)));
    boards.push(child);
  });
}
const boards = [];

/** Sends a request with exactly these headers. */
function raw(board, path, headers = {}, method = 'GET', body = '') {
  const { hostname, port } = new URL(board.base);
  return new Promise((resolve, reject) => {
    const request = http.request({ hostname, port, path, method, headers }, (response) => {
      let text = '';
      response.on('data', (data) => { text += data; });
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

/** Opens a page that fails the suite on anything in the console, any dialog and any request elsewhere. */
async function open(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  await context.grantPermissions(['clipboard-write', 'clipboard-read']).catch(() => {});
  const page = await context.newPage();
  const said = [];
  page.on('console', (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => said.push(`error: ${error.stack ?? error.message}`));
  page.on('dialog', (dialog) => { said.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  page.on('request', (request) => {
    const address = request.url();
    if (!address.startsWith(url.split('#')[0]) && !address.startsWith('data:') && !address.startsWith('blob:')) said.push(`request: ${address}`);
  });
  await page.addInitScript(() => {
    window.shift = 0;
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value; }).observe({ type: 'layout-shift', buffered: true });
  });
  await page.goto(url);
  return { context, page, said };
}

const VIEWS = { now: '.answers', needs: '.needs li', board: '.card', 'board?view=outline': '.outline tr.ep', graph: '.graph .node', night: '.burnsvg', 'bead/bd-imp.2': '.bead h1' };

async function visit(page, path, selector, state = 'visible') {
  await page.evaluate((to) => { location.hash = `#/${to}`; }, path);
  await page.waitForSelector(selector, { timeout: 10_000, state });
}

async function axe(page, what) {
  await page.evaluate(axeSource).catch(async () => page.addScriptTag({ content: axeSource }));
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.filter((one) => ['serious', 'critical'].includes(one.impact)).map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
  });
  check(found.length === 0, `axe on ${what}: ${found.join('\n')}`);
}

async function shot(page, name) {
  if (shots) await page.screenshot({ path: join(shots, `${name}.png`) });
}

async function everyView(board) {
  for (const [width, theme] of [[1440, 'light'], [1440, 'dark'], [400, 'light'], [400, 'dark']]) {
    const { page, said, context } = await open(board.url, { viewport: { width, height: 900 }, colorScheme: theme, bypassCSP: true });
    await page.waitForSelector('.answers');
    for (const [path, selector] of Object.entries(VIEWS)) {
      const narrowGraph = width < 560 && path === 'graph';
      await visit(page, path, narrowGraph ? '.steps li' : selector);
      await axe(page, `${path} ${width} ${theme}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      check(wide <= 0, `${path} at ${width} is ${wide} px too wide`);
      await shot(page, `${path.replace(/\W+/g, '-')}-${width}-${theme}`);
    }
    await visit(page, `now/agent/${encodeURIComponent('claude-2@here')}`, '.agent h2');
    await axe(page, `agent ${width} ${theme}`);
    await shot(page, `agent-${width}-${theme}`);
    check(said.length === 0, `the console is empty: ${said.join('\n')}`);
    await context.close();
  }
  const { page, context, said } = await open(board.url);
  await page.waitForSelector('.answers');
  await page.waitForTimeout(500);
  const shift = await page.evaluate(() => window.shift);
  check(shift < 0.01, `nothing moves when data arrives (layout shift ${shift})`);
  check(!page.url().includes('token'), 'the token leaves the address');
  check(said.length === 0, `the console is empty: ${said.join('\n')}`);
  await context.close();
}

async function hostile(board) {
  const { page, said, context } = await open(board.url);
  await page.waitForSelector('.answers');
  for (const [path, selector] of Object.entries({ ...VIEWS, 'bead/bd-evil': '.bead .read' })) {
    await visit(page, path, selector);
    const foreign = await page.evaluate(() => document.querySelectorAll('main script, main img, main iframe, main b b, main [onerror], a[href^="javascript:"]').length);
    check(foreign === 0, `bead text stays text on ${path}`);
  }
  check((await page.textContent('.bead h1')).includes('<script>'), 'the title is shown as it is');
  check(said.length === 0, `hostile content runs nothing: ${said.join('\n')}`);
  await context.close();
}

async function live(board, repo) {
  const { page, context, said } = await open(board.url);
  await page.waitForSelector('.answers');
  const second = await context.newPage();
  await second.goto(`${board.base}#/board`);
  await second.waitForSelector('.card');
  await visit(page, 'board?lanes=none', '.card');
  bd(repo, 'create', 'Made by a second process', '-p', '0', '--id', 'bd-live');
  for (const tab of [page, second]) await tab.waitForSelector('[data-bead="bd-live"]', { timeout: 5_000 });

  // A drag claims; the key does the same.
  await page.dragAndDrop('[data-bead="bd-live"]', '.cell[data-column="held"]');
  await page.waitForSelector('.cell[data-column="held"] [data-bead="bd-live"]', { timeout: 5_000 });
  check(JSON.parse(bd(repo, 'show', 'bd-live', '--json'))[0].assignee === 'ann@here', 'the drag claimed it');
  await page.click('.toast button');
  await page.waitForSelector('.cell[data-column="ready"] [data-bead="bd-live"]', { timeout: 5_000 });
  await page.evaluate(() => document.querySelector('bd-cards').select('bd-live'));
  await page.keyboard.press('Shift+L');
  await page.waitForSelector('.cell[data-column="held"] [data-bead="bd-live"]', { timeout: 5_000 });
  await page.keyboard.press('x');
  await page.waitForSelector('.cell[data-column="closed"] [data-bead="bd-live"]', { timeout: 5_000 });
  check(JSON.parse(bd(repo, 'show', 'bd-live', '--json'))[0].status === 'closed', 'the key closed it');

  // The question is answered in place.
  await visit(page, 'needs', '.answer input');
  await page.fill('.answer input', 'kms-eu');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.answer input', { state: 'detached', timeout: 5_000 });
  check(bd(repo, 'show', 'bd-auth.1').includes('kms-eu'), 'the answer is a note');
  // The conflict is restored.
  await page.click('.needs [data-do="restore"]');
  await page.waitForSelector('.needs [data-do="restore"]', { state: 'detached', timeout: 5_000 });
  check(bd(repo, 'show', 'bd-imp.2').includes('0.1 percent'), 'the overwritten value is back');
  check(said.length === 0, `the console is empty: ${said.join('\n')}`);
  await context.close();
}

async function concurrentEdit(board, repo) {
  const { page, context, said } = await open(board.url);
  await page.waitForSelector('.answers');
  await visit(page, 'bead/bd-imp.3', '.bead h1');
  await page.keyboard.press('e');
  await page.fill('textarea[data-edit]', 'My text');
  as('codex-6@here', repo, 'update', 'bd-imp.3', '--description', 'Their text');
  await page.waitForSelector('.edit .since', { timeout: 5_000 });
  check((await page.inputValue('textarea[data-edit]')) === 'My text', 'what was typed is kept');
  check(bd(repo, 'show', 'bd-imp.3').includes('Their text'), 'nothing was overwritten');
  await page.click('[data-do="add-theirs"]');
  await page.click('[data-do="save"]');
  await page.waitForSelector('textarea[data-edit]', { state: 'detached', timeout: 5_000 });
  const text = bd(repo, 'show', 'bd-imp.3');
  check(text.includes('My text') && text.includes('Their text'), 'both texts are saved');
  check(said.length === 0, `the console is empty: ${said.join('\n')}`);
  await context.close();
}

async function killedDaemon(board, repo) {
  const { page, context } = await open(board.url);
  await page.waitForSelector('.answers');
  await visit(page, 'board?lanes=none', '.card');
  const { pid } = JSON.parse(bd(repo, 'daemon', 'status', '--json'));
  process.kill(pid, 'SIGKILL');
  bd(repo, 'create', 'After the daemon was killed', '--id', 'bd-after');
  await page.waitForSelector('[data-bead="bd-after"]', { timeout: 20_000 });
  check(true, 'the board reconnects');
  await context.close();
}

async function strangers(board) {
  const authorization = `Bearer ${board.token}`;
  const host = new URL(board.base).host;
  check((await raw(board, '/api/snapshot', { host })).status === 401, 'no token');
  check((await raw(board, '/api/snapshot', { host, authorization: 'Bearer 00' })).status === 401, 'a wrong token');
  check((await raw(board, '/api/snapshot', { host: 'evil.example', authorization })).status === 421, 'a wrong host');
  check((await raw(board, '/', { host: `evil.example:${new URL(board.base).port}` })).status === 421, 'a rebound name');
  const write = JSON.stringify({ request_id: 'x', action: { do: 'close', id: 'bd-imp.4' } });
  check((await raw(board, '/api/act', { host, authorization, origin: 'http://evil.example', 'content-type': 'application/json' }, 'POST', write)).status === 403, 'a cross-site post');
  const ok = await raw(board, '/api/snapshot', { host, authorization });
  check(ok.status === 200 && ok.headers['content-security-policy'].includes("default-src 'none'"), 'the right token, with a policy');
  // A page of another origin in the same browser.
  const site = http.createServer((_, response) => response.end('<title>other</title>')).listen(0, '127.0.0.1');
  await new Promise((resolve) => site.once('listening', resolve));
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${site.address().port}/`);
  const reached = await page.evaluate(async ([base, bearer]) => {
    const tries = [fetch(`${base}api/act`, { method: 'POST', mode: 'no-cors', body: JSON.stringify({ request_id: 'y', action: { do: 'close', id: 'bd-imp.4' } }) }), fetch(`${base}api/snapshot`, { headers: { Authorization: `Bearer ${bearer}` } })];
    const [first, second] = await Promise.allSettled(tries);
    return [first.status === 'fulfilled' ? first.value.status : 0, second.status];
  }, [board.base, board.token]);
  check(reached[1] === 'rejected', 'another site cannot read');
  await page.goto(`${board.base}#token=00`);
  await page.waitForSelector('.banner.err');
  site.close();
  await context.close();
}

async function readOnly(repo) {
  const board = await startBoard(repo, '--read-only', '--port', '0');
  const host = new URL(board.base).host;
  const body = JSON.stringify({ request_id: 'z', action: { do: 'close', id: 'bd-imp.4' } });
  const refused = await raw(board, '/api/act', { host, authorization: `Bearer ${board.token}`, origin: `http://${host}` }, 'POST', body);
  check(refused.status === 403 && refused.text.includes('read_only'), 'the server refuses writes');
  check(JSON.parse(bd(repo, 'show', 'bd-imp.4', '--json'))[0].status === 'open', 'nothing was written');
  const { page, context, said } = await open(board.url);
  await page.waitForSelector('.banner.ro');
  for (const [path, selector] of Object.entries(VIEWS)) {
    await visit(page, path, selector);
    check((await page.locator('[data-writes]:visible, [draggable=true]').count()) === 0, `nothing on ${path} writes`);
  }
  check(said.length === 0, `the console is empty: ${said.join('\n')}`);
  await context.close();
  board.child.kill();
}

async function exportedFile(repo) {
  const file = join(scratch, 'night.html');
  bd(repo, 'board', '--export', file);
  const { page, context, said } = await open(`file://${file}`);
  await page.waitForSelector('.answers');
  for (const [path, selector] of Object.entries({ ...VIEWS, 'bead/bd-evil': '.bead .read' })) await visit(page, path, selector);
  check((await page.locator('[data-writes]:visible').count()) === 0, 'the file has no buttons that write');
  check(said.length === 0, `the file needs nothing else: ${said.join('\n')}`);
  await shot(page, 'export');
  await context.close();
}

/** 10,000 beads: cut lists, size, speed beside a bare page of the same bytes. */
async function manyBeads() {
  const repo = join(scratch, 'many');
  seedMany(repo, 10_000);
  const board = await startBoard(repo);
  let bytes = 0;
  const measure = async (url, ready) => {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    bytes = 0;
    session.on('Network.loadingFinished', (event) => { bytes += event.encodedDataLength; });
    const begin = performance.now();
    await page.goto(url);
    await page.waitForSelector(ready);
    const spent = performance.now() - begin;
    return { page, context, spent };
  };
  await (await measure(board.url, '.next li')).context.close();
  const { page, context, spent } = await measure(board.url, '.next li');
  const transferred = bytes;
  check(transferred <= 1_000_000, `at most 1 MB is transferred, not ${transferred}`);
  const host = new URL(board.base).host;
  const snapshot = await raw(board, '/api/snapshot', { host, authorization: `Bearer ${board.token}` });
  const bare = http.createServer((_, response) => { response.setHeader('content-type', 'text/html'); response.end(`<pre>${snapshot.text.replaceAll('<', ' ')}</pre><p id=end>end</p>`); }).listen(0, '127.0.0.1');
  await new Promise((resolve) => bare.once('listening', resolve));
  const plain = await measure(`http://127.0.0.1:${bare.address().port}/`, '#end');
  await plain.context.close();
  bare.close();
  await visit(page, 'board?lanes=none', '.card');
  await page.click('.cell[data-column="ready"] .rest');
  await page.waitForSelector('.cutline');
  check(/Showing \d+ of [\d,]+/.test(await page.textContent('.cutline')), 'a cut list says what it shows');
  await shot(page, 'board-10000');
  for (const path of ['now', 'needs', 'board', 'board?view=outline', 'night', 'graph']) {
    await visit(page, path, { now: '.answers', needs: '.say1', board: '.card', 'board?view=outline': '.outline', night: '.burnsvg', graph: '.node.folded' }[path]);
    await shot(page, `${path.replace(/\W+/g, '-')}-10000`);
  }
  // Typing: the longest task between two frames.
  await page.evaluate(() => {
    window.longest = 0;
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration); }).observe({ type: 'longtask' });
  });
  await page.click('bd-search input');
  await page.keyboard.type('task 77 seeded p:2', { delay: 30 });
  await page.waitForSelector('.hits li');
  const longest = await page.evaluate(() => window.longest);
  // A create, from the return of the command to the screen.
  await visit(page, 'board?lanes=none&q=zebra', '.empty');
  const times = [];
  for (let i = 0; i < 12; i++) {
    const title = `zebra ${i}`;
    const seen = page.evaluate((text) => new Promise((resolve) => {
      const look = () => ([...document.querySelectorAll('.card')].some((card) => card.textContent.includes(text)) ? resolve(Date.now()) : requestAnimationFrame(look));
      look();
    }), title);
    bd(repo, 'create', title);
    const returned = Date.now();
    times.push((await seen) - returned);
  }
  times.sort((a, b) => a - b);
  console.log(`10,000 beads: usable after ${(spent / plain.spent).toFixed(1)} × a bare page of the same bytes (${Math.round(spent)} ms beside ${Math.round(plain.spent)} ms), ${Math.round(transferred / 1000)} kB transferred`);
  console.log(`10,000 beads: a create is on the screen ${times[5]} ms (median), ${times[11]} ms (worst of 12) after the command returned; longest task while typing ${longest ? `${Math.round(longest)} ms` : 'under 50 ms'}`);
  await context.close();
  board.child.kill();
}

try {
  mkdirSync(join(scratch, 'home'), { recursive: true });
  const repo = join(scratch, 'night');
  seedNight(repo);
  seedConflict(repo);
  const board = await startBoard(repo);
  check((statSync(join(repo, '.git', 'beads', 'board-token')).mode & 0o777) === 0o600, 'the token file is private');
  const only = process.env.ONLY?.split(',');
  const steps = { everyView, hostile, live, concurrentEdit, strangers, readOnly: () => readOnly(repo), exportedFile: () => exportedFile(repo), killedDaemon, manyBeads };
  for (const [name, step] of Object.entries(steps)) {
    if (only && !only.includes(name)) continue;
    const begin = Date.now();
    await step(board, repo);
    console.log(`${name}: passed in ${((Date.now() - begin) / 1000).toFixed(1)} s`);
  }
  console.log(`${checks} checks passed in ${((Date.now() - started) / 1000).toFixed(0)} s`);
} catch (error) {
  console.error(error.stack ?? error);
  process.exitCode = 1;
} finally {
  for (const child of boards) child.kill();
  await browser.close();
}

// What the programs of the suite `board` share: stores, boards and browser pages. Called as PROGRAM SCRATCH BD …
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';

export const [scratch, bdPath, ...programArguments] = process.argv.slice(2);
export const require = createRequire(join(process.env.BOARD_NPM ?? join(scratch, 'npm'), 'package.json'));
const { chromium } = require('playwright-core');

/** How long to wait for something that must happen. A busy machine needs long; a passing check never waits for it. */
export const PATIENCE = 60_000;

let checks = 0;

/** Fails the run unless a condition holds. */
export function check(condition, what) {
  checks++;
  if (!condition) throw new Error(`FAILED: ${what}`);
}

export const checked = () => checks;

mkdirSync(join(scratch, 'home'), { recursive: true });
mkdirSync(join(scratch, 'run'), { recursive: true, mode: 0o700 });
const environment = { ...process.env, BD_ACTOR: 'ann@here', BB_AGENT: '', HOME: join(scratch, 'home'), BD_RUNTIME_DIR: join(scratch, 'run') };

/** Runs `bd` in a repository and returns its output. */
export function bd(repo, ...args) {
  return execFileSync(bdPath, ['-C', repo, ...args], { env: environment, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 28 });
}

export function as(actor, repo, ...args) {
  return bd(repo, '--actor', actor, ...args);
}

export function writeTemp(name, text) {
  const path = join(scratch, name);
  writeFileSync(path, text);
  return path;
}

/** One line of an import. */
export function bead({ id, parent, after = [], type = 'task', at, ...rest }) {
  const edges = [...(parent ? [['parent-child', parent]] : []), ...after.map((to) => ['blocks', to])];
  const dependencies = edges.map(([kind, to]) => ({ issue_id: id, depends_on_id: to, type: kind, created_at: at }));
  return JSON.stringify({ id, status: 'open', priority: 2, issue_type: type, created_at: at, updated_at: at, dependencies, ...rest });
}

/** Creates a store in a new repository and imports lines. */
export function newStore(name, lines) {
  const repo = join(scratch, name);
  execFileSync('git', ['init', '--quiet', repo]);
  repos.push(repo);
  bd(repo, 'init', '--prefix', 'bd');
  if (lines.length) bd(repo, 'import', writeTemp(`${name}.jsonl`, `${lines.join('\n')}\n`));
  return repo;
}
export const repos = [];

/** A store with this many beads: 60 epics, two in five beads closed, a third waiting for another. The same for every run. */
export function seedMany(name, count) {
  const start = Date.now() - 9 * 3_600_000;
  const lines = [];
  for (let e = 0; e < 60; e++) lines.push(bead({ id: `bd-e${e}`, title: `Epic ${e}: a large part of the work`, type: 'epic', at: new Date(start).toISOString() }));
  for (let i = 0; i < count - 60; i++) {
    const at = new Date(start - 3_600_000 * (i % 200)).toISOString();
    const isClosed = i % 5 < 2;
    const closed = new Date(start + ((i * 7919) % 30_000_000)).toISOString();
    lines.push(bead({ id: `bd-t${i.toString(36)}`, at, parent: `bd-e${i % 60}`, after: i % 3 === 1 ? [`bd-t${(i - 1).toString(36)}`] : [], title: `Task ${i} of the seeded store with a title of usual length`, description: `Do the ${i}th thing.`, priority: i % 5, labels: [`area-${i % 12}`], ...(isClosed ? { status: 'closed', updated_at: closed, closed_at: closed } : {}) }));
  }
  return newStore(name, lines);
}

/** Starts a board and returns its address. */
export function startBoard(repo, ...args) {
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

export const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

/** Sends a request with exactly these headers. */
export function raw(board, path, headers = {}, method = 'GET', body = '') {
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

/** A browser context. PAGE=DIR serves the page's files from a directory instead of the binary, to try changes without a build. */
export async function newContext(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  context.setDefaultTimeout(PATIENCE);
  const types = { js: 'text/javascript', css: 'text/css' };
  if (process.env.PAGE) {
    await context.route('**/page/*', (route) => {
      const name = new URL(route.request().url()).pathname.split('/').pop();
      return route.fulfill({ body: readFileSync(join(process.env.PAGE, name)), contentType: types[name.split('.').pop()] });
    });
  }
  return context;
}

/** Opens a page and records everything in the console, every dialog and every request elsewhere. */
export async function open(url, options = {}) {
  const context = await newContext(options);
  await context.grantPermissions(['clipboard-write', 'clipboard-read']).catch(() => {});
  const page = await context.newPage();
  const said = [];
  page.on('console', (message) => said.push([`${message.type()}: ${message.text()}`, message.location().url].filter(Boolean).join(' ')));
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

/** Goes to a view and waits for what it shows. */
export async function visit(page, path, selector) {
  await page.evaluate((to) => { location.hash = `#/${to}`; }, path);
  await page.waitForSelector(selector);
}

/** Waits until everything that is due has been drawn. */
export function drawn(page) {
  return page.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve))); }));
}

/** Where pictures are kept, if anywhere. */
export const shots = process.env.SHOTS;

export async function shot(page, name) {
  if (shots) await page.screenshot({ path: join(shots, `${name}.png`) });
}

/** Asserts that axe-core finds nothing serious. The page must have been opened with `bypassCSP`. */
export async function axe(page, what) {
  if (!(await page.evaluate(() => Boolean(window.axe)))) await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.filter((one) => ['serious', 'critical'].includes(one.impact)).map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
  });
  check(found.length === 0, `axe on ${what}: ${found.join('\n')}`);
}

/** Ends the boards and daemons of this run, and the browser. */
export async function finish() {
  for (const child of boards) child.kill();
  for (const repo of repos) {
    try {
      bd(repo, 'daemon', 'stop');
    } catch {
      // It ended by itself.
    }
  }
  await browser.close();
}

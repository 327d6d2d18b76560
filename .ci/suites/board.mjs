// The checks of the suite `board`: node board.mjs SCRATCH BD
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { bigExport, newToken, otherHost, partsAndIndexes, repairs, undoes, undoesOfConflicts } from './board_steps.mjs';
import { mishaps } from './board_mishaps.mjs';
import { states } from './board_states.mjs';
import { as, axe, bd, bead, browser, check, checked, drawn, finish, newContext, newStore, open, raw, repos, scratch, seedMany, shot, shots, startBoard, visit, writeTemp } from './board_support.mjs';

const started = Date.now();

const HOSTILE = '<img src=x onerror=alert(1)><script>alert(2)</script>';

/** A store with agents, questions, a conflict and hostile content. */
function seedNight(repo) {
  const remote = join(scratch, 'remote.git');
  execFileSync('git', ['init', '--quiet', '--bare', remote]);
  execFileSync('git', ['init', '--quiet', repo]);
  repos.push(repo);
  execFileSync('git', ['-C', repo, 'remote', 'add', 'origin', remote]);
  bd(repo, 'init', '--prefix', 'bd');
  bd(repo, 'migrate');
  const lines = [];
  const at = new Date(Date.now() - 20 * 3_600_000).toISOString();
  const push = (one) => lines.push(bead({ at, ...one }));
  for (const [id, title] of [['bd-led', 'Double-entry ledger'], ['bd-imp', 'Import from the old system'], ['bd-auth', 'Sign in without passwords']]) push({ id, title, type: 'epic', priority: 1 });
  for (let i = 1; i <= 8; i++) push({ id: `bd-led.${i}`, title: `Backfill postings for ${2018 + i}`, priority: i % 4, parent: 'bd-led', estimated_minutes: 30 * i, after: i > 1 ? [`bd-led.${i - 1}`] : [] });
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

/** What each view shows with the store of `seedNight`. */
const VIEWS = { now: '.answers', needs: '.needs li', board: '.card', 'board?view=outline': '.outline tr.ep', graph: '.graph .node', night: '.burnsvg', 'bead/bd-imp.2': '.bead h1' };

/** The same after everything that needed a person was handled. */
const CALM_VIEWS = { ...VIEWS, needs: '.say1' };

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
      if (path.startsWith('bead/') && width < 560) {
        const tops = await page.evaluate(() => ['.side', '[data-do="keep"]', '.side + .side', '[data-do="restore"]'].map((one) => document.querySelector(`.sides ${one}`).getBoundingClientRect().top));
        check(tops.every((top, index) => !index || top > tops[index - 1]), `each value stands above its button: ${tops}`);
      }
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
  await page.waitForFunction(() => document.querySelector('.live'));
  await drawn(page);
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
  // A tab draws when it is in front.
  for (const tab of [second, page]) {
    await tab.bringToFront();
    await tab.waitForSelector('[data-bead="bd-live"]');
  }

  // A drag claims; the key does the same. The clock stands still in between: that the bead came back is what makes the
  // second claim more than the second click of a double click, not the time that passed.
  await page.evaluate(() => { performance.now = () => 1_000; });
  await page.dragAndDrop('[data-bead="bd-live"]', '.cell[data-column="held"]');
  await page.waitForSelector('.cell[data-column="held"] [data-bead="bd-live"]');
  check(JSON.parse(bd(repo, 'show', 'bd-live', '--json'))[0].assignee === 'ann@here', 'the drag claimed it');
  bd(repo, 'unclaim', 'bd-live');
  await page.waitForSelector('.cell[data-column="ready"] [data-bead="bd-live"]');
  await page.evaluate(() => document.querySelector('bd-cards').select('bd-live'));
  await page.keyboard.press('Shift+L');
  await page.waitForSelector('.cell[data-column="held"] [data-bead="bd-live"]');
  await page.evaluate(() => { delete performance.now; });
  await page.keyboard.press('x');
  await page.waitForSelector('.cell[data-column="closed"] [data-bead="bd-live"]');
  check(JSON.parse(bd(repo, 'show', 'bd-live', '--json'))[0].status === 'closed', 'the key closed it');

  // The question is answered in place.
  await visit(page, 'needs', '.answer input');
  await page.fill('.answer input', 'kms-eu');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.answer input', { state: 'detached' });
  check(bd(repo, 'show', 'bd-auth.1').includes('kms-eu'), 'the answer is a note');
  // The conflict is restored.
  await page.click('.needs [data-do="restore"]');
  await page.waitForSelector('.needs [data-do="restore"]', { state: 'detached' });
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
  await page.waitForSelector('.edit .since');
  check((await page.inputValue('textarea[data-edit]')) === 'My text', 'what was typed is kept');
  check(bd(repo, 'show', 'bd-imp.3').includes('Their text'), 'nothing was overwritten');
  await page.click('[data-do="add-theirs"]');
  await page.click('[data-do="save"]');
  await page.waitForSelector('textarea[data-edit]', { state: 'detached' });
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
  await page.waitForSelector('[data-bead="bd-after"]');
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
  const context = await newContext();
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
  for (const [path, selector] of Object.entries(CALM_VIEWS)) {
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
  for (const [path, selector] of Object.entries({ ...CALM_VIEWS, 'bead/bd-evil': '.bead .read' })) await visit(page, path, selector);
  check((await page.locator('[data-writes]:visible').count()) === 0, 'the file has no buttons that write');
  check(said.length === 0, `the file needs nothing else: ${said.join('\n')}`);
  await shot(page, 'export');
  await context.close();
}

/** A double click acts once; every action has an undo; a draft survives leaving the page. */
async function once() {
  const repo = newStore('once', []);
  const board = await startBoard(repo);
  bd(repo, 'create', 'Clicked twice', '--id', 'bd-twice');
  const { page, context, said } = await open(board.url);
  await page.waitForSelector('.answers');
  await visit(page, 'bead/bd-twice', '[data-do="claim"]');
  let sent = 0;
  page.on('request', (request) => { if (request.url().endsWith('/api/act')) sent++; });
  const twice = (selector) => page.evaluate((wanted) => {
    const element = document.querySelector(wanted);
    element.click();
    element.click();
  }, selector);
  await twice('[data-do="claim"]');
  await page.waitForSelector('.toast button');
  check(sent === 1, `a double click sends one request, not ${sent}`);
  // The same request id acts once on the server, too.
  const host = new URL(board.base).host;
  const headers = { host, authorization: `Bearer ${board.token}`, origin: `http://${host}` };
  const note = JSON.stringify({ request_id: 'suite-once', action: { do: 'note', id: 'bd-twice', text: 'written once' } });
  const answers = await Promise.all([raw(board, '/api/act', headers, 'POST', note), raw(board, '/api/act', headers, 'POST', note)]);
  check(answers.every((answer) => answer.status === 200), `both get the answer: ${answers.map((answer) => answer.text)}`);
  check(bd(repo, 'show', 'bd-twice').split('written once').length === 2, 'one note was written');

  // Every action with its undo.
  const state = () => JSON.parse(bd(repo, 'show', 'bd-twice', '--json'))[0];
  const undo = async (what) => {
    await page.waitForSelector('.toast button');
    await page.keyboard.press('u');
    await page.waitForFunction(() => document.querySelector('.toasts')?.textContent.includes('Undone'));
    await page.evaluate(() => document.querySelector('.toasts').replaceChildren());
    check(true, what);
  };
  await page.evaluate(() => document.querySelector('.toasts').replaceChildren());
  await page.keyboard.press('x');
  await undo('close');
  check(state().status !== 'closed', 'the close was undone');
  await page.keyboard.press('p');
  await page.fill('dialog input', '0');
  await page.keyboard.press('Enter');
  await undo('priority');
  check(state().priority === 2, 'the priority was undone');
  await page.keyboard.press('t');
  await undo('release');
  check(state().assignee === 'ann@here', 'the release was undone');
  await page.keyboard.press('c');
  await page.fill('dialog input', 'An unwanted bead');
  await page.keyboard.press('Enter');
  await undo('create');
  check(!bd(repo, 'list').includes('An unwanted bead'), 'the create was undone');

  // A drag, too.
  await visit(page, 'board?lanes=none', '[data-bead="bd-twice"]');
  await page.dragAndDrop('[data-bead="bd-twice"]', '.cell[data-column="closed"]');
  await page.waitForSelector('.cell[data-column="closed"] [data-bead="bd-twice"]');
  await undo('the drag');
  await page.waitForSelector('.cell[data-column="held"] [data-bead="bd-twice"]');
  await visit(page, 'bead/bd-twice', '.bead h1');

  // A draft is kept when its page is left.
  await page.keyboard.press('e');
  await page.fill('textarea[data-edit]', 'A draft');
  await visit(page, 'now', '.answers');
  await visit(page, 'bead/bd-twice', 'textarea[data-edit]');
  check((await page.inputValue('textarea[data-edit]')) === 'A draft', 'the draft is still there');
  await page.evaluate(() => { const save = document.querySelector('[data-do="save"]'); save.click(); save.click(); });
  await page.waitForSelector('textarea[data-edit]', { state: 'detached' });
  check(state().description === 'A draft', 'the draft was saved');
  check(said.length === 0, `the console is empty: ${said.join('\n')}`);
  await context.close();
}

/** Counts the open connections to the daemon of a store: each stream of a board holds one. */
function daemonConnections(path) {
  const CONNECTED = '03';
  return readFileSync('/proc/net/unix', 'utf8').split('\n').map((line) => line.trim().split(/\s+/)).filter((row) => row[5] === CONNECTED && row[7] === path).length;
}

/** Ten tabs share one stream, and all follow. A board that was asleep catches up without a reload. */
async function tabsAndSleep(_, repo) {
  const board = await startBoard(repo, '--port', '0');
  const { socket } = JSON.parse(bd(repo, 'where', '--json'));
  const { page, context, said } = await open(board.url);
  await page.waitForSelector('.answers');
  await visit(page, 'board?lanes=none', '.card');
  const tabs = [page];
  for (let i = 0; i < 9; i++) {
    const tab = await context.newPage();
    await tab.goto(`${board.base}#/board?lanes=none`);
    await tab.waitForSelector('.card');
    tabs.push(tab);
  }
  bd(repo, 'create', 'Seen by ten tabs', '--id', 'bd-ten');
  for (const tab of tabs) {
    await tab.bringToFront();
    await tab.waitForSelector('[data-bead="bd-ten"]');
  }
  let streams = 99;
  for (let i = 0; i < 600 && streams !== 1; i++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    streams = daemonConnections(socket);
  }
  check(streams === 1, `ten tabs share one stream, not ${streams}`);
  for (const tab of tabs.slice(1)) await tab.close();
  await page.bringToFront();

  await page.evaluate(() => { window.notReloaded = true; });
  board.child.kill('SIGSTOP');
  bd(repo, 'create', 'While it slept', '--id', 'bd-asleep');
  board.child.kill('SIGCONT');
  await page.waitForSelector('[data-bead="bd-asleep"]');
  check(await page.evaluate(() => window.notReloaded === true), 'the page was not reloaded');

  // The board ends: the page says so, writes nothing, and catches up when it is back.
  const port = new URL(board.base).port;
  board.child.removeAllListeners('exit');
  const ended = new Promise((resolve) => { board.child.once('exit', resolve); });
  board.child.kill();
  await ended;
  await page.waitForSelector('.banner.off');
  await page.evaluate(() => document.querySelector('bd-cards').select('bd-ten'));
  await page.keyboard.press('x');
  await page.waitForFunction(() => document.querySelector('.toasts')?.textContent.includes('nothing can be written'));
  bd(repo, 'create', 'While it was away', '--id', 'bd-away');
  const again = await startBoard(repo, '--port', port);
  await page.waitForSelector('[data-bead="bd-away"]');
  await page.waitForSelector('.banner.off', { state: 'detached' });
  check(await page.evaluate(() => window.notReloaded === true), 'the page was not reloaded');
  const unexpected = said.filter((line) => !line.includes('ERR_'));
  check(unexpected.length === 0, `nothing else on the console: ${unexpected.join('\n')}`);
  await context.close();
  again.child.kill();
}

/** Tabs share one stream and one share of the machine. */
function tabs() {
  execFileSync(process.execPath, [new URL('board_tabs.mjs', import.meta.url).pathname, scratch], { stdio: 'inherit', timeout: 60_000 });
}

/** 10,000 beads: every view, cut lists that say so, at most 1 MB. `board_bench.mjs` measures the speed. */
async function manyBeads() {
  const repo = seedMany('many', 10_000);
  const board = await startBoard(repo);
  const context = await newContext();
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  let bytes = 0;
  await session.send('Network.enable');
  session.on('Network.loadingFinished', (event) => { bytes += event.encodedDataLength; });
  await page.goto(board.url);
  await page.waitForSelector('.next li');
  check(bytes <= 1_000_000, `at most 1 MB is transferred, not ${bytes}`);
  // Nothing redraws the page by and by, so each step shows what it asked for by itself.
  await page.evaluate(() => { for (let timer = setInterval(() => {}, 1_000_000); timer > 0; timer--) clearInterval(timer); });
  for (const priority of [1, 3]) {
    await visit(page, `board?lanes=none&q=p:${priority}`, '.card');
    await page.waitForFunction((wanted) => [...document.querySelectorAll('.card .meta')].every((meta) => meta.textContent.includes(wanted)), `P${priority}`);
  }
  const sums = () => page.textContent('.outline tr.ep td.num');
  await visit(page, 'board?view=outline&q=p:1', '.outline tr.ep');
  const before = await sums();
  await visit(page, 'board?view=outline&q=seeded', '.outline tr.ep');
  await page.waitForFunction((wanted) => document.querySelector('.outline tr.ep td.num')?.textContent !== wanted, before);
  await visit(page, 'board?lanes=none', '.card');
  await page.click('.cell[data-column="ready"] .rest');
  await page.waitForSelector('.cutline');
  check(/Showing \d+ of [\d,]+/.test(await page.textContent('.cutline')), 'a cut list says what it shows');
  await page.click('.cutline button');
  await page.waitForFunction(() => document.querySelectorAll('.cell[data-column="ready"] .card').length >= 400);
  const views = { now: '.answers', needs: '.say1', board: '.card', 'board?view=outline': '.outline', night: '.burnsvg', graph: '.node.folded' };
  for (const [path, selector] of Object.entries(views)) {
    await visit(page, path, selector);
    await shot(page, `${path.replace(/\W+/g, '-')}-10000`);
  }
  check((await page.locator('.node').count()) <= 150, 'the graph folds epics');
  await page.click('.node.folded');
  await page.waitForSelector('.node:not(.folded)');
  await page.click('bd-search input');
  await page.keyboard.type('seeded p:2');
  await page.waitForFunction(() => /Showing 12 of [\d,]+/.test(document.querySelector('.hits .all')?.textContent ?? ''));
  await context.close();
  board.child.kill();
  console.log(`10,000 beads: ${Math.round(bytes / 1000)} kB transferred`);
}

try {
  const repo = join(scratch, 'night');
  seedNight(repo);
  seedConflict(repo);
  const board = await startBoard(repo);
  check((statSync(join(repo, '.git', 'beads', 'board-token')).mode & 0o777) === 0o600, 'the token file is private');
  const only = process.env.ONLY?.split(',');
  const steps = { everyView, hostile, live, concurrentEdit, strangers, readOnly: () => readOnly(repo), exportedFile: () => exportedFile(repo), killedDaemon, once, undoes, undoesOfConflicts, repairs, partsAndIndexes, newToken, otherHost, bigExport, states, ...mishaps, tabs, tabsAndSleep, manyBeads };
  for (const [name, step] of Object.entries(steps)) {
    if (only && !only.includes(name)) continue;
    const begin = Date.now();
    await step(board, repo);
    console.log(`${name}: passed in ${((Date.now() - begin) / 1000).toFixed(1)} s`);
  }
  console.log(`${checked()} checks passed in ${((Date.now() - started) / 1000).toFixed(0)} s`);
} catch (error) {
  console.error(error.stack ?? error);
  for (const page of browser.contexts().flatMap((context) => context.pages())) {
    const shown = await page.evaluate(() => [location.hash, document.querySelector('.notice')?.textContent, document.querySelector('.toasts')?.textContent].filter(Boolean).join(' | ')).catch(() => '');
    console.error(`  a page shows: ${shown}`);
    await page.bringToFront().catch(() => {});
    if (shots) await page.screenshot({ path: join(shots, 'failed.png') }).catch(() => {});
  }
  process.exitCode = 1;
} finally {
  await finish();
}

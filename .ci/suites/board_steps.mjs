// More steps of the suite `board`, each with a store of its own.
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { as, bd, bead, check, newStore, open, raw, repos, scratch, startBoard, visit } from './board_support.mjs';

const HOUR = 3_600_000;
const ago = (hours) => new Date(Date.now() - hours * HOUR).toISOString();
const shown = (repo, id) => JSON.parse(bd(repo, 'show', id, '--json'))[0];

/** Clicks an action and undoes it with the key. Two clicks at one place are not a double click after this pause. */
async function clickAndUndo(page, selector, done, confirm = async () => {}) {
  await page.waitForTimeout(450);
  await page.evaluate(() => document.querySelector('.toasts')?.replaceChildren());
  await page.click(selector);
  await confirm();
  await page.waitForSelector('.toast button');
  await done();
  await page.keyboard.press('u');
  await page.waitForFunction(() => /Undone|Not undone/.test(document.querySelector('.toasts')?.textContent ?? ''));
  const said = await page.textContent('.toasts');
  check(!said.includes('Not undone'), `${selector} is undone: ${said}`);
}

/** A store in which two machines wrote the same field. */
function storeWithConflict(name) {
  const [repo, other, remote] = [name, `${name}-other`, `${name}.git`].map((part) => join(scratch, part));
  execFileSync('git', ['init', '--quiet', '--bare', remote]);
  execFileSync('git', ['init', '--quiet', repo]);
  execFileSync('git', ['-C', repo, 'remote', 'add', 'origin', remote]);
  repos.push(repo, other);
  bd(repo, 'init', '--prefix', 'bd');
  bd(repo, 'migrate');
  bd(repo, 'create', 'Written twice', '--id', 'bd-two');
  bd(repo, 'sync');
  execFileSync('git', ['clone', '--quiet', remote, other], { stdio: 'ignore' });
  as('amp-1@build1', other, 'sync');
  bd(repo, 'update', 'bd-two', '--description', 'The text of here');
  as('amp-1@build1', other, 'update', 'bd-two', '--description', 'The text of there');
  as('amp-1@build1', other, 'sync');
  bd(repo, 'sync');
  return repo;
}

/** Claim, take back, reopen, edit and cut have an undo that works. */
export async function undoes() {
  const edge = (issue_id, depends_on_id, hours) => ({ issue_id, depends_on_id, type: 'blocks', created_at: ago(hours) });
  const repo = newStore('undoes', [
    JSON.parse(bead({ id: 'bd-a', title: 'Acted on', at: ago(9) })),
    { ...JSON.parse(bead({ id: 'bd-x', title: 'One end', at: ago(9) })), dependencies: [edge('bd-x', 'bd-y', 8)] },
    { ...JSON.parse(bead({ id: 'bd-y', title: 'Other end', at: ago(9) })), dependencies: [edge('bd-y', 'bd-x', 2)] },
  ].map((line) => JSON.stringify(line)));
  const board = await startBoard(repo);
  const { page, context, said } = await open(board.url);
  await page.waitForSelector('.answers');
  const is = (id, field, value) => async () => check((shown(repo, id)[field] ?? null) === value, `${field} of ${id} is ${shown(repo, id)[field]}, not ${value}`);

  await visit(page, 'bead/bd-a', '[data-do="claim"]');
  await clickAndUndo(page, '[data-do="claim"]', is('bd-a', 'assignee', 'ann@here'));
  await is('bd-a', 'assignee', null)();
  as('claude-1@here', repo, 'claim', 'bd-a');
  await page.waitForSelector('[data-do="take-back"]');
  await clickAndUndo(page, '[data-do="take-back"]', is('bd-a', 'assignee', null));
  await is('bd-a', 'assignee', 'claude-1@here')();
  as('claude-1@here', repo, 'close', 'bd-a', '--reason', 'done');
  await page.waitForSelector('[data-do="reopen"]');
  await clickAndUndo(page, '[data-do="reopen"]', is('bd-a', 'status', 'open'));
  await is('bd-a', 'status', 'closed')();

  await page.waitForSelector('[data-do="edit"]');
  await page.keyboard.press('e');
  await page.fill('textarea[data-edit]', 'A new text');
  await clickAndUndo(page, '[data-do="save"]', is('bd-a', 'description', 'A new text'));
  check(!shown(repo, 'bd-a').description, 'the old description is back');

  await visit(page, 'needs', '.needs [data-do="cut"]');
  check((await page.textContent('.needs li')).includes('bd-y → bd-x'), 'the newer edge is named');
  const waits = () => shown(repo, 'bd-y').dependencies?.some((one) => one.id === 'bd-x') ?? false;
  await clickAndUndo(page, '.needs [data-do="cut"]:has-text("Cut the newer edge")', async () => check(!waits(), 'the newer edge is cut'));
  check(waits(), 'the edge is back');
  check(said.length === 0, `the console is empty: ${said.join('\n')}`);
  await context.close();
  board.child.kill();
}

/** Restoring a value has an undo. Keeping one changes no bead: an undo would reach for an earlier change of it. */
export async function undoesOfConflicts() {
  const repo = storeWithConflict('twice');
  const board = await startBoard(repo);
  const { page, context, said } = await open(board.url);
  await page.waitForSelector('.answers');
  await visit(page, 'needs', '.needs [data-do="restore"]');
  const before = shown(repo, 'bd-two').description;
  await clickAndUndo(page, '.needs [data-do="restore"]', async () => check(shown(repo, 'bd-two').description !== before, 'the other text is back'));
  check(shown(repo, 'bd-two').description === before, 'the text before is back');
  await context.close();
  board.child.kill();

  const second = storeWithConflict('kept');
  const kept = await startBoard(second);
  const tab = await open(kept.url);
  await tab.page.waitForSelector('.answers');
  await visit(tab.page, 'needs', '.needs [data-do="keep"]');
  const text = shown(second, 'bd-two').description;
  await tab.page.click('.needs [data-do="keep"]');
  await tab.page.waitForFunction(() => document.querySelector('.toasts')?.textContent.includes('Kept'));
  check((await tab.page.locator('.toast button').count()) === 0, 'keeping offers no undo');
  await tab.page.waitForSelector('.needs [data-do="keep"]', { state: 'detached' });
  check(shown(second, 'bd-two').description === text, 'the text is unchanged');
  check(bd(second, 'conflicts', '--all').includes('bd-two'), 'the other value is still listed');
  check([...said, ...tab.said].length === 0, `the console is empty: ${[...said, ...tab.said].join('\n')}`);
  await tab.context.close();
  kept.child.kill();
}

/** What ends a failed sync, an overdue bead and a stale one. */
export async function repairs() {
  const repo = newStore('repairs', [bead({ id: 'bd-old', title: 'Nobody came to it', at: ago(24 * 30) })]);
  execFileSync('git', ['-C', repo, 'remote', 'add', 'origin', join(scratch, 'no-such-remote.git')]);
  bd(repo, 'create', 'Was due', '--id', 'bd-due', '--due', ago(20));
  try {
    bd(repo, 'sync');
  } catch {
    // It has to fail.
  }
  const board = await startBoard(repo);
  const { page, context, said } = await open(board.url);
  await page.waitForSelector('.answers');
  await visit(page, 'needs', '.needs li');
  await page.waitForSelector('[data-do="how"]');
  await page.click('[data-do="how"]');
  await page.waitForSelector('.needs .how');
  check((await page.textContent('.needs .how')).includes('git remote'), 'it says how to repair the sync');

  const due = () => Date.parse(shown(repo, 'bd-due').due_at);
  const before = due();
  await clickAndUndo(page, '[data-do="due"]', async () => check(due() > Date.now(), 'the date is in the future'), async () => {
    await page.waitForSelector('dialog input[type="date"]');
    await page.keyboard.press('Enter');
  });
  check(due() === before, 'the old date is back');
  const stale = page.locator('.needs li[data-bead="bd-old"]');
  check((await stale.textContent()).includes('without a change'), 'a bead that did not change for 14 days is listed');
  await clickAndUndo(page, '.needs li[data-bead="bd-old"] [data-do="close"]', async () => check(shown(repo, 'bd-old').status === 'closed', 'the stale bead is closed'));
  check(shown(repo, 'bd-old').status === 'open', 'the stale bead is open again');
  check(said.length === 0, `the console is empty: ${said.join('\n')}`);
  await context.close();
  board.child.kill();
}

/** After many changes, the indexes and the drawn page are what a page would have that reads everything again. */
export async function partsAndIndexes(board) {
  const { page, context, said } = await open(board.url);
  await page.waitForSelector('.answers');
  const problem = await page.evaluate(compareIndexes);
  check(problem === '', problem);
  for (const [path, selector] of Object.entries({ board: '.card', 'board?lanes=none': '.card', 'board?lanes=label': '.card', 'board?q=s:blocked': '.card, .empty', 'board?view=outline': '.outline', night: '.burnsvg', now: '.answers', needs: '.say1' })) {
    await visit(page, path, selector);
    const difference = await page.evaluate(compareDrawing);
    check(difference === '', `${path} is drawn as if anew: ${difference}`);
  }
  check(said.length === 0, `the console is empty: ${said.join('\n')}`);
  await context.close();
}

/** Runs in the page: applies random changes to a collection and compares it with one that reads everything again. */
async function compareIndexes() {
  const { Beads } = await import('/page/beads.js');
  let seed = 7;
  const random = (below) => { seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648; return Math.floor((seed / 2_147_483_648) * below); };
  const pulse = { now: Date.now(), status: {}, agents: [], conflicts: [], cycles: [], queue: [], feed: { events: [] }, incidents: { events: [] }, mail: {} };
  const make = (index) => ({
    id: `t-${index}`, title: `Bead ${index}`, status: ['open', 'open', 'in_progress', 'closed'][random(4)], priority: random(5), type: random(6) ? 'task' : 'epic', created: 1_000 + index, creator: 'a', updated: 1_000,
    after: Array.from({ length: random(3) }, () => `t-${random(Math.max(1, index))}`).filter((id, at, all) => id !== `t-${index}` && all.indexOf(id) === at),
    ...(random(3) && index ? { parent: `t-${random(index)}` } : {}), ...(random(4) ? {} : { minutes: random(300) }), ...(random(8) ? {} : { due: 5_000 }), ...(random(8) ? {} : { asks: true }),
  });
  const kept = new Beads();
  kept.load({ about: {}, beads: Array.from({ length: 200 }, (_, index) => make(index)), pulse });
  const sorted = (list) => [...list].sort().join();
  const lists = (map) => sorted([...map].map(([id, list]) => `${id}=${sorted(list)}`));
  const minutes = (path) => path.reduce((sum, one) => sum + (one.minutes ?? 60), 0);
  const shape = (one) => ({
    waiting: lists(one.waiting), children: lists(one.children), dated: sorted(one.dated.keys()),
    ...Object.fromEntries(Object.entries(one.sets).map(([state, set]) => [state, sorted(set.keys())])),
    inReady: sorted(one.inState('ready').map((bead) => bead.id)), inClosed: sorted(one.inState('closed').map((bead) => bead.id)),
    groups: sorted(one.epics().map((group) => `${group.key} ${sorted(group.members.keys())} ${JSON.stringify(group.count)} ${group.minutes} ${group.open} ${sorted(group.asking)}`)),
    critical: minutes(one.criticalPath()), behind: [3, 30, 90].map((index) => sorted(one.behind(`t-${index}`))).join(' | '),
    ends: sorted(one.epics().map((group) => `${group.key} ${Math.round((one.expectedEnd(group.members.values()) || one.now()) / 60_000 - one.now() / 60_000)}`)),
  });
  for (let round = 0; round < 300; round++) {
    const ids = Array.from({ length: 1 + random(3) }, () => random(220)).map((index) => `t-${index}`);
    const beads = [...new Set(ids)].filter(() => random(6)).map((id) => make(Number(id.slice(2))));
    kept.change({ ids: [...new Set(ids)], beads, events: [] });
    if (round % 3) continue;
    const fresh = new Beads();
    fresh.load({ about: {}, beads: [...kept.all.values()], pulse });
    const [is, wanted] = [shape(kept), shape(fresh)];
    for (const key of Object.keys(wanted)) if (is[key] !== wanted[key]) return `round ${round}: ${key} is ${is[key]}, not ${wanted[key]}`;
  }
  return '';
}

/** Runs in the page: changes beads one by one and compares the view with a new one. */
async function compareDrawing() {
  const { beads } = await import('/page/beads.js');
  const { View } = await import('/page/view.js');
  const view = document.querySelector('main > *');
  const now = Date.now();
  const clock = Date.now;
  Date.now = () => now;
  try {
    const text = (one) => one.innerHTML.replace(/\s*\b(glow|sel|new)\b/g, '').replace(/ class="\s*"/g, '').replace(/\s+"/g, '"').replace(/ data-key="[^"]*"/g, '');
    const all = [...beads.all.values()];
    for (let round = 0; round < 60; round++) {
      const old = beads.get(all[(round * 3) % all.length].id);
      const changes = [{ title: `Changed ${round} for ${location.hash}` }, { priority: round % 5 }, { status: 'closed', closed: now }, { status: 'open', closed: undefined }];
      const bead = { ...old, ...changes[round % 4] };
      beads.change({ ids: [bead.id], beads: [bead], events: [] });
      // Without the glow, only what a part shows decides whether it is built again.
      beads.glowing = new Set();
      view.render();
    }
    beads.change({ ids: [], beads: [], events: [] });
    view.render();
    beads.results.clear();
    beads.memo.clear();
    const fresh = document.createElement(view.localName);
    if (!(fresh instanceof View)) return 'not a view';
    view.parentElement.append(fresh);
    const [is, wanted] = [text(view), text(fresh)];
    fresh.remove();
    if (is === wanted) return '';
    let at = 0;
    while (is[at] === wanted[at]) at++;
    return `${is.slice(Math.max(0, at - 120), at + 120)} instead of ${wanted.slice(Math.max(0, at - 120), at + 120)}`;
  } finally {
    Date.now = clock;
  }
}

/** A new token makes the old one useless; the new one works. */
export async function newToken(_, repo) {
  const old = await startBoard(repo, '--port', '0');
  old.child.kill();
  const board = await startBoard(repo, '--new-token', '--port', '0');
  check(old.token !== board.token, 'the token is another one');
  const host = new URL(board.base).host;
  check((await raw(board, '/api/snapshot', { host, authorization: `Bearer ${old.token}` })).status === 401, 'the old token is refused');
  check((await raw(board, '/api/snapshot', { host, authorization: `Bearer ${board.token}` })).status === 200, 'the new token works');
  check((statSync(join(repo, '.git', 'beads', 'board-token')).mode & 0o777) === 0o600, 'the new token file is private');
  const { page, context } = await open(`${board.base}#token=${old.token}`);
  await page.waitForSelector('.banner.err');
  // Opened in the same tab, the address with the new token reads everything again.
  await page.goto(board.url);
  await page.waitForSelector('.answers');
  check((await page.locator('.banner.err').count()) === 0, 'the page works with the new token');
  await context.close();
  board.child.kill();
}

/** `--host` listens under another name, answers only to that name, and refuses to listen on all addresses. */
export async function otherHost(_, repo) {
  const board = await startBoard(repo, '--host', 'localhost', '--port', '0');
  const { host, port } = new URL(board.base);
  check(host === `localhost:${port}`, `the address has the name: ${board.base}`);
  const authorization = `Bearer ${board.token}`;
  check((await raw(board, '/api/snapshot', { host, authorization })).status === 200, 'it answers to its name');
  check((await raw(board, '/api/snapshot', { host: `other.example:${port}`, authorization })).status === 421, 'it does not answer to another name');
  const { page, context, said } = await open(board.url);
  await page.waitForSelector('.answers');
  check(said.length === 0, `the console is empty: ${said.join('\n')}`);
  await context.close();
  board.child.kill();
  const all = await startBoard(repo, '--host', '0.0.0.0', '--port', '0').then(() => 'it listens', (error) => error.message);
  check(all.includes('every address'), `--host 0.0.0.0 is refused: ${all}`);
}

/** A store with more than 5,000 beads exports the unfinished ones and the last night, and says so. */
export async function bigExport() {
  const lines = [];
  const closed = (hours) => ({ status: 'closed', closed_at: ago(hours), updated_at: ago(hours) });
  for (let i = 0; i < 5_100; i++) {
    const state = i % 10 < 7 ? closed(24 * 3) : i % 10 === 7 ? closed(3) : {};
    lines.push(bead({ id: `bd-n${i}`, title: `Bead ${i}`, at: ago(24 * 5), ...state }));
  }
  const repo = newStore('big', lines);
  const file = join(scratch, 'big.html');
  const said = bd(repo, 'board', '--export', file);
  check(/Wrote 1530 of 5100 beads/.test(said), `it says what it wrote: ${said}`);
  const { page, context, said: console } = await open(`file://${file}`);
  await page.waitForSelector('.answers');
  check((await page.textContent('.banner.ro')).includes('1530 of 5100 beads'), 'the file says what it has');
  await visit(page, 'bead/bd-n8', '.bead h1');
  await visit(page, 'bead/bd-n7', '.bead h1');
  await visit(page, 'bead/bd-n0', '.empty');
  check((await page.textContent('.empty')).includes('not in this file'), 'an old bead is not in it');
  check(console.length === 0, `the console is empty: ${console.join('\n')}`);
  await context.close();
}

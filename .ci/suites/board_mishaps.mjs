// What goes wrong around a person: double clicks, held keys, answers that do not come, tabs that stay open for days, texts
// that are not sent yet. Each step has a store of its own.
import { join } from 'node:path';
import { as, bd, bead, check, newContext, newStore, open, scratch, startBoard, visit } from './board_support.mjs';

const HOUR = 3_600_000;
const ago = (hours) => new Date(Date.now() - hours * HOUR).toISOString();
const shown = (repo, id) => JSON.parse(bd(repo, 'show', id, '--json'))[0];
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** A board of a new store, open in a page that counts what it writes. */
async function opened(name, lines, options) {
  const repo = newStore(name, lines);
  const board = await startBoard(repo);
  const tab = await open(board.url, options);
  await tab.page.waitForSelector('.answers');
  await tab.page.waitForSelector('.live');
  const sent = [];
  tab.page.on('request', (request) => { if (request.url().endsWith('/api/act')) sent.push(JSON.parse(request.postData())); });
  const close = async () => {
    await tab.context.close();
    board.child.kill();
  };
  return { repo, board, sent, close, ...tab };
}

const toasts = (page) => page.evaluate(() => document.querySelector('.toasts')?.textContent ?? '');
const waitForToast = (page, words) => page.waitForFunction((wanted) => document.querySelector('.toasts')?.textContent.includes(wanted), words);
const oldBeads = ['bd-a', 'bd-b', 'bd-c', 'bd-d', 'bd-e', 'bd-f'].map((id) => bead({ id, title: `Bead ${id}`, at: ago(24 * 30) }));

/** The second click of a double click meets another button: it does nothing. */
async function doubleClicks() {
  const { page, repo, sent, close } = await opened('double', oldBeads);
  const twice = async (selector, between) => {
    const box = await page.locator(selector).first().boundingBox();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    sent.length = 0;
    await page.mouse.click(x, y);
    await pause(between);
    await page.mouse.click(x, y);
    await pause(1_000);
    check(sent.length === 1, `two clicks with ${between} ms between them write once: ${JSON.stringify(sent)}`);
    check((await page.locator('dialog[open]').count()) === 0, 'and open nothing');
  };
  for (const [id, between] of [['bd-a', 60], ['bd-b', 150]]) {
    await visit(page, `bead/${id}`, '[data-do="claim"]');
    await twice('[data-do="claim"]', between);
    check(shown(repo, id).status === 'in_progress', `${id} is claimed`);
    bd(repo, 'unclaim', id);
  }
  await visit(page, 'needs', '.needs [data-do="close"]');
  await twice('.needs [data-do="close"]', 60);
  await twice('.needs [data-do="close"]', 150);
  check((await page.locator('.needs [data-do="close"]').count()) === 2, 'each closed one of four rows');
  await close();
}

/** A held key acts once. */
async function heldKeys() {
  const { page, repo, sent, close } = await opened('held', oldBeads);
  const hold = async (key) => {
    sent.length = 0;
    for (let i = 0; i < 4; i++) {
      await page.keyboard.down(key);
      await pause(150);
    }
    await page.keyboard.up(key);
    check(sent.length === 1, `${key}, held, writes once: ${JSON.stringify(sent)}`);
  };
  await visit(page, 'bead/bd-a', '[data-do="close"]');
  await hold('x');
  check(shown(repo, 'bd-a').status === 'closed', 'x closed it');
  await visit(page, 'board?lanes=none', '[data-bead="bd-b"]');
  await page.evaluate(() => document.querySelector('bd-cards').select('bd-b'));
  await hold('-');
  check(shown(repo, 'bd-b').priority === 3, '− changed the priority by one');
  await page.evaluate(() => document.querySelector('bd-cards').select('bd-c'));
  await page.keyboard.down('Shift');
  await hold('L');
  await page.keyboard.up('Shift');
  check(shown(repo, 'bd-c').status === 'in_progress', '⇧L moved the card by one column');
  await visit(page, 'bead/bd-d', '[data-do="claim"]');
  await page.focus('[data-do="claim"]');
  await hold('Enter');
  check(shown(repo, 'bd-d').status === 'in_progress', '↵ on a button claimed it');
  await close();
}

/** An undo undoes what its message says, or nothing. */
async function undoOfSomethingElse() {
  const { page, repo, close } = await opened('undo', oldBeads);
  await visit(page, 'bead/bd-a', '[data-do="claim"]');
  await page.keyboard.press('w');
  await waitForToast(page, 'Claimed bd-a.');
  bd(repo, 'update', 'bd-a', '--title', 'Another title, by the same person');
  await page.keyboard.press('u');
  await waitForToast(page, 'Not undone');
  check(shown(repo, 'bd-a').title.startsWith('Another title') && shown(repo, 'bd-a').assignee === 'ann@here', 'the later change stays');

  await visit(page, 'bead/bd-b', '[data-do="claim"]');
  await page.keyboard.press('w');
  await waitForToast(page, 'Claimed bd-b.');
  await page.waitForSelector('[data-do="release"]');
  await page.keyboard.press('x');
  await waitForToast(page, 'Closed bd-b.');
  const undos = await page.evaluate(() => [...document.querySelectorAll('.toast')].filter((one) => one.textContent.includes('bd-b') && one.querySelector('button')).map((one) => one.querySelector('span').textContent).join());
  check(undos === 'Closed bd-b.', `only the last change of a bead has an undo: ${undos}`);
  await page.waitForFunction(() => !document.querySelector('.toast'));
  await page.keyboard.press('u');
  await waitForToast(page, 'nothing to undo');
  check(shown(repo, 'bd-b').status === 'closed', 'u does nothing once the message is gone');
  await close();
}

/** "Since you left" moves on in a tab that stays open, and never back. */
async function sinceYouLeft() {
  const { page, close } = await opened('left', oldBeads);
  const look = (seen, left, known) => page.evaluate(async ([hoursSeen, hoursLeft, hoursKnown]) => {
    const { beads } = await import('/page/beads.js');
    const now = Date.now();
    const hours = (at) => Math.round((now - at) / 360_000) / 10;
    if (hoursKnown) beads.left = now - hoursKnown * 3_600_000;
    localStorage.setItem('bd-board-left', JSON.stringify({ seen: now - hoursSeen * 3_600_000, left: now - hoursLeft * 3_600_000 }));
    document.dispatchEvent(new Event('visibilitychange'));
    return `${hours(beads.left)} ${hours(JSON.parse(localStorage.getItem('bd-board-left')).left)}`;
  }, [seen, left, known]);
  check((await look(3, 20, 20)) === '3 3', 'who comes back after three hours left three hours ago');
  check((await look(0.1, 2, 20)) === '2 2', 'another tab knows a later time');
  check((await look(0.1, 20, 2)) === '2 2', 'an older time does not replace a newer one');
  check((await look(0.5, 20, 20)) === '20 20', 'half an hour is not long');
  await close();
}

/** An exported file shows the time of its export, whenever it is opened. */
async function openedLater() {
  const repo = newStore('later', [...oldBeads, bead({ id: 'bd-g', title: 'Finished', at: ago(9), status: 'closed', closed_at: ago(2), updated_at: ago(2) })]);
  as('claude-1@here', repo, 'claim', 'bd-a');
  bd(repo, 'update', 'bd-b', '--defer', new Date(Date.now() + 5 * HOUR).toISOString());
  const file = join(scratch, 'later.html');
  bd(repo, 'board', '--export', file);
  const context = await newContext();
  await context.addInitScript(() => {
    const now = Date.now;
    Date.now = () => now() + 3 * 24 * 3_600_000;
  });
  const page = await context.newPage();
  await page.goto(`file://${file}`);
  await page.waitForSelector('.lanes td.c-sign');
  const sign = await page.textContent('.lanes tbody td.c-sign');
  check(/^\d+ (s|min)$/.test(sign), `the last sign counts to the export: ${sign}`);
  check((await page.textContent('.answers a')).includes('1closed;'), 'what was closed in the twelve hours before');
  check((await page.textContent('.banner.ro')).includes('count to then'), 'the banner says so');
  await visit(page, 'board', '.tools .end');
  check((await page.textContent('.tools .end')).includes('1 deferred'), 'a bead that was deferred then is deferred');
  await context.close();
}

/** The panel of an agent acts on the bead that it shows, and keeps what is typed. */
async function agentPanel() {
  const { page, repo, close } = await opened('panel', oldBeads);
  as('claude-9@here', repo, 'claim', 'bd-a');
  await visit(page, `now/agent/${encodeURIComponent('claude-9@here')}`, '.agent textarea');
  await page.fill('.agent textarea', 'Which one do you mean?');
  as('claude-9@here', repo, 'close', 'bd-a', '--reason', 'done');
  as('claude-9@here', repo, 'claim', 'bd-b');
  await page.waitForFunction(() => document.querySelector('.agent form')?.dataset.bead === 'bd-b');
  check((await page.inputValue('.agent textarea')) === 'Which one do you mean?', 'the text is kept while the bead changes');
  await visit(page, 'board', '.card');
  await visit(page, `now/agent/${encodeURIComponent('claude-9@here')}`, '.agent textarea');
  check((await page.inputValue('.agent textarea')) === 'Which one do you mean?', 'the text is kept when the panel is left');
  await page.click('.agent [data-do="take-back"]');
  await waitForToast(page, 'Took back bd-b');
  check(shown(repo, 'bd-b').assignee === null, 'the bead that it shows is taken back');
  await close();
}

/** A write without an answer may have been done: it is repeated under the same id. */
async function unanswered() {
  const { page, repo, sent, close } = await opened('unanswered', oldBeads);
  await visit(page, 'bead/bd-a', '[data-do="note"]');
  await page.route('**/api/act', async (route) => {
    await route.fetch();
    await route.abort();
  });
  await page.keyboard.press('n');
  await page.fill('dialog textarea', 'Said once');
  await page.keyboard.press('Control+Enter');
  await waitForToast(page, 'No answer; it may have been done');
  check(!(await toasts(page)).includes('Not done'), 'it does not claim to know');
  await page.unroute('**/api/act');
  await page.click('.toast button:has-text("Try again")');
  await waitForToast(page, 'Added a note to bd-a.');
  check(new Set(sent.map((one) => one.request_id)).size === 1 && sent.length === 3, `all tries have one id: ${sent.map((one) => one.request_id)}`);
  check(shown(repo, 'bd-a').notes.length === 1, 'the note was written once');
  await close();
}

/** What changes while the snapshot is read again is not lost, and a failed read is repeated. */
async function readingAgain() {
  const { page, repo, close } = await opened('again', oldBeads);
  await visit(page, 'board?lanes=none', '[data-bead="bd-a"]');
  let release = () => {};
  const released = new Promise((resolve) => { release = resolve; });
  let reads = 0;
  await page.route('**/api/snapshot', async (route) => {
    reads++;
    if (reads === 1) return route.abort();
    const response = await route.fetch();
    if (reads === 2) await released;
    return route.fulfill({ response });
  });
  await page.evaluate(() => document.querySelector('bd-board').receive({ type: 'restart', data: 'x-1' }));
  await page.waitForFunction(() => document.querySelector('.banner.off'));
  while (reads < 2) await pause(50);
  await pause(500);
  bd(repo, 'create', 'While the page read again', '--id', 'bd-new');
  await pause(1_000);
  release();
  await page.waitForFunction(() => !document.querySelector('.banner.off'));
  await page.waitForSelector('[data-bead="bd-new"]', { timeout: 5_000 });
  check(reads === 2, 'the failed read was repeated');
  await close();
}

/** The page of a bead is read again after a failure, and when an edge comes or goes at either end. */
async function readsOfABead() {
  const { page, repo, close } = await opened('reads', oldBeads);
  await page.route('**/api/bead/bd-a', (route) => route.abort(), { times: 1 });
  await visit(page, 'bead/bd-a', '.empty');
  await page.waitForSelector('.bead h1', { timeout: 15_000 });
  bd(repo, 'dep', 'add', 'bd-a', 'bd-b');
  await page.waitForSelector('aside :text("Waits for")', { timeout: 15_000 });
  bd(repo, 'dep', 'add', 'bd-c', 'bd-a');
  await page.waitForSelector('aside :text("Wait for it")', { timeout: 15_000 });
  await page.route('**/api/graph*', (route) => route.abort(), { times: 1 });
  await visit(page, 'graph', '.empty');
  await page.waitForSelector('.node', { timeout: 15_000 });
  check(true, 'the graph is read again, too');
  await close();
}

/** What the server refuses is said in its own words. */
async function refusals() {
  const { page, close } = await opened('refusals', oldBeads);
  await page.route('**/api/snapshot', (route) => route.fulfill({ status: 421, json: { error: { code: 'wrong_host', message: 'this address does not belong to the board' } } }));
  await page.reload();
  await page.waitForSelector('.banner.off');
  const said = await page.textContent('.banner.off');
  check(said.includes('This address does not belong to the board.') && !said.includes('daemon'), `the banner says why: ${said}`);
  await page.unroute('**/api/snapshot');
  await page.waitForSelector('.answers');
  await page.evaluate(() => {
    const board = document.querySelector('bd-board');
    board.receive({ type: 'refused', data: { status: 503, message: 'too many browsers follow this board; close one of them' } });
    board.receive({ type: 'lost', data: { heard: Date.now() } });
  });
  await page.waitForFunction(() => document.querySelector('.banner.off')?.textContent.includes('Too many browsers follow this board; close one of them.'));
  await close();
}

/** Nothing that was typed is lost. */
async function typedTexts() {
  const { page, repo, close } = await opened('typed', oldBeads);
  as('codex-1@here', repo, 'claim', 'bd-c');
  as('codex-1@here', repo, 'ask', 'bd-c', 'Which one?');
  await visit(page, 'bead/bd-a', '[data-do="note"]');
  const note = async () => {
    await page.waitForSelector('dialog', { state: 'detached' });
    await page.keyboard.press('n');
    await page.waitForSelector('dialog textarea');
    return page.inputValue('dialog textarea');
  };
  await note();
  await page.fill('dialog textarea', 'A long note');
  await page.keyboard.press('Escape');
  check((await note()) === 'A long note', 'esc keeps the note');
  await page.click('dialog button:has-text("Cancel")');
  check((await note()) === '', 'Cancel discards it');
  await page.keyboard.press('Escape');
  await visit(page, 'needs', '.answer input');
  await page.fill('.answer input', 'The first');
  await visit(page, 'board', '.card');
  await visit(page, 'needs', '.answer input');
  check((await page.inputValue('.answer input')) === 'The first', 'an answer is kept when the view changes');

  await visit(page, 'bead/bd-b', '[data-do="edit"]');
  await page.click('[data-do="edit"]');
  await page.fill('textarea[data-edit]', 'First');
  await page.reload();
  await page.waitForSelector('textarea[data-edit]');
  check((await page.inputValue('textarea[data-edit]')) === 'First', 'a draft outlives a reload');
  await page.waitForSelector('.live');
  let release = () => {};
  const released = new Promise((resolve) => { release = resolve; });
  await page.route('**/api/act', async (route) => {
    await released;
    await route.continue();
  });
  await page.click('[data-do="save"]');
  await page.fill('textarea[data-edit]', 'First and second');
  release();
  await waitForToast(page, 'Saved the description');
  await pause(500);
  check(shown(repo, 'bd-b').description === 'First', 'the first text is saved');
  check((await page.inputValue('textarea[data-edit]')) === 'First and second', 'what was typed meanwhile is kept');
  await page.click('[data-do="save"]');
  await page.waitForSelector('textarea[data-edit]', { state: 'detached' });
  check(shown(repo, 'bd-b').description === 'First and second', 'and can be saved');
  await close();
}

/** Addresses of other sites or from a mail: a wrong token replaces no good one, and a malformed address shows Now. */
async function addresses() {
  const { page, board, said, close } = await opened('addresses', oldBeads);
  await visit(page, '%E0', '.answers');
  await visit(page, 'constructor', '.answers');
  check(said.length === 0, `the console is empty: ${said.join('\n')}`);
  const kept = () => page.evaluate(() => localStorage.getItem('bd-board-token'));
  for (const address of ['#token=00', '#/board?token=00', '#/now&token=00']) {
    await page.evaluate((to) => { location.hash = to; }, address);
    await page.reload().catch(() => {});
    await page.waitForSelector('.live');
    check((await kept()) === board.token, `${address} does not replace the token`);
  }
  await close();
}

/** Warnings of a close are shown. */
async function warnings() {
  const { page, close } = await opened('warnings', [bead({ id: 'bd-e', title: 'Epic', type: 'epic', at: ago(9) }), bead({ id: 'bd-e.1', title: 'Child', parent: 'bd-e', at: ago(9) })]);
  await visit(page, 'bead/bd-e', '[data-do="close"]');
  await page.click('[data-do="close"]');
  await waitForToast(page, 'open children: bd-e.1');
  await close();
}

/** A browser that cannot load the worker follows the stream by itself. */
async function withoutWorker() {
  const repo = newStore('workerless', oldBeads);
  const board = await startBoard(repo);
  const context = await newContext();
  await context.addInitScript(() => {
    const Real = SharedWorker;
    window.SharedWorker = class extends Real {
      constructor(address, options) {
        super(String(address).replace('page/worker.js', 'none/worker.js'), options);
      }
    };
  });
  const page = await context.newPage();
  await page.goto(board.url);
  await page.waitForSelector('.live');
  await visit(page, 'board?lanes=none', '.card');
  bd(repo, 'create', 'Seen without a worker', '--id', 'bd-seen');
  await page.waitForSelector('[data-bead="bd-seen"]');
  check(true, 'it follows');
  await context.close();
  board.child.kill();
}

/** @type {Record<string, () => Promise<void>>} */
export const mishaps = { doubleClicks, heldKeys, undoOfSomethingElse, sinceYouLeft, openedLater, agentPanel, unanswered, readingAgain, readsOfABead, refusals, typedTexts, addresses, warnings, withoutWorker };

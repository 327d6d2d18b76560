// The states of the board that are not its usual ones: empty, loading, offline, refused, asked, dragged. Each says what is
// the matter and what to do, and axe-core finds nothing serious in any, light and dark, wide and narrow.
import { as, axe, bd, bead, check, drawn, newStore, open, shot, startBoard, visit } from './board_support.mjs';

const LOOKS = [[1440, 'light'], [1440, 'dark'], [400, 'dark'], [400, 'light']];

/** Looks at a state in every width and theme, and checks its words. */
async function inspect(page, name, selector, words) {
  const text = await page.textContent(selector);
  for (const word of words) check(text.includes(word), `${name} says “${word}”: ${text}`);
  for (const [width, colorScheme] of LOOKS) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await drawn(page);
    await axe(page, `${name} ${width} ${colorScheme}`);
    await shot(page, `state-${name}-${width}-${colorScheme}`);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
}

/** A store without beads. */
async function empty() {
  const board = await startBoard(newStore('empty', []));
  const { page, context, said } = await open(board.url, { bypassCSP: true });
  await page.waitForSelector('.answers');
  await inspect(page, 'empty-now', 'main', ['No beads yet.', 'bd import', 'Nothing stands still.']);
  const views = { needs: ['.empty', 'Nothing needs you.'], board: ['.empty', 'No beads yet.'], graph: ['.empty', 'No bead waits for another.'], night: ['.say1', 'Nothing went wrong.'] };
  for (const [view, [selector, words]] of Object.entries(views)) {
    await visit(page, view, selector);
    await inspect(page, `empty-${view}`, 'main', [words]);
  }
  check(said.length === 0, `the console is empty: ${said.join('\n')}`);
  await context.close();
  board.child.kill();
}

const newSmallStore = () => newStore('small', ['bd-one', 'bd-two', 'bd-three'].map((id, index) => bead({ id, title: `Bead ${id}`, priority: index, after: index === 2 ? ['bd-two'] : [], at: new Date().toISOString() })));

/** Nothing found, no such bead, a wrong token, data that does not come. */
async function nothingToShow(board) {
  const { page, context } = await open(board.url, { bypassCSP: true });
  await page.waitForSelector('.answers');
  await inspect(page, 'nobody-works', 'main', ['No agent holds a bead.', '2 beads are ready', 'bd next']);
  await visit(page, 'board?q=s:blocked p:0', '.empty');
  await inspect(page, 'no-hits', '.empty', ['No bead matches', '1 matches s:blocked', '1 matches p:0', 'drop p:0', 'clear the filter']);
  await page.click('.empty [data-do="unfilter"]');
  await page.waitForSelector('.card');
  await visit(page, 'bead/bd-nothing', '.empty');
  await inspect(page, 'no-such-bead', '.empty', ['bd-nothing cannot be shown']);
  const stranger = await open(`${board.base}#token=00`, { bypassCSP: true });
  await stranger.page.waitForSelector('.banner.err');
  await inspect(stranger.page, 'wrong-token', '.banner', ['The token is missing or was replaced', 'bd board']);
  await stranger.context.close();

  let release = () => {};
  const released = new Promise((resolve) => { release = resolve; });
  await page.route('**/api/snapshot', async (route) => { await released; await route.continue(); });
  await visit(page, 'now', '.answers');
  await page.reload();
  await page.waitForSelector('.loading');
  await inspect(page, 'loading', 'body', ['']);
  release();
  await page.waitForSelector('.answers');
  check((await page.locator('.loading').count()) === 0, 'the grey lines are gone');
  await context.close();
}

/** What a person does: commands, keys, a drag, an undo that is too late, an edit that meets another. */
async function acting(board, repo) {
  const { page, context, said } = await open(board.url, { bypassCSP: true });
  await page.waitForSelector('.answers');
  await page.keyboard.press('Control+k');
  await page.waitForSelector('dialog.pal li');
  await inspect(page, 'palette', 'dialog.pal', ['New bead', 'Go to Last night']);
  await page.keyboard.press('Escape');
  await page.waitForSelector('dialog', { state: 'detached' });
  await page.keyboard.press('?');
  await page.waitForSelector('.keysdialog');
  await inspect(page, 'keys', '.keysdialog', ['take back', 'light, dark, as the system']);
  await page.keyboard.press('Escape');
  await page.waitForSelector('dialog', { state: 'detached' });

  await visit(page, 'board?lanes=priority', '[data-bead="bd-two"]');
  await page.evaluate(() => document.querySelector('[data-bead="bd-two"]').dispatchEvent(new DragEvent('dragstart', { bubbles: true, dataTransfer: new DataTransfer() })));
  await page.waitForSelector('.cell[data-drop]');
  const words = await page.evaluate(() => [...document.querySelectorAll('.cell[data-drop]')].map((cell) => cell.dataset.drop).join(' | '));
  for (const wanted of ['Drop to claim it for you', 'Drop to close it', 'Drop to make it P0', 'Not here']) check(words.includes(wanted), `a drag says “${wanted}”: ${words}`);
  await inspect(page, 'dragging', 'main', ['']);
  await page.evaluate(() => document.querySelector('[data-bead="bd-two"]').dispatchEvent(new DragEvent('dragend', { bubbles: true })));
  // Dropping a card on the lane of another priority sets it.
  await page.dragAndDrop('[data-bead="bd-two"]', '[data-lane="P0"] .cell[data-column="ready"]');
  await page.waitForSelector('[data-lane="P0"] [data-bead="bd-two"]');
  check(JSON.parse(bd(repo, 'show', 'bd-two', '--json'))[0].priority === 0, 'the drag set the priority');

  await visit(page, 'bead/bd-two', '[data-do="claim"]');
  await page.keyboard.press('w');
  await page.waitForSelector('.toast button');
  await page.waitForFunction(() => document.querySelector('.toasts').textContent.includes('Claimed'));
  await inspect(page, 'done', '.toasts', ['Claimed bd-two.', 'Undo']);
  bd(repo, 'create', 'Something else by the same person', '--id', 'bd-else');
  await page.evaluate(() => { const button = [...document.querySelectorAll('.toast')].find((one) => one.textContent.includes('Claimed')).querySelector('button'); button.click(); });
  await page.waitForFunction(() => document.querySelector('.toasts').textContent.includes('Not undone'));
  await inspect(page, 'not-undone', '.toasts', ['Not undone', 'your last change was not to bd-two', 'Show the bead']);

  await visit(page, 'bead/bd-one', '.bead h1');
  await page.keyboard.press('e');
  await page.fill('textarea[data-edit]', 'My text');
  as('codex-6@here', repo, 'update', 'bd-one', '--description', 'Their text');
  await page.waitForSelector('.edit .since');
  await inspect(page, 'edit-conflict', '.edit', ['saved this field while you were typing', 'Add theirs to mine', 'Take theirs', 'Keep only mine', 'decide above first']);
  check((await page.locator('.edit .btn.go').count()) === 0, 'nothing is proposed where a person must judge');
  // The browser itself reports the refused undo.
  const unexpected = said.filter((line) => !line.includes('409'));
  check(unexpected.length === 0, `nothing else on the console: ${unexpected.join('\n')}`);
  await context.close();
}

/** The board went away: the page says since when, writes nothing, and connects when it is asked to. */
async function offline(board, repo) {
  const { page, context } = await open(board.url, { bypassCSP: true });
  await page.waitForSelector('.answers');
  await visit(page, 'bead/bd-one', '[data-do="claim"]');
  const { port } = new URL(board.base);
  board.child.removeAllListeners('exit');
  const ended = new Promise((resolve) => { board.child.once('exit', resolve); });
  board.child.kill();
  await ended;
  await page.waitForSelector('.banner.off');
  await inspect(page, 'offline', '.banner', ['has not answered since', 'changes wait for it', 'Try now']);
  await page.click('[data-do="claim"]');
  await page.waitForFunction(() => document.querySelector('.toasts')?.textContent.includes('nothing was changed'));
  const again = await startBoard(repo, '--port', port);
  await page.click('[data-retry]').catch(() => {});
  await page.waitForSelector('.banner.off', { state: 'detached' });
  await context.close();
  again.child.kill();

  const readOnly = await startBoard(repo, '--read-only', '--port', '0');
  const second = await open(readOnly.url, { bypassCSP: true });
  await second.page.waitForSelector('.banner.ro');
  await inspect(second.page, 'read-only', '.banner', ['Read-only.']);
  await second.page.keyboard.press('c');
  await second.page.waitForFunction(() => document.querySelector('.toasts')?.textContent.includes('Read-only'));
  check(second.said.length === 0, `the console is empty: ${second.said.join('\n')}`);
  await second.context.close();
  readOnly.child.kill();
}

export async function states() {
  await empty();
  const repo = newSmallStore();
  const board = await startBoard(repo);
  await nothingToShow(board);
  await acting(board, repo);
  await offline(board, repo);
}

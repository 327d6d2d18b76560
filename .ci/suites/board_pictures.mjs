// Takes pictures of every view with 5, 500 and 10,000 beads, light and dark, wide and narrow, and runs axe-core on each: node board_pictures.mjs SCRATCH BD DIR
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { demo, LEFT, NOW } from './board_demo.mjs';
import { axe, drawn, finish, newContext, newStore, programArguments, startBoard } from './board_support.mjs';

const [directory] = programArguments;
const sizes = (process.env.SIZES ?? '5,500,10000').split(',').map(Number);
const looks = (process.env.LOOKS ?? '1440 light,1440 dark,400 light,400 dark').split(',').map((look) => look.split(' '));

async function openDemo(board, complete, width, theme) {
  const context = await newContext({ bypassCSP: true, viewport: { width, height: Number(process.env.HEIGHT ?? 900) }, colorScheme: theme, timezoneId: 'UTC', reducedMotion: 'reduce' });
  await context.clock.setFixedTime(NOW);
  const page = await context.newPage();
  page.on('pageerror', (error) => { console.error(error.stack); process.exitCode = 1; });
  await page.addInitScript(([left, now]) => {
    localStorage.setItem('bd-board-left', JSON.stringify({ seen: now, left }));
    delete window.SharedWorker;
  }, [LEFT, NOW]);
  await page.route('**/api/snapshot', async (route) => route.fulfill({ json: complete(await (await route.fetch()).json()) }));
  // The picture stands still: the stream never answers.
  await page.route('**/api/stream*', () => {});
  await page.goto(board.url);
  await page.waitForSelector('.answers');
  return { context, page };
}

try {
  mkdirSync(directory, { recursive: true });
  for (const size of sizes) {
    const { lines, complete } = demo(size);
    const board = await startBoard(newStore(`demo-${size}`, lines));
    for (const [width, theme] of looks) {
      const { context, page } = await openDemo(board, complete, Number(width), theme);
      const bead = await page.evaluate(() => document.querySelector('.lanes [data-bead]')?.getAttribute('data-bead') ?? document.querySelector('.next .id')?.textContent ?? '');
      const agent = await page.evaluate(() => document.querySelector('.lanes [data-agent]')?.getAttribute('data-agent') ?? '');
      const views = { now: '.answers', agent: '.agent h2', needs: '.say1', board: '.kan, .empty', outline: '.outline, .empty', graph: '.graph, .steps, .empty', night: '.burnsvg', bead: '.bead h1' };
      const paths = { agent: `now/agent/${encodeURIComponent(agent)}`, outline: 'board?view=outline', bead: `bead/${encodeURIComponent(bead)}` };
      for (const [view, selector] of Object.entries(views)) {
        if (view === 'agent' && !agent) continue;
        await page.evaluate((to) => { location.hash = `#/${to}`; }, paths[view] ?? view);
        await page.waitForSelector(selector, { state: 'attached' });
        await drawn(page);
        await page.screenshot({ path: join(directory, `${view}-${size}-${width}-${theme}.png`) });
        await axe(page, `${view} with ${size} beads, ${width} ${theme}`);
      }
      await context.close();
    }
    board.child.kill();
    console.log(`${size} beads: ${looks.length * 8} pictures in ${directory}`);
  }
} catch (error) {
  console.error(error.stack ?? error);
  process.exitCode = 1;
} finally {
  await finish();
}

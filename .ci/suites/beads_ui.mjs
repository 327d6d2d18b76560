// Drives beads-ui in Chromium: SCRATCH-DIRECTORY PORT BD.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

const [scratch, port, bd] = process.argv.slice(2);
const { chromium } = await import(`file://${scratch}/npm/node_modules/playwright-core/index.mjs`);
const base = `http://127.0.0.1:${port}`;
const run = (...args) => execFileSync(bd, ["-C", `${scratch}/repo`, ...args], { encoding: "utf8" });
const show = (id) => JSON.parse(run("show", id, "--json=compat"))[0];
let passed = 0;
const ok = (what) => console.log(`ok: ${what}`, (passed += 1));
const eventually = async (what, holds) => {
  for (const end = Date.now() + 30_000; Date.now() < end; await sleep(100)) {
    if (await holds()) return ok(what);
  }
  assert.fail(`timed out: ${what}`);
};

for (let tries = 0; ; tries += 1) {
  try {
    await fetch(base);
    break;
  } catch (error) {
    if (tries > 150) throw error;
    await sleep(200);
  }
}
const context = await chromium.launchPersistentContext(`${scratch}/profile`, {
  executablePath: "/usr/bin/chromium",
  headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
const page = await context.newPage();
page.setDefaultTimeout(30_000);

await page.goto(`${base}/#/issues`);
for (const id of ["bd-epic", "bd-epic.1", "bd-pipe"]) await page.waitForSelector(`tr.issue-row[data-issue-id="${id}"]`);
ok("list");

await page.goto(`${base}/#/board`);
await page.waitForSelector('#blocked-col article[data-issue-id="bd-pipe"]');
await page.waitForSelector('#ready-col article[data-issue-id="bd-epic.1"]');
ok("board: blocked and ready");

await page.goto(`${base}/#/epics`);
await page.waitForSelector('.epic-group[data-epic-id="bd-epic"]');
assert.equal(await page.getAttribute(".epic-group progress", "max"), "1");
ok("epics: progress");

// Changes by another process show without a reload.
await page.goto(`${base}/#/issues`);
await page.waitForSelector('tr.issue-row[data-issue-id="bd-pipe"]');
run("create", "- Live", "--id", "bd-live");
await page.waitForSelector('tr.issue-row[data-issue-id="bd-live"]');
ok("live update");

await page.goto(`${base}/#/issues?issue=bd-epic.1`);
await page.waitForSelector("#detail-root >> text=It drips");
ok("detail");
await page.click('#detail-root h2 [aria-label="Edit title"]');
await page.fill('#detail-root h2 input[aria-label="Edit title"]', "- Find both leaks");
await page.keyboard.press("Enter");
await eventually("edit: a title that begins with a hyphen", () => show("bd-epic.1").title === "- Find both leaks");
// A live update redraws the page and closes an open editor, so an edit may take several attempts.
const edited = async (what, holds, edit) => {
  for (const end = Date.now() + 60_000; Date.now() < end; ) {
    await edit().catch((error) => console.log(`again: ${what}: ${error.message.split("\n")[0]}`));
    for (let tries = 0; tries < 30; tries += 1, await sleep(100)) if (holds()) return ok(what);
  }
  assert.fail(`timed out: ${what}`);
};
const quickly = { timeout: 5_000 };
await page.waitForSelector("#detail-root h2 >> text=Find both leaks");
const list = "- in the cellar\n- in the attic";
await edited("edit: a description that is a list", () => show("bd-epic.1").description === list, async () => {
  await page.click('#detail-root .md[aria-label="Edit description"]', quickly);
  await page.fill("#detail-root textarea >> nth=0", list, quickly);
  await page.click("#detail-root .editable-actions button >> nth=0", quickly);
});
const said = () => show("bd-epic.1").comments.some((comment) => comment.text === "- behind the wall");
await edited("comment", said, async () => {
  await page.fill("#detail-root .comment-input textarea", "", quickly);
  await page.click("#detail-root .comment-input textarea", quickly);
  await page.keyboard.type("- behind the wall");
  await page.click("#detail-root .comment-input button:not([disabled])", quickly);
});
await page.waitForSelector("#detail-root .comment-text >> text=behind the wall");
ok("comment: shown");

await page.goto(`${base}/#/issues`);
await edited("edit: status", () => show("bd-live").status === "in_progress", () =>
  page.selectOption('tr[data-issue-id="bd-live"] select.badge--status', "in_progress", quickly),
);
await context.close();
console.log(`beads-ui: ${passed} checks passed`);
process.exit(0);

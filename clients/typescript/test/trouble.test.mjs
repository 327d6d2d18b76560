// What goes wrong around the client: lost claims, sockets of others, programs that end. `$BD` is the program.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ClaimEnded, Worker, errors } from "../lib/index.js";
import { decode, patience } from "../lib/request.js";
import { bd, bdPath, open, repo, root, stranger } from "../testing/repository.mjs";

test("a socket that another user could have made gets nothing", async () => {
  const beads = await open();
  const came = await stranger(async () => {
    chmodSync(join(root, "run"), 0o777);
    await beads.create("Secret");
    assert.equal((await beads.count()).count, 1);
    beads.disconnect();
    chmodSync(join(root, "run"), 0o700);
  });
  assert.equal(came, 0);
});

test("a claim that is over is ClaimEnded from every call", async () => {
  const [beads, boss] = [await open("w", { session: "w-1" }), await open("boss")];
  for (const title of ["One", "Two"]) await boss.create(title);
  const ends = [
    ["cancelled", (id) => boss.cancel(id, "not needed"), (claim) => claim.finish("late")],
    ["deleted", (id) => boss.delete(id), (claim) => claim.note("late")],
  ];
  for await (const claim of new Worker(beads, { once: true })) {
    const [reason, end, call] = ends.pop();
    await end(claim.id);
    const ended = await call(claim).catch((error) => error);
    assert.ok(ended instanceof ClaimEnded, ended);
    assert.equal(ended.over.reason, reason);
  }
  assert.equal(ends.length, 0);
  beads.disconnect();
  boss.disconnect();
});

test("a body that fails gives its bead back, and those that it did not come to", async () => {
  const [beads, boss] = [await open("w"), await open("boss")];
  const made = [];
  for (const title of ["One", "Two", "Three"]) made.push((await beads.create(title)).id);
  for (const id of made) await beads.claim(id);
  await assert.rejects(async () => {
    for await (const claim of new Worker(beads, { once: true })) throw new RangeError(claim.id);
  }, RangeError);
  assert.deepEqual((await boss.show(made)).map((bead) => bead.status), ["open", "open", "open"]);
  for (const id of made) await beads.claim(id);
  const seen = [];
  for await (const claim of new Worker(beads, { once: true })) {
    seen.push(claim.id);
    await claim.finish("done");
    if (seen.length === 1) await boss.cancel(made.find((id) => id !== claim.id), "not needed");
  }
  assert.equal(seen.length, 2);
  beads.disconnect();
  boss.disconnect();
});

test("requests are given up, refused when they are too long, and fail with codes of newer versions", async () => {
  const beads = await open();
  const made = await beads.create("One");
  const giveUp = new AbortController();
  const { cursor } = await beads.events();
  const call = { wait: { ms: 600_000, call: { query: { events: { since: cursor } } } } };
  const waiting = beads.request(call, { signal: giveUp.signal });
  giveUp.abort();
  await assert.rejects(waiting);
  await assert.rejects(beads.note(made.id, "x".repeat(17 << 20)), errors.TooLargeError);
  assert.throws(() => decode('{"error":{"code":"brand_new","message":"no"}}\n', () => {}), { code: "brand_new", message: "no" });
  assert.ok(patience("sync") >= 24 * 3_600_000);
  assert.equal((await beads.count()).count, 1);
  beads.disconnect();
});

test("a program ends without disconnecting, with the session of its environment", async () => {
  for (const useSocket of [true, false]) {
    const code = `
      import { Client, Worker } from ${JSON.stringify(new URL("../lib/index.js", import.meta.url).href)};
      const beads = await Client.open({ actor: "w", useSocket: ${useSocket} });
      await beads.create("Short");
      for await (const claim of new Worker(beads, { once: true })) await claim.finish("done");
      await beads.create("Held");
      await beads.claimNext();
    `;
    writeFileSync(join(root, "program.mjs"), code);
    const env = { ...process.env, BD: bdPath, BD_SESSION: "run-1" };
    const done = spawnSync(process.execPath, [join(root, "program.mjs")], { cwd: repo, encoding: "utf8", timeout: 60_000, env });
    assert.equal(done.status, 0, done.stderr);
  }
  const sessions = JSON.parse(bd("session", "list", "--json"));
  assert.match(JSON.stringify(sessions), /run-1/);
});

// Tests of the client against a real daemon. `$BD` is the program.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ClaimEnded, Worker, errors } from "../lib/index.js";
import { killDaemon, open, repo } from "../testing/repository.mjs";

for (const useSocket of [true, false]) {
  test(`every step of a bead, ${useSocket ? "over the socket" : "through bd call"}`, async () => {
    const beads = await open("ann", { useSocket });
    const made = await beads.create("Write it", { priority: 1, labels: ["docs"] });
    const claimed = await beads.claim(made.id, { lease_ms: 60_000 });
    assert.equal(claimed.status, "in_progress");
    await beads.note(made.id, "halfway", { fence: claimed.fence });
    await beads.close(made.id, { fence: claimed.fence, reason: "done" });
    const [shown] = await beads.show([made.id]);
    assert.equal(shown.status, "closed");
    assert.deepEqual(await beads.list({ filter: { status: ["open"] } }), []);
    beads.disconnect();
  });
}

test("errors are classes with code, details and hint", async () => {
  const [ann, eve] = [await open(), await open("eve")];
  const made = await ann.create("One");
  await ann.claim(made.id);
  await assert.rejects(eve.claim(made.id), (error) => {
    assert.ok(error instanceof errors.AlreadyClaimedError);
    assert.equal(error.code, "already_claimed");
    assert.match(error.hint, /ready/);
    return true;
  });
  await assert.rejects(ann.show(["bd-none"]), errors.NotFoundError);
  await assert.rejects(ann.note(made.id, "late", { fence: "1.1" }), errors.StaleClaimError);
  assert.equal((await ann.count()).count, 1);
  ann.disconnect();
  eve.disconnect();
});

test("a change survives the death of the daemon and is made once", async () => {
  const beads = await open();
  await beads.create("First");
  for (let n = 0; n < 3; n++) {
    killDaemon();
    await beads.create(`After kill ${n}`);
  }
  const first = await beads.create("Once", { request_id: "r1" });
  killDaemon();
  assert.equal((await beads.create("Once", { request_id: "r1" })).id, first.id);
  assert.equal((await beads.count()).count, 5);
  beads.disconnect();
});

test("a watch continues at its cursor across restarts", async () => {
  const [beads, writer] = [await open(), await open("bob")];
  const { cursor } = await beads.events();
  const watched = (async () => {
    const seen = [];
    for await (const event of beads.watch(cursor)) {
      seen.push(event.title);
      if (seen.length === 6) return seen;
    }
  })();
  for (let n = 0; n < 6; n++) {
    if (n === 3) killDaemon();
    await writer.create(`Event ${n}`);
  }
  assert.deepEqual(await watched, ["Event 0", "Event 1", "Event 2", "Event 3", "Event 4", "Event 5"]);
  beads.disconnect();
  writer.disconnect();
});

test("workers share the work while the daemon is killed", async () => {
  const planner = await open();
  await planner.atomic(Array.from({ length: 12 }, (_, n) => ({ op: "create", title: `Step ${n}` })), {});
  const finished = [];
  let killed = false;
  const work = async (name) => {
    const beads = await open(name, { session: `${name}-1` });
    for await (const claim of new Worker(beads, { leaseMs: 60_000, once: true })) {
      await claim.note("working");
      if (!killed && finished.length >= 5) {
        killed = true;
        killDaemon();
      }
      await claim.finish("done");
      finished.push(claim.id);
    }
    beads.disconnect();
  };
  await Promise.all(["a", "b", "c"].map(work));
  assert.equal(new Set(finished).size, 12);
  assert.equal((await planner.count({ filter: { status: ["closed"] } })).count, 12);
  planner.disconnect();
});

test("work is cancelled when the claim ends, and a bead that is left is given back", async () => {
  const [beads, boss] = [await open("w", { session: "w-1" }), await open("boss")];
  const made = await boss.create("Contested");
  for await (const claim of new Worker(beads, { once: true })) {
    void boss.cancel(made.id, "not needed");
    const ended = await claim.run(() => new Promise(() => {})).catch((error) => error);
    assert.ok(ended instanceof ClaimEnded);
    assert.equal(ended.over.reason, "cancelled");
  }
  const left = await boss.create("Left");
  for await (const claim of new Worker(beads, { once: true })) {
    assert.equal(claim.id, left.id);
    break;
  }
  const [shown] = await boss.show([left.id]);
  assert.equal(shown.status, "open");
  beads.disconnect();
  boss.disconnect();
});

test("work that finishes its own bead is not cancelled, and a worker that starts again resumes", async () => {
  const beads = await open("w", { session: "w-1" });
  const made = await beads.create("Held");
  await beads.claim(made.id);
  for await (const claim of new Worker(beads, { once: true })) {
    assert.deepEqual([claim.id, claim.resumed], [made.id, true]);
    const done = await claim.run(async () => {
      await claim.finish("done");
      for (let n = 0; n < 50; n++) await beads.status(); // the report of the end arrives in between
      return "cleaned up";
    });
    assert.equal(done, "cleaned up");
    assert.ok(!claim.signal.aborted);
  }
  const [shown] = await beads.show([made.id]);
  assert.equal(shown.status, "closed");
  beads.disconnect();
});

test("a lease is renewed while there is activity and not without, and a bead is handed over", async () => {
  const [beads, boss] = [await open("w"), await open("boss")];
  const made = await boss.create("Slow");
  let renewals = 0;
  let renewed = () => {};
  const renew = beads.renew.bind(beads);
  beads.renew = async (...args) => {
    const answer = await renew(...args);
    renewals += 1;
    renewed();
    return answer;
  };
  for await (const claim of new Worker(beads, { leaseMs: 60_000, once: true, beatMs: 1 })) {
    const expires = async () => (await boss.show([made.id]))[0].assignee_expires;
    const first = await expires();
    await new Promise((resolve) => (renewed = () => renewals >= 3 && resolve()));
    assert.ok((await expires()) > first);
    claim.activeAt -= 10_000_000;
    for (let n = 0; n < 20; n++) await boss.status(); // renewals in flight arrive
    const before = renewals;
    for (let n = 0; n < 50; n++) await boss.status();
    assert.equal(renewals, before);
    await claim.handOver("eve", "half of it is done");
    break;
  }
  const [shown] = await boss.show([made.id]);
  assert.equal(shown.assignee, "eve");
  assert.ok(shown.notes.some((note) => note.content === "half of it is done"));
  beads.disconnect();
  boss.disconnect();
});

test("the examples in the README run", () => {
  const here = fileURLToPath(new URL("..", import.meta.url));
  const blocks = [...readFileSync(join(here, "README.md"), "utf8").matchAll(/```js\n(.*?)```/gs)].map((found) => found[1]);
  assert.equal(blocks.length, 2);
  assert.ok(blocks[1].split("\n").filter((line) => line.trim()).length <= 30);
  mkdirSync(join(repo, "node_modules"));
  symlinkSync(here, join(repo, "node_modules/beads-rs"));
  let done;
  for (const code of blocks) {
    writeFileSync(join(repo, "example.mjs"), code);
    done = spawnSync(process.execPath, ["example.mjs"], { cwd: repo, encoding: "utf8" });
    assert.equal(done.status, 0, done.stderr);
  }
  assert.match(done.stdout, /count: 10/);
});

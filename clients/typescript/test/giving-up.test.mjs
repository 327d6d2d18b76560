// Requests that take too long, daemons of others, and workers that stop, fail or are left early. `$BD` is the program.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { test } from "node:test";
import { ClaimEnded, Client, Worker, errors } from "../lib/index.js";
import { LineStream } from "../lib/line-stream.js";
import { NoReply, encode, noDaemon, noReply } from "../lib/request.js";
import { bd, bdPath, open, repo, root, socketPath, stranger } from "../testing/repository.mjs";

const module = (name) => JSON.stringify(new URL(`../lib/${name}.js`, import.meta.url).href);

test("a request without a reply ends its connection, and then the program can end", async () => {
  const came = await stranger(async (taken) => {
    const stream = await LineStream.connect(socketPath());
    await assert.rejects(stream.exchange("{}\n", 20), NoReply);
    while (!taken[0].readableEnded && !taken[0].destroyed) {
      taken[0].resume();
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
  assert.equal(came, 1);
  const program = `
    import { LineStream } from ${module("line-stream")};
    const stream = LineStream.run("sleep", ["600"]);
    await stream.exchange("{}\\n", 20).catch(() => {});
  `;
  writeFileSync(join(root, "program.mjs"), program);
  const done = spawnSync(process.execPath, [join(root, "program.mjs")], { timeout: 60_000 });
  assert.equal(done.status, 0);
});

test("a bead that is claimed after the client gave up is free", async () => {
  const boss = await open("boss");
  await boss.status();
  const stream = await LineStream.connect(socketPath());
  const call = { wait: { ms: 600_000, call: { mutate: { ops: [{ op: "claim_next" }] } } } };
  await assert.rejects(stream.exchange(encode(call, "w", undefined, "~1"), 200), NoReply);
  const made = await boss.create("For the next one");
  assert.equal((await boss.claimNext()).id, made.id);
  boss.disconnect();
});

test("the error of a request without a reply says how to repeat it", () => {
  const unknown = noReply({}, "~abc");
  assert.ok(unknown instanceof errors.BusyError);
  assert.match(unknown.message, /may still be carried out/);
  assert.match(unknown.hint, /"~abc" and within two minutes/);
  assert.equal(unknown.requestId, "~abc");
  assert.match(noDaemon("it ended", "mine").hint, /same request_id, "mine"/);
  assert.equal(noReply({ query: "status" }, null).requestId, null);
});

test("a daemon of another repository gets nothing", async () => {
  const asked = [];
  const serve = (one) =>
    createInterface({ input: one }).on("line", (line) => {
      asked.push(line);
      one.write('{"position":0,"exit":0,"stdout":""}\n');
    });
  const beads = await open();
  await stranger(async () => {
    await beads.create("Secret");
    assert.equal((await beads.count()).count, 1);
    beads.disconnect();
  }, serve);
  assert.ok(!asked.some((line) => line.includes("Secret")), asked.join("\n"));
  assert.ok(asked.some((line) => line.includes("daemon_status")));
});

test("the daemon is compared once, and again after it was replaced", async () => {
  const beads = await open();
  let asked = 0;
  const { daemon } = beads.socket;
  beads.socket.daemon = () => ((asked += 1), daemon());
  await Promise.all([beads.count(), beads.count(), beads.count()]);
  assert.equal(asked, 1);
  bd("daemon", "stop");
  await beads.create("Again");
  assert.equal(asked, 2);
  beads.disconnect();
});

test("an empty $BD counts as unset, and the settings are returned", async () => {
  mkdirSync(join(root, "bin"));
  symlinkSync(bdPath, join(root, "bin/bd"));
  const { BD, PATH } = process.env;
  Object.assign(process.env, { BD: "", PATH: `${join(root, "bin")}:${PATH}` });
  try {
    const beads = await Client.open({ directory: repo, actor: "ann" });
    assert.equal((await beads.settings())["claim.scope"], "auto");
    beads.disconnect();
  } finally {
    Object.assign(process.env, { BD, PATH });
  }
});

test("one failed release keeps no other claim", async () => {
  const [beads, boss] = [await open("w"), await open("boss")];
  const made = [];
  for (const title of ["One", "Two", "Three"]) made.push((await beads.create(title)).id);
  const statuses = async () => (await boss.show(made)).map((bead) => bead.status).sort();
  const { unclaim, renew } = beads;
  const failSecond = () => {
    let calls = 0;
    beads.unclaim = (...args) => (++calls === 2 ? Promise.reject(new errors.BusyError("full")) : unclaim.apply(beads, args));
  };
  for (const [raised, body] of [
    [errors.BusyError, () => {}],
    [
      RangeError,
      () => {
        throw new RangeError("of the body");
      },
    ],
  ]) {
    for (const id of made) await beads.claim(id);
    failSecond();
    await assert.rejects(async () => {
      for await (const claim of new Worker(beads, { once: true })) {
        body(claim);
        break;
      }
    }, raised);
    assert.deepEqual(await statuses(), ["in_progress", "open", "open"]);
  }
  beads.unclaim = unclaim;
  for (const id of made) await beads.claim(id);
  beads.renew = () => Promise.reject(new errors.BusyError("full"));
  await assert.rejects(async () => {
    for await (const claim of new Worker(beads, { once: true })) await claim.release();
  }, errors.BusyError);
  assert.deepEqual(await statuses(), ["open", "open", "open"]);
  beads.renew = renew;
  beads.disconnect();
  boss.disconnect();
});

test("a worker that waits survives an error that passes", async () => {
  const beads = await open("w");
  const made = await beads.create("After the outage");
  const { claimNext } = beads;
  let fails;
  beads.claimNext = (options) => (fails-- > 0 ? Promise.reject(new errors.NetworkError("away")) : claimNext.call(beads, options));
  const seen = [];
  const work = async (once) => {
    fails = 1;
    const worker = new Worker(beads, { once });
    for await (const claim of worker) {
      worker.stop();
      seen.push(claim.id);
      await claim.finish("done");
    }
  };
  await assert.rejects(work(true), errors.NetworkError);
  await work(false);
  assert.deepEqual(seen, [made.id]);
  const worker = new Worker(beads);
  fails = Infinity;
  const ended = (async () => {
    for await (const claim of worker) assert.fail(claim.id);
  })();
  for (let n = 0; n < 5; n++) await beads.status(); // meanwhile the worker pauses
  worker.stop();
  await ended;
  beads.disconnect();
});

test("a bead that comes after the stop is given back", async () => {
  const [beads, boss] = [await open("w"), await open("boss")];
  const worker = new Worker(beads);
  const seen = [];
  const ended = (async () => {
    for await (const claim of worker) seen.push(claim.id);
  })();
  for (let n = 0; n < 20; n++) await boss.status(); // meanwhile the request for work is sent
  worker.stop();
  const made = await boss.create("Too late");
  await ended;
  assert.deepEqual(seen, []);
  assert.equal((await boss.show([made.id]))[0].status, "open");
  beads.disconnect();
  boss.disconnect();
});

test("work on a claim that has ended does not begin", async () => {
  const [beads, boss] = [await open("w", { session: "w-1" }), await open("boss")];
  const made = await boss.create("Cancelled");
  let begun = false;
  for await (const claim of new Worker(beads, { once: true })) {
    await boss.cancel(made.id, "not needed");
    if (!claim.signal.aborted) await new Promise((resolve) => claim.signal.addEventListener("abort", resolve));
    const work = () => {
      begun = true;
      throw new RangeError("begun");
    };
    await assert.rejects(claim.run(work), ClaimEnded);
  }
  assert.equal(begun, false);
  beads.disconnect();
  boss.disconnect();
});

test("the quiet time of a bead begins with its turn", async () => {
  const beads = await open("w");
  for (const title of ["One", "Two"]) await beads.claim((await beads.create(title)).id);
  const turns = [];
  for await (const claim of new Worker(beads, { once: true })) {
    turns.push(claim.activeAt);
    await claim.finish("done");
    turns.push(performance.now());
  }
  assert.equal(turns.length, 4);
  assert.deepEqual(turns, [...turns].sort((a, b) => a - b));
  beads.disconnect();
});

// Drives @herbcaudill/beads-sdk: PACKAGE-DIRECTORY REPOSITORY.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const [directory, cwd] = process.argv.slice(2);
const { BeadsClient: Runner } = await import(`file://${directory}/dist/BeadsClient.js`);
const { BeadsClient: Reader } = await import(`file://${directory}/dist/index.js`);
let passed = 0;
const check = (what, actual, expected) => {
  assert.deepEqual(actual, expected, what);
  passed += 1;
  console.log(`ok: ${what}`);
};
const ids = (issues) => issues.map((issue) => issue.id);

// The class that runs bd.
const bd = new Runner({ cwd });
const epic = await bd.create({ title: "Plumbing", type: "epic" });
const leak = await bd.create({
  title: "- Find the leak", description: "- drips\n- at night", priority: 1, type: "bug", parent: epic.id, labels: ["wet", "urgent"],
});
const pipe = await bd.create({ title: "Fix the pipe", assignee: "ann" });
check("create", [leak.issue_type, leak.priority, leak.labels], ["bug", 1, ["urgent", "wet"]]);
await bd.addBlocker(pipe.id, leak.id);
check("list", ids(await bd.list({ status: "open", all: false })).sort(), [epic.id, leak.id, pipe.id].sort());
check("list: filtered", ids(await bd.list({ type: "bug", priority: 1, limit: 5 })), [leak.id]);
check("list --ready", ids(await bd.list({ ready: true })).includes(pipe.id), false);
check("blocked", (await bd.blocked()).map((issue) => [issue.id, issue.blocked_by]), [[pipe.id, [leak.id]]]);
const withParents = await bd.listWithParents({});
check("show: parent", withParents.find((issue) => issue.id === leak.id).parent, epic.id);
check("show: status of a blocked bead", withParents.find((issue) => issue.id === pipe.id).status, "blocked");
check("ready", ids(await bd.ready({ type: "bug", labels: ["wet"], sort: "priority" })), [leak.id]);
const [updated] = await bd.update(pipe.id, { title: "Replace it", description: "- all of it", priority: 0, addLabels: ["x"] });
check("update", [updated.title, updated.description, updated.priority, updated.labels], ["Replace it", "- all of it", 0, ["x"]]);
check("update --status blocked", (await bd.update(epic.id, { status: "in_progress" }))[0].status, "in_progress");
await bd.addComment(leak.id, "- behind the wall", "bob");
check("comments", (await bd.getComments(leak.id)).map((comment) => [comment.author, comment.text]), [["bob", "- behind the wall"]]);
check("labels", [await bd.getLabels(leak.id), (await bd.addLabel(leak.id, "y")).labels], [["urgent", "wet"], ["urgent", "wet", "y"]]);
check("labels of all", (await bd.listAllLabels()).map((one) => one.label).sort(), ["urgent", "wet", "x", "y"]);
check("search", ids(await bd.search({ query: "leak", status: "open", sort: "created", reverse: true, priorityMax: 2 })), [leak.id]);
check("count", (await bd.count({ status: "open" })).count, 2);
check("children", ids(await bd.children(epic.id)), [leak.id]);
check("dependencies", ids(await bd.listDeps(pipe.id, { direction: "down" })), [leak.id]);
check("close", (await bd.close(leak.id))[0].status, "closed");
check("reopen", (await bd.reopen(leak.id, "- again"))[0].status, "open");
check("epics", (await bd.epicStatus()).map((one) => [one.epic.id, one.total_children]), [[epic.id, 1]]);
check("info", typeof (await bd.getInfo()).database_path, "string");
const extra = await bd.create({ title: "Gone soon" });
await bd.delete(extra.id);
check("delete", ids(await bd.list({ all: true })).includes(extra.id), false);
await bd.sync({});

// The exported client, which reads the file.
const eventually = async (what, holds) => {
  for (const end = Date.now() + 30_000; Date.now() < end; await new Promise((wake) => setTimeout(wake, 50))) {
    if (await holds()) return check(what, true, true);
  }
  assert.fail(`timed out: ${what}`);
};
// The client watches the file as it is when it connects, and sees one change of it: make sure that is the one below.
await eventually("the file is up to date", () => {
  const lines = readFileSync(`${cwd}/.beads/issues.jsonl`, "utf8").split("\n").filter((line) => line);
  return lines.map((line) => JSON.parse(line)).find((issue) => issue.id === extra.id)?.status === "tombstone";
});
const file = new Reader();
await file.connect(cwd);
let changes = 0;
file.onChange(() => (changes += 1));
await eventually("the file holds every issue", async () => (await file.list({})).filter((issue) => issue.status !== "tombstone").length === 3);
check("the file: show", (await file.show(leak.id)).description, "- drips\n- at night");
const fresh = await bd.create({ title: "Live" });
await eventually("the file: a live update", async () => changes > 0 && ids(await file.list({})).includes(fresh.id));
await file.disconnect();
console.log(`@herbcaudill/beads-sdk: ${passed} checks passed`);
process.exit(0);

// A repository of its own for each test, with its own runtime directory. `$BD` is the program.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach } from "node:test";
import { Client } from "../lib/index.js";

export const bdPath = process.env.BD;
export let root, repo;
const roots = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "beads-ts-"));
  repo = join(root, "repo");
  roots.push(root);
  mkdirSync(join(root, "run"), { mode: 0o700 });
  process.env.BD_RUNTIME_DIR = join(root, "run");
  process.env.HOME = root;
  execFileSync("git", ["init", "--quiet", repo]);
  bd("init", "--quiet");
});

after(() => {
  for (const one of roots) {
    process.env.BD_RUNTIME_DIR = join(one, "run");
    execFileSync(bdPath, ["-C", join(one, "repo"), "daemon", "stop"]);
    rmSync(one, { recursive: true, force: true });
  }
});

export const bd = (...args) => execFileSync(bdPath, ["-C", repo, ...args], { encoding: "utf8" });

export const open = (actor = "ann", more = {}) => Client.open({ directory: repo, actor, bd: bdPath, ...more });

export const socketPath = () => JSON.parse(bd("where", "--json=spec")).socket;

export const killDaemon = () => {
  const status = JSON.parse(bd("daemon", "status", "--json"));
  if (status.running) process.kill(status.pid, "SIGKILL");
};

/** Listens where the daemon would, as the daemon of another repository does, and returns how many clients came. */
export async function stranger(body, serve = () => {}) {
  bd("daemon", "stop");
  const taken = [];
  const server = createServer((one) => {
    taken.push(one);
    one.on("error", () => {});
    serve(one);
  });
  await new Promise((resolve) => server.listen(socketPath(), resolve));
  try {
    await body(taken);
  } finally {
    taken.forEach((one) => one.destroy());
    await new Promise((resolve) => server.close(resolve));
  }
  return taken.length;
}

"""Workers that claim, note, hand over, release and close beads on every interface, with crashes, and a model that checks them.

usage: cycle.py BD WORKDIR SEED BEADS

`cycle.py worker INTERFACE NAME` is one worker: an orchestrator of about 40 lines. It logs what it did, one JSON line per
step, with times of this machine's monotonic clock. The parent kills workers and the daemon, replaces the workers, cancels
beads, and checks that

- no two holders of a bead overlap;
- no closed or cancelled bead is worked on after its worker could have known;
- every request id is answered once;
- a bead that is handed over goes to its receiver, and to other workers only after the offer expired.

Each interface has a worker that gets a new name after every crash, and a receiver that comes back under the same name;
receivers are killed while an offer waits for them. A receiver called `gone` never appears.
"""
import glob
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time

INTERFACES = ("cli", "tools", "mcp", "socket")
LEASE = 5  # seconds
WITHIN = 2  # seconds until an offer expires; through MCP it is ten minutes

BD = os.environ.get("CYCLE_BD") or os.path.abspath(sys.argv[1])


def run(args, stdin=""):
    done = subprocess.run([BD, *args], input=stdin, capture_output=True, text=True)
    return json.loads(done.stdout or "null")


class Cli:
    def __init__(self, name):
        self.base = ["--actor", name, "--json"]

    def next(self, key):
        bead = run([*self.base, "--request-id", key, "claim", "--next", "--wait", "1s"])
        return None if "error" in bead else bead

    def note(self, bead, key):
        return "error" not in run([*self.base, "--request-id", key, "note", "add", bead["id"], "at work", "--fence", bead["fence"]])

    def release(self, bead):
        run([*self.base, "unclaim", bead["id"], "--fence", bead["fence"]])

    def hand_over(self, bead, to, text, key):
        return "error" not in run([*self.base, "--request-id", key, "handover", bead["id"], "--to", to, "--within", f"{WITHIN}s", "-m", text, "--fence", bead["fence"]])

    def notes(self, bead):
        return run([*self.base, "note", "list", bead["id"]])

    def done(self, bead, key):
        return "error" not in run([*self.base, "--request-id", key, "close", bead["id"], "--fence", bead["fence"]])


class Tools:
    def __init__(self, name):
        self.name = name

    def call(self, tool, **fields):
        return run(["tool", tool, "--apply"], json.dumps({"actor": self.name, **fields}))

    def next(self, key):
        return self.call("beads.claim", wait_ms=1000, idempotency_key=key).get("result")

    def note(self, bead, key):
        return self.call("beads.note_add", id=bead["id"], content="at work", fence=bead["fence"], idempotency_key=key)["ok"]

    def release(self, bead):
        self.call("beads.unclaim", id=bead["id"], fence=bead["fence"])

    def hand_over(self, bead, to, text, key):
        return self.call("beads.handover", id=bead["id"], to=to, within_ms=WITHIN * 1000, text=text, fence=bead["fence"], idempotency_key=key)["ok"]

    def notes(self, bead):
        return run(["tool", "beads.show"], json.dumps({"id": bead["id"]})).get("result")

    def done(self, bead, key):
        return self.call("beads.close", id=bead["id"], fence=bead["fence"], idempotency_key=key)["ok"]


class Mcp:
    def __init__(self, name):
        self.server = subprocess.Popen([BD, "--actor", name, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.last = 0
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "cycle", "version": "1"}})

    def ask(self, method, params):
        self.last += 1
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}) + "\n")
        self.server.stdin.flush()
        while True:
            message = json.loads(self.server.stdout.readline())
            if message.get("id") == self.last:
                return message["result"]

    def call(self, tool, **arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        return None if result.get("isError") else result["structuredContent"]

    def next(self, key):
        bead = self.call("next", wait_s=1, more=True, request_id=key)
        return bead if bead and "fence" in bead else None

    def note(self, bead, key):
        return self.call("note", id=bead["id"], text="at work", fence=bead["fence"], request_id=key) is not None

    def release(self, bead):
        self.call("done", id=bead["id"], reason="no time", outcome="release", fence=bead["fence"])

    def hand_over(self, bead, to, text, key):
        return self.call("done", id=bead["id"], reason=text, outcome=f"to:{to}", fence=bead["fence"], request_id=key) is not None

    def notes(self, bead):
        return bead

    def done(self, bead, key):
        return self.call("done", id=bead["id"], reason="done", fence=bead["fence"], request_id=key) is not None


class Socket:
    def __init__(self, name):
        self.name = name

    def ask(self, call, key=None):
        path = run(["--json", "daemon", "status"])["socket"]
        version = subprocess.run([BD, "version"], capture_output=True, text=True).stdout.split()[-1]
        while True:
            try:
                line = socket.socket(socket.AF_UNIX)
                line.connect(path)
                line.sendall((json.dumps({"client": version, "actor": self.name, "request_id": key, "call": call}) + "\n").encode())
                answer = line.makefile().readline()
                if answer:
                    return json.loads(answer)
            except OSError:
                pass
            run(["--json", "status"])  # this command restarts a daemon that was killed

    def mutate(self, key=None, **op):
        return self.ask({"mutate": {"ops": [op]}}, key)

    def next(self, key):
        return self.ask({"wait": {"ms": 1000, "call": {"mutate": {"ops": [{"op": "claim_next"}]}}}}, key).get("result")

    def note(self, bead, key):
        return "error" not in self.mutate(key, op="note_add", id=bead["id"], content="at work", fence=bead["fence"])

    def release(self, bead):
        self.mutate(op="unclaim", id=bead["id"], fence=bead["fence"])

    def hand_over(self, bead, to, text, key):
        return "error" not in self.mutate(key, op="hand_over", id=bead["id"], to=to, within_ms=WITHIN * 1000, text=text, fence=bead["fence"])

    def notes(self, bead):
        return self.ask({"query": {"notes": {"id": bead["id"]}}}).get("result")

    def done(self, bead, key):
        return "error" not in self.mutate(key, op="close", id=bead["id"], fence=bead["fence"])


def work(interface, name):
    """Runs the orchestrator, which is the same for every interface."""
    log = open(os.path.join(os.environ["CYCLE_LOG"], name), "a")
    dice = random.Random(name)
    worker = {"cli": Cli, "tools": Tools, "mcp": Mcp, "socket": Socket}[interface](name)

    def say(what, bead, **more):
        print(json.dumps({"what": what, "id": bead["id"], "fence": bead["fence"], "at": time.monotonic(), **more}), file=log, flush=True)

    while not os.path.exists(os.environ["CYCLE_STOP"]):
        key = f"{name}-{dice.getrandbits(64):x}"
        bead = worker.next(key)
        if not bead:
            continue
        say("claimed", bead, key=key, notes=worker.notes(bead) if name.startswith("receiver") else None)
        again = worker.next(key) if dice.random() < 0.2 else None
        if again:
            say("again", again, key=key)
        time.sleep(dice.random() * 0.3)  # the work
        if not worker.note(bead, key + "-n"):
            say("lost", bead)
            continue
        chance = dice.random()
        if chance < 0.2:
            say("released", bead)
            worker.release(bead)
        elif chance < 0.4:
            # An offer through MCP lasts so long that a receiver that never appears would keep the bead until the end.
            to = dice.choice([f"receiver-{other}" for other in INTERFACES if f"receiver-{other}" != name] + ["gone"] * (interface != "mcp"))
            within = 600 if interface == "mcp" else WITHIN
            say("handing", bead, to=to, within=within)
            handed = worker.hand_over(bead, to, f"go on here, {to}", key + "-h")
            say("handed" if handed else "lost", bead, to=to)
        else:
            say("closing", bead)
            say("closed" if worker.done(bead, key + "-d") else "lost", bead)


def check(logs, cancelled, kills):
    """Returns the problems found in the logs of all workers, and the offers.

    `cancelled` has the time at which each bead was cancelled, `kills` who was killed when.
    """
    problems, claims, keys, offers = [], {}, {}, []
    for path in logs:
        open_claim, handing = None, None
        for line in open(path):
            try:
                event = json.loads(line)
            except ValueError:
                continue  # the worker was killed while it wrote
            what, claim = event["what"], (event["id"], event["fence"])
            if what in ("claimed", "again") and keys.setdefault(event["key"], claim) != claim:
                problems.append(f"request id {event['key']} was answered twice: {keys[event['key']]} and {claim}")
            if event["at"] > cancelled.get(event["id"], float("inf")) and what == "claimed":
                problems.append(f"{event['id']}: {path} got it after it was cancelled")
            if what == "closed" and event["id"] in cancelled:
                problems.append(f"{event['id']}: {path} closed it although it was cancelled")
            if what == "claimed":
                claims.setdefault(event["id"], []).append([event["at"], None, event["fence"], path, False])
                open_claim = claims[event["id"]][-1]
                open_claim.append(event.get("notes"))
            elif what == "handing":
                handing = event
                if open_claim:
                    open_claim[1] = event["at"]
            elif what == "handed" and handing:
                offers.append({**handing, "path": path, "taken": None})
            elif open_claim and what in ("released", "closing", "lost"):
                open_claim[1] = event["at"]
            elif open_claim and what == "closed":
                open_claim[4] = event["at"]
    for bead, all_claims in claims.items():
        all_claims.sort(key=lambda claim: claim[0])
        for (_, end, fence, path, closed, _), (start, _, later, other, _, _) in zip(all_claims, all_claims[1:]):
            if fence != later and end and start < end:
                problems.append(f"{bead}: {other} got it at {start}, while {path} held it until {end}")
            if closed and start > closed:
                problems.append(f"{bead}: {other} got it at {start}, after {path} had closed it at {closed}")
    return problems + check_offers(offers, claims, kills), offers


def check_offers(offers, claims, kills):
    """Checks that an offered bead goes to its receiver, with the text, or to anyone after the offer expired."""
    problems = []
    for offer in offers:
        later = [claim for claim in claims.get(offer["id"], []) if claim[0] > offer["at"]]
        if not later:
            continue  # closed or cancelled without another claim, or never finished
        start, _, _, path, _, notes = later[0]
        taker = os.path.basename(path)
        if taker == offer["to"]:
            offer["taken"] = start
            if f"go on here, {taker}" not in json.dumps(notes):
                problems.append(f"{offer['id']}: {taker} did not get the text of the offer, but {notes}")
            continue
        # A receiver that was killed, or whose daemon was killed, may have claimed it without a trace; then its lease expires.
        crashed = any(name in (offer["to"], "daemon") and offer["at"] < at < start for name, at in kills)
        free = offer["at"] + (min(offer["within"], LEASE) if crashed else offer["within"])
        if start < free - 0.01:
            problems.append(f"{offer['id']}: {taker} got it at {start}, offered to {offer['to']} at {offer['at']} for {offer['within']} s")
    return problems


def coverage(offers, kills):
    """Returns what the offers and crashes did not cover, and how many receivers were killed while an offer waited for them."""
    interface = lambda name: os.path.basename(name).rsplit("-", 1)
    senders = {name for offer in offers for name in interface(offer["path"]) if name in INTERFACES}
    takers = {offer["to"].split("-")[1] for offer in offers if offer["taken"]}
    crashed = [offer for offer in offers if offer["taken"] and any(offer["to"] == name and offer["at"] < at < offer["taken"] for name, at in kills)]
    missing = [f"no bead was handed over through {name}" for name in INTERFACES if name not in senders]
    missing += [f"no handed-over bead was claimed through {name}" for name in INTERFACES if name not in takers]
    if not crashed:
        missing.append("no receiver claimed its offer after a crash")
    return missing, len(crashed)


def offered(logs):
    """Returns the receivers of offers that are still open, according to the logs."""
    last = {}
    for path in glob.glob(os.path.join(logs, "*")):
        for line in open(path):
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if event["what"] in ("claimed", "handed") and event["at"] > last.get(event["id"], {"at": 0})["at"]:
                last[event["id"]] = event
    return sorted({event["to"] for event in last.values() if event["what"] == "handed"})


def main():
    work_dir, seed, beads = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    repo, logs, stop = (os.path.join(work_dir, name) for name in ("repo", "logs", "stop"))
    os.makedirs(logs)
    subprocess.run(["git", "init", "-q", repo], check=True)
    os.chdir(repo)
    os.environ.update(CYCLE_BD=BD, CYCLE_LOG=logs, CYCLE_STOP=stop, BD_RUNTIME_DIR=os.path.join(work_dir, "run"), HOME=work_dir)
    run(["--json", "config", "set", "claim.lease", f"{LEASE}s"])
    for number in range(beads):
        run(["--json", "create", f"bead {number}"])
    dice, workers, count, kills = random.Random(seed), {}, 0, []
    deadline = time.monotonic() + 300
    left, cancelled = beads, {}
    while left and time.monotonic() < deadline:
        for interface in INTERFACES:
            for role in ("worker", "receiver"):
                worker = workers.get((role, interface), (None, None))[1]
                if worker is None or worker.poll() is not None:
                    count += 1
                    name = f"receiver-{interface}" if role == "receiver" else f"{interface}-{count}"
                    arguments = [sys.executable, SELF, "worker", interface, name]
                    workers[role, interface] = name, subprocess.Popen(arguments, start_new_session=True, stderr=subprocess.DEVNULL)
        time.sleep(0.4)
        waiting = [worker for worker in workers.values() if worker[0] in offered(logs)]
        victim = dice.choice([*workers.values(), ("daemon", None), None])
        if waiting and dice.random() < 0.5:
            victim = dice.choice(waiting)
        if victim and victim[1]:
            os.killpg(victim[1].pid, signal.SIGKILL)
            victim[1].wait()
            kills.append((victim[0], time.monotonic()))
        elif victim:
            pid = run(["--json", "daemon", "status"]).get("pid")
            if pid:
                os.kill(pid, signal.SIGKILL)
                kills.append(("daemon", time.monotonic()))
        open_beads = run(["--json", "list", "--status", "open"]) or []
        if open_beads and dice.random() < 0.3:
            bead = dice.choice(open_beads)["id"]
            if "error" not in run(["--json", "cancel", bead, "--reason", "no longer needed"]):
                cancelled[bead] = time.monotonic()
        summary = run(["--json", "status"])["summary"]
        left = summary["total_issues"] - summary["closed_issues"]
    open(stop, "w").close()
    for _, worker in workers.values():
        try:
            worker.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
    problems, offers = check(glob.glob(os.path.join(logs, "*")), cancelled, kills)
    missing, crashed = coverage(offers, kills)
    problems += missing
    if left:
        problems.append(f"{left} beads were not finished in time")
    taken = sum(1 for offer in offers if offer["taken"])
    print(f"{beads} beads, {count} workers on four interfaces, {len(kills)} kills, {len(cancelled)} cancelled")
    print(f"{len(offers)} handed over, {taken} taken by their receivers, {crashed} of them after the receiver crashed; {len(problems)} problems")
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


SELF = os.path.abspath(__file__)
if sys.argv[1] == "worker":
    work(sys.argv[2], sys.argv[3])
else:
    main()

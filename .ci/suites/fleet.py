"""Eight machines, one Git remote, and everything that can go wrong between them.

usage: fleet.py BD EARLIER_BD DYNAMIC_BD WORKDIR SEED BEADS

Each machine has its own clone, home and daemon, and two workers: threads that run `bd`, claim beads with
`claim.scope = remote`, write a note under the claim's fence, and close. Machine 7 runs an earlier `bd` without claim refs,
which claims locally. The wall clocks of machines 1 and 2 are a day off: libfaketime shifts them, which needs a `bd` with
shared libraries. The parent kills daemons and commands, makes the connection cut requests and drop answers, and stops
machine 6 for longer than its lease.

The judge checks the logs of all workers: no bead is held by two confirmed claims at once, and in the end every acknowledged
note and close is on every machine, or among the conflicts.
"""
import atexit
import datetime
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

from fleet_server import Line, serve

BD, EARLIER_BD, DYNAMIC_BD = map(os.path.abspath, sys.argv[1:4])
WORK, SEED, BEADS = sys.argv[4], int(sys.argv[5]), int(sys.argv[6])
MACHINES, WORKERS, OLD, SLEEPER = 8, 2, 7, 6
LEASE_S = 12
LIMIT_S = 420
TAKEN = []
CLOCKS = {1: "+1d", 2: "-1d"}


class Machine:
    def __init__(self, number, url):
        self.number = number
        self.bd = EARLIER_BD if number == OLD else DYNAMIC_BD if number in CLOCKS else BD
        self.home = os.path.join(WORK, f"m{number}")
        self.repo = os.path.join(self.home, "repo")
        os.makedirs(self.home)
        subprocess.run(["git", "init", "-q", self.repo], check=True)
        subprocess.run(["git", "-C", self.repo, "remote", "add", "origin", url], check=True)
        self.environment = {
            **os.environ,
            "HOME": self.home,
            "XDG_STATE_HOME": os.path.join(self.home, "state"),
            "BD_RUNTIME_DIR": os.path.join(self.home, "run"),
            "GIT_CONFIG_GLOBAL": "/dev/null",
        }
        if number in CLOCKS:
            library = subprocess.run(["sh", "-c", "ls /usr/lib/*/faketime/libfaketime.so.1"], capture_output=True, text=True, check=True).stdout.strip()
            self.environment.update(LD_PRELOAD=library, FAKETIME=CLOCKS[number], FAKETIME_DONT_FAKE_MONOTONIC="1")
        self.running = set()
        for key, value in {
            "claim.scope": "local" if number == OLD else "remote",
            "claim.lease": f"{LEASE_S}s",
            # Half of the machines sync with the git program, half with the library.
            "sync.transport": "native" if number % 2 else "git",
            "sync.push_rate": "0",
            "sync.deadline": "20s",
        }.items():
            self.run("judge", "config", "set", key, value)

    def run(self, actor, *args):
        """Returns the answer, or None if the command was killed or printed nothing."""
        command = subprocess.Popen([self.bd, "--actor", actor, "--json", *args], cwd=self.repo, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.running.add(command)
        out, _ = command.communicate()
        self.running.discard(command)
        try:
            return json.loads(out)
        except ValueError:
            return None

    def daemon(self):
        return (self.run("judge", "daemon", "status") or {}).get("pid")

    def sync(self):
        answer = None
        for _ in range(10):
            answer = self.run("judge", "sync")
            if answer and "error" not in answer:
                return
        raise SystemExit(f"machine {self.number} cannot sync: {answer}")


def failed(answer):
    return answer is None or "error" in answer


def check_clock(machine):
    """Checks that the clock is really a day off: a static program ignores preloaded libraries."""
    bead = machine.run("judge", "create", "what time is it")
    made = datetime.datetime.fromisoformat(bead["created_at"].replace("Z", "+00:00")).timestamp()
    if abs(made - time.time()) < 43_200:
        raise SystemExit(f"the clock of machine {machine.number} was not shifted")
    machine.run("judge", "close", bead["id"])


class Worker(threading.Thread):
    def __init__(self, machine, number, stop):
        super().__init__(daemon=True)
        self.machine, self.stop = machine, stop
        self.actor = f"m{machine.number}-w{number}"
        self.dice = random.Random(f"{SEED}-{self.actor}")
        self.claims, self.notes, self.closes = [], [], []

    def run(self):
        while not self.stop.is_set():
            before = time.monotonic()
            # Half of the time, try the bead that another worker has just claimed.
            contested = TAKEN[-1] if TAKEN and self.dice.random() < 0.5 else None
            bead = self.machine.run(self.actor, "claim", contested or "--next")
            if failed(bead):
                time.sleep(0.3)
                continue
            claim = {"id": bead["id"], "fence": bead["fence"], "by": self.actor, "from": time.monotonic(), "confirmed": bead.get("confirmed") is True}
            # A holder may rely on its claim for one lease, counted from before the request.
            claim["to"] = before + LEASE_S
            self.claims.append(claim)
            TAKEN.append(bead["id"])
            self.work(bead["id"], bead["fence"], claim)

    def work(self, bead, fence, claim):
        # The machine without claim refs never waits; slow it down so that it does not do all the work.
        time.sleep(self.dice.random() * (8 if self.machine.number == OLD else 3))
        text = f"{self.actor} {self.dice.getrandbits(48):x}"
        if failed(self.machine.run(self.actor, "note", "add", bead, text, "--fence", fence)):
            return self.over(claim)
        self.notes.append((bead, text))
        if self.dice.random() < 0.1:
            if not failed(self.machine.run(self.actor, "unclaim", bead, "--fence", fence)):
                self.over(claim)
            return
        self.over(claim)
        if not failed(self.machine.run(self.actor, "close", bead, "--fence", fence)):
            self.closes.append(bead)

    def over(self, claim):
        claim["to"] = min(claim["to"], time.monotonic())


def trouble(machines, line, stop, dice):
    """Injects faults until `stop` is set. Returns how many of each kind."""
    did = {"daemon kills": 0, "command kills": 0, "sleeps": 0}
    asleep = None
    began = time.monotonic()
    while not stop.wait(0.5 + dice.random() * 1.5):
        line.cut, line.swallow, line.delay = dice.choice([(0, 0, 0.05), (0, 0, 0.2), (0.02, 0.02, 0.1), (0.1, 0.1, 0.3), (0.5, 0.2, 0.1)])
        machine = machines[dice.randrange(MACHINES)]
        if dice.random() < 0.3 and machine.number != SLEEPER:
            pid = machine.daemon()
            if pid:
                os.kill(pid, signal.SIGKILL)
                did["daemon kills"] += 1
        for command in list(machine.running)[:1]:
            if dice.random() < 0.3:
                command.kill()
                did["command kills"] += 1
        if asleep is None and time.monotonic() - began > 6:
            pid = machines[SLEEPER].daemon()
            if pid:
                os.kill(pid, signal.SIGSTOP)
                asleep = (pid, time.monotonic() + LEASE_S + 4)
                did["sleeps"] += 1
        elif asleep and asleep[1] < time.monotonic():
            wake(asleep[0])
            asleep = (None, float("inf"))
    if asleep and asleep[0]:
        wake(asleep[0])
    line.cut = line.swallow = line.delay = 0
    return did


def wake(pid):
    try:
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass


def held_twice(workers):
    """Returns pairs of confirmed claims of one bead whose times overlap."""
    claims = {}
    for worker in workers:
        for claim in worker.claims:
            if claim["confirmed"]:
                claims.setdefault(claim["id"], []).append(claim)
    pairs = []
    for all_claims in claims.values():
        all_claims.sort(key=lambda claim: claim["from"])
        for one, other in zip(all_claims, all_claims[1:]):
            if one["fence"] != other["fence"] and other["from"] < one["to"]:
                pairs.append((one, other))
    return pairs


def missing(machines, workers):
    """Returns acknowledged notes and closes that a machine lacks and machines that differ, and the beads whose close was
    overwritten and kept as a conflict."""
    problems, prints, overwritten = [], {}, set()
    for machine in machines:
        prints[machine.number] = machine.run("judge", "verify")["fingerprint"]
        exported = os.path.join(machine.home, "export.jsonl")
        machine.run("judge", "export", "-o", exported)
        beads = {bead["id"]: bead for bead in map(json.loads, open(exported))}
        # The earlier bd writes the status with a claim, so its stale claim can win over a close (ADR 13). The close must
        # then be among the conflicts. Two equal closes are one write there: neither lost to the other.
        lost_closes = {lost["bead"] for lost in machine.run("judge", "conflicts", "list", "--all") if lost.get("field") == "status" and "closed" in json.dumps(lost["value"])}
        for worker in workers:
            for bead, text in worker.notes:
                if text not in json.dumps(beads.get(bead, {})):
                    problems.append(f"machine {machine.number}: the note {text!r} on {bead} is missing")
            for bead in worker.closes:
                if beads.get(bead, {}).get("status") == "closed":
                    continue
                if bead in lost_closes:
                    overwritten.add(bead)
                else:
                    problems.append(f"machine {machine.number}: {bead} was closed by {worker.actor}, but is not closed and the close is not among the conflicts")
    if len(set(prints.values())) > 1:
        problems.append(f"the machines differ: {prints}")
    return problems, overwritten


def main():
    root = os.path.join(WORK, "remotes")
    subprocess.run(["git", "init", "-q", "--bare", os.path.join(root, "r.git")], check=True)
    subprocess.run(["git", "-C", os.path.join(root, "r.git"), "config", "http.receivepack", "true"], check=True)
    line = Line(SEED)
    server = serve(root, line)
    machines = [Machine(number, f"http://127.0.0.1:{server.server_port}/r.git") for number in range(MACHINES)]
    atexit.register(lambda: [machine.run("judge", "daemon", "stop") for machine in machines])
    for number in CLOCKS:
        check_clock(machines[number])
    for number in range(BEADS):
        machines[0].run("judge", "create", f"bead {number}")
    for machine in machines:
        machine.sync()
    stop, calm = threading.Event(), threading.Event()
    workers = [Worker(machine, number, stop) for machine in machines for number in range(WORKERS)]
    for worker in workers:
        worker.start()
    did = {}
    makers = threading.Thread(target=lambda: did.update(trouble(machines, line, calm, random.Random(SEED))))
    makers.start()
    deadline = time.monotonic() + LIMIT_S
    closed = set()
    while len(closed) < BEADS and time.monotonic() < deadline:
        time.sleep(0.5)
        closed = {bead for worker in workers for bead in worker.closes}
    calm.set()
    makers.join()
    stop.set()
    for worker in workers:
        worker.join()
    for machine in machines + machines:
        machine.sync()
    problems = [f"{one['id']} was held by {one['by']} until {one['to']:.3f} and by {other['by']} from {other['from']:.3f}, both confirmed" for one, other in held_twice(workers)]
    lacking, overwritten = missing(machines, workers)
    problems += lacking
    if len(closed) < BEADS:
        problems.append(f"{BEADS - len(closed)} beads were not closed in {LIMIT_S} s")
    claims = [claim for worker in workers for claim in worker.claims]
    confirmed = sum(claim["confirmed"] for claim in claims)
    print(f"{BEADS} beads, {MACHINES} machines, {len(claims)} claims ({confirmed} confirmed), {did}, requests {line.counts}, {len(overwritten)} closes kept as conflicts, {len(problems)} problems")
    print("\n".join(problems[:20]))
    for bead in {bead for worker in workers for bead in worker.closes if any(bead in problem for problem in problems)}:
        print(f"{bead}:", *(machines[0].run("judge", "log", bead) or []), sep="\n  ")
    sys.exit(1 if problems else 0)


main()

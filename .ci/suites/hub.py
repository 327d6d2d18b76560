"""A hub on PostgreSQL: the rules of its functions, and eight machines that use it.

usage: hub.py BD POSTGRES_BIN WORKDIR SEED BEADS [DYNAMIC_BD]

The wall clocks of machines 1 and 3 are a day off: libfaketime shifts them, which needs a `bd` with shared libraries.
The judge checks that no bead was held by two confirmed claims at once, that every acknowledged note and close is on every
machine or among the conflicts, and that all machines end with the same fingerprint.
"""
import concurrent.futures
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import hub_claims as claims
import hub_snapshots as snapshots
import hub_trials as trials
from hub_server import Cluster, Line, Pooler, shifted_clock

BD, PROGRAMS, WORK = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
SEED, BEADS = int(sys.argv[4]), int(sys.argv[5])
DYNAMIC_BD = os.path.abspath(sys.argv[6]) if len(sys.argv) > 6 else None
CLOCKS = {1: "+1d", 3: "-1d"} if DYNAMIC_BD else {}
MACHINES, LEASE_S, LIMIT_S = 8, 15, 100
STORE, A, B = "0" * 32, "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"
START = "0, '00000000-0000-0000-0000-000000000000'"
FAILED, QUIET = [], False


def check(name, holds, detail=""):
    if QUIET:
        FAILED.extend([] if holds else [name])
        return
    print(f"  {'ok  ' if holds else 'FAIL'} {name}" + ("" if holds else f": {detail}"), flush=True)
    if not holds:
        FAILED.append(name)


def rules(cluster):
    """The promises of the functions, tried with plain SQL as a member and as a stranger."""
    def member(text):
        return cluster.sql(text, "worker", check=False)

    def attach(replica, cursor=START, store=STORE, claims="[]"):
        return member(f"SELECT history, epoch, last_seq FROM beads.attach('{store}', 2, '{replica}', {cursor}, '{claims}')")

    def append(replica, seq, payload, claims="[]", epoch=1):
        return member(f"SELECT n || ' ' || token FROM beads.append('{STORE}', '{replica}', {epoch}, {seq}, 0, '{payload}', '{claims}')")

    def claim(replica, seq, cursor, names, holder="ann", epoch=1, request=None, lease=60000, above=0):
        array = "ARRAY[" + ",".join(f"'{name}'" for name in names) + "]"
        stamps = "ARRAY[" + ",".join(str(above) for _ in names) + "]::bigint[]"
        text = member(f"SELECT beads.claim('{STORE}', '{replica}', {epoch}, {seq}, '{request or seq}', {cursor}, '{holder}', {lease}, {array}, {stamps})")
        try:
            return json.loads(text)
        except ValueError:
            return {"error": text}

    check("nothing works before attach", "BH001" in append(A, 1, "x"), "")
    check("a wrong version is refused", "BH004" in member(f"SELECT beads.attach('{STORE}', 99, '{A}', {START}, '[]')"))
    check("attach creates the store", attach(A) == "same|1|0", attach(A))
    attach(B)
    first = append(A, 1, "one")
    check("the first delta has number 1", first.startswith("1 "), first)
    check("a repetition gets the first answer", append(A, 1, "one") == first)
    check("another payload under the same number is refused", "BH003" in append(A, 1, "other"))
    check("numbers have no gaps", append(B, 1, "two").startswith("2 "))
    token = first.split()[1]
    rows = member(f"SELECT count(*) FROM beads.fetch('{STORE}', '{B}', 1, 1, '{token}', 1000000)")
    check("a fetch returns what follows the cursor", rows == "1", rows)
    check("a foreign token is another history", "BH002" in member(f"SELECT beads.fetch('{STORE}', '{B}', 1, 1, '{B}', 1000000)"))
    check("tables are closed to members", "42501" in member("SELECT * FROM beads.delta"))
    check("inner functions are closed to members", "42501" in member("SELECT beads._new_epoch(1)"))
    check("strangers are refused", "42501" in cluster.sql("SELECT beads.status('x')", "stranger", check=False))
    check("other isolation levels are refused", "BH005" in member(f"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT beads.append('{STORE}', '{A}', 1, 9, 0, 'x', '[]')"))
    serial_commits(cluster)
    won = claim(A, 10, 9, ["x", "y"])
    check("the first free candidate is granted", won.get("status") == "granted" and won["index"] == 0, won)
    check("a claim is idempotent", claim(A, 10, 9, ["x", "y"]) == won)
    check("a copied machine does not get the answer of its original", "BH003" in claim(A, 10, 9, ["x", "y"], request="another").get("error", ""))
    other = claim(B, 10, 9, ["x", "y"], "bob")
    check("others get the next one", other.get("index") == 1, other)
    taken = claim(B, 11, 9, ["x"], "bob")
    check("a refusal is repeated, too", claim(B, 11, 9, ["x"], "bob") == taken)
    check("a held bead is not granted", taken.get("status") == "taken" and taken["holder"] == "ann", taken)
    released = json.dumps([{"lineage": "x", "state": "released", "ms": won["fence_ms"], "counter": won["fence_counter"], "left_ms": 0}])
    stale = json.dumps([{"lineage": "x", "state": "released", "ms": 1, "counter": 1, "left_ms": 0}])
    append(B, 12, "stale release", stale)
    check("a stale release frees nothing", claim(B, 13, 99, ["x"], "bob").get("status") == "taken")
    append(A, 14, "release", released)
    check("a caller that lacks the release is behind", claim(B, 15, 2, ["x"], "bob").get("status") == "behind")
    again = claim(B, 16, 99, ["x"], "bob")
    check("after the release it is granted", again.get("status") == "granted", again)
    check("fences grow", again.get("fence_ms", 0) > won["fence_ms"])
    short = claim(A, 17, 99, ["w"], lease=1)
    over = claim(B, 17, 99, ["w"], "bob")
    check("a lease is over by the clock of the database", over.get("status") == "granted" and over["fence_ms"] > short["fence_ms"], (short, over))
    last = claim(A, 18, 99, ["x"] * 255 + ["v"])
    check("256 candidates are tried in order", last.get("index") == 255, last)
    check("more are refused", "22023" in claim(A, 19, 99, ["x"] * 257).get("error", ""))
    far = claim(A, 19, 99, ["far"], above=4102444799999)
    check("a fence that no machine could read is not granted", far.get("status") == "taken", far)
    odd = [claim(A, 20, 99, ["odd"], holder).get("error", "granted") for holder in ("", "two\nlines", "x" * 257)]
    odd.append(claim(A, 20, 99, ["odd"], lease="NULL").get("error", "granted"))
    check("a holder or lease that no machine could read is refused", all("22023" in one for one in odd), odd)
    check("a grant has no payload", cluster.sql("SELECT count(*) FROM beads.delta WHERE lineage IS NOT NULL AND payload IS NOT NULL") == "0")
    snapshots.rules(cluster, member, check)
    claims.rules(cluster, member, check)
    member(f"SELECT beads.fence('{STORE}')")
    check("a new epoch requires an attach", "BH001" in append(A, 20, "x"))
    attach(A)
    settle = lambda replica: member(f"SELECT beads.settle('{STORE}', '{replica}', 2)")
    settle(A)
    check("grants are held until all have attached", claim(A, 20, 99, ["z"], epoch=2).get("status") == "hold")
    status = json.loads(member(f"SELECT beads.status('{STORE}')"))
    check("the status says for how many", status["holding"] and status["awaited_machines"] == 1 and status["hold_ms"] > 0, status)
    attach(B)
    check("and have appended what they have", claim(A, 21, 99, ["z"], epoch=2).get("status") == "hold")
    settle(B)
    status = json.loads(member(f"SELECT beads.status('{STORE}')"))
    check("the status says when they have", not status["holding"] and status["awaited_machines"] == 0, status)
    check("then they continue", claim(A, 22, 99, ["z"], epoch=2).get("status") == "granted")
    cluster.sql("UPDATE beads.store SET timeline = '00000000'")
    check("a changed timeline requires an attach", "BH001" in append(A, 23, "x", epoch=2))
    check("and raises the epoch", attach(A) == "same|3|22", attach(A))
    check("an unknown cursor is another history", attach(A, f"99, '{A}'").startswith("other|4"))
    cluster.sql("UPDATE beads.store SET member = 'pg_monitor'")
    check("a credential is kept to its store", "42501" in attach(A))
    cluster.sql("DELETE FROM beads.snapshot; DELETE FROM beads.fold; DELETE FROM beads.machine; DELETE FROM beads.claim; DELETE FROM beads.delta; DELETE FROM beads.gate; DELETE FROM beads.store")


def serial_commits(cluster):
    """A delta that waits to commit must not get a lower number than one that is visible before it."""
    order = []
    command = ["psql", "-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "worker", "-d", "postgres"]
    slow = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    slow.stdin.write(f"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT n FROM beads.append('{STORE}', '{A}', 1, 2, 0, 'slow', '[]');\n")
    slow.stdin.flush()
    number = int(slow.stdout.readline())

    def fast():
        order.append(cluster.sql(f"SELECT n FROM beads.append('{STORE}', '{B}', 1, 2, 0, 'fast', '[]')", "worker", check=False))

    thread = threading.Thread(target=fast)
    thread.start()
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND usename = 'worker'"
    while cluster.sql(waiting) == "0" and not order:
        pass
    check("an append waits for the one before it", not order, order)
    slow.stdin.write("COMMIT;\n")
    slow.stdin.close()
    slow.wait()
    thread.join()
    check("numbers follow the commits", order == [str(number + 1)], order)


def impatient(cluster):
    """A call that waits for another one is given up before its client is gone. Otherwise the calls of all machines, which are
    repeated, would take all connections of the server while one call waits for a standby."""
    for replica in (A, B):
        cluster.sql(f"SELECT beads.attach('{STORE}', 2, '{replica}', {START}, '[]')", "worker")
    call = lambda replica: f"SELECT n FROM beads.append('{STORE}', '{replica}', 1, 1, 0, 'x', '[]');\n"
    command = ["psql", "-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "worker", "-d", "postgres"]
    slow = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    slow.stdin.write("BEGIN ISOLATION LEVEL READ COMMITTED; " + call(A))
    slow.stdin.flush()
    slow.stdout.readline()
    calls = [call(B), f"SELECT beads.attach('{STORE}', 2, '{B}', {START}, '[]')"]
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        answers = list(pool.map(lambda text: cluster.sql("SET statement_timeout = '20s';\n" + text, "worker", check=False), calls))
    check("a call that waits too long for another one is given up", all("55P03" in answer for answer in answers), answers)
    slow.stdin.write("ROLLBACK;\n")
    slow.stdin.close()
    slow.wait()
    check("and then works again", cluster.sql(call(B), "worker", check=False) == "1")
    cluster.sql("DELETE FROM beads.machine; DELETE FROM beads.delta; DELETE FROM beads.gate; DELETE FROM beads.store")


class Machine:
    def __init__(self, number, remote, url, prepare=True):
        self.number, self.home = number, os.path.join(WORK, f"m{number}")
        self.repo = os.path.join(self.home, "repo")
        self.environment = {**os.environ, "HOME": self.home, "XDG_STATE_HOME": os.path.join(self.home, "state"), "BD_RUNTIME_DIR": os.path.join(self.home, "run"), "GIT_CONFIG_GLOBAL": "/dev/null"}
        self.environment.pop("BD_HUB_URL", None)
        self.bd = BD
        if number in CLOCKS:
            self.bd = DYNAMIC_BD
            self.environment.update(shifted_clock(CLOCKS[number]))
        if not prepare:
            return
        os.makedirs(self.home)
        subprocess.run(["git", "init", "-q", self.repo], check=True)
        subprocess.run(["git", "-C", self.repo, "remote", "add", "origin", remote], check=True)
        self.run("judge", "sync")
        # Git must not carry anything while the hub is tested.
        for key, value in {"sync.auto": "false", "sync.interval": "0", "claim.lease": f"{LEASE_S}s", "claim.timeout": "10s"}.items():
            self.run("judge", "config", "set", key, value)
        self.use(url)

    def use(self, url):
        self.run("judge", "config", "set", "hub.url", url)

    def call(self, actor, *args):
        """Returns the exit status and the answer, or None if there is none."""
        done = subprocess.run([self.bd, "--actor", actor, "--json", *args], cwd=self.repo, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        try:
            return done.returncode, json.loads(done.stdout)
        except ValueError:
            return done.returncode, None

    def run(self, actor, *args):
        return self.call(actor, *args)[1]

    def kill(self):
        pid = (self.run("judge", "daemon", "status") or {}).get("pid")
        if pid:
            os.kill(pid, signal.SIGKILL)

    def stop(self):
        self.run("judge", "daemon", "stop")

    def fingerprint(self):
        return (self.run("judge", "verify") or {}).get("fingerprint")


def wait_for(what, condition, seconds=30):
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            check(what, False, f"not within {seconds} s")
            return None
        time.sleep(0.005)
    return time.monotonic() - began


def spread(machines):
    """A write is everywhere within a second."""
    times = []
    for number in range(6):
        writer, reader = machines[number % MACHINES], machines[(number + 3) % MACHINES]
        name = f"bd-w{number}"
        writer.run("ann", "create", f"write {number}", "--id", name, "--type", "epic")
        took = wait_for(f"{name} arrives", lambda: isinstance(reader.run("judge", "show", name), list), 10)
        times.append(took or 10)
    print(f"  a write was seen on another machine after {sorted(times)[3] * 1000:.0f} ms (median, with the command that asks)")
    check("a write is everywhere within a second", sorted(times)[3] < 1, times)


def work(machine, worker, log, stop):
    actor = f"w{machine.number}.{worker}"
    while not stop.is_set():
        if random.random() < 0.1:
            # A command that is killed gives back what it was granted.
            command = subprocess.Popen([machine.bd, "--actor", actor, "claim", "--next"], cwd=machine.repo, env=machine.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            time.sleep(random.random() * 0.1)
            command.kill()
            command.communicate()
        _, claimed = machine.call(actor, "claim", "--next")
        if not claimed or "fence" not in claimed:
            if claimed and claimed.get("error", {}).get("code") == "nothing_ready" and stop.wait(0.3):
                return
            continue
        began = time.time()
        ends = began + LEASE_S
        name = claimed["id"]
        text = f"{actor} {began}"
        noted = machine.run(actor, "note", "add", name, text)
        closed = machine.run(actor, "close", name, "--fence", claimed["fence"])
        done = isinstance(closed, list)
        log.append((name, actor, claimed.get("confirmed"), began, min(time.time(), ends), done, text if noted and "error" not in noted else None))


def judged(log):
    twice = [(one, other) for one in log for other in log if one[0] == other[0] and one[1] < other[1] and one[2] and other[2] and one[3] < other[4] and other[3] < one[4]]
    check("no bead was held twice at once", not twice, twice[:3])


def failover(machines, cluster, line, lags):
    """A standby takes over while eight machines claim."""
    name = "asynchronous" if lags else "synchronous"
    standby = Cluster.standby_of(cluster, os.path.join(WORK, name))
    if not lags:
        cluster.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        cluster.sql("SELECT pg_reload_conf()")
        waited = wait_for("the standby is synchronous", lambda: cluster.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1")
        check("the status shows a synchronous standby", waited is not None and (machines[5].run("judge", "hub", "status") or {}).get("synchronous_standby"))
    for number in range(24):
        machines[number % MACHINES].run("ann", "create", f"{name} {number}", "--id", f"bd-{name[0]}{number:02}")
    wait_for("the beads arrive", lambda: len(machines[3].run("judge", "list", "--type", "task", "--limit", "0") or []) >= 24)

    def workers(machines, log, stop):
        threads = [threading.Thread(target=work, args=(machine, 9, log, stop)) for machine in machines]
        for thread in threads:
            thread.start()
        return threads

    log = trials.fail_over(machines, cluster, standby, lags, line, workers, check, wait_for)
    if not lags:
        standby.sql("ALTER SYSTEM RESET synchronous_standby_names")
        standby.sql("SELECT pg_reload_conf()")
    claimed = lambda: machines[1].call("late", "claim", "--next")[1] or {}
    last = {}
    granted = lambda: last.update(claimed()) or "fence" in last or last.get("error", {}).get("code") == "nothing_ready"
    check(f"{name}: grants continue after the failover", wait_for("a grant", granted, 70) is not None, last)
    judged(log)
    settle(machines, log)
    trials.come_back(machines, check, wait_for)
    return standby


def drain(machines, cluster, line):
    """Workers close all beads while daemons and the server are killed and the connection fails."""
    for number in range(BEADS):
        machines[number % MACHINES].run("ann", "create", f"work {number}", "--id", f"bd-{number:03}")
    log, stop, dice = [], threading.Event(), random.Random(SEED)
    left = lambda: [bead for bead in machines[7].run("judge", "list", "--all", "--type", "task") or [{}] if bead.get("status") != "closed"]
    with concurrent.futures.ThreadPoolExecutor(MACHINES * 2) as pool:
        jobs = [pool.submit(work, machine, worker, log, stop) for machine in machines for worker in range(2)]
        began, killed = time.monotonic(), 0
        line.faults = True
        while time.monotonic() - began < LIMIT_S and (killed < 4 or left()):
            time.sleep(1)
            if killed < 3:
                dice.choice(machines).kill()
            elif killed == 3:
                cluster.stop("immediate")
                cluster.start()
            killed += 1
        line.faults = False
        stop.set()
        for job in jobs:
            job.result()
    print(f"  {len(log)} claims on {BEADS} beads in {time.monotonic() - began:.0f} s")
    check("all beads are closed", not left(), left())
    judged(log)
    check("claims are confirmed", all(entry[2] for entry in log), [entry for entry in log if not entry[2]][:3])
    return log


def settle(machines, log):
    equal = wait_for("all machines are equal", lambda: len({machine.fingerprint() for machine in machines}) == 1, 40)
    check("all machines end with the same fingerprint", equal is not None, [machine.fingerprint() for machine in machines])
    conflicts = json.dumps(machines[0].run("judge", "conflicts", "list", "--all"))
    lost = []
    for name, _, _, _, _, done, text in log:
        shown = json.dumps(machines[3].run("judge", "show", name))
        if text and text not in shown and text not in conflicts:
            lost.append((name, text))
        if done and '"closed"' not in shown:
            lost.append((name, "closed"))
    check("every acknowledged write is on every machine", not lost, lost[:3])


def outage(machines, cluster):
    """Writes go on without the hub; claims follow hub.offline_claims."""
    one, other = machines[0], machines[1]
    one.run("ann", "create", "offline", "--id", "bd-off")
    wait_for("bd-off arrives", lambda: isinstance(other.run("judge", "show", "bd-off"), list))
    cluster.stop()
    wait_for("the outage is noticed", lambda: (one.run("judge", "hub", "status") or {}).get("away_ms") is not None)
    check("writes go on", "id" in (one.run("ann", "create", "written offline", "--id", "bd-off2") or {}))
    status, refused = one.call("ann", "claim", "bd-off")
    check("claims are refused", status == 22 and refused["error"]["code"] == "hub_unreachable", refused)
    check("the refusal says for how long", isinstance(refused["error"]["details"].get("away_ms"), int), refused)
    one.run("judge", "config", "set", "hub.offline_claims", "git")
    claimed = one.run("ann", "claim", "bd-off") or {}
    check("or made without confirmation", claimed.get("confirmed") is False, claimed)
    one.run("judge", "config", "set", "hub.offline_claims", "refuse")
    cluster.start()
    took = wait_for("changes catch up", lambda: isinstance(other.run("judge", "show", "bd-off2"), list))
    check("changes catch up", took is not None)
    held = wait_for("the offline claim arrives", lambda: (other.run("judge", "show", "bd-off") or [{}])[0].get("assignee") == "ann")
    check("the offline claim is known to the others", held is not None)


def conflict(machines):
    """Concurrent writes are recorded; writes that knew each other are not."""
    one, other = machines[2], machines[3]
    before = len(one.run("judge", "conflicts", "list", "--all") or [])
    one.run("ann", "create", "first", "--id", "bd-con")
    wait_for("bd-con arrives", lambda: isinstance(other.run("judge", "show", "bd-con"), list))
    other.run("bob", "update", "bd-con", "--title", "second")
    wait_for("the title arrives", lambda: (one.run("judge", "show", "bd-con") or [{}])[0].get("title") == "second")
    one.run("ann", "update", "bd-con", "--title", "third")
    wait_for("the title arrives", lambda: (other.run("judge", "show", "bd-con") or [{}])[0].get("title") == "third")
    check("writes that knew each other do not conflict", len(one.run("judge", "conflicts", "list", "--all") or []) == before)


def pooled(machine, others, cluster, steady):
    # A pooler drops the settings of a session, so the role must have the right isolation level.
    cluster.sql("ALTER ROLE worker SET default_transaction_isolation = 'read committed'")
    pooler = Pooler(cluster, os.path.join(WORK, "pooler"))
    machine.use(cluster.url(pooler.port))
    status = lambda: machine.run("judge", "hub", "status") or {}
    wait_for("the machine attaches through the pooler", lambda: status().get("attached"), 20)
    others[2].run("ann", "create", "behind a pooler", "--id", "bd-pooled", "--priority", "0")
    check("behind a transaction pooler a machine gets what others write", trials.arrives(wait_for, machine, "bd-pooled") is not None)
    check("and notices that nothing announced it", wait_for("polling begins", lambda: status().get("polls"), 20) is not None, status())
    claimed = machine.run("ann", "claim", "bd-pooled") or {}
    check("and its claims are decided", claimed.get("confirmed") is True, claimed)
    machine.run("ann", "close", "bd-pooled")
    machine.use(cluster.url(steady.port))
    wait_for("the machine is attached again", lambda: status().get("attached"))
    pooler.stop()
    cluster.sql("ALTER ROLE worker RESET default_transaction_isolation")


def alone(machine):
    """A command without a daemon connects for itself, and says what that costs."""
    machine.stop()
    machine.environment["BD_NO_DAEMON"] = "1"
    machine.run("ann", "create", "claimed alone", "--id", "bd-alone")
    command = [BD, "--actor", "ann", "claim", "bd-alone"]
    began = time.monotonic()
    while True:
        done = subprocess.run(command, cwd=machine.repo, env=machine.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        # The swapped addresses before have started an epoch.
        if done.returncode == 0 or time.monotonic() - began > 75:
            break
    check("a claim without a daemon is decided by the hub", done.returncode == 0, done.stderr)
    check("and says what that costs", "connected to the hub for this claim alone" in done.stderr, done.stderr)
    del machine.environment["BD_NO_DAEMON"]


def upkeep(machines):
    """Renewals and releases go through the hub; close --claim-next and the next tool of MCP are decided by it."""
    one, other = machines[6], machines[7]
    for number in range(3):
        one.run("ann", "create", f"chain {number}", "--id", f"bd-chain{number}", "--priority", "0")
    wait_for("the chain arrives", lambda: isinstance(other.run("judge", "show", "bd-chain2"), list))
    claimed = one.run("ann", "claim", "bd-chain0") or {}
    before = claimed.get("expires") or claimed.get("assignee_expires")
    renewed = one.run("ann", "renew", "bd-chain0", "--lease", "60s")
    ends = lambda: ((other.run("judge", "show", "bd-chain0") or [{}])[0]).get("assignee_expires")
    check("a renewal reaches the others", wait_for("the renewal", lambda: (ends() or "") > (before or "")) is not None, (claimed, renewed))
    both = one.run("ann", "close", "bd-chain0", "--claim-next") or {}
    check("close --claim-next is confirmed", (both.get("claimed") or {}).get("confirmed") is True, both)
    name = (both.get("claimed") or {}).get("id", "bd-chain1")
    one.run("ann", "unclaim", name)
    free = lambda: (other.run("bob", "claim", name) or {}).get("confirmed")
    check("a release frees the bead for others", wait_for("the release", free) is not None)
    name = next_through_mcp(one)
    _, refused = other.call("bob", "claim", name)
    check("next of MCP is decided by the hub", (refused or {}).get("error", {}).get("code") == "already_claimed", (name, refused))


def next_through_mcp(machine):
    """Claims through an MCP server, which ends without closing its input in an orderly way, and returns the bead's id."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "mcp-agent", "version": "1"}}
    server = subprocess.Popen([BD, "--actor", "mcp-agent", "mcp"], cwd=machine.repo, env=machine.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        for number, (method, parameters) in enumerate([("initialize", hello), ("tools/call", {"name": "next", "arguments": {}})]):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}) + "\n")
            server.stdin.flush()
            answer = {}
            while answer.get("id") != number:
                answer = json.loads(server.stdout.readline())
        claimed = answer.get("result", {}).get("structuredContent", {})
        check("next of MCP is confirmed", claimed.get("confirmed") is True, answer)
        return claimed.get("id", "")
    finally:
        server.kill()
        server.wait()


def other_encoding(cluster):
    """Names in other scripts could not be stored there."""
    cluster.sql("CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    url = cluster.url(user="postgres").replace("/postgres?", "/latin?")
    done = subprocess.run([BD, "hub", "init", url], capture_output=True, text=True)
    check("a database without UTF8 is refused", done.returncode != 0 and "UTF8" in done.stderr, done.stderr)


def main():
    global QUIET
    cluster = Cluster(PROGRAMS, os.path.join(WORK, "cluster"), BD)
    machines, clusters = [], [cluster]
    try:
        cluster.install(cluster.url(user="postgres"))
        subprocess.run([BD, "hub", "upgrade", cluster.url(user="postgres")], check=True, stdout=subprocess.DEVNULL)
        cluster.sql("CREATE ROLE worker LOGIN; GRANT beads_member TO worker; CREATE ROLE stranger LOGIN")
        print("the functions", flush=True)
        sql = subprocess.run([BD, "hub", "init", "--print-sql"], check=True, capture_output=True, text=True).stdout
        cluster.installed = sql
        rules(cluster)
        impatient(cluster)
        other_encoding(cluster)

        def quietly(cluster):
            global QUIET
            QUIET, before = True, len(FAILED)
            try:
                rules(cluster)
            except (KeyError, RuntimeError, ValueError) as error:
                FAILED.append(str(error))
            QUIET, failed = False, FAILED[before:]
            del FAILED[before:]
            return failed

        trials.planted(cluster, sql, quietly, check)
        remote = os.path.join(WORK, "remote.git")
        subprocess.run(["git", "init", "-q", "--bare", remote], check=True)
        line, steady = Line(cluster.port, SEED), Line(cluster.port, SEED)
        first = Machine(0, remote, cluster.url(steady.port))
        machines.append(first)
        # The store's id is minted by the first machine that uses a hub, and travels with Git.
        first.run("judge", "sync")
        machines += [Machine(number, remote, cluster.url((line if number < 4 else steady).port)) for number in range(1, MACHINES)]
        for machine in machines:
            wait_for(f"machine {machine.number} attaches", lambda: (machine.run("judge", "hub", "status") or {}).get("attached"))
        ids = {(machine.run("judge", "hub", "status") or {}).get("store") for machine in machines}
        check("all machines have the same store id", len(ids) == 1, ids)
        # It sleeps until compaction has passed it.
        sleeper = Machine(20, remote, cluster.url(steady.port))
        wait_for("machine 20 attaches", lambda: (sleeper.run("judge", "hub", "status") or {}).get("attached"))
        sleeper.stop()
        # Grants are held at most this long for a machine that is gone.
        cluster.sql("UPDATE beads.store SET longest_lease = '20 seconds'")
        print("eight machines", flush=True)
        trials.skewed(machines, CLOCKS, check)
        spread(machines)
        conflict(machines)
        upkeep(machines)
        trials.waiting(BD, machines, check, wait_for)
        trials.carried(lambda: Machine(50, remote, ""), machines, check, wait_for)
        log = drain(machines, cluster, line)
        settle(machines, log)
        print("an outage", flush=True)
        outage(machines, cluster)
        print("a pooler, wrong addresses, copies", flush=True)
        pooled(machines[4], machines, cluster, steady)
        trials.foreign_transaction(machines, cluster, check, wait_for)
        name = trials.swapped(machines[5], cluster, steady, check, wait_for)
        check("what was written elsewhere is carried back", trials.arrives(wait_for, machines[2], name) is not None)
        empty = os.path.join(WORK, "empty.git")
        subprocess.run(["git", "init", "-q", "--bare", empty], check=True)
        trials.stranger(lambda: Machine(30, empty, cluster.url(steady.port)), cluster, check, wait_for)
        machines.append(trials.copied(machines, 6, lambda number: Machine(number, remote, "", prepare=False), check, wait_for))
        trials.secret(lambda: Machine(31, empty, ""), cluster, check, wait_for)
        trials.fenced(machines, check, wait_for)
        print("deltas that cannot be used", flush=True)
        trials.hostile(machines, cluster, START, check, wait_for)
        print("a database that does not do what it is asked for", flush=True)
        broken = Line(cluster.port, SEED)
        trials.unusable(lambda: Machine(80, remote, ""), machines, cluster, broken, check, wait_for)
        alone(machines[0])
        print("a snapshot in parts", flush=True)
        snapshots.interrupted(machines, cluster, [line, steady], lambda: trials.fill(machines[4]), check, wait_for)
        snapshots.caught_up(sleeper, cluster, steady, "bd-off2", check, wait_for)
        sleeper.stop()
        snapshots.upgraded(lambda number=0: Machine(60 + number, remote, ""), machines, cluster, check, wait_for)
        settle(machines, [])
        print("a clock that is a day ahead", flush=True)
        ahead = Cluster(PROGRAMS, os.path.join(WORK, "ahead"), BD, "+1d")
        clusters.append(ahead)
        ahead.install(ahead.url(user="postgres"))
        ahead.sql("CREATE ROLE worker LOGIN; GRANT beads_member TO worker")
        trials.clocks(lambda number: Machine(number, remote, ahead.url()), ahead, check, wait_for)
        print("a standby that lacks the last second", flush=True)
        for machine in machines[1:4]:
            machine.use(cluster.url(steady.port))
        standby = failover(machines, cluster, steady, lags=True)
        clusters.append(standby)
        print("a synchronous standby", flush=True)
        clusters.append(failover(machines, standby, steady, lags=False))
        status = machines[5].run("judge", "hub", "status")
        check("the status shows the hub", status["reachable"] and status["machines"] >= MACHINES and status["lag"] is not None, status)
    finally:
        for machine in machines:
            machine.stop()
        for one in clusters:
            try:
                one.stop("immediate")
            except subprocess.CalledProcessError:
                pass
    print("failed: " + ", ".join(FAILED) if FAILED else "hub: everything holds")
    sys.exit(bool(FAILED))


if __name__ == "__main__":
    main()

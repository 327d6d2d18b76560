"""How many deltas a second eight daemons append to one hub, beside plain INSERTs of the same bytes in the same run.

usage: hub_bench.py BD POSTGRES_BIN WORKDIR SEED BEADS

A create is a delta. Each machine has one client that creates beads through the socket, BATCH at a time, as fast as its daemon
answers.
- While all create: from the first request until the last create was acknowledged, until the hub had everything, and until
  every machine had everything.
- A backlog: the machines are kept out of the hub while they create, and then all append at once. Counted from the moment at
  which they may, until the hub has everything.
Times in the hub are those of its commits. Processor time is that of all daemons and of the server. Then warm commands are
timed with a hub and without, in turns, on two copies of one machine, with the processor time of their daemons.
"""
import json
import os
import shutil
import socket
import statistics
import subprocess
import threading
import time

import hub
from hub_server import Cluster

BATCH, REQUESTS = 100, 25
WARM = 400
TOTAL = hub.MACHINES * BATCH * REQUESTS
# The clock of the processor time in /proc.
TICKS = os.sysconf("SC_CLK_TCK")


class Client:
    """One connection to the daemon of a machine."""

    def __init__(self, machine):
        self.machine = machine
        machine.run("ann", "count")
        path = machine.run("ann", "where")["socket"]
        status = machine.run("ann", "daemon", "status")
        self.version, self.pid = status["version"], status["pid"]
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.reader = self.socket.makefile("rb")

    def ask(self, request, call):
        line = {"client": self.version, "actor": f"w{self.machine.number}", "request_id": request, "call": call, "output": {"format": "value"}}
        self.socket.sendall(json.dumps(line).encode() + b"\n")
        header = json.loads(self.reader.readline())
        if header.get("error"):
            raise RuntimeError(header)
        body = self.reader.read(header["body"]) if header.get("body") else b""
        return header, body

    def create(self, request):
        number = self.machine.number
        ops = [{"op": "create", "title": f"Bead {one} of request {request} on machine {number}", "description": "What has to be done. " * 20} for one in range(BATCH)]
        self.ask(f"bench-{number}-{request}", {"mutate": {"ops": ops}})

    def count(self):
        header, _ = self.ask(None, {"query": {"count": {"filter": {}, "by": None}}})
        return header["result"]["count"]


def create_all(clients, name):
    """Creates TOTAL beads, with one thread per machine."""
    create = lambda client: [client.create(f"{name}-{request}") for request in range(REQUESTS)]
    threads = [threading.Thread(target=create, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def processor_seconds(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
    except FileNotFoundError:
        # A connection that has just ended; its time is among those of its parent.
        return 0
    # Its own time and that of its children that have ended.
    return sum(int(field) for field in fields[11:15]) / TICKS


def usage(clients, cluster):
    """Processor seconds of the daemons, and of the server with its connections."""
    with open(os.path.join(cluster.data, "postmaster.pid")) as file:
        server = int(file.readline())
    children = subprocess.run(["pgrep", "-P", str(server)], capture_output=True, text=True).stdout.split()
    return sum(processor_seconds(client.pid) for client in clients), sum(processor_seconds(pid) for pid in [server, *children])


def last_commit(cluster):
    return float(cluster.sql("SELECT extract(epoch FROM max(pg_xact_commit_timestamp(xmin))) FROM beads.delta"))


def wait_until(condition):
    while not condition():
        time.sleep(0.05)
    return time.time()


def appended(cluster, machines):
    """Waits until nothing is left to append, and returns when the last delta was committed."""
    wait_until(lambda: all(machine.run("judge", "hub", "status").get("unsent") is False for machine in machines))
    return last_commit(cluster)


def report(name, rate, seconds):
    print(f"  {name:<28} {seconds:6.2f} s  {rate:8.0f} deltas/s", flush=True)


def while_creating(clients, machines, cluster):
    before = int(cluster.sql("SELECT count(*) FROM beads.delta"))
    used = usage(clients, cluster)
    begin = time.time()
    create_all(clients, "live")
    acknowledged = time.time()
    everywhere = wait_until(lambda: all(client.count() >= TOTAL for client in clients))
    used = [(now - then) / TOTAL * 1e6 for now, then in zip(usage(clients, cluster), used)]
    in_hub = appended(cluster, machines)
    rows, size = cluster.sql("SELECT count(*), coalesce(avg(length(payload)), 0)::int FROM beads.delta").split("|")
    rows, size = int(rows) - before, int(size)
    print(f"{TOTAL} creates by {hub.MACHINES} daemons, {BATCH} in a request: {rows} appends of {size} bytes")
    for name, end in (("acknowledged", acknowledged), ("in the hub", in_hub), ("on all machines", everywhere)):
        report(name, TOTAL / (end - begin), end - begin)
    print(f"  processor time per delta: {used[0]:.0f} us in {hub.MACHINES} daemons, {used[1]:.0f} us in the server", flush=True)
    raw = raw_insert_rate(cluster, max(rows, 400), size)
    print(f"  plain INSERTs of the same size: {raw:.0f} rows/s; appends: {rows / (in_hub - begin):.0f} rows/s", flush=True)


def backlog(clients, machines, cluster):
    """Keeps the machines out while they create, and lets all of them in at once."""
    cluster.sql("ALTER ROLE worker NOLOGIN; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'worker'")
    before = int(cluster.sql("SELECT count(*) FROM beads.delta"))
    create_all(clients, "backlog")
    command = ["psql", "-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "postgres", "-d", "postgres"]
    gate = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    gate.stdin.write("BEGIN; SELECT store FROM beads.gate FOR UPDATE;\n")
    gate.stdin.flush()
    gate.stdout.readline()
    cluster.sql("ALTER ROLE worker LOGIN")
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'worker' AND wait_event_type = 'Lock'"
    wait_until(lambda: int(cluster.sql(waiting)) >= hub.MACHINES)
    used = usage(clients, cluster)
    begin = time.time()
    gate.stdin.write("COMMIT;\n")
    gate.stdin.close()
    everywhere = wait_until(lambda: all(client.count() >= 2 * TOTAL for client in clients))
    gate.wait()
    used = [(now - then) / TOTAL * 1e6 for now, then in zip(usage(clients, cluster), used)]
    in_hub = appended(cluster, machines)
    rows = int(cluster.sql("SELECT count(*) FROM beads.delta")) - before
    print(f"{TOTAL} deltas that {hub.MACHINES} daemons had made without the hub: {rows} appends")
    report("in the hub", TOTAL / (in_hub - begin), in_hub - begin)
    report("on all machines", TOTAL / (everywhere - begin), everywhere - begin)
    print(f"  processor time per delta: {used[0]:.0f} us in {hub.MACHINES} daemons, {used[1]:.0f} us in the server", flush=True)


def own_nanoseconds(machine):
    """The processor time of a machine's daemon, over all of its threads."""
    tasks = f"/proc/{machine.run('ann', 'daemon', 'status')['pid']}/task"
    total = 0
    for task in os.listdir(tasks):
        with open(f"{tasks}/{task}/schedstat") as file:
            total += int(file.read().split()[0])
    return total


def warm_commands(with_hub, without):
    """Medians of `bd show` and `bd create` as processes, in turns on both machines, and the processor time of the daemons."""
    for verb in (["show", "bd-warm"], ["create", "One more"]):
        times = {with_hub: [], without: []}
        before = [own_nanoseconds(machine) for machine in times]
        for number in range(WARM):
            # Each machine is the first one in every second turn.
            for machine in list(times)[:: 1 if number % 2 else -1]:
                begin = time.perf_counter()
                machine.call("ann", *verb)
                times[machine].append(time.perf_counter() - begin)
        used = [(own_nanoseconds(machine) - then) / WARM / 1000 for machine, then in zip(times, before)]
        one, other = (statistics.median(own) * 1000 for own in times.values())
        print(f"  bd {verb[0]:<7} {one:6.2f} ms with a hub, {other:6.2f} ms without: {one / other:.2f} x; processor time of the daemon {used[0]:.0f} and {used[1]:.0f} us", flush=True)


def without_hub(machine, number):
    """Returns a copy of a machine that uses no hub."""
    machine.stop()
    plain = hub.Machine(number, "", "", prepare=False)
    shutil.copytree(machine.home, plain.home, symlinks=True)
    shutil.rmtree(os.path.join(plain.home, "run"), ignore_errors=True)
    plain.run("judge", "config", "unset", "hub.url")
    return plain


def raw_insert_rate(cluster, payloads, size):
    """Rows a second that eight connections insert into a table like `beads.delta`, without numbers, claims or answers."""
    cluster.sql("CREATE TABLE bench_delta (n bigserial PRIMARY KEY, token uuid DEFAULT gen_random_uuid(), payload bytea)")
    script = os.path.join(hub.WORK, "insert.sql")
    with open(script, "w") as file:
        file.write(f"INSERT INTO bench_delta (payload) VALUES (decode(repeat('5a', {size}), 'hex'));\n")
    each = max(1, payloads // hub.MACHINES)
    command = [os.path.join(hub.PROGRAMS, "pgbench"), "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "postgres", "-n", "-f", script, "-c", str(hub.MACHINES), "-j", "2", "-t", str(each), "postgres"]
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return each * hub.MACHINES / (time.monotonic() - begin)


def main():
    cluster, machines = Cluster(hub.PROGRAMS, os.path.join(hub.WORK, "first"), hub.BD), []
    try:
        cluster.sql("ALTER SYSTEM SET track_commit_timestamp = on")
        cluster.stop()
        cluster.start()
        cluster.install(cluster.url(user="postgres"))
        cluster.sql("CREATE ROLE worker LOGIN; GRANT beads_member TO worker")
        remote = os.path.join(hub.WORK, "remote.git")
        subprocess.run(["git", "init", "-q", "--bare", remote], check=True)
        for number in range(hub.MACHINES):
            machines.append(hub.Machine(number, remote, cluster.url()))
            machines[0].run("judge", "sync")
        for machine in machines:
            wait_until(lambda: (machine.run("judge", "hub", "status") or {}).get("attached"))
        clients = [Client(machine) for machine in machines]
        while_creating(clients, machines, cluster)
        backlog(clients, machines, cluster)
        prints = {machine.fingerprint() for machine in machines}
        print("  all machines have the same fingerprint" if len(prints) == 1 else f"  FINGERPRINTS DIFFER: {prints}", flush=True)
        # The others are on other machines in real life.
        for machine in machines[1:]:
            machine.stop()
        plain = without_hub(machines[0], 40)
        machines.append(plain)
        for machine in (machines[0], plain):
            machine.run("ann", "create", "Warm", "--id", "bd-warm")
        wait_until(lambda: machines[0].run("judge", "hub", "status").get("unsent") is False)
        warm_commands(machines[0], plain)
    finally:
        for machine in machines:
            machine.stop()
        cluster.stop("immediate")


main()

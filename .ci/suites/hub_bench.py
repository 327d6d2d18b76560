"""How many deltas a second eight daemons append to one hub, beside plain INSERTs of the same bytes in the same run.

usage: hub_bench.py BD POSTGRES_BIN WORKDIR SEED BEADS

Each machine has one client that creates beads through the socket, BATCH at a time, as fast as its daemon answers. A create is
a delta. Three times are taken from the first request: when the last create was acknowledged, when the hub had everything, and
when every machine had everything. Then warm commands are timed with and without a hub, in turns.
"""
import json
import os
import socket
import statistics
import subprocess
import threading
import time

import hub
from hub_server import Cluster

BATCH, REQUESTS = 100, 25
WARM = 200
TOTAL = hub.MACHINES * BATCH * REQUESTS


class Client:
    """One connection to the daemon of a machine."""

    def __init__(self, machine):
        self.machine = machine
        machine.run("ann", "count")
        path = machine.run("ann", "where")["socket"]
        self.version = machine.run("ann", "daemon", "status")["version"]
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.reader = self.socket.makefile("rb")

    def create(self, request):
        number = self.machine.number
        ops = [{"op": "create", "title": f"Bead {one} of request {request} on machine {number}", "description": "What has to be done. " * 20} for one in range(BATCH)]
        line = {"client": self.version, "actor": f"w{number}", "request_id": f"bench-{number}-{request}", "call": {"mutate": {"ops": ops}}, "output": {"format": "value"}}
        self.socket.sendall(json.dumps(line).encode() + b"\n")
        header = json.loads(self.reader.readline())
        if header.get("error"):
            raise RuntimeError(header)
        if header.get("body"):
            self.reader.read(header["body"])


def warm_commands(with_hub, without):
    """Medians of `bd show` and `bd create` as processes, in turns on both machines."""
    for verb in (["show", "bd-warm"], ["create", "One more"]):
        times = {with_hub: [], without: []}
        for _ in range(WARM):
            for machine, own in times.items():
                begin = time.perf_counter()
                machine.call("ann", *verb)
                own.append(time.perf_counter() - begin)
        one, other = (statistics.median(own) * 1000 for own in times.values())
        print(f"  bd {verb[0]:<7} {one:6.2f} ms with a hub, {other:6.2f} ms without: {one / other:.2f} x")


def count(machine):
    return machine.run("judge", "count")["count"]


def wait_until(condition):
    while not condition():
        time.sleep(0.02)
    return time.monotonic()


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
        threads = [threading.Thread(target=lambda client=client: [client.create(request) for request in range(REQUESTS)]) for client in clients]
        before = int(cluster.sql("SELECT count(*) FROM beads.delta"))
        begin = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        acknowledged = time.monotonic()
        appended = wait_until(lambda: all(machine.run("judge", "hub", "status").get("unsent") is False for machine in machines))
        everywhere = wait_until(lambda: all(count(machine) >= TOTAL for machine in machines))
        rows, size = cluster.sql("SELECT count(*), coalesce(avg(length(payload)), 0)::int FROM beads.delta").split("|")
        rows, size = int(rows) - before, int(size)
        raw = raw_insert_rate(cluster, max(rows, 400), size)
        print(f"{TOTAL} creates by {hub.MACHINES} daemons, {BATCH} in a request: {rows} appends of {size} bytes")
        for name, end in (("acknowledged", acknowledged), ("in the hub", appended), ("on all machines", everywhere)):
            print(f"  {name:<16} {end - begin:6.2f} s  {TOTAL / (end - begin):8.0f} deltas/s")
        print(f"  plain INSERTs of the same size: {raw:.0f} rows/s; appends: {rows / (appended - begin):.0f} rows/s")
        prints = {machine.fingerprint() for machine in machines[:hub.MACHINES]}
        print("  all machines have the same fingerprint" if len(prints) == 1 else f"  FINGERPRINTS DIFFER: {prints}")
        plain = hub.Machine(40, remote, "")
        plain.run("ann", "hub", "status")
        machines.append(plain)
        # The others are on other machines in real life.
        for machine in machines[1:hub.MACHINES]:
            machine.stop()
        for machine in (machines[0], plain):
            machine.run("ann", "create", "Warm", "--id", "bd-warm")
        warm_commands(machines[0], plain)
    finally:
        for machine in machines:
            machine.stop()
        cluster.stop("immediate")


main()

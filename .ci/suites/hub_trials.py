"""What may happen to a hub and its machines besides a faulty connection: copies, wrong addresses, foreign transactions,
compaction, a promoted standby, and SQL with planted bugs."""
import os
import shutil
import subprocess
import threading
import time


def arrives(wait_for, machine, name, seconds=30):
    return wait_for(f"{name} arrives", lambda: isinstance(machine.run("judge", "show", name), list), seconds)


def foreign_transaction(machines, cluster, check, wait_for):
    """A foreign transaction, open in the same database, hides nothing."""
    command = ["psql", "-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "postgres", "-d", "postgres"]
    foreign = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    foreign.stdin.write("BEGIN; CREATE TABLE public.foreign_work (x int); SELECT 1;\n")
    foreign.stdin.flush()
    foreign.stdout.readline()
    machines[2].run("ann", "create", "behind a transaction", "--id", "bd-foreign", "--type", "epic")
    check("a long foreign transaction hides nothing", arrives(wait_for, machines[5], "bd-foreign", 15) is not None)
    foreign.stdin.write("ROLLBACK;\n")
    foreign.stdin.close()
    foreign.wait()


def swapped(machine, cluster, steady, check, wait_for):
    """A wrong address mixes nothing, and the way back loses nothing."""
    cluster.sql("CREATE DATABASE other")
    url = cluster.url().replace("/postgres?", "/other?")
    cluster.install(url.replace("worker@", "postgres@"))
    attached = lambda: (machine.run("judge", "hub", "status") or {}).get("attached")
    machine.use(url)
    wait_for("the other database is attached", attached)
    machine.run("ann", "create", "written elsewhere", "--id", "bd-else", "--type", "epic")
    wait_for("it is appended there", lambda: not (machine.run("judge", "hub", "status") or {"unsent": True}).get("unsent"))
    machine.use(cluster.url(steady.port))
    wait_for("the first database is attached again", attached)
    return "bd-else"


def stranger(make, cluster, check, wait_for):
    """Another project on the same database sees nothing of this one."""
    other = make()
    other.run("ann", "create", "another project", "--id", "bd-own")
    wait_for("the other project is attached", lambda: (other.run("judge", "hub", "status") or {}).get("attached"))
    time.sleep(1)
    beads = [bead["id"] for bead in other.run("judge", "list", "--all") or []]
    check("two projects in one database do not mix", beads == ["bd-own"], beads)
    other.stop()


def copied(machines, source, make, check, wait_for):
    """A copied directory, with the identity of its original, draws a new one. Nothing of either is lost."""
    original = machines[source]
    original.stop()
    copy = make(len(machines))
    shutil.rmtree(copy.home, ignore_errors=True)
    shutil.copytree(original.home, copy.home, symlinks=True)
    shutil.rmtree(os.path.join(copy.home, "run"), ignore_errors=True)
    one, other = f"bd-copy{source}a", f"bd-copy{source}b"
    both = [threading.Thread(target=machine.run, args=("ann", "create", "by one of two", "--id", name, "--type", "epic")) for machine, name in ((original, one), (copy, other))]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    for name in (one, other):
        check(f"{name}, written by a copy or its original, is everywhere", arrives(wait_for, machines[7], name) is not None)
    return copy


def fill(machine):
    """Writes more than a megabyte, so that the deltas are folded into a snapshot."""
    for number in range(14):
        text = f"{number} " * 45_000
        machine.run("ann", "create", f"large {number}", "--id", f"bd-large{number}", "--type", "epic", "--description", text[:90_000])


def compacted(cluster, sleeper, check, wait_for, expected):
    """The deltas were folded by two machines, and a machine that slept meanwhile takes the snapshot."""
    folded = "SELECT count(*) FROM beads.snapshot WHERE confirmed"
    check("deltas are compacted", wait_for("a snapshot", lambda: cluster.sql(folded) != "0", 100) is not None)
    sleeper.run("judge", "list")
    check("a machine that compaction passed catches up", arrives(wait_for, sleeper, expected, 40) is not None)


def fail_over(machines, primary, standby, lags, line, drain, check, wait_for):
    """Kills the server during claims and promotes its standby, which may lack the last second."""
    log, stop = [], threading.Event()
    workers = drain(machines, log, stop)
    time.sleep(1.5)
    if lags:
        standby.stop()
        time.sleep(1)
    primary.stop("immediate")
    if lags:
        standby.start()
    standby.promote()
    line.target = standby.port
    line.cut()
    time.sleep(1)
    stop.set()
    for worker in workers:
        worker.join()
    attached = lambda machine: (machine.run("judge", "hub", "status") or {}).get("attached")
    for machine in machines:
        wait_for(f"machine {machine.number} attaches after the failover", lambda: attached(machine), 40)
    return log


PLANTED = {
    "numbering without the gate": ("PERFORM FROM beads.gate g WHERE g.store = s.number FOR UPDATE;\n    RETURN beads._attached", "RETURN beads._attached"),
    "retry without identity": ("IF p_seq > m.last_seq THEN RETURN NULL; END IF;", "RETURN NULL;"),
    "payload not compared": ("IF p_seq = m.last_seq AND m.last_digest = p_digest THEN", "IF p_seq = m.last_seq THEN"),
    "timeline ignored": (" OR s.timeline <> beads._timeline()", ""),
    "isolation level not checked": ("IF current_setting('transaction_isolation') <> 'read committed' THEN", "IF false THEN"),
    "ends not compared": ("IF row.ended_n > p_n THEN", "IF false THEN"),
}


def planted(cluster, sql, rules, check):
    """The rules notice every bug that is planted in the functions."""
    for name, (before, after) in PLANTED.items():
        assert sql.count(before) == 1, name
        cluster.sql("DROP SCHEMA beads CASCADE")
        cluster.sql(sql.replace(before, after))
        failed = rules(cluster)
        check(f"planted: {name}", bool(failed))
    cluster.sql("DROP SCHEMA beads CASCADE")
    cluster.sql(sql)

"""What may happen to a hub and its machines besides a faulty connection: copies, wrong addresses, foreign transactions,
compaction, a promoted standby, and SQL with planted bugs."""
import json
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


def fenced(machines, check, wait_for):
    """`bd hub fence` starts an epoch, and all machines attach again."""
    before = (machines[3].run("judge", "hub", "status") or {}).get("epoch")
    fence = machines[3].run("judge", "hub", "fence") or {}
    check("bd hub fence starts an epoch", fence.get("epoch") == (before or 0) + 1, (before, fence))
    machines[2].run("ann", "create", "after the fence", "--id", "bd-fenced", "--type", "epic")
    check("all machines attach again after bd hub fence", all(arrives(wait_for, machine, "bd-fenced") is not None for machine in machines))


def hostile(machines, cluster, start, check, wait_for):
    """A member appends what no machine can use. That holds back what follows it and nothing else, and an administrator removes it
    as docs/FLEET.md says."""
    store = (machines[0].run("judge", "hub", "status") or {}).get("store")
    rogue, epoch = "00000000-0000-0000-0000-0000000000ff", cluster.sql(f"SELECT epoch FROM beads.store WHERE id = '{store}'")
    cluster.sql(f"SELECT beads.attach('{store}', 2, '{rogue}', {start}, '[]')", "worker")
    payloads = [("what is no delta", "garbage"), ("a later format of the store", '{"version":1,"delta":{"format_version":99}}')]
    error = lambda machine: (machine.run("judge", "hub", "status") or {}).get("error") or ""
    for seq, (what, payload) in enumerate(payloads, 1):
        before, after = f"bd-before{seq}", f"bd-after{seq}"
        machines[1].run("ann", "create", "before it", "--id", before, "--type", "epic")
        arrives(wait_for, machines[2], before)
        number = cluster.sql(f"SELECT n FROM beads.append('{store}', '{rogue}', {epoch}, {seq}, 0, '{payload}', '[]')", "worker")
        named = f"delta {number} of machine {rogue}"
        told = wait_for(f"all machines refuse {what}", lambda: all(named in error(machine) for machine in machines), 40)
        check(f"all machines refuse {what}, and say which delta that is", told is not None, [error(machine) for machine in machines])
        check("what was before it is everywhere", all(isinstance(machine.run("judge", "show", before), list) for machine in machines))
        written = machines[2].run("ann", "create", "after it", "--id", after, "--type", "task") or {}
        check("writes go on", written.get("id") == after, written)
        status, refused = machines[2].call("ann", "claim", after)
        check("claims are refused with the reason", status == 22 and named in (refused or {}).get("error", {}).get("message", ""), refused)
        cluster.sql(f"""UPDATE beads.delta SET payload = convert_to('{{"version":1,"delta":{{}}}}', 'UTF8')
            WHERE n = {number} AND store = (SELECT number FROM beads.store WHERE id = '{store}')""")
        check("without it, they go on", all(arrives(wait_for, machine, after) is not None for machine in machines))
        machines[2].run("ann", "close", after)
    cluster.sql(f"DELETE FROM beads.machine WHERE replica = '{rogue}'")


def waiting(bd, machines, check, wait_for):
    """`bd watch` and a waiting claim see what another machine writes."""
    one, other = machines[0], machines[5]
    command = lambda *args: subprocess.Popen([bd, "--actor", "waiter", "--json", *args], cwd=one.repo, env=one.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    watch = command("watch", "--since", "0", "--timeout", "30s")
    claim = command("claim", "--next", "--label", "awaited", "--wait", "30s")
    # Other beads have arrived before, so the claim waits.
    time.sleep(1)
    began = time.monotonic()
    other.run("ann", "create", "awaited", "--id", "bd-awaited", "--label", "awaited")
    claimed = json.loads(claim.communicate()[0] or "{}")
    took = time.monotonic() - began
    check("a waiting claim gets what another machine creates", claimed.get("id") == "bd-awaited" and claimed.get("confirmed") is True, claimed)
    check("and does not wait for a poll", took < 5, took)
    seen = any(json.loads(line).get("id") == "bd-awaited" for line in watch.stdout)
    check("bd watch shows what another machine creates", seen)
    watch.kill()
    watch.communicate()
    one.run("waiter", "close", "bd-awaited")


def carried(make, machines, check, wait_for):
    """A machine with a hub and a remote carries changes both ways."""
    plain = make()
    plain.run("ann", "create", "through Git", "--id", "bd-git", "--type", "epic")
    plain.run("judge", "sync")
    machines[1].run("judge", "sync")
    check("what came through Git reaches the hub", arrives(wait_for, machines[3], "bd-git") is not None)
    machines[3].run("ann", "create", "through the hub", "--id", "bd-hub", "--type", "epic")
    arrives(wait_for, machines[1], "bd-hub")
    machines[1].run("judge", "sync")
    plain.run("judge", "sync")
    check("what came through the hub reaches Git", isinstance(plain.run("judge", "show", "bd-hub"), list))
    plain.stop()


def secret(make, cluster, check, wait_for):
    """A password comes from PGPASSFILE; without it the hub refuses, and it is neither stored nor shown."""
    word = "correct-horse-battery"
    rules = os.path.join(cluster.data, "pg_hba.conf")
    with open(rules) as file:
        text = file.read()
    with open(rules, "w") as file:
        file.write("host all keeper 127.0.0.1/32 scram-sha-256\n" + text)
    cluster.sql(f"CREATE ROLE keeper LOGIN PASSWORD '{word}'; GRANT beads_member TO keeper; SELECT pg_reload_conf()")
    machine = make()
    status = lambda: machine.run("judge", "hub", "status") or {}
    machine.use(cluster.url(user="keeper"))
    wait_for("the hub refuses a login without a password", lambda: status().get("error"))
    check("without a password there is no hub", not status().get("attached"), status())
    machine.stop()
    path = os.path.join(os.path.dirname(machine.home), "pgpass")
    with open(path, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(f"127.0.0.1:*:*:keeper:{word}\n")
    machine.environment["PGPASSFILE"] = path
    check("PGPASSFILE has the password", wait_for("a login with a password", lambda: status().get("attached")) is not None, status())
    shown = json.dumps([machine.run("judge", *args) for args in (["hub", "status"], ["config"], ["doctor"], ["status"])])
    machine.stop()
    stored = subprocess.run(["grep", "-rlF", word, machine.home], capture_output=True, text=True).stdout
    check("the password is neither stored nor shown", word not in shown and not stored, stored)


def clocks(make, cluster, check, wait_for):
    """The clock of the database is a day off. It alone judges leases."""
    one, other = make(70), make(71)
    for machine in (one, other):
        wait_for(f"machine {machine.number} attaches", lambda: (machine.run("judge", "hub", "status") or {}).get("attached"))
    one.run("ann", "create", "by the wrong clock", "--id", "bd-clock")
    arrives(wait_for, other, "bd-clock")
    held = one.run("ann", "claim", "bd-clock", "--lease", "5s") or {}
    check(f"a claim is confirmed by a clock that is {cluster.clock} off", held.get("confirmed") is True, held)
    _, refused = other.call("bob", "claim", "bd-clock")
    check("others are refused", (refused or {}).get("error", {}).get("code") == "already_claimed", refused)
    taken = lambda: (other.run("bob", "claim", "bd-clock") or {}).get("confirmed") is True
    check("the bead is free when the lease is over by that clock", wait_for("the end of the lease", taken, 20) is not None)
    closed = other.run("bob", "close", "bd-clock")
    check("and can be closed", isinstance(closed, list), closed)
    gone = lambda: (one.run("judge", "show", "bd-clock") or [{}])[0].get("status") == "closed"
    check("the close reaches the others", wait_for("the close", gone) is not None)
    one.stop()
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


def skewed(machines, clocks, check):
    """The wall clocks of some machines are a day off; everything else is judged as on the others."""
    for number, shift in clocks.items():
        name = f"bd-skew{number}"
        machines[number].run("ann", "create", "by a wrong clock", "--id", name, "--type", "epic")
        made = (machines[number].run("ann", "show", name) or [{}])[0].get("created_at", "")
        days = 1 if shift.startswith("+") else -1
        wanted = [time.strftime("%Y-%m-%d", time.gmtime(time.time() + days * 86400 - past)) for past in (0, 60)]
        # A clock that is behind never goes back behind what the store has.
        check(f"the clock of machine {number} is {shift} off", made[:10] in wanted or days < 0, made)


def unusable(make, machines, cluster, line, check, wait_for):
    """A database that is full, read-only, overloaded or closed to this machine, and a connection that is half open. Each time
    the status says what to do, writes go on, and the machine continues by itself."""
    cluster.sql("CREATE ROLE visitor LOGIN PASSWORD 'first'; GRANT beads_member TO visitor")
    rules = os.path.join(cluster.data, "pg_hba.conf")
    with open(rules) as file:
        text = file.read()
    with open(rules, "w") as file:
        file.write("host all visitor 127.0.0.1/32 scram-sha-256\n" + text)
    cluster.sql("SELECT pg_reload_conf()")
    machine = make()
    passwords = os.path.join(os.path.dirname(machine.home), "visitor")

    def password(word):
        with open(passwords, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(f"127.0.0.1:*:*:visitor:{word}\n")

    password("first")
    machine.stop()
    machine.environment["PGPASSFILE"] = passwords
    machine.use(cluster.url(line.port, "visitor"))
    error = lambda: ((machine.run("judge", "status") or {}).get("sync") or {}).get("hub_error") or {}
    attached = lambda: (machine.run("judge", "hub", "status") or {}).get("attached")
    wait_for("the visitor attaches", attached)
    full = """CREATE FUNCTION public.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.payload IS NOT NULL AND session_user = 'visitor' THEN
            RAISE EXCEPTION 'could not extend file "base/5/16400": No space left on device' USING ERRCODE = '53100'; END IF;
        RETURN NEW; END $$; GRANT EXECUTE ON FUNCTION public.full TO PUBLIC;
        CREATE TRIGGER full_disk BEFORE INSERT ON beads.delta FOR EACH ROW EXECUTE FUNCTION public.full()"""
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'visitor'"

    def freeze():
        line.frozen = True

    def thaw():
        line.frozen = False
        line.cut()

    cases = [
        ("a full disk", full, "DROP TRIGGER full_disk ON beads.delta; DROP FUNCTION public.full", "hub_unreachable", "free disk space"),
        ("a read-only database", "ALTER ROLE visitor SET default_transaction_read_only = on; " + end, "ALTER ROLE visitor RESET default_transaction_read_only; " + end, "hub_unreachable", "set hub.url to the primary"),
        ("a role without rights", "REVOKE beads_member FROM visitor", "GRANT beads_member TO visitor", "hub_refused", "GRANT beads_member"),
        ("a short statement timeout", "ALTER ROLE visitor SET statement_timeout = '1ms'; " + end, "ALTER ROLE visitor RESET statement_timeout; " + end, "hub_unreachable", "statement_timeout"),
        ("no connection left", "ALTER ROLE visitor CONNECTION LIMIT 0; " + end, "ALTER ROLE visitor CONNECTION LIMIT -1", "hub_unreachable", "max_connections"),
        ("a changed password", "ALTER ROLE visitor PASSWORD 'second'; " + end, lambda: password("second"), "hub_refused", "PGPASSFILE"),
        ("a connection that is half open", freeze, thaw, "hub_unreachable", "no answer"),
    ]
    do = lambda what: cluster.sql(what) if isinstance(what, str) else what()
    for number, (what, begin, stop, code, advice) in enumerate(cases):
        do(begin)
        name = f"bd-trouble{number}"
        written = machine.run("ann", "create", what, "--id", name, "--type", "epic") or {}
        check(f"with {what}, writes go on", written.get("id") == name, written)
        noticed = wait_for(f"{what} is noticed", lambda: error().get("code") == code and advice in error().get("message", ""), 60)
        check(f"with {what}, the status says what to do", noticed is not None, error())
        status, refused = machine.call("ann", "claim", name)
        check(f"with {what}, claims are refused", (refused or {}).get("error", {}).get("code") == "hub_unreachable", (status, refused))
        do(stop)
        check(f"after {what}, the write arrives", arrives(wait_for, machines[5], name, 60) is not None, error())
    machine.stop()


def fill(machine):
    """Writes more than a megabyte, so that the deltas are folded into a snapshot."""
    for number in range(14):
        text = f"{number} " * 45_000
        machine.run("ann", "create", f"large {number}", "--id", f"bd-large{number}", "--type", "epic", "--description", text[:90_000])


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


def come_back(machines, check, wait_for):
    """After another history, what the machines kept of the old one does not start an epoch at each start of a daemon."""
    epoch = lambda: (machines[0].run("judge", "hub", "status") or {}).get("epoch")
    before = epoch()
    for machine in machines:
        machine.kill()
        wait_for(f"machine {machine.number} comes back", lambda: (machine.run("judge", "hub", "status") or {}).get("attached"))
    check("daemons that start again begin no epoch", epoch() == before, (before, epoch()))


PLANTED = {
    "numbering without the gate": ("PERFORM FROM beads.gate g WHERE g.store = s.number FOR UPDATE;\n    RETURN beads._attached", "RETURN beads._attached"),
    "retry without identity": ("IF p_seq > m.last_seq THEN RETURN NULL; END IF;", "RETURN NULL;"),
    "payload not compared": ("IF p_seq = m.last_seq AND m.last_digest = p_digest THEN", "IF p_seq = m.last_seq THEN"),
    "timeline ignored": (" OR s.timeline <> beads._timeline()", ""),
    "isolation level not checked": ("IF current_setting('transaction_isolation') <> 'read committed' THEN", "IF false THEN"),
    "ends not compared": ("IF row.ended_n > p_n THEN", "IF false THEN"),
    "a half-written snapshot is read": ("FROM beads.fold f\n    WHERE f.store = s.number AND f.state = 'confirmed';\nEND", "FROM beads.fold f\n    WHERE f.store = s.number;\nEND"),
    "missing parts not noticed": ("IF found.digest IS NULL OR (found.parts, found.ends, found.digest) <> (p_parts, p_parts, p_digest) THEN", "IF false THEN"),
    "two replicas write at once": ("IF attempt.replica <> p_replica AND NOT beads._is_given_up(attempt) THEN RETURN NULL; END IF;", ""),
    "folds not compared": ("IF attempt.digest <> p_digest THEN", "IF false THEN"),
    "a replica confirms itself": (" AND f.replica <> p_replica FOR UPDATE", " FOR UPDATE"),
    "parts wait for the gate": ("DECLARE digest bytea := sha256(p_payload); s beads.store := beads._attached(p_store, p_replica, p_epoch);", "DECLARE digest bytea := sha256(p_payload); s beads.store := beads._entered(p_store, p_replica, p_epoch);"),
    "grants wait for nobody": ("IF beads._awaited(s) > 0 THEN", "IF false THEN"),
    "fences without a bound": ("IF fence >= 4102444800000 THEN CONTINUE; END IF;", ""),
    "holders not checked": ("IF coalesce(btrim(p_holder), '') = '' OR", "IF false AND"),
    "machines awaited by the clock of today": ("coalesce(max(m.seen) FILTER (WHERE m.seen <= now) - longest, '-infinity')", "now - longest"),
    "an outage before an epoch forgotten": ("    PERFORM beads._note_silence(s);\n", ""),
    "a hold replaced by another one": ("IF s.hold_until > now THEN since := least(since, s.awaited_since); END IF;", ""),
    "long leases never forgotten": ("longest_lease = longest,", "longest_lease = k.longest_lease,"),
    "a wrong clock prolongs holds": ("IF p_n > 0 THEN\n                UPDATE beads.store", "IF true THEN\n                UPDATE beads.store"),
    "offers kept to the machine that made them": ("((row.fence_counter & 65535) <> 47806\n            OR", "(false\n            OR"),
    "grants given twice to one name": ("((row.fence_counter & 65535) <> 47806\n            OR", "(true\n            OR"),
    "a claim owned by whoever repeats it": ("CASE WHEN coalesce((c->>'own')::boolean, true) THEN p_replica END", "p_replica"),
    "a claim ended for good": ("AND same AND p_seen < row.ended_n", "AND same"),
    "an ended claim revived": ("row.until IS NULL AND same AND p_seen < row.ended_n", "false"),
    "leases prolonged by an attach": ("IF p_n = 0 AND row.until IS NOT NULL AND same THEN", "IF false THEN"),
    "leases by the clock of a machine": ("coalesce((c->>'until_ms')::bigint - now_ms, (c->>'left_ms')::bigint)", "(c->>'left_ms')::bigint"),
    "machines never forgotten": ("interval '90 days'", "interval '900 days'"),
    "tables locked in another order": ("    IF to_regclass('beads.store') IS NOT NULL THEN\n        LOCK TABLE", "    LOCK TABLE beads.hub IN ACCESS EXCLUSIVE MODE;\n    IF to_regclass('beads.store') IS NOT NULL THEN\n        LOCK TABLE"),
    "proposals not left alone": ("f.replica = p_replica AND f.state = 'writing'\n    RETURNING", "f.replica = p_replica\n    RETURNING"),
}


def planted(cluster, sql, rules, check):
    """The rules notice every bug that is planted in the functions."""
    for name, (before, after) in PLANTED.items():
        assert sql.count(before) == 1, name
        cluster.sql("DROP SCHEMA beads CASCADE")
        cluster.installed = sql.replace(before, after)
        cluster.sql(cluster.installed)
        failed = rules(cluster)
        check(f"planted: {name}", bool(failed))
    cluster.sql("DROP SCHEMA beads CASCADE")
    cluster.installed = sql
    cluster.sql(sql)

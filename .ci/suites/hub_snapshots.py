"""Snapshots in parts: the rules of their functions, kills and cuts between parts, and a hub of version 1 that is upgraded."""
import hashlib
import json
import os
import subprocess

STORE, A, B = "1" * 32, "00000000-0000-0000-0000-00000000001a", "00000000-0000-0000-0000-00000000001b"
# The last commit whose hub has version 1.
VERSION_1 = "2c96b1f"
PARTS = ["abcd", "ef"]


def digest(parts):
    return hashlib.sha256(b"".join(hashlib.sha256(part.encode()).digest() for part in parts)).hexdigest()


def rules(cluster, member, check):
    """The promises of the functions, tried with plain SQL."""
    def call(name, replica, *arguments):
        return member(f"SELECT beads.{name}('{STORE}', '{replica}', 1{''.join(', ' + str(one) for one in arguments)})")

    def put(replica, token, part, text):
        return call("put_part", replica, f"'{token}'", part, f"'{text}'")

    def propose(token, parts=2, of=PARTS):
        return call("propose", A, f"'{token}'", parts, f"'{digest(of)}'")

    def confirm(replica, of=PARTS):
        return call("confirm", replica, 2, f"'{tokens[1]}'", f"'{digest(of)}'")

    def begin(replica, n=2, token=None):
        return call("begin_snapshot", replica, n, f"'{token or tokens[n - 1]}'", 4)

    def attach(replica):
        return member(f"SELECT history FROM beads.attach('{STORE}', 2, '{replica}', 0, '{A}', '[]')")

    def append(seq):
        return member(f"SELECT n || ' ' || token FROM beads.append('{STORE}', '{A}', 1, {seq}, 0, 'delta {seq}', '[]')").split()

    def written(parts=PARTS):
        token = begin(A)
        for part in reversed(range(len(parts))):
            put(A, token, part, parts[part])
        return token

    snapshot = lambda: call("snapshot", B)
    attach(A)
    attach(B)
    tokens = [append(seq)[1] for seq in range(1, 5)]
    check("a snapshot ends at a delta of this history", begin(A, token=B) == "")
    half = begin(A)
    check("two replicas do not write at once", begin(B) == "")
    put(A, half, 0, PARTS[0])
    check("a half-written snapshot is not read", snapshot() == "" and call("snapshot_part", B, f"'{half}'", 0) == "", snapshot())
    check("nor proposed", propose(half) == "incomplete")
    check("and no longer written", put(A, half, 1, PARTS[1]) == "f")
    late = written()
    check("parts of another replica are ignored", put(B, late, 0, "xxxx") == "f")
    check("a part over the size is refused", "22023" in put(A, late, 2, "12345"))
    check("a part that arrived damaged is noticed", propose(late, of=["abcd", "eg"]) == "incomplete")
    again = written()
    put(A, again, 0, PARTS[0])
    check("parts may arrive in any order and twice", propose(again) == "proposed")
    check("a proposal may be repeated", propose(again) == "proposed")
    check("a proposal is not read", snapshot() == "")
    check("nor changed", put(A, again, 0, "xxxx") == "f")
    check("its own replica does not confirm it", confirm(A) == "stale")
    check("a different fold refuses it", confirm(B, ["abcd", "eg"]) == "differs" and confirm(B) == "stale")
    check("deltas are kept", call("trim", B) in "tf" and cluster.sql(f"SELECT count(*) FROM beads.delta d JOIN beads.store s ON s.number = d.store WHERE s.id = '{STORE}'") == "4")
    final = written()
    propose(final)
    check("the same fold confirms it", confirm(B) == "confirmed")
    head = member(f"SELECT upto, parts, bytes, digest FROM beads.snapshot('{STORE}', '{B}', 1)")
    check("then it is read", head == f"2|2|6|{digest(PARTS)}", head)
    read = "".join(member(f"SELECT convert_from(beads.snapshot_part('{STORE}', '{B}', 1, '{final}', {part}), 'UTF8')") for part in range(2))
    check("all of it", read == "".join(PARTS), read)
    check("who has nothing begins with it", attach(B) == "behind")
    while call("trim", B) == "t":
        pass
    kept = cluster.sql(f"SELECT min(n), max(n), count(*) FROM beads.delta d JOIN beads.store s ON s.number = d.store WHERE s.id = '{STORE}'")
    check("covered deltas are deleted", kept == "3|4|2", kept)
    sizes = member(f"SELECT delta_bytes, snapshot_bytes, leftover FROM beads.compaction('{STORE}', '{B}', 1)")
    check("sizes count what is kept", sizes == f"{2 * (64 + len('delta 1'))}|6|f", sizes)
    check("numbers go on", append(5)[0] == "5")
    slow = begin(A, 4)
    put(A, slow, 0, "slow")
    cluster.sql("UPDATE beads.fold SET touched = touched - interval '2 minutes' WHERE state = 'writing'")
    check("a slow attempt is taken over", begin(B, 4) != "" and put(A, slow, 1, "late") == "f")
    while call("trim", B) == "t":
        pass
    parts = cluster.sql("SELECT count(*) FROM beads.snapshot")
    check("and its parts are deleted", parts == "2", parts)
    check("who reads the old one while a new one is confirmed begins again", call("snapshot_part", B, f"'{half}'", 0) == "")
    open_gate(cluster, lambda: put(A, begin(A, 4), 0, "free"), check)


def open_gate(cluster, write, check):
    """Parts are stored while another machine is behind the gate."""
    cluster.sql("UPDATE beads.fold SET touched = touched - interval '2 minutes' WHERE state = 'writing'")
    token = write()
    check("an abandoned attempt is replaced", token == "t", token)
    command = ["psql", "-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "postgres", "-d", "postgres"]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    holder.stdin.write("BEGIN; SELECT store FROM beads.gate FOR UPDATE;\n")
    holder.stdin.flush()
    holder.stdout.readline()
    attempt = cluster.sql("SELECT token FROM beads.fold WHERE state = 'writing'")
    stored = cluster.sql(f"SET statement_timeout = '5s'; SELECT beads.put_part('{STORE}', '{A}', 1, '{attempt}', 1, 'free')", "worker", check=False)
    check("a part does not wait for the gate", stored == "t", stored)
    holder.stdin.write("ROLLBACK;\n")
    holder.stdin.close()
    holder.wait()


def interrupted(machines, cluster, lines, fill, check, wait_for):
    """Daemons are killed while one of them writes a snapshot, then the server. Nothing half-written is believed, and nothing is
    left of it in the end."""
    attempt = "SELECT f.state, (SELECT count(*) FROM beads.snapshot k WHERE k.token = f.token) FROM beads.fold f WHERE f.state <> 'confirmed'"
    confirmed = "SELECT coalesce(max(upto), 0) FROM beads.fold WHERE state = 'confirmed'"
    before = cluster.sql(confirmed)
    cluster.sql("UPDATE beads.store SET part_bytes = 100000")

    def restart():
        cluster.stop("immediate")
        cluster.start()

    first = True
    for what, fault in (("daemons are killed", lambda: [machine.kill() for machine in machines]), ("the server is killed", restart)):
        struck, fired = [], []

        def strike(fault=fault, struck=struck, fired=fired):
            if not struck:
                struck.append(True)
                fault()
                fired.append(True)

        for line in lines:
            line.trap = (b"beads.put_part(", 4, strike)
        if first:
            fill()
            first = False
        check(f"a snapshot is written until {what}", wait_for("a snapshot is written", lambda: fired, 90) is not None)
        for line in lines:
            line.trap = None
        found = cluster.sql(attempt)
        check(f"after {what}, a part of it is there", found.startswith("writing|") and 0 < int(found.split("|")[1]) < 10, found)
        check("and not believed", cluster.sql(confirmed) == before)
        # So that the next machine need not wait for a minute.
        cluster.sql("UPDATE beads.fold SET touched = touched - interval '2 minutes' WHERE state = 'writing'")
        for machine in machines:
            wait_for(f"machine {machine.number} attaches", lambda: (machine.run("judge", "hub", "status") or {}).get("attached"), 60)
    check("then it is written and confirmed", wait_for("a snapshot", lambda: cluster.sql(confirmed) != before, 120) is not None)
    left = "SELECT (SELECT count(*) FROM beads.snapshot k WHERE NOT EXISTS (SELECT FROM beads.fold f WHERE f.token = k.token)), (SELECT count(*) FROM beads.delta d JOIN beads.fold f ON f.store = d.store AND f.state = 'confirmed' WHERE d.n <= f.upto)"
    check("and nothing is left of the others", wait_for("the cleaning", lambda: cluster.sql(left) == "0|0", 60) is not None, cluster.sql(left))


def caught_up(sleeper, cluster, line, expected, check, wait_for):
    """A machine that compaction has passed takes the snapshot, although its connection is cut between two parts."""
    parts = int(cluster.sql("SELECT max(parts) FROM beads.fold WHERE state = 'confirmed'"))
    check("the snapshot has many parts", parts > 5, parts)
    fired = []
    line.trap = (b"beads.snapshot_part(", 3, lambda: fired or (fired.append(True), line.cut()))
    sleeper.run("judge", "list")
    arrived = wait_for(f"{expected} arrives", lambda: isinstance(sleeper.run("judge", "show", expected), list), 60)
    line.trap = None
    check("a machine that compaction passed catches up", arrived is not None)
    check("although its connection was cut between two parts", fired)


def upgraded(make, machines, cluster, check, wait_for):
    """The same hub as version 1 had it: machines say what to do, and after the upgrade they go on with what it holds."""
    old = subprocess.run(["git", "show", f"{VERSION_1}:crates/store/src/hub/schema.sql"], capture_output=True, text=True)
    if old.returncode:
        print("  this clone has no history: an upgrade from version 1 is not tried")
        return
    old = f"BEGIN;\n{old.stdout}\nCOMMIT;\n"
    cluster.sql("CREATE DATABASE upgraded")
    url = cluster.url().replace("/postgres?", "/upgraded?")
    sql = lambda text, user="postgres", check=True: cluster.sql(text, user, check, "upgraded")
    dump = subprocess.run([cluster.program("pg_dump"), "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "postgres", "-n", "beads", "postgres"], capture_output=True, text=True, check=True)
    sql(dump.stdout.replace("\\restrict", "--").replace("\\unrestrict", "--"))
    sql("ALTER SCHEMA beads RENAME TO newer")
    sql(old)
    number = "(SELECT number FROM newer.store s WHERE EXISTS (SELECT FROM newer.fold f WHERE f.store = s.number AND f.state = 'confirmed'))"
    sql(f"""INSERT INTO beads.store (number, id, epoch, timeline, longest_lease, hub_version) OVERRIDING SYSTEM VALUE
            SELECT number, id, epoch, timeline, longest_lease, 1 FROM newer.store WHERE number = {number};
        INSERT INTO beads.gate SELECT number FROM beads.store;
        INSERT INTO beads.delta (store, n, token, replica, seq, seen, lineage, holder, fence_ms, fence_counter, until_ms, payload)
            SELECT store, n, token, replica, seq, seen, lineage, holder, fence_ms, fence_counter, until_ms, payload FROM newer.delta WHERE store = {number};
        INSERT INTO beads.claim SELECT * FROM newer.claim WHERE store = {number};
        INSERT INTO beads.machine SELECT * FROM newer.machine WHERE store = {number};
        INSERT INTO beads.snapshot (store, upto, token, replica, digest, confirmed, payload)
            SELECT store, upto, upto_token, replica, '', true, (SELECT string_agg(k.payload, ''::bytea ORDER BY k.part) FROM newer.snapshot k WHERE k.token = f.token)
            FROM newer.fold f WHERE store = {number} AND state = 'confirmed';
        INSERT INTO beads.store (number, id, timeline, hub_version) OVERRIDING SYSTEM VALUE VALUES (1000, '{STORE}', beads._timeline(), 1);
        INSERT INTO beads.gate VALUES (1000);
        INSERT INTO beads.snapshot (store, upto, token, replica, digest, confirmed, payload)
            SELECT number, 1, gen_random_uuid(), gen_random_uuid(), '', true, convert_to(repeat('0123456789', 500000), 'UTF8') FROM beads.store WHERE id = '{STORE}';
        DROP SCHEMA newer CASCADE""")
    machine = make()
    machine.use(url)
    status = lambda: machine.run("judge", "hub", "status") or {}
    wait_for("the old hub is refused", lambda: status().get("error_code"))
    check("an old hub is refused with what to do", status().get("error_code") == "hub_refused" and "bd hub upgrade" in status().get("error", ""), status())
    shown = (machine.run("judge", "status") or {}).get("sync", {}).get("hub_error") or {}
    check("bd status says so, too", shown.get("code") == "hub_refused" and "bd hub upgrade" in shown.get("message", ""), shown)
    machine.run("ann", "create", "before the upgrade", "--id", "bd-before", "--type", "epic")
    attach = lambda version: sql(f"SELECT epoch FROM beads.attach('{STORE}', {version}, '{A}', 0, '{A}', '[]')", "worker", False)
    epoch = attach(1)
    subprocess.run([cluster.bd, "hub", "upgrade", url.replace("worker@", "postgres@")], check=True, stdout=subprocess.DEVNULL)
    appended = sql(f"SELECT beads.append('{STORE}', '{A}', {epoch}, 1, 0, 'x', '[]')", "worker", False)
    check("machines of version 1 are asked to attach", "BH001" in appended, appended)
    check("and then told that they are too old", "BH004" in attach(1), attach(1))
    check("an older bd does not replace the functions", "BH006" in sql(old, check=False) and attach(2) == epoch)
    check("members may call the new functions", sql(f"SELECT leftover FROM beads.compaction('{STORE}', '{A}', {epoch})", "worker", False) in ("t", "f"))
    check("but not read the new tables", "42501" in sql("SELECT * FROM beads.fold", "worker", False))
    large = sql(f"SELECT f.parts, f.bytes, (SELECT sum(length(k.payload)) = f.bytes AND string_agg(k.payload, ''::bytea ORDER BY k.part) = convert_to(repeat('0123456789', 500000), 'UTF8') FROM beads.snapshot k WHERE k.token = f.token) FROM beads.fold f JOIN beads.store s ON s.number = f.store WHERE s.id = '{STORE}'")
    check("a large snapshot is split", large == "3|5000000|t", large)
    check("after the upgrade the machine attaches", wait_for("the upgraded hub", lambda: status().get("attached")) is not None, status())
    check("and has what the old hub held", wait_for("bd-large3", lambda: isinstance(machine.run("judge", "show", "bd-large3"), list)) is not None)
    check("what was written before is appended", wait_for("bd-before", lambda: status().get("unsent") is False) is not None, status())
    check("the status shows the version", status().get("hub_version") == 2, status())
    again = make(1)
    again.use(url)
    check("a new machine gets all of it from the upgraded hub", wait_for("bd-before", lambda: isinstance(again.run("judge", "show", "bd-before"), list)) is not None)
    equal = wait_for("both are equal", lambda: machine.fingerprint() == again.fingerprint())
    check("and has the same fingerprint", equal is not None)
    machine.stop()
    again.stop()

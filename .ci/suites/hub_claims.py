"""The rules of claims that machines report: offers, claims that are repeated after a failover, reopened beads, wrong clocks, and
holds after a restore."""
import json
import subprocess
import threading
import time

STORE = "2" * 32
A, B, C = (f"00000000-0000-0000-0000-00000000002{letter}" for letter in "abc")
START = "0, '00000000-0000-0000-0000-000000000000'"
HOUR = 3_600_000


def rules(cluster, member, check):
    """The promises of the functions, tried with plain SQL."""
    state = {"epoch": 1, "seq": 0}

    def number():
        state["seq"] += 1
        return state["seq"]

    def attach(replica, *claims):
        found = member(f"SELECT epoch FROM beads.attach('{STORE}', 2, '{replica}', {START}, '{json.dumps(claims)}')")
        state["epoch"] = int(found)

    def append(replica, *claims, seen=0):
        return int(member(f"SELECT n FROM beads.append('{STORE}', '{replica}', {state['epoch']}, {number()}, {seen}, 'x', '{json.dumps(claims)}')"))

    def claim(replica, holder, *names, cursor=99, lease=60000):
        array = ", ".join(f"'{name}'" for name in names)
        stamps = ", ".join("0" for _ in names)
        return json.loads(member(f"SELECT beads.claim('{STORE}', '{replica}', {state['epoch']}, {number()}, '{state['seq']}', {cursor}, '{holder}', {lease}, ARRAY[{array}], ARRAY[{stamps}]::bigint[])"))

    def news(name, state, fence, holder="ann", left=60000, **more):
        return {"lineage": name, "state": state, "ms": fence["fence_ms"], "counter": fence["fence_counter"], "holder": holder, "left_ms": left, **more}

    def offer(fence, after=1):
        return {"fence_ms": fence["fence_ms"] + after, "fence_counter": 65536 + 7}

    def settle(*machines):
        for replica in machines:
            member(f"SELECT beads.settle('{STORE}', '{replica}', {state['epoch']})")

    def store(column):
        return cluster.sql(f"SELECT {column} FROM beads.store WHERE id = '{STORE}'")

    def until(name):
        return int(cluster.sql(f"SELECT coalesce((extract(epoch FROM k.until) * 1000)::bigint, 0) FROM beads.claim k JOIN beads.store s ON s.number = k.store WHERE s.id = '{STORE}' AND k.lineage = '{name}'") or 0)

    def lost(*names):
        """What a failover to a standby that lacks the last commits loses."""
        quoted = ", ".join(f"'{name}'" for name in names)
        cluster.sql(f"DELETE FROM beads.claim k USING beads.store s WHERE s.number = k.store AND s.id = '{STORE}' AND k.lineage IN ({quoted})")
        member(f"SELECT beads.fence('{STORE}')")

    attach(A)
    attach(B)
    attach(C)

    won = claim(A, "ann", "offered", "other")
    append(A, news("offered", "held", offer(won), "bob"))
    check("an offer keeps the bead from others", claim(C, "carl", "offered").get("holder") == "bob")
    taken = claim(B, "bob", "offered", "other")
    check("an offer can be taken on another machine, as one of several candidates", taken.get("status") == "granted" and taken["index"] == 0, taken)
    check("but by one machine only", claim(C, "bob", "offered").get("status") == "taken")
    check("a late copy of the offer changes nothing", append(A, news("offered", "held", offer(won), "bob")) and claim(C, "bob", "offered").get("status") == "taken")
    won = claim(A, "ann", "forced")
    append(C, news("forced", "held", offer(won), "bob"))
    check("an offer of another machine does not end a claim", claim(B, "bob", "forced").get("holder") == "ann")
    ended = append(C, news("forced", "released", won), news("forced", "held", offer(won, 2), "bob"))
    check("unless it says so; the actor that it was made for has to know that", claim(B, "bob", "forced", cursor=ended - 1).get("status") == "behind")
    check("and may take it then", claim(B, "bob", "forced").get("status") == "granted")

    won = claim(A, "ann", "closed")
    ended = append(A, news("closed", "closed", won))
    append(B, news("closed", "held", won), seen=ended - 1)
    check("who does not know the end of a claim cannot revive it", claim(C, "carl", "closed").get("status") == "granted")
    won = claim(A, "ann", "reopened")
    ended = append(A, news("reopened", "closed", won))
    append(A, news("reopened", "held", won), seen=ended)
    check("a bead that is reopened with its claim is held", claim(C, "carl", "reopened").get("holder") == "ann")

    now = int(cluster.sql("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"))
    won = claim(A, "ann", "ahead")
    lost("ahead")
    attach(A, news("ahead", "held", won, left=1, until_ms=won["until_ms"], own=True))
    check("the end of a lease that is repeated is a time of the hub", until("ahead") == won["until_ms"], (until("ahead"), won))
    attach(A, news("ahead", "held", won, until_ms=now + HOUR, own=True))
    check("an attach does not prolong a claim", until("ahead") == won["until_ms"])
    attach(B, news("over", "held", won, until_ms=now - HOUR, own=False))
    check("nor does it repeat one that is over", until("over") == 0)
    append(A, news("ahead", "held", won, until_ms=now + HOUR, own=True))
    check("a renewal does", until("ahead") == now + HOUR, until("ahead"))
    attach(C)
    settle(A, B, C)

    won = claim(A, "ann", "twin")
    check("an actor of the same name on another machine is another one", claim(B, "ann", "twin").get("status") == "taken")
    lost("twin")
    attach(B, news("twin", "held", won, until_ms=won["until_ms"], own=False))
    attach(A)
    attach(C)
    settle(A, B, C)
    check("who repeats a claim does not own it", claim(B, "ann", "twin").get("status") == "taken")
    attach(A, news("twin", "held", won, until_ms=won["until_ms"], own=True))
    check("its own machine does", claim(A, "ann", "twin").get("status") == "granted")

    append(A, news("year", "held", offer(won), left=300 * 24 * HOUR))
    check("a long lease prolongs holds", store("longest_lease >= interval '299 days'") == "t")
    append(A, news("year", "closed", offer(won)))
    member(f"SELECT beads.fence('{STORE}')")
    check("until it is over", store("longest_lease") == "02:00:00", store("longest_lease"))
    attach(A, news("clock", "held", won, until_ms=now + 300 * 24 * HOUR, own=True))
    check("what is repeated at an attach does not", store("longest_lease") == "02:00:00", store("longest_lease"))
    attach(B)
    attach(C)
    settle(A, B, C)

    restored(cluster, member, check, attach, claim, settle)
    trimmed(cluster, member, check, state)
    upgraded_meanwhile(cluster, member, check)


def restored(cluster, member, check, attach, claim, settle):
    """In a backup every machine was seen long ago."""
    def shift(interval, *machines):
        names = ", ".join(f"'{one}'" for one in machines)
        cluster.sql(f"UPDATE beads.machine m SET seen = seen - interval '{interval}' FROM beads.store s WHERE s.number = m.store AND s.id = '{STORE}' AND m.replica IN ({names})")

    status = lambda: json.loads(member(f"SELECT beads.status('{STORE}')"))
    cluster.sql(f"UPDATE beads.store SET hold_until = NULL, silent_from = NULL, silent_until = NULL WHERE id = '{STORE}'")
    shift("9 hours", A, B)
    shift("3 days", C)
    member(f"SELECT beads.fence('{STORE}')")
    check("after a restore, grants wait for the machines that were seen before the backup", status()["awaited_machines"] == 2, status())
    attach(A)
    settle(A)
    check("and for each of them", claim(A, "ann", "kept").get("status") == "hold")
    attach(B)
    settle(B)
    check("then they continue", claim(A, "ann", "kept").get("status") == "granted")
    # Machines attach before an administrator gets to run bd hub fence.
    cluster.sql(f"UPDATE beads.store SET hold_until = NULL WHERE id = '{STORE}'")
    shift("9 hours", A, B)
    attach(A)
    member(f"SELECT beads.fence('{STORE}')")
    attach(A)
    settle(A)
    check("bd hub fence waits for machines that have not come back", status()["awaited_machines"] == 1, status())
    attach(B)
    attach(C)
    settle(B, C)
    cluster.sql(f"UPDATE beads.store SET hold_until = NULL, silent_from = NULL, silent_until = NULL WHERE id = '{STORE}'")
    shift("20 minutes", A, B)
    shift("130 minutes", C)
    member(f"SELECT beads.fence('{STORE}')")
    check("machines that were seen within two hours before the hub was last in use are awaited", status()["awaited_machines"] == 3, status())
    attach(A)
    member(f"SELECT beads.fence('{STORE}')")
    check("also if another epoch begins meanwhile", status()["awaited_machines"] == 3, status())
    attach(A)
    attach(B)
    attach(C)
    settle(A, B, C)


def trimmed(cluster, member, check, state):
    """Machines that are gone for good are forgotten."""
    count = lambda: cluster.sql(f"SELECT count(*) FROM beads.machine m JOIN beads.store s ON s.number = m.store WHERE s.id = '{STORE}'")
    cluster.sql(f"UPDATE beads.machine m SET seen = seen - interval '91 days' FROM beads.store s WHERE s.number = m.store AND s.id = '{STORE}' AND m.replica IN ('{B}', '{C}')")
    cluster.sql(f"UPDATE beads.claim k SET until = CASE WHEN replica = '{C}' THEN clock_timestamp() + interval '1 hour' END FROM beads.store s WHERE s.number = k.store AND s.id = '{STORE}'")
    cluster.sql(f"UPDATE beads.claim k SET replica = '{C}', until = clock_timestamp() + interval '1 hour' FROM beads.store s WHERE s.number = k.store AND s.id = '{STORE}' AND k.lineage = 'closed'")
    member(f"SELECT beads.trim('{STORE}', '{A}', {state['epoch']})")
    check("machines without claims that were not seen for 90 days are forgotten", count() == "2", count())


def upgraded_meanwhile(cluster, member, check):
    """An upgrade waits for calls that are under way, and they do not wait for it."""
    command = ["psql", "-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "postgres", "-d", "postgres"]
    call = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    # What a call does first.
    call.stdin.write("BEGIN; SELECT count(*) FROM beads.store;\n")
    call.stdin.flush()
    call.stdout.readline()
    done = []
    upgrade = threading.Thread(target=lambda: done.append(cluster.sql(cluster.installed, check=False)))
    upgrade.start()
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%LOCK TABLE%'"
    for _ in range(200):
        if cluster.sql(waiting) != "0":
            break
        time.sleep(0.05)
    # What a call does next.
    call.stdin.write("SET lock_timeout = '4s'; SELECT 'version ' || version FROM beads.hub; COMMIT;\n")
    call.stdin.close()
    answer = call.stdout.read()
    call.wait()
    upgrade.join()
    check("an upgrade and the calls that it waits for do not stop each other", "version" in answer and "40P01" not in done[0], (answer, done))

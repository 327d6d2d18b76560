-- The beads hub, version 2. `bd hub init` and `bd hub upgrade` run this file in one transaction;
-- `bd hub init --print-sql` prints it with that transaction. Everything can be run again: tables are kept and
-- brought up to this version, functions are replaced.
--
-- The role beads_member may call the functions below and nothing else. Grant it to every login role that
-- uses a hub:  GRANT beads_member TO alice;
-- To keep a store to one team, set its member role:  UPDATE beads.store SET member = 'team_a' WHERE id = '…';
-- For machines behind a slow line, make snapshots of smaller parts:  UPDATE beads.store SET part_bytes = 524288;
--
-- Errors: BH001 attach again, BH002 another history, BH003 the replica id is in use elsewhere, BH004 wrong
-- version, BH005 wrong isolation level, BH006 an older program tried to upgrade.

-- Bringing a large hub up to this version takes longer than a role may have for a query.
SET LOCAL statement_timeout = 0;
SELECT pg_advisory_xact_lock(4765921377);

DO $$
BEGIN
    IF current_setting('server_version_num')::int < 130000 THEN
        RAISE EXCEPTION 'the hub needs PostgreSQL 13 or later, this is %', current_setting('server_version');
    END IF;
    -- Names in other scripts could not be stored. A hub that is there already has managed without them.
    IF getdatabaseencoding() <> 'UTF8' AND to_regclass('beads.hub') IS NULL THEN
        RAISE EXCEPTION 'the hub needs a database with the encoding UTF8, this one has %', getdatabaseencoding();
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'beads_member') THEN
        CREATE ROLE beads_member NOLOGIN;
    END IF;
END $$;

CREATE SCHEMA IF NOT EXISTS beads;
REVOKE ALL ON SCHEMA beads FROM PUBLIC;
GRANT USAGE ON SCHEMA beads TO beads_member;

CREATE TABLE IF NOT EXISTS beads.hub (version int NOT NULL);

-- Calls that are under way finish first, and later ones wait. The tables are locked in the order in which calls
-- read them. An older hub has its snapshots in one row each.
DO $$
BEGIN
    IF to_regclass('beads.store') IS NOT NULL THEN
        LOCK TABLE beads.store IN ACCESS EXCLUSIVE MODE;
    END IF;
    LOCK TABLE beads.hub IN ACCESS EXCLUSIVE MODE;
    IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('beads.snapshot') AND attname = 'confirmed') THEN
        ALTER TABLE beads.snapshot RENAME TO snapshot_1;
        ALTER INDEX beads.snapshot_pkey RENAME TO snapshot_1_pkey;
    END IF;
END $$;

CREATE TABLE IF NOT EXISTS beads.store (
    number int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE CHECK (id ~ '^[0-9a-f]{32}$'),
    -- Raised when the history of the database may have changed: every machine has to attach again.
    epoch int NOT NULL DEFAULT 1,
    -- The WAL timeline. It changes when a standby is promoted.
    timeline text NOT NULL,
    -- No claims are granted until then, or until every machine seen lately has settled again.
    hold_until timestamptz,
    -- The longest lease so far, at least the usual one.
    longest_lease interval NOT NULL DEFAULT '2 hours',
    member name NOT NULL DEFAULT 'beads_member',
    hub_version int NOT NULL
);
-- The size of the parts of a snapshot. Each has to reach the hub within ten seconds.
ALTER TABLE beads.store ADD COLUMN IF NOT EXISTS part_bytes int NOT NULL DEFAULT 2097152
    CHECK (part_bytes BETWEEN 1024 AND 33554432);
-- While grants are held: they wait for machines that were seen after this time.
ALTER TABLE beads.store ADD COLUMN IF NOT EXISTS awaited_since timestamptz;
-- The last long time in which no machine was seen: an outage, or what a restored backup lacks.
ALTER TABLE beads.store ADD COLUMN IF NOT EXISTS silent_from timestamptz;
ALTER TABLE beads.store ADD COLUMN IF NOT EXISTS silent_until timestamptz;

-- One row per store that is locked and never updated: an updated row would be a bottleneck.
CREATE TABLE IF NOT EXISTS beads.gate (store int PRIMARY KEY REFERENCES beads.store);

CREATE TABLE IF NOT EXISTS beads.delta (
    store int NOT NULL REFERENCES beads.store,
    n bigint NOT NULL,
    token uuid NOT NULL DEFAULT gen_random_uuid(),
    replica uuid NOT NULL,
    seq bigint NOT NULL,
    -- The cursor of the writer when it wrote this.
    seen bigint NOT NULL,
    -- A grant: who got which bead. Such a row has no payload.
    lineage text,
    holder text,
    fence_ms bigint,
    fence_counter bigint,
    until_ms bigint,
    payload bytea,
    PRIMARY KEY (store, n)
);
-- The size of all deltas up to this one, so that the size of many is a difference.
ALTER TABLE beads.delta ADD COLUMN IF NOT EXISTS total bigint NOT NULL DEFAULT 0;

CREATE TABLE IF NOT EXISTS beads.claim (
    store int NOT NULL REFERENCES beads.store,
    lineage text NOT NULL,
    holder text,
    replica uuid,
    seq bigint,
    fence_ms bigint NOT NULL DEFAULT 0,
    fence_counter bigint NOT NULL DEFAULT 0,
    -- The end of the lease by the database's clock; null if the bead is free.
    until timestamptz,
    -- The delta that last closed or released the bead. Only a machine that has seen it may be granted it.
    ended_n bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (store, lineage)
);

CREATE TABLE IF NOT EXISTS beads.machine (
    store int NOT NULL REFERENCES beads.store,
    replica uuid NOT NULL,
    epoch int NOT NULL,
    -- The epoch in which it last had nothing left to append. Grants wait for that, because a close that the hub
    -- lost must come back before its bead is granted again.
    settled int NOT NULL DEFAULT 0,
    seen timestamptz NOT NULL,
    cursor bigint NOT NULL DEFAULT 0,
    last_seq bigint NOT NULL DEFAULT 0,
    last_digest bytea,
    last_answer jsonb,
    PRIMARY KEY (store, replica)
);

-- A fold of all deltas up to a number. Its parts are in beads.snapshot. It is 'writing' until they are complete,
-- and 'proposed' until a second replica has folded the same. Only a confirmed one is read.
CREATE TABLE IF NOT EXISTS beads.fold (
    store int NOT NULL REFERENCES beads.store,
    -- The parts have the same token. Every attempt draws one, so that the parts of two attempts never mix.
    token uuid NOT NULL DEFAULT gen_random_uuid(),
    -- The last delta in it, with the token of that delta.
    upto bigint NOT NULL,
    upto_token uuid NOT NULL,
    replica uuid NOT NULL,
    state text NOT NULL DEFAULT 'writing' CHECK (state IN ('writing', 'proposed', 'confirmed')),
    part_bytes int NOT NULL,
    -- Known when all parts have arrived. The digest is that of the digests of the parts, in their order.
    parts int,
    bytes bigint,
    digest text,
    -- The size of all deltas up to this one.
    total bigint NOT NULL,
    -- When the last part arrived. After a minute without one, the attempt is given up.
    touched timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (store, token)
);
-- A store has at most one snapshot that is confirmed, and one that is not.
CREATE UNIQUE INDEX IF NOT EXISTS fold_of_store ON beads.fold (store, (state = 'confirmed'));

CREATE TABLE IF NOT EXISTS beads.snapshot (
    store int NOT NULL REFERENCES beads.store,
    upto bigint NOT NULL,
    token uuid NOT NULL,
    part int NOT NULL CHECK (part BETWEEN 0 AND 999999),
    digest bytea NOT NULL,
    payload bytea NOT NULL,
    PRIMARY KEY (store, token, part)
);

-- Takes over what a hub of version 1 holds. Its proposals are made again.
DO $$
DECLARE old record; data bytea; made uuid; pieces int; size int := 2097152;
BEGIN
    IF to_regclass('beads.snapshot_1') IS NULL THEN RETURN; END IF;
    UPDATE beads.delta d SET total = all_of.size
    FROM (SELECT store, max(n) AS n, sum(64 + coalesce(length(payload), 0)) AS size FROM beads.delta GROUP BY store) all_of
    WHERE d.store = all_of.store AND d.n = all_of.n;
    FOR old IN SELECT DISTINCT ON (store) * FROM beads.snapshot_1 WHERE confirmed ORDER BY store, upto DESC LOOP
        -- Decompressed once, not for every part.
        data := old.payload || ''::bytea;
        pieces := (length(data) + size - 1) / size;
        made := gen_random_uuid();
        INSERT INTO beads.snapshot (store, upto, token, part, digest, payload)
        SELECT old.store, old.upto, made, i, sha256(piece), piece
        FROM (SELECT i, substring(data FROM 1 + i * size FOR size) AS piece FROM generate_series(0, pieces - 1) i) p;
        INSERT INTO beads.fold (store, token, upto, upto_token, replica, state, part_bytes, parts, bytes, digest, total)
        SELECT old.store, made, old.upto, old.token, old.replica, 'confirmed', size, pieces, length(data),
            encode(sha256(string_agg(k.digest, ''::bytea ORDER BY k.part)), 'hex'), 0
        FROM beads.snapshot k WHERE k.store = old.store AND k.token = made;
    END LOOP;
    DROP TABLE beads.snapshot_1;
END $$;
DROP FUNCTION IF EXISTS beads.snapshot(text, uuid, int), beads.compaction(text, uuid, int),
    beads.fold(text, uuid, int, bigint, uuid, text, bytea);

-- An older program must not replace the functions. After an upgrade, all machines attach again, which tells
-- older ones that they are too old. No history is lost, so grants need not be held.
CREATE OR REPLACE FUNCTION beads._upgraded() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.version < OLD.version THEN
        RAISE EXCEPTION 'the hub has version %, and this program would install version %: upgrade bd on this machine',
            OLD.version, NEW.version USING ERRCODE = 'BH006';
    END IF;
    IF NEW.version > OLD.version THEN
        UPDATE beads.machine SET epoch = 0;
        UPDATE beads.store SET hub_version = NEW.version;
    END IF;
    RETURN NEW;
END $$;
DROP TRIGGER IF EXISTS upgraded ON beads.hub;
CREATE TRIGGER upgraded BEFORE UPDATE ON beads.hub FOR EACH ROW EXECUTE FUNCTION beads._upgraded();
INSERT INTO beads.hub SELECT 2 WHERE NOT EXISTS (SELECT FROM beads.hub);
UPDATE beads.hub SET version = 2;

CREATE OR REPLACE FUNCTION beads._timeline() RETURNS text LANGUAGE sql
SET search_path = pg_catalog, pg_temp AS $$
    -- pg_control_checkpoint() still shows the old timeline after a promotion.
    SELECT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)
$$;

-- Checks what every function requires, and returns the store.
CREATE OR REPLACE FUNCTION beads._store(p_store text) RETURNS beads.store LANGUAGE plpgsql
SET search_path = pg_catalog, beads, pg_temp AS $$
DECLARE s beads.store;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'the hub needs READ COMMITTED, not %', current_setting('transaction_isolation')
            USING ERRCODE = 'BH005';
    END IF;
    IF current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    -- A caller waits ten seconds. Without this, the server would not notice that it is gone, and a call that takes
    -- long, such as one that waits for a synchronous standby, would tie up all connections of the server.
    PERFORM set_config('lock_timeout', '8s', true);
    SELECT * INTO s FROM beads.store WHERE id = p_store;
    IF s.number IS NOT NULL AND NOT pg_has_role(session_user, s.member, 'member') THEN
        RAISE EXCEPTION 'role % may not use this store; it needs role %', session_user, s.member
            USING ERRCODE = '42501';
    END IF;
    RETURN s;
END $$;

-- Returns the store of an attached machine.
CREATE OR REPLACE FUNCTION beads._attached(p_store text, p_replica uuid, p_epoch int)
RETURNS beads.store LANGUAGE plpgsql SET search_path = pg_catalog, beads, pg_temp AS $$
DECLARE s beads.store := beads._store(p_store);
BEGIN
    IF s.number IS NULL OR s.epoch <> p_epoch OR s.timeline <> beads._timeline() OR NOT EXISTS (
        SELECT FROM beads.machine m WHERE m.store = s.number AND m.replica = p_replica AND m.epoch = p_epoch
    ) THEN
        RAISE EXCEPTION 'attach first: the machine is not attached in this epoch' USING ERRCODE = 'BH001';
    END IF;
    RETURN s;
END $$;

-- Locks the gate and returns the store of an attached machine. Commits of a store become serial here, so numbers
-- appear in the order of their commits. The epoch is checked behind the gate: it may have changed while this
-- call waited.
CREATE OR REPLACE FUNCTION beads._entered(p_store text, p_replica uuid, p_epoch int)
RETURNS beads.store LANGUAGE plpgsql SET search_path = pg_catalog, beads, pg_temp AS $$
DECLARE s beads.store := beads._attached(p_store, p_replica, p_epoch);
BEGIN
    PERFORM FROM beads.gate g WHERE g.store = s.number FOR UPDATE;
    RETURN beads._attached(p_store, p_replica, p_epoch);
END $$;

-- Records the answer to a request, so that a repetition gets it again. The gate must be locked.
CREATE OR REPLACE FUNCTION beads._answered(
    p_number int, p_replica uuid, p_seq bigint, p_digest bytea, p_answer jsonb)
RETURNS jsonb LANGUAGE plpgsql SET search_path = pg_catalog, beads, pg_temp AS $$
BEGIN
    UPDATE beads.machine m SET last_seq = p_seq, last_digest = p_digest, last_answer = p_answer,
        seen = clock_timestamp()
    WHERE m.store = p_number AND m.replica = p_replica;
    RETURN p_answer;
END $$;

-- Returns the number of the newest delta, and the size of all deltas up to it. Covered deltas are deleted oldest
-- first, so as long as there are any, the newest one is the last. Not in SQL: its plan would be made at every call.
CREATE OR REPLACE FUNCTION beads._last(p_number int, OUT n bigint, OUT total bigint) LANGUAGE plpgsql
SET search_path = pg_catalog, beads, pg_temp AS $$
BEGIN
    SELECT d.n, d.total INTO n, total FROM beads.delta d WHERE d.store = p_number ORDER BY d.n DESC LIMIT 1;
    IF n IS NULL THEN
        SELECT f.upto, f.total INTO n, total FROM beads.fold f WHERE f.store = p_number AND f.state = 'confirmed';
    END IF;
    n := coalesce(n, 0);
    total := coalesce(total, 0);
END $$;

DROP FUNCTION IF EXISTS beads._head(int), beads._record_claims(int, uuid, bigint, jsonb);

-- Returns how a cursor relates to the history: 'same', 'behind' the deltas that are kept, or 'other'.
CREATE OR REPLACE FUNCTION beads._history(p_number int, p_n bigint, p_token uuid) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, beads, pg_temp AS $$
DECLARE upto bigint; found uuid;
BEGIN
    SELECT coalesce(max(f.upto), 0) INTO upto FROM beads.fold f WHERE f.store = p_number AND f.state = 'confirmed';
    IF p_n = 0 THEN
        RETURN CASE WHEN upto > 0 THEN 'behind' ELSE 'same' END;
    END IF;
    IF p_n > (SELECT l.n FROM beads._last(p_number) l) THEN RETURN 'other'; END IF;
    SELECT token INTO found FROM beads.delta WHERE store = p_number AND n = p_n;
    IF found IS NULL THEN
        SELECT upto_token INTO found FROM beads.fold f
        WHERE f.store = p_number AND f.upto = p_n AND f.state = 'confirmed';
    END IF;
    IF found IS NULL AND p_n < upto THEN RETURN 'behind'; END IF;
    RETURN CASE WHEN found = p_token THEN 'same' ELSE 'other' END;
END $$;

-- Returns how many machines grants wait for: those that were seen lately and have not settled in this epoch.
CREATE OR REPLACE FUNCTION beads._awaited(s beads.store) RETURNS bigint LANGUAGE plpgsql
SET search_path = pg_catalog, beads, pg_temp AS $$
BEGIN
    IF s.hold_until > clock_timestamp() THEN
        RETURN (SELECT count(*) FROM beads.machine m WHERE m.store = s.number AND m.settled < s.epoch
            AND m.seen > coalesce(s.awaited_since, '-infinity'));
    END IF;
    RETURN 0;
END $$;

-- Starts a new epoch and holds grants until every machine that was seen lately has attached again, repeated its
-- live claims, and appended what the hub lacks. "Lately" is counted from when the hub was last in use, not from now:
-- in a restored backup, or after an outage, every machine was seen long ago.
CREATE OR REPLACE FUNCTION beads._new_epoch(p_number int) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, beads, pg_temp AS $$
DECLARE s beads.store; now timestamptz := clock_timestamp(); longest interval; since timestamptz;
BEGIN
    SELECT * INTO s FROM beads.store k WHERE k.number = p_number FOR UPDATE;
    -- The longest lease of those that run now, at least the usual one. One that was longer, such as by a wrong
    -- clock, does not prolong every later hold.
    SELECT least(s.longest_lease, greatest(interval '2 hours', max(k.until) - now)) INTO longest
    FROM beads.claim k WHERE k.store = p_number AND k.until > now;
    SELECT coalesce(max(m.seen) FILTER (WHERE m.seen <= now) - longest, '-infinity') INTO since
    FROM beads.machine m WHERE m.store = p_number;
    IF s.silent_until > since THEN since := least(since, s.silent_from - longest); END IF;
    IF s.hold_until > now THEN since := least(since, s.awaited_since); END IF;
    UPDATE beads.store k SET epoch = k.epoch + 1, timeline = beads._timeline(), longest_lease = longest,
        awaited_since = since, hold_until = now + longest
    WHERE k.number = p_number;
END $$;

-- Records that no machine was seen for long. The gate must be locked.
CREATE OR REPLACE FUNCTION beads._note_silence(s beads.store) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, beads, pg_temp AS $$
DECLARE now timestamptz := clock_timestamp(); last timestamptz;
BEGIN
    SELECT max(m.seen) INTO last FROM beads.machine m WHERE m.store = s.number;
    IF last < now - s.longest_lease / 4 THEN
        UPDATE beads.store k SET silent_from = last, silent_until = now WHERE k.number = s.number;
    END IF;
END $$;

-- Records claims that a machine holds or has ended. `p_n` is the number of the delta that says so, 0 at an attach;
-- its writer knew everything up to `p_seen`. The gate must be locked.
CREATE OR REPLACE FUNCTION beads._record_claims(
    p_number int, p_replica uuid, p_n bigint, p_seen bigint, p_claims jsonb)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, beads, pg_temp AS $$
DECLARE c jsonb; row beads.claim; now timestamptz := clock_timestamp(); until timestamptz;
    same boolean; owner uuid; now_ms bigint := (extract(epoch FROM now) * 1000)::bigint;
BEGIN
    FOR c IN SELECT * FROM jsonb_array_elements(coalesce(p_claims, '[]')) LOOP
        SELECT * INTO row FROM beads.claim k WHERE k.store = p_number AND k.lineage = c->>'lineage';
        IF c->>'state' = 'held' THEN
            -- Nothing could be granted above a fence of the year 2100.
            IF (c->>'ms')::bigint >= 4102444800000 THEN CONTINUE; END IF;
            same := (row.fence_ms, row.fence_counter) = ((c->>'ms')::bigint, (c->>'counter')::bigint);
            -- A machine also repeats the claims of others. Only their own machine may be granted them again.
            owner := CASE WHEN coalesce((c->>'own')::boolean, true) THEN p_replica END;
            -- Another machine may repeat or renew a claim only under its fence, and never revives an ended one.
            IF row.until > now AND row.replica IS DISTINCT FROM p_replica AND NOT same THEN CONTINUE; END IF;
            -- At an attach, a claim that is known here is not prolonged: its end may be by a wrong clock.
            IF p_n = 0 AND row.until IS NOT NULL AND same THEN
                UPDATE beads.claim k SET replica = owner
                WHERE k.store = p_number AND k.lineage = row.lineage AND k.replica IS NULL;
                CONTINUE;
            END IF;
            -- A claim that has ended is revived by a machine that knows of the end: the bead was reopened.
            IF row.lineage IS NOT NULL AND (row.until IS NULL AND same AND p_seen < row.ended_n
                OR (row.fence_ms, row.fence_counter) > ((c->>'ms')::bigint, (c->>'counter')::bigint))
            THEN CONTINUE; END IF;
            -- The end of a lease is a time of this database. A machine that does not know it says what is left.
            until := now + least(coalesce((c->>'until_ms')::bigint - now_ms, (c->>'left_ms')::bigint), 31708800000)
                * interval '1 millisecond';
            IF p_n = 0 AND until <= now THEN CONTINUE; END IF;
            IF same THEN until := greatest(until, row.until); END IF;
            INSERT INTO beads.claim AS k (store, lineage, holder, replica, fence_ms, fence_counter, until)
            VALUES (p_number, c->>'lineage', c->>'holder', owner, (c->>'ms')::bigint,
                    (c->>'counter')::bigint, until)
            ON CONFLICT (store, lineage) DO UPDATE SET holder = excluded.holder,
                replica = CASE WHEN same THEN coalesce(k.replica, excluded.replica) ELSE excluded.replica END,
                fence_ms = excluded.fence_ms, fence_counter = excluded.fence_counter, until = excluded.until;
            -- What is repeated at an attach may have been made by a wrong clock.
            IF p_n > 0 THEN
                UPDATE beads.store SET longest_lease = until - now
                WHERE number = p_number AND longest_lease < until - now;
            END IF;
        ELSE
            INSERT INTO beads.claim (store, lineage, ended_n) VALUES (p_number, c->>'lineage', p_n)
            ON CONFLICT (store, lineage) DO UPDATE SET ended_n = greatest(claim.ended_n, excluded.ended_n);
            -- A release frees only the claim that its writer knew; a close frees every claim.
            UPDATE beads.claim k SET until = NULL, holder = NULL, replica = NULL
            WHERE k.store = p_number AND k.lineage = c->>'lineage' AND (c->>'state' = 'closed'
                OR (k.fence_ms, k.fence_counter) <= ((c->>'ms')::bigint, (c->>'counter')::bigint));
        END IF;
    END LOOP;
END $$;

-- Returns the recorded answer to a repeated request, or null for a new one. The gate must be locked.
CREATE OR REPLACE FUNCTION beads._repeated(p_number int, p_replica uuid, p_seq bigint, p_digest bytea)
RETURNS jsonb LANGUAGE plpgsql SET search_path = pg_catalog, beads, pg_temp AS $$
DECLARE m beads.machine;
BEGIN
    SELECT * INTO m FROM beads.machine k WHERE k.store = p_number AND k.replica = p_replica;
    IF p_seq > m.last_seq THEN RETURN NULL; END IF;
    IF p_seq = m.last_seq AND m.last_digest = p_digest THEN RETURN m.last_answer; END IF;
    RAISE EXCEPTION 'another machine uses this replica id: number % has another content', p_seq
        USING ERRCODE = 'BH003';
END $$;

-- Attaches a machine: checks version, rights and history, and takes its live claims. Nothing else works
-- before.
CREATE OR REPLACE FUNCTION beads.attach(
    p_store text, p_version int, p_replica uuid, p_n bigint, p_token uuid, p_claims jsonb)
RETURNS TABLE (number int, epoch int, head bigint, last_seq bigint, history text, holding boolean,
    now_ms bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, beads, pg_temp AS $$
#variable_conflict use_column
DECLARE s beads.store := beads._store(p_store); answer text; v int; is_holding boolean;
BEGIN
    SELECT version INTO v FROM beads.hub;
    IF p_version <> v THEN
        RAISE EXCEPTION 'the hub has version %, this program needs version %', v, p_version
            USING ERRCODE = 'BH004';
    END IF;
    IF s.number IS NULL THEN
        IF NOT pg_has_role(session_user, 'beads_member', 'member') THEN
            RAISE EXCEPTION 'role % is not a member of beads_member', session_user USING ERRCODE = '42501';
        END IF;
        INSERT INTO beads.store (id, timeline, hub_version) VALUES (p_store, beads._timeline(), v)
        ON CONFLICT (id) DO NOTHING;
        s := beads._store(p_store);
        INSERT INTO beads.gate VALUES (s.number) ON CONFLICT DO NOTHING;
    END IF;
    PERFORM FROM beads.gate g WHERE g.store = s.number FOR UPDATE;
    PERFORM beads._note_silence(s);
    s := beads._store(p_store);
    answer := beads._history(s.number, p_n, p_token);
    IF s.timeline <> beads._timeline() OR answer = 'other' THEN
        PERFORM beads._new_epoch(s.number);
        s := beads._store(p_store);
    END IF;
    is_holding := coalesce(s.hold_until > clock_timestamp(), false);
    INSERT INTO beads.machine AS m (store, replica, epoch, settled, seen, cursor)
    VALUES (s.number, p_replica, s.epoch, CASE WHEN is_holding THEN 0 ELSE s.epoch END, clock_timestamp(), p_n)
    ON CONFLICT (store, replica) DO UPDATE SET epoch = excluded.epoch, seen = excluded.seen,
        settled = greatest(m.settled, excluded.settled), cursor = excluded.cursor;
    PERFORM beads._record_claims(s.number, p_replica, 0, 0, p_claims);
    RETURN QUERY SELECT s.number, s.epoch, (SELECT l.n FROM beads._last(s.number) l), m.last_seq, answer, is_holding,
        (extract(epoch FROM clock_timestamp()) * 1000)::bigint
    FROM beads.machine m WHERE m.store = s.number AND m.replica = p_replica;
END $$;

-- Appends a delta and returns its number and token. A repetition returns the first answer.
CREATE OR REPLACE FUNCTION beads.append(
    p_store text, p_replica uuid, p_epoch int, p_seq bigint, p_seen bigint, p_payload bytea, p_claims jsonb)
RETURNS TABLE (n bigint, token uuid) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, beads, pg_temp AS $$
#variable_conflict use_column
-- The digest is made before the gate is locked, so that nobody waits for it.
DECLARE digest bytea := sha256(p_payload);
    s beads.store := beads._entered(p_store, p_replica, p_epoch);
    answer jsonb; next bigint; sum bigint; made uuid := gen_random_uuid();
BEGIN
    IF p_payload IS NULL OR length(p_payload) > 33554432 THEN
        RAISE EXCEPTION 'a delta has up to 32 MB' USING ERRCODE = '22023';
    END IF;
    answer := beads._repeated(s.number, p_replica, p_seq, digest);
    IF answer IS NOT NULL THEN
        RETURN QUERY SELECT (answer->>'n')::bigint, (answer->>'token')::uuid;
        RETURN;
    END IF;
    SELECT l.n + 1, l.total + 64 + length(p_payload) INTO next, sum FROM beads._last(s.number) l;
    INSERT INTO beads.delta (store, n, token, replica, seq, seen, payload, total)
    VALUES (s.number, next, made, p_replica, p_seq, p_seen, p_payload, sum);
    PERFORM beads._record_claims(s.number, p_replica, next, p_seen, p_claims);
    PERFORM beads._answered(s.number, p_replica, p_seq, digest, jsonb_build_object('n', next, 'token', made));
    RETURN QUERY SELECT next, made;
END $$;

-- Returns the deltas after a cursor, at most about p_bytes of them.
CREATE OR REPLACE FUNCTION beads.fetch(
    p_store text, p_replica uuid, p_epoch int, p_n bigint, p_token uuid, p_bytes bigint)
RETURNS TABLE (n bigint, token uuid, replica uuid, seen bigint, lineage text, holder text, fence_ms bigint,
    fence_counter bigint, until_ms bigint, payload bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, beads, pg_temp AS $$
#variable_conflict use_column
DECLARE s beads.store := beads._attached(p_store, p_replica, p_epoch); d beads.delta; total bigint := 0;
    expected bigint := p_n + 1;
BEGIN
    IF beads._history(s.number, p_n, p_token) <> 'same' THEN
        RAISE EXCEPTION 'delta % is not part of this history, or no longer kept', p_n USING ERRCODE = 'BH002';
    END IF;
    -- Not at every fetch, because it costs a commit.
    UPDATE beads.machine m SET seen = clock_timestamp(), cursor = p_n
    WHERE m.store = s.number AND m.replica = p_replica
        AND m.seen < clock_timestamp() - CASE WHEN m.cursor <> p_n THEN interval '1 second' ELSE interval '1 minute' END;
    FOR d IN SELECT * FROM beads.delta k WHERE k.store = s.number AND k.n > p_n ORDER BY k.n LOOP
        -- A compaction that commits after the check above has deleted the deltas in between.
        IF d.n <> expected THEN
            RAISE EXCEPTION 'delta % is no longer kept', expected USING ERRCODE = 'BH002';
        END IF;
        expected := d.n + 1;
        n := d.n; token := d.token; replica := d.replica; seen := d.seen; lineage := d.lineage;
        holder := d.holder; fence_ms := d.fence_ms; fence_counter := d.fence_counter;
        until_ms := d.until_ms; payload := d.payload;
        RETURN NEXT;
        total := total + 64 + coalesce(length(d.payload), 0);
        EXIT WHEN total > p_bytes;
    END LOOP;
END $$;

-- Records that a machine has nothing left to append after an attach, so that grants need not wait for it.
CREATE OR REPLACE FUNCTION beads.settle(p_store text, p_replica uuid, p_epoch int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, beads, pg_temp AS $$
DECLARE s beads.store := beads._attached(p_store, p_replica, p_epoch);
BEGIN
    UPDATE beads.machine m SET settled = p_epoch, seen = clock_timestamp()
    WHERE m.store = s.number AND m.replica = p_replica;
END $$;

-- Grants the first free candidate whose last end the caller has seen. A repetition under the same number and
-- request id returns the first answer; a copied machine has the number, but not the request id.
-- Status: 'granted'; 'taken' with the holder of the first candidate; 'behind' if the caller lacks the delta
-- that ended a candidate; 'hold' while grants are held.
CREATE OR REPLACE FUNCTION beads.claim(
    p_store text, p_replica uuid, p_epoch int, p_seq bigint, p_request text, p_n bigint, p_holder text,
    p_lease_ms bigint, p_lineages text[], p_above_ms bigint[])
RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, beads, pg_temp AS $$
DECLARE s beads.store := beads._entered(p_store, p_replica, p_epoch); answer jsonb; row beads.claim;
    digest bytea := sha256(convert_to(p_request, 'UTF8'));
    now timestamptz; status text := 'taken'; other text; ends bigint; made uuid := gen_random_uuid();
    next bigint; sum bigint; fence bigint; counter bigint; until timestamptz;
BEGIN
    IF cardinality(p_lineages) > 256 OR cardinality(p_lineages) <> cardinality(p_above_ms) THEN
        RAISE EXCEPTION 'at most 256 candidates, each with a time' USING ERRCODE = '22023';
    END IF;
    IF p_lease_ms IS NULL OR p_lease_ms NOT BETWEEN 1 AND 31708800000 THEN
        RAISE EXCEPTION 'a lease lasts up to a year' USING ERRCODE = '22023';
    END IF;
    IF coalesce(btrim(p_holder), '') = '' OR octet_length(p_holder) > 256 OR p_holder !~ '^[^\u0001-\u001f\u007f-\u009f]+$' THEN
        RAISE EXCEPTION 'a holder is a name on one line of up to 256 bytes' USING ERRCODE = '22023';
    END IF;
    answer := beads._repeated(s.number, p_replica, p_seq, digest);
    IF answer IS NOT NULL THEN RETURN answer; END IF;
    now := clock_timestamp();
    IF beads._awaited(s) > 0 THEN
        RETURN beads._answered(s.number, p_replica, p_seq, digest, jsonb_build_object('status', 'hold',
            'left_ms', (extract(epoch FROM s.hold_until - now) * 1000)::bigint));
    ELSIF s.hold_until IS NOT NULL THEN
        UPDATE beads.store k SET hold_until = NULL WHERE k.number = s.number;
    END IF;
    FOR i IN 1 .. cardinality(p_lineages) LOOP
        -- One probe per candidate: "= ANY" scans a fresh table.
        SELECT * INTO row FROM beads.claim k WHERE k.store = s.number AND k.lineage = p_lineages[i];
        -- A claim that no hub granted, such as an offer, keeps the bead for its holder, who may take it anywhere.
        -- A granted one may be granted again to its own machine, if it asks for nothing else.
        IF row.until > now AND NOT coalesce(row.holder = p_holder AND ((row.fence_counter & 65535) <> 47806
            OR row.replica = p_replica AND cardinality(p_lineages) = 1), false) THEN
            IF i = 1 THEN
                other := row.holder;
                ends := (extract(epoch FROM row.until) * 1000)::bigint;
            END IF;
            CONTINUE;
        END IF;
        IF row.ended_n > p_n THEN
            status := 'behind';
            CONTINUE;
        END IF;
        SELECT l.n + 1, l.total + 64 INTO next, sum FROM beads._last(s.number) l;
        until := now + p_lease_ms * interval '1 millisecond';
        fence := greatest((extract(epoch FROM now) * 1000)::bigint, p_above_ms[i] + 1, coalesce(row.fence_ms, 0) + 1);
        -- The low 16 bits are the tag of the hub; the number keeps fences of one millisecond apart.
        counter := ((next & 65535) << 16) | 47806;
        -- No machine could read a fence of the year 2100. A clock that was wrong put the bead beyond reach.
        IF fence >= 4102444800000 THEN CONTINUE; END IF;
        INSERT INTO beads.delta (store, n, token, replica, seq, seen, lineage, holder, fence_ms, fence_counter,
            until_ms, total)
        VALUES (s.number, next, made, p_replica, p_seq, p_n, p_lineages[i], p_holder, fence, counter,
                (extract(epoch FROM until) * 1000)::bigint, sum);
        INSERT INTO beads.claim AS k (store, lineage, holder, replica, seq, fence_ms, fence_counter, until)
        VALUES (s.number, p_lineages[i], p_holder, p_replica, p_seq, fence, counter, until)
        ON CONFLICT (store, lineage) DO UPDATE SET holder = excluded.holder, replica = excluded.replica,
            seq = excluded.seq, fence_ms = excluded.fence_ms, fence_counter = excluded.fence_counter,
            until = excluded.until;
        IF until - now > s.longest_lease THEN
            UPDATE beads.store k SET longest_lease = until - now WHERE k.number = s.number;
        END IF;
        answer := jsonb_build_object('status', 'granted', 'index', i - 1, 'n', next, 'token', made,
            'fence_ms', fence, 'fence_counter', counter,
            'until_ms', (extract(epoch FROM until) * 1000)::bigint);
        RETURN beads._answered(s.number, p_replica, p_seq, digest, answer);
    END LOOP;
    -- Refusals are recorded, too: a late copy of this request must not be granted what its client gave up.
    RETURN beads._answered(s.number, p_replica, p_seq, digest,
        jsonb_build_object('status', status, 'holder', other, 'until_ms', ends));
END $$;

-- Returns what the confirmed snapshot consists of, if there is one.
CREATE OR REPLACE FUNCTION beads.snapshot(p_store text, p_replica uuid, p_epoch int)
RETURNS TABLE (upto bigint, upto_token uuid, token uuid, parts int, bytes bigint, digest text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, beads, pg_temp AS $$
#variable_conflict use_column
DECLARE s beads.store := beads._attached(p_store, p_replica, p_epoch);
BEGIN
    RETURN QUERY SELECT f.upto, f.upto_token, f.token, f.parts, f.bytes, f.digest FROM beads.fold f
    WHERE f.store = s.number AND f.state = 'confirmed';
END $$;

-- Returns a part of a snapshot that was confirmed; null if a newer one has replaced it.
CREATE OR REPLACE FUNCTION beads.snapshot_part(p_store text, p_replica uuid, p_epoch int, p_token uuid, p_part int)
RETURNS bytea LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, beads, pg_temp AS $$
DECLARE s beads.store := beads._attached(p_store, p_replica, p_epoch);
BEGIN
    RETURN (SELECT k.payload FROM beads.snapshot k
        WHERE k.store = s.number AND k.token = p_token AND k.part = p_part AND NOT EXISTS (
            SELECT FROM beads.fold f WHERE f.store = k.store AND f.token = k.token AND f.state <> 'confirmed'));
END $$;

-- Returns whether an attempt has been given up.
CREATE OR REPLACE FUNCTION beads._is_given_up(f beads.fold) RETURNS boolean LANGUAGE sql
SET search_path = pg_catalog, pg_temp AS $$
    SELECT f.state = 'writing' AND f.touched < clock_timestamp() - interval '1 minute'
$$;

-- Returns whether the store should be compacted, a snapshot of another replica that waits for a second opinion,
-- whether one is being written, and whether something is left that is no longer needed.
CREATE OR REPLACE FUNCTION beads.compaction(p_store text, p_replica uuid, p_epoch int)
RETURNS TABLE (delta_bytes bigint, snapshot_bytes bigint, part_bytes int, proposed bigint, proposed_by uuid,
    writing boolean, leftover boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, beads, pg_temp AS $$
#variable_conflict use_column
DECLARE s beads.store := beads._attached(p_store, p_replica, p_epoch); kept beads.fold; attempt beads.fold;
BEGIN
    SELECT * INTO kept FROM beads.fold f WHERE f.store = s.number AND f.state = 'confirmed';
    SELECT * INTO attempt FROM beads.fold f WHERE f.store = s.number AND f.state <> 'confirmed';
    RETURN QUERY SELECT
        (SELECT l.total FROM beads._last(s.number) l) - coalesce(kept.total, 0),
        coalesce(kept.bytes, 0),
        coalesce(attempt.part_bytes, s.part_bytes),
        CASE WHEN attempt.state = 'proposed' THEN attempt.upto END,
        CASE WHEN attempt.state = 'proposed' THEN attempt.replica END,
        coalesce(attempt.state = 'writing' AND NOT beads._is_given_up(attempt), false),
        coalesce(beads._is_given_up(attempt), false)
            OR EXISTS (SELECT FROM beads.delta d WHERE d.store = s.number AND d.n <= kept.upto)
            OR EXISTS (SELECT FROM beads.snapshot k WHERE k.store = s.number AND NOT EXISTS (
                SELECT FROM beads.fold f WHERE f.store = k.store AND f.token = k.token));
END $$;

-- Begins to write a snapshot of everything up to a delta and returns the token of its parts; null if the delta
-- is unknown or covered, or another replica is writing or has proposed one.
CREATE OR REPLACE FUNCTION beads.begin_snapshot(
    p_store text, p_replica uuid, p_epoch int, p_upto bigint, p_upto_token uuid, p_part_bytes int)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, beads, pg_temp AS $$
DECLARE s beads.store := beads._entered(p_store, p_replica, p_epoch); attempt beads.fold; made uuid; covered bigint;
    sum bigint;
BEGIN
    IF p_part_bytes NOT BETWEEN 1 AND 33554432 THEN
        RAISE EXCEPTION 'a part has up to 32 MB' USING ERRCODE = '22023';
    END IF;
    SELECT f.upto INTO covered FROM beads.fold f WHERE f.store = s.number AND f.state = 'confirmed';
    SELECT d.total INTO sum FROM beads.delta d WHERE d.store = s.number AND d.n = p_upto AND d.token = p_upto_token;
    IF sum IS NULL OR p_upto <= covered THEN RETURN NULL; END IF;
    SELECT * INTO attempt FROM beads.fold f WHERE f.store = s.number AND f.state <> 'confirmed' FOR UPDATE;
    IF attempt.replica <> p_replica AND NOT beads._is_given_up(attempt) THEN RETURN NULL; END IF;
    DELETE FROM beads.fold f WHERE f.store = s.number AND f.state <> 'confirmed';
    INSERT INTO beads.fold (store, upto, upto_token, replica, part_bytes, total)
    VALUES (s.number, p_upto, p_upto_token, p_replica, p_part_bytes, sum) RETURNING token INTO made;
    RETURN made;
END $$;

-- Stores a part of a snapshot, and returns whether the attempt is still under way. Only the row of the attempt is
-- locked, not the gate: appends and claims go on.
CREATE OR REPLACE FUNCTION beads.put_part(
    p_store text, p_replica uuid, p_epoch int, p_token uuid, p_part int, p_payload bytea)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, beads, pg_temp AS $$
DECLARE digest bytea := sha256(p_payload); s beads.store := beads._attached(p_store, p_replica, p_epoch);
    attempt beads.fold;
BEGIN
    UPDATE beads.fold f SET touched = clock_timestamp()
    WHERE f.store = s.number AND f.token = p_token AND f.replica = p_replica AND f.state = 'writing'
    RETURNING * INTO attempt;
    IF attempt.token IS NULL THEN RETURN false; END IF;
    IF length(p_payload) NOT BETWEEN 1 AND attempt.part_bytes THEN
        RAISE EXCEPTION 'a part of this snapshot has up to % bytes', attempt.part_bytes USING ERRCODE = '22023';
    END IF;
    INSERT INTO beads.snapshot AS k (store, upto, token, part, digest, payload)
    VALUES (s.number, attempt.upto, p_token, p_part, digest, p_payload)
    ON CONFLICT (store, token, part) DO UPDATE SET digest = excluded.digest, payload = excluded.payload;
    RETURN true;
END $$;

-- Proposes a snapshot of which all parts were stored. Returns 'proposed', 'incomplete' if parts are missing or
-- arrived damaged, or 'stale' if the attempt was given up.
CREATE OR REPLACE FUNCTION beads.propose(
    p_store text, p_replica uuid, p_epoch int, p_token uuid, p_parts int, p_digest text)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, beads, pg_temp AS $$
DECLARE s beads.store := beads._entered(p_store, p_replica, p_epoch); attempt beads.fold; found record;
BEGIN
    SELECT * INTO attempt FROM beads.fold f
    WHERE f.store = s.number AND f.token = p_token AND f.replica = p_replica FOR UPDATE;
    IF attempt.token IS NULL THEN RETURN 'stale'; END IF;
    IF attempt.state <> 'writing' THEN RETURN attempt.state; END IF;
    SELECT count(*) AS parts, max(k.part) + 1 AS ends, sum(length(k.payload)) AS bytes,
        encode(sha256(string_agg(k.digest, ''::bytea ORDER BY k.part)), 'hex') AS digest
    INTO found FROM beads.snapshot k WHERE k.store = s.number AND k.token = p_token;
    IF found.digest IS NULL OR (found.parts, found.ends, found.digest) <> (p_parts, p_parts, p_digest) THEN
        DELETE FROM beads.fold f WHERE f.store = s.number AND f.token = p_token;
        RETURN 'incomplete';
    END IF;
    UPDATE beads.fold f SET state = 'proposed', parts = found.parts, bytes = found.bytes, digest = found.digest
    WHERE f.store = s.number AND f.token = p_token;
    RETURN 'proposed';
END $$;

-- Confirms the snapshot that another replica has proposed, if it has the same digest. Covered deltas are deleted
-- by beads.trim. Returns 'confirmed', 'differs', or 'stale' if there is no such proposal.
CREATE OR REPLACE FUNCTION beads.confirm(
    p_store text, p_replica uuid, p_epoch int, p_upto bigint, p_upto_token uuid, p_digest text)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, beads, pg_temp AS $$
DECLARE s beads.store := beads._entered(p_store, p_replica, p_epoch); attempt beads.fold;
BEGIN
    SELECT * INTO attempt FROM beads.fold f WHERE f.store = s.number AND f.state = 'proposed'
        AND f.upto = p_upto AND f.upto_token = p_upto_token AND f.replica <> p_replica FOR UPDATE;
    IF attempt.token IS NULL THEN RETURN 'stale'; END IF;
    IF attempt.digest <> p_digest THEN
        DELETE FROM beads.fold f WHERE f.store = s.number AND f.token = attempt.token;
        RETURN 'differs';
    END IF;
    DELETE FROM beads.fold f WHERE f.store = s.number AND f.state = 'confirmed';
    UPDATE beads.fold f SET state = 'confirmed' WHERE f.store = s.number AND f.token = attempt.token;
    RETURN 'confirmed';
END $$;

-- Deletes some of what is no longer needed: an attempt that was given up, parts that belong to no snapshot, and
-- covered deltas, oldest first. Returns whether something may be left.
CREATE OR REPLACE FUNCTION beads.trim(p_store text, p_replica uuid, p_epoch int) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, beads, pg_temp AS $$
DECLARE s beads.store := beads._attached(p_store, p_replica, p_epoch); covered bigint; oldest beads.delta;
BEGIN
    -- One machine at a time.
    IF NOT pg_try_advisory_xact_lock(47659213, s.number) THEN RETURN false; END IF;
    DELETE FROM beads.fold f WHERE f.store = s.number AND f.state = 'writing'
        AND f.touched < clock_timestamp() - interval '1 minute';
    -- A machine that comes back later attaches as a new one, and goes on with its own numbers.
    DELETE FROM beads.machine m WHERE m.store = s.number AND m.seen < clock_timestamp() - interval '90 days'
        AND NOT EXISTS (SELECT FROM beads.claim k
            WHERE k.store = m.store AND k.replica = m.replica AND k.until > clock_timestamp());
    DELETE FROM beads.snapshot k WHERE (k.store, k.token, k.part) IN (
        SELECT o.store, o.token, o.part FROM beads.snapshot o WHERE o.store = s.number AND NOT EXISTS (
            SELECT FROM beads.fold f WHERE f.store = o.store AND f.token = o.token) LIMIT 16);
    IF FOUND THEN RETURN true; END IF;
    SELECT f.upto INTO covered FROM beads.fold f WHERE f.store = s.number AND f.state = 'confirmed';
    SELECT * INTO oldest FROM beads.delta d WHERE d.store = s.number ORDER BY d.n LIMIT 1;
    IF oldest.n IS NULL OR covered IS NULL OR oldest.n > covered THEN RETURN false; END IF;
    DELETE FROM beads.delta d WHERE d.store = s.number AND d.n <= least(covered, oldest.n + 1999)
        AND (d.n = oldest.n OR d.total - oldest.total <= 33554432);
    RETURN true;
END $$;

-- Describes a store for `bd hub status`.
CREATE OR REPLACE FUNCTION beads.status(p_store text) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, beads, pg_temp AS $$
DECLARE s beads.store := beads._store(p_store); v int; now timestamptz := clock_timestamp();
    awaited bigint := beads._awaited(s);
BEGIN
    SELECT version INTO v FROM beads.hub;
    RETURN jsonb_build_object(
        'hub_version', v, 'known', s.number IS NOT NULL, 'epoch', s.epoch, 'head', (SELECT l.n FROM beads._last(s.number) l),
        'holding', awaited > 0, 'awaited_machines', awaited,
        'hold_ms', CASE WHEN awaited > 0 THEN (extract(epoch FROM s.hold_until - now) * 1000)::bigint END,
        'machines', (SELECT count(*) FROM beads.machine m WHERE m.store = s.number),
        'active_machines', (SELECT count(*) FROM beads.machine m
            WHERE m.store = s.number AND m.seen > now - interval '1 day'),
        'claims', (SELECT count(*) FROM beads.claim k WHERE k.store = s.number AND k.until > now),
        'deltas', (SELECT coalesce(max(d.n) - min(d.n) + 1, 0) FROM beads.delta d WHERE d.store = s.number),
        'table_bytes', (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
            WHERE c.relnamespace = 'beads'::regnamespace AND c.relkind = 'r'),
        'synchronous_standby', current_setting('synchronous_standby_names') <> '');
END $$;

-- Starts a new epoch by hand, after a restore that keeps the timeline.
CREATE OR REPLACE FUNCTION beads.fence(p_store text) RETURNS int LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, beads, pg_temp AS $$
DECLARE s beads.store := beads._store(p_store);
BEGIN
    IF s.number IS NULL THEN
        RAISE EXCEPTION 'the hub does not know this store' USING ERRCODE = 'BH001';
    END IF;
    PERFORM FROM beads.gate g WHERE g.store = s.number FOR UPDATE;
    PERFORM beads._new_epoch(s.number);
    RETURN s.epoch + 1;
END $$;

REVOKE ALL ON ALL TABLES IN SCHEMA beads FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA beads FROM PUBLIC;
GRANT EXECUTE ON FUNCTION beads.attach, beads.append, beads.fetch, beads.settle, beads.claim, beads.snapshot,
    beads.snapshot_part, beads.compaction, beads.begin_snapshot, beads.put_part, beads.propose, beads.confirm,
    beads.trim, beads.status, beads.fence TO beads_member;

"""Lets two versions of bd meet: versions.py NEW OLD WORK."""

import json
import os
import subprocess
import sys
from pathlib import Path

NEW, OLD, WORK = sys.argv[1], sys.argv[2], Path(sys.argv[3])
os.environ["BD_RUNTIME_DIR"] = str(WORK / "run")
os.environ["HOME"] = str(WORK)
os.environ.pop("BD_ACTOR", None)
sys.path.insert(0, str(Path(__file__).parents[2] / "clients/python/src"))
(WORK / "run").mkdir(mode=0o700)


def bd(program, repo, *args, fails=None):
    done = subprocess.run([program, "-C", str(repo), *args, "--json"], capture_output=True, text=True)
    answer = json.loads(done.stdout) if done.stdout.strip() else None
    if fails:
        assert done.returncode != 0 and answer["error"]["code"] == fails, (args, done)
    else:
        assert done.returncode == 0, (program, args, done.stdout, done.stderr)
    return answer


def git(*args):
    return subprocess.run(["git", *map(str, args)], check=True, capture_output=True, text=True).stdout.strip()


def repository(name, remote=None):
    repo = WORK / name
    git("init", "--quiet", repo)
    if remote:
        git("-C", repo, "remote", "add", "origin", remote)
    return repo


def daemon_version(repo):
    return bd(NEW, repo, "daemon", "status")["version"]


def versions():
    return bd(NEW, ".", "version")["version"], bd(OLD, ".", "version")["version"]


def old_daemon_new_client():
    """The new client replaces the daemon; everything the old one acknowledged is there."""
    repo = repository("old-daemon")
    made = [bd(OLD, repo, "create", f"Made by the old daemon {n}")["id"] for n in range(5)]
    held = bd(OLD, repo, "claim", made[0])
    assert bd(OLD, repo, "daemon", "status")["version"] == versions()[1]
    assert {bead["id"] for bead in bd(NEW, repo, "list")} == set(made)
    assert daemon_version(repo) == versions()[0]
    # The claim, its fence and the request ids outlive the replacement.
    bd(NEW, repo, "note", "add", made[0], "still mine", "--fence", held["fence"])
    bd(NEW, repo, "close", made[0], "--fence", held["fence"])
    bd(NEW, repo, "daemon", "stop")
    print("ok  old daemon, new client")


def old_daemon_client_library():
    """The Python library replaces the daemon as the new client does, in the middle of its connections."""
    from beads import Client

    repo = repository("old-daemon-library")
    made = bd(OLD, repo, "create", "Made by the old daemon")["id"]
    with Client(str(repo), actor="ann", bd=NEW) as beads:
        claimed = beads.claim(made, request_id="r1")
        assert daemon_version(repo) == versions()[0]
        assert beads.claim(made, request_id="r1")["fence"] == claimed["fence"]
        beads.close(made, fence=claimed["fence"], reason="done")
    bd(NEW, repo, "daemon", "stop")
    print("ok  old daemon, new client library")


def new_daemon_old_client():
    """The new daemon serves the old client, and is not replaced by it."""
    repo = repository("new-daemon")
    made = bd(NEW, repo, "create", "Made by the new daemon")["id"]
    second = bd(OLD, repo, "create", "Asked for by the old client", "--deps", made)["id"]
    ready = [bead["id"] for bead in bd(OLD, repo, "ready")]
    assert ready == [made], (ready, made, second)
    claimed = bd(OLD, repo, "claim", "--next")
    bd(OLD, repo, "close", claimed["id"], "--reason", "done")
    assert [bead["id"] for bead in bd(NEW, repo, "ready")] == [second]
    long_text = "x" * 200_000
    bd(OLD, repo, "update", second, "--description", long_text[:100_000])
    assert len(bd(OLD, repo, "show", second)[0]["description"]) == 100_000
    bd(OLD, repo, "show", "bd-none", fails="not_found")
    assert daemon_version(repo) == versions()[0]
    bd(NEW, repo, "daemon", "stop")
    print("ok  new daemon, old client")


def replicas():
    """Both exchange with one remote, in both orders, and end with the same beads. Reading never changes the format."""
    remote = WORK / "remote.git"
    git("init", "--quiet", "--bare", remote)
    old, new = repository("old-replica", remote), repository("new-replica", remote)
    from_old = bd(OLD, old, "create", "From the old replica")["id"]
    bd(OLD, old, "sync")
    before = git("-C", remote, "rev-parse", "beads/store")
    assert [bead["id"] for bead in bd(NEW, new, "list")] in ([], [from_old])
    bd(NEW, new, "sync")
    for query in (["list"], ["show", from_old], ["ready"], ["status"], ["validate"]):
        bd(NEW, new, *query)
    bd(NEW, new, "sync")
    assert git("-C", remote, "rev-parse", "beads/store") == before, "reading changed the store"
    from_new = bd(NEW, new, "create", "From the new replica")["id"]
    bd(NEW, new, "update", from_old, "--priority", "0")
    bd(OLD, old, "note", "add", from_old, "a concurrent note")
    for program, repo in ((NEW, new), (OLD, old), (NEW, new), (OLD, old)):
        bd(program, repo, "sync")
    for program, repo in ((NEW, new), (OLD, old)):
        assert {bead["id"] for bead in bd(program, repo, "list")} == {from_old, from_new}
        assert bd(program, repo, "show", from_old)[0]["priority"] == 0
    formats = json.loads(git("-C", remote, "show", "beads/store:meta.json"))["format_version"]
    print(f"ok  old and new replica on one remote (format {formats})")
    for program, repo in ((NEW, new), (OLD, old)):
        bd(program, repo, "daemon", "stop")


def consent():
    """`bd migrate` raises the format. From then on the old version refuses what comes from the remote and changes nothing."""
    remote = WORK / "migrated.git"
    git("init", "--quiet", "--bare", remote)
    old, new = repository("not-migrated", remote), repository("migrated", remote)
    first = bd(OLD, old, "create", "Before the migration")["id"]
    bd(OLD, old, "sync")
    bd(NEW, new, "sync")
    migrated = bd(NEW, new, "migrate")
    bd(NEW, new, "sync")
    after = git("-C", remote, "rev-parse", "beads/store")
    newest = json.loads(git("-C", remote, "show", "beads/store:meta.json"))["format_version"]
    assert newest == migrated["current_version"] == migrated["latest_version"], (newest, migrated)
    bd(OLD, old, "sync", fails="remote_invalid")
    assert git("-C", remote, "rev-parse", "beads/store") == after, "the old version changed the remote"
    assert [bead["id"] for bead in bd(OLD, old, "list")] == [first]
    assert [bead["id"] for bead in bd(NEW, new, "list")] == [first]
    print(f"ok  bd migrate raises the format to {newest}, and the old replica refuses it")
    for program, repo in ((NEW, new), (OLD, old)):
        bd(program, repo, "daemon", "stop")


print(f"new {versions()[0]}, old {versions()[1]}")
old_daemon_new_client()
old_daemon_client_library()
new_daemon_old_client()
replicas()
consent()

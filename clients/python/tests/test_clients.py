"""Tests of the client library against a real daemon. `$BD` is the program."""

import asyncio
import re
import signal
import subprocess
import sys
import threading
import unittest
from pathlib import Path
from unittest import mock

from beads import AsyncClient, ClaimEnded, Worker
from beads.errors import AlreadyClaimedError, BeadsError, NothingReadyError, NotFoundError, StaleClaimError
from repository import BD, Store


class Blocking(Store):
    def test_every_step_of_a_bead(self):
        for use_socket in (True, False):
            with self.subTest(use_socket=use_socket):
                beads = self.client(use_socket=use_socket)
                made = beads.create("Write it", priority=1, labels=["docs"])
                self.assertEqual(made["priority"], 1)
                claimed = beads.claim(made["id"], lease_ms=60_000)
                self.assertEqual(claimed["status"], "in_progress")
                beads.note(made["id"], "halfway", fence=claimed["fence"])
                beads.update(made["id"], fence=claimed["fence"], title="Write it all")
                self.assertEqual(beads.show([made["id"]])[0]["title"], "Write it all")
                closed = beads.close(made["id"], fence=claimed["fence"], reason="done")
                self.assertEqual(closed["status"], "closed")
                self.assertEqual(beads.list(filter={"status": ["open"]}), [])
                self.assertEqual(beads.notes(made["id"])[0]["content"], "halfway")
                self.assertEqual(beads.daemon_status()["running"], True)

    def test_errors_are_classes_with_code_details_and_hint(self):
        ann, eve = self.client(), self.client("eve")
        made = ann.create("One")
        ann.claim(made["id"])
        with self.assertRaises(AlreadyClaimedError) as refused:
            eve.claim(made["id"])
        self.assertEqual(refused.exception.code, "already_claimed")
        self.assertIn("ready", refused.exception.hint)
        with self.assertRaises(NotFoundError):
            ann.show(["bd-none"])
        with self.assertRaises(NothingReadyError):
            eve.claim_next()
        with self.assertRaises(StaleClaimError):
            ann.note(made["id"], "late", fence="1.1")
        with self.assertRaises(BeadsError):
            ann.request({"nonsense": {}})
        self.assertEqual(ann.count()["count"], 1)

    def test_a_change_survives_the_death_of_the_daemon_and_is_made_once(self):
        beads = self.client()
        beads.create("First")
        for n in range(3):
            self.kill_daemon()
            beads.create(f"After kill {n}")
        self.assertEqual(beads.count()["count"], 4)
        first = beads.create("Once", request_id="r1")
        self.kill_daemon()
        self.assertEqual(beads.create("Once", request_id="r1")["id"], first["id"])
        self.assertEqual(beads.count()["count"], 5)

    def test_a_watch_continues_at_its_cursor_across_restarts(self):
        beads, writer = self.client(), self.client("bob")
        start = beads.events()["cursor"]
        seen, done = [], threading.Event()

        def watch():
            for event in beads.watch(start):
                seen.append(event["title"])
                if len(seen) == 6:
                    done.set()
                    return

        thread = threading.Thread(target=watch)
        thread.start()
        for n in range(6):
            if n == 3:
                self.kill_daemon()
            writer.create(f"Event {n}")
        self.assertTrue(done.wait(60))
        thread.join()
        self.assertEqual(seen, [f"Event {n}" for n in range(6)])

    def test_both_clients_return_the_settings(self):
        async def settings():
            async with self.aio() as beads:
                return await beads.settings()

        self.assertEqual(asyncio.run(settings()), self.client().settings())
        self.assertEqual(self.client().settings()["claim.scope"], "auto")

    def test_atomic_makes_all_or_nothing(self):
        beads = self.client()
        made = beads.atomic(
            [{"op": "create", "title": "Epic", "type": "epic"}, {"op": "create", "title": "Part", "parent": "epic"}],
            {"epic": 0},
        )
        self.assertTrue(made["ids"]["epic"])
        with self.assertRaises(NotFoundError):
            beads.atomic([{"op": "create", "title": "Lost"}, {"op": "close", "id": "bd-none"}], {})
        self.assertEqual(beads.count()["count"], 2)


class Workers(Store):
    def test_workers_share_the_work_while_the_daemon_is_killed(self):
        self.client().atomic([{"op": "create", "title": f"Step {n}"} for n in range(20)], {})
        finished, kills = [], [4, 11]

        async def work(name):
            async with self.aio(name, session=f"{name}-1") as beads:
                async for claim in Worker(beads, lease_ms=60_000, once=True):
                    await claim.note("working")
                    if kills and len(finished) >= kills[0]:
                        kills.pop(0)
                        self.kill_daemon()
                    await claim.finish("done")
                    finished.append(claim.id)

        async def all_of_them():
            await asyncio.gather(*(work(f"w{n}") for n in range(4)))

        asyncio.run(all_of_them())
        self.assertEqual(len(finished), 20)
        self.assertEqual(len(set(finished)), 20)
        self.assertEqual(self.client().count(filter={"status": ["closed"]})["count"], 20)

    def test_a_worker_that_starts_again_resumes_its_bead(self):
        made = self.client().create("Long work")
        code = (
            "import asyncio, os, sys\nfrom beads import AsyncClient, Worker\n"
            "async def main():\n"
            f"    async with AsyncClient({self.repo!r}, actor='w', session='w-1', bd={BD!r}) as beads:\n"
            "        async for claim in Worker(beads, lease_ms=600000):\n"
            "            print(claim.id, claim.resumed, flush=True)\n"
            "            os.kill(os.getpid(), 9) if sys.argv[1] == 'die' else await claim.finish('done')\n"
            "            return\n"
            "asyncio.run(main())\n"
        )
        died = subprocess.run([sys.executable, "-c", code, "die"], capture_output=True, text=True)
        self.assertEqual((died.returncode, died.stdout), (-signal.SIGKILL, f"{made['id']} False\n"), died.stderr)
        again = subprocess.run([sys.executable, "-c", code, "live"], capture_output=True, text=True)
        self.assertEqual((again.returncode, again.stdout), (0, f"{made['id']} True\n"), again.stderr)
        self.assertEqual(self.client().show([made["id"]])[0]["status"], "closed")

    def test_work_is_cancelled_when_the_claim_ends(self):
        made = self.client().create("Contested")

        async def main():
            async with self.aio("w", session="w-1") as beads, self.aio("boss") as boss:
                async for claim in Worker(beads, once=True):
                    asyncio.ensure_future(boss.cancel(made["id"], "not needed"))
                    with self.assertRaises(ClaimEnded) as ended:
                        await claim.run(asyncio.Event().wait())
                    self.assertEqual(ended.exception.over["reason"], "cancelled")

        asyncio.run(main())

    def test_work_that_finishes_its_own_bead_is_not_cancelled(self):
        made = self.client().create("Finished early")

        async def main():
            async with self.aio("w") as beads:
                async for claim in Worker(beads, once=True):

                    async def work():
                        await claim.finish("done")
                        for _ in range(50):  # the report of the end arrives in between
                            await beads.status()
                        return "cleaned up"

                    self.assertEqual(await claim.run(work()), "cleaned up")
                    self.assertFalse(claim.over.done())

        asyncio.run(main())
        self.assertEqual(self.client().show([made["id"]])[0]["status"], "closed")

    def test_a_worker_without_the_socket_gives_back_at_once(self):
        made = self.client().create("Left")

        async def main():
            async with self.aio("w", use_socket=False) as beads:
                worker = Worker(beads, once=True)
                async for claim in worker:
                    worker.stop()
                    for _ in range(5):  # meanwhile the wait for the claim's end is sent
                        await claim.note("working")

        with mock.patch("beads.worker.WAIT_MS", 600_000):  # longer than the suite may take
            asyncio.run(main())
        self.assertEqual(self.client().show([made["id"]])[0]["status"], "open")

    def test_a_bead_that_the_body_leaves_is_given_back(self):
        made = self.client().create("Left")

        async def main():
            async with self.aio("w") as beads:
                worker = Worker(beads, once=True)
                async for claim in worker:
                    worker.stop()
                    self.assertEqual(claim.id, made["id"])
                worker = Worker(beads, once=True)
                async for claim in worker:
                    worker.stop()
                    await claim.hand_over("eve", "half of it is done")

        asyncio.run(main())
        shown = self.client().show([made["id"]])[0]
        self.assertEqual(shown["assignee"], "eve")
        self.assertIn("half of it is done", [note["content"] for note in shown["notes"]])

    def test_a_lease_is_renewed_while_there_is_activity_and_not_without(self):
        made = self.client().create("Slow")

        class Counting(AsyncClient):
            renewals = 0

            async def renew(self, *args, **options):
                self.renewals += 1
                return await super().renew(*args, **options)

        async def main():
            async with Counting(self.repo, actor="w", bd=BD) as beads:
                worker = Worker(beads, lease_ms=60_000, once=True, beat_s=0)
                async for claim in worker:
                    worker.stop()
                    first = (await beads.show([made["id"]]))[0]["assignee_expires"]
                    while beads.renewals < 3:
                        await asyncio.sleep(0)
                    self.assertGreater((await beads.show([made["id"]]))[0]["assignee_expires"], first)
                    claim._active_at -= 10_000
                    await beads.status()  # the renewal in flight, if any, was sent before
                    before = beads.renewals
                    for _ in range(100):
                        await asyncio.sleep(0)
                    self.assertEqual(beads.renewals, before)
                    await claim.finish("done")

        asyncio.run(main())


class Readme(Store):
    def test_the_examples_run(self):
        text = (Path(__file__).parent.parent / "README.md").read_text()
        blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        self.assertEqual(len(blocks), 2)
        self.assertLessEqual(len([line for line in blocks[1].splitlines() if line.strip()]), 30)
        for code in blocks:
            done = subprocess.run([sys.executable, "-c", code], cwd=self.repo, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("'count': 10", done.stdout)


if __name__ == "__main__":
    unittest.main()

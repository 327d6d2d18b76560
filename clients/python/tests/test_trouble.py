"""What goes wrong around the client library: lost claims, loops left early, daemons that are silent or not ours."""

import asyncio
import os
import signal
import socket
import subprocess
import unittest
from pathlib import Path
from unittest import mock

from beads import BeadsError, ClaimEnded, Client, Worker, _place, _request
from beads.errors import BusyError, DaemonUnreachableError, TooLargeError
from repository import Store


class Interrupted(Exception):
    """Raised in the middle of a request."""


def interrupt(*_):
    raise Interrupted


class Blocking(Store):
    def test_a_reply_that_was_not_read_is_not_taken_for_the_next_one(self):
        for use_socket in (True, False):
            with self.subTest(use_socket=use_socket):
                beads = self.client(use_socket=use_socket)
                cursor = beads.events()["cursor"]
                before = signal.signal(signal.SIGALRM, interrupt)
                self.addCleanup(signal.signal, signal.SIGALRM, before)
                signal.setitimer(signal.ITIMER_REAL, 0.2)
                with self.assertRaises(Interrupted):
                    beads.events(since=cursor, wait_ms=3000)
                self.assertEqual(beads.count()["count"], 0)

    def test_a_command_that_died_is_started_again(self):
        beads = self.client(use_socket=False)
        beads.create("First")
        # It has died, which the client has not noticed.
        beads._process.kill()
        beads._process.wait()
        with mock.patch.object(beads._process, "poll", return_value=None):
            beads.create("Second")
        self.assertEqual(beads.count()["count"], 2)

    def test_a_daemon_that_does_not_reply_is_an_error_after_one_try(self):
        beads = self.client()
        with self.daemon_of_test() as silent:
            with mock.patch("beads._request.PATIENCE_S", 0.05):
                for create in (beads.create, lambda title: asyncio.run(self.create(title))):
                    with self.assertRaises(BusyError) as failed:
                        create("Unheard")
                    error = failed.exception
                    self.assertIn("may still be carried out", str(error))
                    self.assertIn(error.request_id, error.hint)
                    self.assertTrue(error.request_id.startswith("~"))
                with self.assertRaises(BusyError) as failed:
                    beads.create("Unheard", request_id="mine")
                self.assertEqual(failed.exception.request_id, "mine")
                with self.assertRaises(BusyError) as failed:
                    beads.count()
                self.assertIsNone(failed.exception.request_id)
            asked = 0
            silent.setblocking(False)
            while True:
                try:
                    silent.accept()[0].close()
                except BlockingIOError:
                    break
                asked += 1
        self.assertEqual(asked, 4)

    def test_a_program_that_does_not_reply_is_ended(self):
        beads = self.client(use_socket=False)
        with self.daemon_of_test(), mock.patch("beads._request.PATIENCE_S", 0.05):
            for create in (beads.create, lambda title: asyncio.run(self.create(title, use_socket=False))):
                with self.assertRaises(BusyError):
                    create("Unheard")

    def test_a_socket_that_another_user_could_have_made_gets_nothing(self):
        beads = self.client()
        run = Path(beads.place.socket).parent
        with self.listener() as stranger:
            run.chmod(0o777)
            try:
                beads.create("Secret")
                asyncio.run(self.create("Secret, too"))
                self.assertEqual(beads.count()["count"], 2)
            finally:
                beads.close_connection()
                run.chmod(0o700)
            stranger.setblocking(False)
            with self.assertRaises(BlockingIOError):
                stranger.accept()

    def test_a_request_that_is_too_long_is_refused_before_it_is_sent(self):
        beads = self.client()
        made = beads.create("Long")
        with self.assertRaises(TooLargeError):
            beads.note(made["id"], "x" * (17 << 20))

    def test_the_program_of_the_wheel_comes_before_the_search_path(self):
        program = Path(self.repo) / "bd"
        program.touch(mode=0o755)
        installed = mock.Mock(locate=lambda: program)
        installed.name = "bd"
        with mock.patch.dict(os.environ), mock.patch("beads._place.metadata.files", return_value=[installed]):
            del os.environ["BD"]
            self.assertEqual(_place.find_bd(), os.path.realpath(program))
            with self.assertRaises(DaemonUnreachableError):
                Client(self.repo, bd="/nowhere/bd")

    def test_the_session_comes_from_the_environment(self):
        made = self.client().create("Held")
        with mock.patch.dict(os.environ, BD_SESSION="run-1"):
            self.client().claim(made["id"])
        with self.assertRaises(BeadsError):
            self.client(session="run-2").claim(made["id"])
        self.client(session="run-1").claim(made["id"])

    def test_codes_of_newer_versions_are_plain_errors(self):
        with self.assertRaises(BeadsError) as failed:
            _request.decode(b'{"error":{"code":"brand_new","message":"no","details":1}}\n', list)
        error = failed.exception
        self.assertEqual((type(error), error.code, str(error), error.details), (BeadsError, "brand_new", "no", 1))

    def test_a_sync_may_take_as_long_as_its_deadline(self):
        self.assertGreaterEqual(_request.patience("sync"), 24 * 3600)
        self.assertEqual(_request.patience({"wait": {"ms": 5000, "call": {}}}), _request.PATIENCE_S + 5)


class Workers(Store):
    def status(self, made):
        return self.client().show([made["id"]])[0]["status"]

    def test_a_body_that_is_left_early_gives_its_bead_back(self):
        made = self.client().create("Left")

        async def fail(_claim):
            raise ZeroDivisionError

        async def be_cancelled(_claim):
            asyncio.current_task().cancel()
            await asyncio.Event().wait()

        async def leave(_claim):
            return

        async def work(body):
            async with self.aio("w", session="w-1") as beads:
                async for claim in Worker(beads, once=True):
                    await body(claim)
                    break

        for body, raised in ((fail, ZeroDivisionError), (be_cancelled, asyncio.CancelledError), (leave, None)):
            with self.subTest(body=body.__name__):
                if raised:
                    with self.assertRaises(raised):
                        asyncio.run(work(body))
                else:
                    asyncio.run(work(body))
                self.assertEqual(self.status(made), "open")

    def test_a_claim_that_is_over_is_claim_ended_from_every_call(self):
        for n in range(2):
            self.client().create(f"Taken {n}")

        async def main():
            ends = [
                ("cancelled", lambda id: boss.cancel(id, "not needed"), lambda claim: claim.finish("late")),
                ("deleted", lambda id: boss.delete(id), lambda claim: claim.note("late")),
            ]
            async with self.aio("w", session="w-1") as beads, self.aio("boss") as boss:
                async for claim in Worker(beads, once=True):
                    reason, end, call = ends.pop()
                    await end(claim.id)
                    with self.assertRaises(ClaimEnded) as ended:
                        await call(claim)
                    self.assertEqual(ended.exception.over["reason"], reason)
            self.assertEqual(ends, [])

        asyncio.run(main())

    def test_a_worker_that_held_several_resumes_what_it_still_holds_and_gives_back_the_rest(self):
        holder = self.client("w")
        made = [holder.create(f"Held {n}")["id"] for n in range(4)]
        for bead in made:
            holder.claim(bead)
        seen = []

        async def main():
            async with self.aio("w") as beads, self.aio("boss") as boss:
                worker = Worker(beads, once=True)
                async for claim in worker:
                    seen.append(claim.id)
                    await claim.finish("done")
                    if len(seen) == 1:
                        taken = next(bead for bead in made if bead != claim.id)
                        made.remove(taken)
                        await boss.cancel(taken, "not needed")
                    if len(seen) == 2:
                        worker.stop()

        asyncio.run(main())
        self.assertEqual(len(set(seen) & set(made)), 2)
        (left,) = set(made) - set(seen)
        self.assertEqual(self.client().show([left])[0]["status"], "open")

    def test_a_lease_is_renewed_before_it_ends(self):
        self.client().create("Short")

        async def main():
            async with self.aio("w") as beads:
                async for claim in Worker(beads, lease_ms=3000, once=True):
                    self.assertLessEqual(Worker(beads, lease_ms=3000)._pause_s(claim), 1)
                    self.assertLessEqual(Worker(beads)._pause_s(claim), 1)
                    claim.bead["assignee_expires"] = "2026-01-01T00:00:00.000Z"
                    self.assertEqual(Worker(beads)._pause_s(claim), 20)
                    await claim.finish("done")

        asyncio.run(main())

    def test_a_cancelled_wait_takes_no_work(self):
        async def main():
            async with self.aio("w") as beads, self.aio("boss") as boss:
                waiting = asyncio.ensure_future(beads.claim_next(wait_ms=600_000))
                for _ in range(5):  # meanwhile it is sent
                    await boss.status()
                waiting.cancel()
                await asyncio.wait({waiting})
                made = await boss.create("For the next one")
                self.assertEqual((await boss.claim_next())["id"], made["id"])

        asyncio.run(main())


if __name__ == "__main__":
    unittest.main()

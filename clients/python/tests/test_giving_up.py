"""Requests that are cancelled or take too long, and workers that stop, fail or are left early."""

import asyncio
import socket
import threading
import time
import unittest
from unittest import mock

from beads import ClaimEnded, Worker
from beads.errors import BusyError, HubUnreachableError, NetworkError
from repository import Store


class Requests(Store):
    async def cancel_as_the_reply_arrives(self, request, steps):
        """Starts a request and cancels it some steps of the event loop after its reply arrived. Returns whether it was
        cancelled."""
        loop, feed, cancelled = asyncio.get_running_loop(), asyncio.StreamReader.feed_data, []
        task = asyncio.ensure_future(request)

        def cancel(steps_left):
            if steps_left:
                loop.call_soon(cancel, steps_left - 1)
            else:
                cancelled.append(task.cancel())

        def feed_and_cancel(reader, data):
            feed(reader, data)
            if not cancelled:
                cancel(steps)

        with mock.patch.object(asyncio.StreamReader, "feed_data", feed_and_cancel):
            await asyncio.wait({task})
            while not cancelled:
                await asyncio.sleep(0)
        self.assertEqual(task.cancelled(), cancelled[0], "a cancellation was swallowed")
        return task.cancelled()

    def test_a_request_is_cancelled_even_if_its_reply_arrives(self):
        async def main():
            async with self.aio() as beads:
                await beads.status()
                outcomes = [await self.cancel_as_the_reply_arrives(beads.status(), steps) for steps in range(8)]
                self.assertEqual({True, False}, set(outcomes))

        asyncio.run(main())

    def test_a_bead_whose_claim_was_cancelled_as_the_reply_arrived_is_given_back(self):
        made = self.client().create("For the next one")

        async def main(steps):
            async with self.aio() as beads:
                await beads.status()
                for wait_ms in (0, 600_000):
                    request = beads.claim_next(wait_ms=wait_ms)
                    if not await self.cancel_as_the_reply_arrives(request, steps):
                        await beads.unclaim(made["id"])
                        continue
                    await asyncio.wait(beads._cancelled)
                    self.assertEqual((await beads.show([made["id"]]))[0]["status"], "open")

        for steps in range(4):
            asyncio.run(main(steps))

    def test_a_large_request_to_a_stalled_daemon_ends(self):
        pause = asyncio.streams.FlowControlMixin.pause_writing

        async def main():
            beads, is_full = self.aio(), asyncio.Event()

            def pause_writing(protocol):
                pause(protocol)
                is_full.set()

            large = "x" * (8 << 20)
            with mock.patch.object(asyncio.streams.FlowControlMixin, "pause_writing", pause_writing):
                task = asyncio.ensure_future(beads.create("Unheard", description=large))
                await is_full.wait()
                task.cancel()
                await asyncio.wait({task})
            self.assertTrue(task.cancelled())
            with mock.patch("beads._request.PATIENCE_S", 0.05):
                with self.assertRaises(BusyError):
                    await beads.create("Unheard", description=large)

        with self.daemon_of_test():
            asyncio.run(main())

    def test_a_daemon_of_another_repository_gets_nothing(self):
        beads, asked = self.client(), []

        def answer(listener):
            while True:
                connection, _ = listener.accept()
                with connection, connection.makefile("rb") as lines:
                    line = lines.readline()
                    if line == b"end\n":
                        return
                    if line:
                        asked.append(line)
                        connection.sendall(b'{"position":0,"exit":0,"stdout":""}\n')

        with self.listener() as stranger:
            thread = threading.Thread(target=answer, args=(stranger,))
            thread.start()
            try:
                beads.create("Secret")
                asyncio.run(self.create("Secret, too"))
                self.assertEqual(beads.count()["count"], 2)
            finally:
                beads.close_connection()
                with socket.socket(socket.AF_UNIX) as end:
                    end.connect(beads.place.socket)
                    end.sendall(b"end\n")
                thread.join()
        self.assertFalse([line for line in asked if b"Secret" in line])


class Workers(Store):
    def status(self, made):
        return self.client().show([made["id"]])[0]["status"]

    def held_by(self, actor, count):
        holder = self.client(actor)
        made = [holder.create(f"Held {n}") for n in range(count)]
        for bead in made:
            holder.claim(bead["id"])
        return made

    def test_a_second_loop_keeps_the_bead_that_the_first_was_left_with(self):
        made = self.client().create("Left and taken up again")

        async def main():
            async with self.aio("w", session="w-1") as beads:
                async for _claim in Worker(beads, once=True):
                    break
                async for claim in Worker(beads, once=True):
                    for _ in range(50):  # meanwhile the first loop would give it back
                        await beads.status()
                    await claim.finish("done")

        asyncio.run(main())
        self.assertEqual(self.status(made), "closed")

    def test_one_failed_release_keeps_no_other_claim(self):
        made = self.held_by("w", 3)

        async def main(fails, body):
            async with self.aio("w") as beads:
                unclaim = beads.unclaim

                async def failing(id, **fields):
                    if fails:
                        raise fails.pop()
                    return await unclaim(id, **fields)

                beads.unclaim = failing
                async for _claim in Worker(beads, once=True):
                    body()
                    break

        async def ends_at_the_second_try():
            async with self.aio("w") as beads:
                with mock.patch.object(beads, "unclaim", mock.AsyncMock(side_effect=busy)):
                    with self.assertRaises(BusyError):
                        async for _claim in Worker(beads, once=True):
                            pass

        busy = BusyError("full")
        asyncio.run(ends_at_the_second_try())
        self.assertEqual([self.status(bead) for bead in made], ["open"] * 3)
        for bead in made:
            self.client("w").claim(bead["id"])
        for bead in made:
            self.client("w").claim(bead["id"])
        with self.assertRaises(BusyError):
            asyncio.run(main([busy], lambda: None))
        self.assertEqual(sorted(self.status(bead) for bead in made), ["in_progress", "open", "open"])
        for bead in made:
            self.client("w").claim(bead["id"])
        with self.assertRaises(ZeroDivisionError):
            asyncio.run(main([busy], lambda: 1 / 0))
        self.assertEqual(sorted(self.status(bead) for bead in made), ["in_progress", "open", "open"])

    def test_a_worker_that_waits_survives_errors_that_pass(self):
        made = self.client().create("After the outage")

        async def main(once):
            errors = [BusyError("full"), HubUnreachableError("away"), NetworkError("away")]
            async with self.aio("w") as beads:
                claim_next = beads.claim_next

                async def failing(**options):
                    if errors:
                        raise errors.pop()
                    return await claim_next(**options)

                with mock.patch.object(beads, "claim_next", failing):
                    worker = Worker(beads, once=once)
                    async for claim in worker:
                        worker.stop()
                        await claim.finish("done")

        with mock.patch("beads.worker.SHORTEST_PAUSE_S", 0):
            with self.assertRaises(NetworkError):
                asyncio.run(main(once=True))
            asyncio.run(main(once=False))
        self.assertEqual(self.status(made), "closed")

    def test_a_pause_ends_with_the_worker(self):
        async def main():
            async with self.aio("w") as beads:
                worker = Worker(beads)

                async def work():
                    async for _claim in worker:
                        self.fail("there is no work")

                with mock.patch.object(beads, "claim_next", mock.AsyncMock(side_effect=NetworkError("away"))):
                    task = asyncio.ensure_future(work())
                    while worker._pausing is None:
                        await asyncio.sleep(0)
                    worker.stop()
                    await task

        with mock.patch("beads.worker.SHORTEST_PAUSE_S", 1e6), mock.patch("beads.worker.LONGEST_PAUSE_S", 1e6):
            asyncio.run(main())

    def test_a_bead_that_comes_after_the_stop_is_given_back(self):
        async def main():
            async with self.aio("w") as beads, self.aio("boss") as boss:
                worker, seen = Worker(beads), []

                async def work():
                    async for claim in worker:
                        seen.append(claim.id)

                task = asyncio.ensure_future(work())
                for _ in range(5):  # meanwhile the request for work is sent
                    await boss.status()
                worker.stop()
                made = await boss.create("Too late")
                await task
                self.assertEqual(seen, [])
                self.assertEqual((await boss.show([made["id"]]))[0]["status"], "open")

        asyncio.run(main())

    def test_work_on_a_claim_that_has_ended_does_not_begin(self):
        made = self.client().create("Cancelled")
        begun = []

        async def work():
            begun.append(True)

        async def main():
            async with self.aio("w", session="w-1") as beads, self.aio("boss") as boss:
                async for claim in Worker(beads, once=True):
                    await boss.cancel(made["id"], "not needed")
                    await asyncio.wait({claim.over})
                    with self.assertRaises(ClaimEnded):
                        await claim.run(work())

        asyncio.run(main())
        self.assertEqual(begun, [])

    def test_the_quiet_time_of_a_bead_begins_with_its_turn(self):
        self.held_by("w", 2)
        turns = []

        async def main():
            async with self.aio("w") as beads:
                async for claim in Worker(beads, once=True):
                    turns.append(claim._active_at)
                    await claim.finish("done")
                    turns.append(time.monotonic())

        asyncio.run(main())
        self.assertEqual(turns, sorted(turns))
        self.assertEqual(len(turns), 4)


if __name__ == "__main__":
    unittest.main()

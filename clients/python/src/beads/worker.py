"""The worker runtime: claims beads, keeps the leases, and finishes or gives back what it claimed."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timezone
from typing import Any, AsyncIterator, Awaitable, Iterator, List, Optional, TypeVar

from . import errors, types
from .aio import AsyncClient
from .errors import BeadsError, NothingReadyError

Result = TypeVar("Result")

#: One wait for work. The daemon waits, so a longer time costs nothing; a shorter one ends a stopped worker sooner.
WAIT_MS = 30_000

#: What a call under a fence answers when its claim is over.
OVER = (
    errors.StaleClaimError,
    errors.NotHolderError,
    errors.ClosedError,
    errors.CancelledError,
    errors.DeletedError,
    errors.ArchivedError,
)


class ClaimEnded(Exception):
    """The claim ended without this worker's doing; `over` says why, if the daemon knows."""

    def __init__(self, bead: str, over: Optional[types.ClaimOver]) -> None:
        reason = over["reason"] if over else "unknown"
        super().__init__(f"the claim on {bead} is over: {reason}")
        self.over = over


class Claim:
    """A bead that this worker holds."""

    def __init__(self, client: AsyncClient, claimed: types.Claimed, resumed: bool) -> None:
        self.client = client
        self.bead = claimed
        self.id: str = claimed["id"]
        self.title: str = claimed["title"]
        self.fence: str = claimed["fence"]
        #: It was claimed before this worker started.
        self.resumed = resumed
        #: Set when the claim ended without this worker's doing.
        self.over: "asyncio.Future[Optional[types.ClaimOver]]" = asyncio.get_running_loop().create_future()
        self.is_finished = False
        self._active_at = time.monotonic()
        self._upkeep: List["asyncio.Future[None]"] = []
        self._given_back: Optional["asyncio.Task[None]"] = None

    @property
    def brief(self) -> Optional[types.Brief]:
        """Title, description, acceptance criteria, notes and finished blockers."""
        return self.bead.get("brief")

    def touch(self) -> None:
        """Counts as activity: the lease is kept only while there is some."""
        self._active_at = time.monotonic()

    async def note(self, text: str) -> types.NoteAnswer:
        """Adds a note under the fence of this claim."""
        self.touch()
        with self._fenced():
            return await self.client.note(self.id, text, fence=self.fence)

    async def finish(self, reason: str = "", **fields: Any) -> types.Closed:
        """Closes the bead under the fence of this claim."""
        with self._ending():
            return await self.client.close(self.id, fence=self.fence, reason=reason, **fields)

    async def hand_over(self, to: str, text: str = "") -> None:
        """Offers the bead to another actor."""
        with self._ending():
            await self.client.hand_over(self.id, to, fence=self.fence, text=text)

    async def ask(self, question: str, options: Optional[List[str]] = None) -> None:
        """Asks a person and gives the claim back; the bead is ready again once there is an answer."""
        with self._ending():
            await self.client.ask(self.id, question, fence=self.fence, options=options or [])

    async def release(self, reason: str = "") -> None:
        """Gives the claim back."""
        with self._ending():
            await self.client.unclaim(self.id, fence=self.fence, reason=reason)

    async def run(self, work: Awaitable[Result]) -> Result:
        """Runs work, and cancels it with `ClaimEnded` when the claim ends. Work that runs counts as activity."""
        task = asyncio.ensure_future(work)
        try:
            while True:
                await asyncio.wait({task, self.over}, timeout=1, return_when=asyncio.FIRST_COMPLETED)
                self.touch()
                if task.done():
                    return task.result()
                if self.over.done():
                    raise ClaimEnded(self.id, self.over.result())
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})

    @contextmanager
    def _ending(self) -> Iterator[None]:
        """Ends the claim by this worker's doing: the daemon reports that end, too, and may do so before it replies."""
        self.is_finished = True
        with self._fenced():
            try:
                yield
            except BaseException:
                self.is_finished = False
                raise

    @contextmanager
    def _fenced(self) -> Iterator[None]:
        """Raises `ClaimEnded` when a call under the fence is refused because the claim is over."""
        try:
            yield
        except OVER as error:
            self._end(None)
            raise ClaimEnded(self.id, self.over.result() if self.over.done() else None) from error

    async def _give_back(self) -> None:
        """Ends the upkeep, and releases the bead unless the claim is over. Safe to repeat, also after it was cancelled."""
        if self._given_back is None:
            self._given_back = asyncio.ensure_future(self._give_back_once())
        await asyncio.shield(self._given_back)

    async def _give_back_once(self) -> None:
        for task in self._upkeep:
            task.cancel()
        if self._upkeep:
            await asyncio.wait(self._upkeep)
        if not self.is_finished and not self.over.done():
            try:
                await self.release("the worker stopped before it was finished")
            except ClaimEnded:
                pass

    def _end(self, over: Optional[types.ClaimOver]) -> None:
        if self.is_finished or self.over.done():
            return
        reported = (one for one in self.client.claims_over if one["fence"] == self.fence)
        self.over.set_result(over or next(reported, None))


class Worker:
    """Yields claimed beads: `async for claim in Worker(client)`.

    Beads that the actor still holds come first, so a worker that was restarted resumes. While the loop's body runs, the
    lease is kept as long as there is activity: calls of the claim, `claim.touch()`, or work in `claim.run()`. After
    `quiet_s` without any, the lease runs out. When the claim ends, `claim.over` is set, and `claim.run()` and the calls of
    the claim raise `ClaimEnded`. A body that neither finishes nor hands over its bead gives it back; one that is left early (`break`, an
    exception, cancellation) does so at the end of the client's `async with`.

    Workers that run at the same time need different actors or sessions: one that starts resumes what its actor holds
    without a session or in the same one.

    `once` ends the loop when nothing is ready; otherwise the worker waits for work until `stop()`.
    """

    def __init__(
        self,
        client: AsyncClient,
        *,
        filter: Optional[types.Filter] = None,
        under: Optional[str] = None,
        lease_ms: Optional[int] = None,
        confirm: bool = False,
        once: bool = False,
        beat_s: float = 20.0,
        quiet_s: float = 900.0,
    ) -> None:
        self.client = client
        self._ready: types.ReadyFilter = {"filter": filter or {}}
        if under:
            self._ready["under"] = under
        self._lease_ms = lease_ms
        self._confirm = confirm
        self._once = once
        self._beat_s = beat_s
        self._quiet_s = quiet_s
        self._stopped = False

    def stop(self) -> None:
        """Ends the loop after the current bead."""
        self._stopped = True

    async def __aiter__(self) -> AsyncIterator[Claim]:
        held = await self.client.claim_mine(lease_ms=self._lease_ms)
        claims = [Claim(self.client, bead, resumed=True) for bead in held]
        self.client._at_exit.update(claim._give_back for claim in claims)
        for claim in claims:
            if self._stopped:
                await claim._give_back()
            elif claim is claims[0] or await self._still_holds(claim):
                async with self._holding(claim):
                    yield claim
            self.client._at_exit.discard(claim._give_back)
        while not self._stopped:
            try:
                claimed = await self.client.claim_next(
                    filter=self._ready,
                    lease_ms=self._lease_ms,
                    wait_ms=0 if self._once else WAIT_MS,
                    confirm=self._confirm,
                )
            except NothingReadyError:
                if self._once:
                    return
                continue
            claim = Claim(self.client, claimed, resumed=False)
            async with self._holding(claim):
                yield claim

    async def _still_holds(self, claim: Claim) -> bool:
        """Renews the lease of a bead whose turn came late."""
        try:
            await self.client.renew(claim.id, fence=claim.fence, lease_ms=self._lease_ms)
        except OVER:
            return False
        return True

    @asynccontextmanager
    async def _holding(self, claim: Claim) -> AsyncIterator[None]:
        claim._upkeep = [asyncio.ensure_future(self._beat(claim)), asyncio.ensure_future(self._watch(claim))]
        self.client._at_exit.add(claim._give_back)
        try:
            yield
        finally:
            await claim._give_back()
            self.client._at_exit.discard(claim._give_back)

    def _pause_s(self, claim: Claim) -> float:
        """Returns how long to wait between renewals: a third of the lease at most."""
        lease_s = (self._lease_ms or 0) / 1000
        expires = claim.bead["assignee_expires"]
        if not lease_s and expires:
            until = datetime.fromisoformat(expires.replace("Z", "+00:00"))
            lease_s = (until - datetime.now(timezone.utc)).total_seconds()
        return min(self._beat_s, lease_s / 3) if lease_s > 0 else self._beat_s

    async def _beat(self, claim: Claim) -> None:
        """Renews the lease while there is activity."""
        pause_s = self._pause_s(claim)
        while not claim.over.done():
            await asyncio.sleep(pause_s)
            if time.monotonic() - claim._active_at > self._quiet_s:
                continue
            try:
                await self.client.renew(claim.id, fence=claim.fence, lease_ms=self._lease_ms)
            except OVER:
                claim._end(None)
            except BeadsError:
                # A store that is busy or damaged does not end the claim; the next beat tries again.
                continue

    async def _watch(self, claim: Claim) -> None:
        """Waits for the end of the claim."""
        call = {"wait": {"ms": WAIT_MS, "call": {"query": {"claim_over": {"fence": claim.fence}}}}}
        over = None
        while not over:
            try:
                answer = await self.client.request(call)
            except BeadsError:
                await asyncio.sleep(self._pause_s(claim))
                continue
            over = answer and answer.get("over")
        claim._end(answer.get("claim_over"))

"""The worker runtime: claims beads, keeps the leases, and finishes or gives back what it claimed."""

from __future__ import annotations

import asyncio
import random
import time
import weakref
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timezone
from typing import Any, AsyncGenerator, AsyncIterator, Callable, List, Optional

from . import types
from .aio import AsyncClient
from .claim import OVER, Claim
from .errors import BeadsError, BusyError, HubUnreachableError, NetworkError, NothingReadyError

#: One wait for work. The daemon waits, so a longer time costs nothing; a shorter one ends a stopped worker sooner.
WAIT_MS = 30_000

#: Errors of a claim that pass by themselves. A worker that waits for work tries again.
PASSING = (BusyError, HubUnreachableError, NetworkError)

#: The first and the longest pause after such an error. Each is up to twice as long as the one before, and random, so that
#: many workers do not come back at once.
SHORTEST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0


class _Loop:
    """The iterator of `async for`. It is gone as soon as the loop was left; the generator's own end needs the event loop."""

    def __init__(self, worker: "Worker") -> None:
        this = weakref.ref(self)
        self._claims = worker._claims(lambda: this() is None)

    def __aiter__(self) -> "_Loop":
        return self

    async def __anext__(self) -> Claim:
        return await self._claims.__anext__()

    async def aclose(self) -> None:
        await self._claims.aclose()


class Worker:
    """Yields claimed beads: `async for claim in Worker(client)`.

    Beads that the actor still holds come first, so a worker that was restarted resumes. While the loop's body runs, the
    lease is kept as long as there is activity: calls of the claim, `claim.touch()`, or work in `claim.run()`. After
    `quiet_s` without any, the lease runs out. When something other than the worker ends the claim, `claim.over` is set,
    and `claim.run()` and the calls of the claim raise `ClaimEnded`.

    A body that neither finishes nor hands over its bead gives it back. If the loop is left early (`break`, an exception,
    cancellation), that happens in the background, and is done before the next loop on the same client begins and at the
    end of the client's `async with`.

    Workers that run at the same time need different actors or sessions: one that starts resumes what its actor holds
    without a session or in the same one.

    `once` ends the loop when nothing is ready; otherwise the worker waits for work until `stop()`, also
    while the hub or the remote is away or the daemon is busy.
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
        self._pausing: Optional["asyncio.Future[None]"] = None

    def stop(self) -> None:
        """Ends the loop after the current bead."""
        self._stopped = True
        if self._pausing and not self._pausing.done():
            self._pausing.set_result(None)

    def __aiter__(self) -> AsyncIterator[Claim]:
        return _Loop(self)

    async def _claims(self, is_left: Callable[[], bool]) -> AsyncGenerator[Claim, None]:
        # A loop that was left gives its bead back in the background. That must not happen to the bead once it is resumed.
        await self.client._give_back_left()
        held = await self.client.claim_mine(lease_ms=self._lease_ms)
        claims = [self._claim_of(bead, is_left, resumed=True) for bead in held]
        for claim in claims:
            if self._stopped:
                failed = await self.client._give_back(one._give_back for one in claims)
                if failed:
                    raise failed
                return
            if claim is claims[0] or await self._still_holds(claim):
                async with self._holding(claim):
                    yield claim
            else:
                self.client._held.pop(claim._give_back, None)
        while not self._stopped:
            claimed = await self._claim_next()
            if claimed is None:
                return
            claim = self._claim_of(claimed, is_left, resumed=False)
            if self._stopped:
                await claim._give_back()
                return
            async with self._holding(claim):
                yield claim

    def _claim_of(self, claimed: types.Claimed, is_left: Callable[[], bool], resumed: bool) -> Claim:
        claim = Claim(self.client, claimed, resumed)
        self.client._held[claim._give_back] = is_left
        return claim

    async def _claim_next(self) -> Optional[types.Claimed]:
        """Claims a bead, waiting for work and through errors that pass. Returns `None` when the loop ends."""
        failures = 0
        while not self._stopped:
            try:
                return await self.client.claim_next(
                    filter=self._ready,
                    lease_ms=self._lease_ms,
                    wait_ms=0 if self._once else WAIT_MS,
                    confirm=self._confirm,
                )
            except NothingReadyError:
                if self._once:
                    return None
                failures = 0
            except PASSING:
                if self._once:
                    raise
                await self._pause(failures)
                failures += 1
        return None

    async def _pause(self, failures: int) -> None:
        """Waits before it claims again, or until `stop()`."""
        longest_s = min(LONGEST_PAUSE_S, SHORTEST_PAUSE_S * 2**failures)
        self._pausing = asyncio.get_running_loop().create_future()
        await asyncio.wait({self._pausing}, timeout=random.uniform(longest_s / 2, longest_s))

    async def _still_holds(self, claim: Claim) -> bool:
        """Renews the lease of a bead whose turn came late."""
        try:
            await self.client.renew(claim.id, fence=claim.fence, lease_ms=self._lease_ms)
        except OVER:
            return False
        return True

    @asynccontextmanager
    async def _holding(self, claim: Claim) -> AsyncIterator[None]:
        claim.touch()
        claim._upkeep = [asyncio.ensure_future(self._beat(claim)), asyncio.ensure_future(self._watch(claim))]
        try:
            yield
        except GeneratorExit:
            # The loop was left. If this fails, the end of the client's `async with` tries again, and reports it.
            with suppress(BeadsError):
                await claim._give_back()
            raise
        await claim._give_back()

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

"""A bead that a worker holds."""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from typing import Any, Awaitable, Iterator, List, Optional, TypeVar

from . import errors, types
from .aio import AsyncClient

Result = TypeVar("Result")

#: What a call under a fence answers when its claim is over.
OVER = (
    errors.StaleClaimError,
    errors.NotHolderError,
    errors.ClosedError,
    errors.CancelledError,
    errors.DeletedError,
    errors.ArchivedError,
)

#: How long the upkeep of a claim may take to end before it is cancelled again.
CANCEL_AGAIN_S = 1.0


class ClaimEnded(Exception):
    """Something other than this worker ended the claim; `over` says why, if the daemon knows."""

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
        #: Set when something other than this worker ended the claim.
        self.over: "asyncio.Future[Optional[types.ClaimOver]]" = asyncio.get_running_loop().create_future()
        self.is_finished = False
        self._active_at = time.monotonic()
        self._upkeep: List["asyncio.Future[None]"] = []
        self._giving_back: Optional["asyncio.Future[None]"] = None

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
            while not self.over.done():
                await asyncio.wait({task, self.over}, timeout=1, return_when=asyncio.FIRST_COMPLETED)
                self.touch()
                if task.done():
                    return task.result()
            raise ClaimEnded(self.id, self.over.result())
        finally:
            if not task.done():
                # Work that has not begun does not begin.
                task.cancel()
                await asyncio.wait({task})

    @contextmanager
    def _ending(self) -> Iterator[None]:
        """Marks the end of the claim as this worker's own: the daemon also reports it, possibly before it replies."""
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
        """Ends the upkeep, and releases the bead unless the claim is over. Safe to repeat, also after it failed or was
        cancelled."""
        task = self._giving_back
        if task is None:
            task = self._giving_back = asyncio.ensure_future(self._give_back_once())
        try:
            await asyncio.shield(task)
        except Exception:
            if self._giving_back is task:
                self._giving_back = None
            raise

    async def _give_back_once(self) -> None:
        upkeep = {task for task in self._upkeep if not task.done()}
        while upkeep:
            for task in upkeep:
                task.cancel()
            _done, upkeep = await asyncio.wait(upkeep, timeout=CANCEL_AGAIN_S)
        if not self.is_finished and not self.over.done():
            try:
                await self.release("the worker stopped before it was finished")
            except ClaimEnded:
                pass
        self.client._held.pop(self._give_back, None)

    def _end(self, over: Optional[types.ClaimOver]) -> None:
        if self.is_finished or self.over.done():
            return
        reported = (one for one in self.client.claims_over if one["fence"] == self.fence)
        self.over.set_result(over or next(reported, None))

"""The asyncio client."""

from __future__ import annotations

import asyncio
import os
from typing import Any, AsyncIterator, Awaitable, Callable, Dict, Iterable, List, Optional, Set

from . import types
from ._api import AsyncApi
from ._connection import Connection
from ._place import Place
from ._request import (
    ATTEMPTS,
    DaemonOlder,
    decode,
    encode,
    hands_out_work,
    no_daemon,
    no_reply,
    patience,
    pause_s,
    result_of,
    short_lived_id,
)
from .errors import BeadsError

#: The longest line of a reply.
LIMIT = 256 * 1024 * 1024

#: How long a request that was cancelled may still be answered.
LAST_REPLY_S = 5.0

GiveBack = Callable[[], Awaitable[None]]


class AsyncClient(AsyncApi):
    """A store, for asyncio programs. Each request in flight has a connection of its own, so a request that waits
    delays no other.

    Use it with `async with`: leaving the block gives back what workers on this client still hold. The options are those
    of `Client`.
    """

    def __init__(
        self,
        directory: str = ".",
        *,
        actor: Optional[str] = None,
        session: Optional[str] = None,
        bd: Optional[str] = None,
        use_socket: bool = True,
    ) -> None:
        self.place = Place.find(directory, bd, actor)
        self.session = session or os.environ.get("BD_SESSION")
        self.claims_over: List[types.ClaimOver] = []
        self._use_socket = use_socket
        self._idle: List[Connection] = []
        #: How to give back what workers hold, and whether the worker's loop was left.
        self._held: Dict[GiveBack, Callable[[], bool]] = {}
        #: Cancelled requests for work, until it is known that they got none or it is given back.
        self._cancelled: Set["asyncio.Task[None]"] = set()

    @property
    def actor(self) -> str:
        """Who acts."""
        return self.place.actor

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, _kind: object, error: Optional[BaseException], _traceback: object) -> None:
        try:
            failed = await self._give_back(self._held)
            if self._cancelled:
                await asyncio.wait(self._cancelled)
        finally:
            await self.close_connections()
        if failed and error is None:
            raise failed

    async def close_connections(self) -> None:
        """Closes idle connections. The client can still be used; it connects again."""
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.close()

    async def request(self, call: Any, *, request_id: Optional[str] = None, changes: bool = False) -> Any:
        """Sends a call as docs/PROTOCOL.md describes it, and again if the daemon ends before it replies."""
        # With an id of its own choice, the caller can ask again.
        is_undone_if_cancelled = request_id is None and hands_out_work(call)
        request_id = request_id or (short_lived_id() if changes else None)
        line = encode(call, self.actor, self.session, request_id)
        last: Optional[Exception] = None
        for attempt in range(ATTEMPTS):
            connection: Optional[Connection] = None
            try:
                connection = self._idle.pop() if self._idle else await self._open()
                reply = await connection.exchange(line, patience(call))
                if reply.endswith(b"\n"):
                    self._idle.append(connection)
                    connection = None
                return decode(reply, self.claims_over.extend)
            except asyncio.TimeoutError:
                raise no_reply(call, request_id) from None
            except asyncio.CancelledError:
                if connection is not None and is_undone_if_cancelled:
                    self._undo_claim(connection)
                    connection = None
                raise
            except (OSError, DaemonOlder) as error:
                last = error
                # The other connections lead to the same daemon.
                await self.close_connections()
                await asyncio.sleep(pause_s(attempt))
            finally:
                if connection is not None:
                    connection.abort()
                    await connection.close()
        raise no_daemon(last, request_id)

    def _undo_claim(self, connection: Connection) -> None:
        """Gives up a request for work. If its reply is on its way, the bead is given back."""
        connection.end_sending()
        task = asyncio.ensure_future(self._release_last_reply(connection))
        self._cancelled.add(task)
        task.add_done_callback(self._cancelled.discard)

    async def _release_last_reply(self, connection: Connection) -> None:
        try:
            claimed = result_of(await connection.last_reply(LAST_REPLY_S))
        finally:
            connection.abort()
            await connection.close()
        if claimed:
            try:
                await self.unclaim(claimed["id"], fence=claimed["fence"], reason="the request for it was cancelled")
            except BeadsError:
                pass  # The claim is over already, or ends with its lease.

    async def _give_back(self, held: Iterable[GiveBack]) -> Optional[Exception]:
        """Gives claims back, each of them even if another fails. Returns the first error."""
        failed: Optional[Exception] = None
        for give_back in list(held):
            try:
                await give_back()
            except Exception as error:
                failed = failed or error
        return failed

    async def _give_back_left(self) -> None:
        """Gives back what loops of workers that were left still hold."""
        failed = await self._give_back(give_back for give_back, is_left in self._held.items() if is_left())
        if failed:
            raise failed

    async def _open(self) -> Connection:
        """Connects, starting a daemon if there is none. Where sockets cannot be used, `bd call` answers."""
        for is_retry in (False, True):
            if not self._use_socket:
                break
            try:
                return await self._connect()
            except PermissionError:
                self._use_socket = False
            except OSError:
                if is_retry:
                    self._use_socket = False
                else:
                    await self._start_daemon()
        process = await asyncio.create_subprocess_exec(
            *self.place.call_command(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LIMIT,
        )
        assert process.stdin and process.stdout
        return Connection(process.stdout, process.stdin, process)

    async def _connect(self) -> Connection:
        self.place.check_socket()
        connection = Connection(*await asyncio.open_unix_connection(self.place.socket, limit=LIMIT))
        try:
            self.place.check_lock()
        except OSError:
            connection.abort()
            await connection.close()
            raise
        return connection

    async def _start_daemon(self) -> None:
        nothing = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *self.place.start_command(), stdin=nothing, stdout=nothing, stderr=nothing
        )
        await process.wait()

    async def settings(self) -> Dict[str, str]:
        """Returns all settings."""
        return await self.request("config_list")

    async def watch(
        self, since: Optional[str] = None, *, ids: Optional[List[str]] = None
    ) -> AsyncIterator[types.EventAnswer]:
        """Yields events as they happen, each once and in order, across restarts of the daemon."""
        cursor = since if since is not None else (await self.events())["cursor"]
        while True:
            page = await self.events(since=cursor, ids=ids, wait_ms=30_000)
            for event in page["events"]:
                yield event
            cursor = page["cursor"]

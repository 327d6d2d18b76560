"""The asyncio client."""

from __future__ import annotations

import asyncio
import os
from typing import Any, AsyncIterator, Awaitable, Callable, List, Optional, Set, Tuple

from . import types
from ._api import AsyncApi
from ._place import Place
from ._request import ATTEMPTS, DaemonOlder, decode, encode, no_reply, patience, pause_s
from .errors import DaemonUnreachableError

#: The longest line of a reply.
LIMIT = 256 * 1024 * 1024

_Streams = Tuple[asyncio.StreamReader, asyncio.StreamWriter, Optional["asyncio.subprocess.Process"]]


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
        self._idle: List[_Streams] = []
        #: What workers do before the client is gone. A loop that is left early does not wait for it.
        self._at_exit: Set[Callable[[], Awaitable[None]]] = set()

    @property
    def actor(self) -> str:
        """Who acts."""
        return self.place.actor

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            for give_back in list(self._at_exit):
                await give_back()
        finally:
            await self.close_connections()

    async def close_connections(self) -> None:
        """Closes idle connections. The client can still be used; it connects again."""
        idle, self._idle = self._idle, []
        for streams in idle:
            await _close(streams)

    async def request(self, call: Any, *, request_id: Optional[str] = None, changes: bool = False) -> Any:
        """Sends a call as docs/PROTOCOL.md describes it, and again if the daemon ends before it replies."""
        line = encode(call, self.actor, self.session, request_id, changes)
        last: Optional[BaseException] = None
        for attempt in range(ATTEMPTS):
            streams: Optional[_Streams] = None
            try:
                streams = self._idle.pop() if self._idle else await self._open()
                reader, writer, _process = streams
                writer.write(line)
                await writer.drain()
                reply = await asyncio.wait_for(reader.readline(), patience(call))
                if reply.endswith(b"\n"):
                    self._idle.append(streams)
                    streams = None
                return decode(reply, self.claims_over.extend)
            except asyncio.TimeoutError:
                raise no_reply(call) from None
            except (OSError, DaemonOlder) as error:
                last = error
                # The other connections lead to the same daemon.
                await self.close_connections()
                await asyncio.sleep(pause_s(attempt))
            finally:
                if streams is not None:
                    if streams[2] is not None and streams[2].returncode is None:
                        # It would finish its request first, which may wait for long.
                        streams[2].kill()
                    await _close(streams)
        raise DaemonUnreachableError(f"the daemon ended {ATTEMPTS} times before it replied: {last}")

    async def _open(self) -> _Streams:
        """Connects, starting a daemon if there is none. Where sockets cannot be used, `bd call` answers."""
        for is_retry in (False, True):
            if not self._use_socket:
                break
            try:
                self.place.check_socket()
                reader, writer = await asyncio.open_unix_connection(self.place.socket, limit=LIMIT)
                return reader, writer, None
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
        return process.stdout, process.stdin, process

    async def _start_daemon(self) -> None:
        nothing = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *self.place.start_command(), stdin=nothing, stdout=nothing, stderr=nothing
        )
        await process.wait()

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


async def _close(streams: _Streams) -> None:
    _reader, writer, process = streams
    writer.close()
    if process is not None:
        await process.wait()
        return
    try:
        await writer.wait_closed()
    except OSError:
        pass

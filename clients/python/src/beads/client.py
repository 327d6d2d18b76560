"""The client that blocks."""

from __future__ import annotations

import socket
import subprocess
import threading
from typing import Any, Dict, Iterator, List, Optional

from . import types
from ._api import Api
from ._place import Place
from ._request import DaemonOlder, decode, encode, patience
from .errors import DaemonUnreachableError

#: How often a request is sent again when the daemon ends before it replies.
ATTEMPTS = 8


class Client(Api):
    """A store, for programs that block. Safe to share between threads: requests run one after the other.

    `bd` is the program to use, `directory` any directory of the repository, `actor` who acts, and `session` the run of
    that actor. Claims that ended without this client's doing are appended to `claims_over`.
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
        self.session = session
        self.claims_over: List[types.ClaimOver] = []
        self._use_socket = use_socket
        self._lock = threading.Lock()
        self._connection: Optional[socket.socket] = None
        self._process: Optional["subprocess.Popen[bytes]"] = None

    @property
    def actor(self) -> str:
        """Who acts."""
        return self.place.actor

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close_connection()

    def close_connection(self) -> None:
        """Closes the connection. The client can still be used; it connects again."""
        if self._connection:
            self._connection.close()
            self._connection = None
        if self._process:
            assert self._process.stdin and self._process.stdout
            self._process.stdin.close()
            self._process.stdout.close()
            self._process.wait()
            self._process = None

    def request(self, call: Any, *, request_id: Optional[str] = None, changes: bool = False) -> Any:
        """Sends a call as docs/PROTOCOL.md describes it, and again if the daemon ends before it replies."""
        line = encode(call, self.actor, self.session, request_id, changes)
        with self._lock:
            for _ in range(ATTEMPTS):
                try:
                    return decode(self._exchange(line, patience(call)), self.claims_over.extend)
                except (ConnectionError, FileNotFoundError, DaemonOlder) as error:
                    last = error
                    self.close_connection()
                except BaseException:
                    # A reply that was not read must not be taken for that of the next request.
                    if isinstance(self._connection, socket.socket) and not self._is_idle:
                        self.close_connection()
                    raise
        raise DaemonUnreachableError(f"the daemon ended {ATTEMPTS} times before it replied: {last}")

    _is_idle = True

    def _exchange(self, line: bytes, timeout: float) -> bytes:
        if not self._use_socket:
            return self._through_command(line)
        if self._connection is None:
            connected = self._connect()
            if connected is None:
                return self._through_command(line)
            self._connection = connected
        self._is_idle = False
        self._connection.settimeout(timeout)
        try:
            self._connection.sendall(line)
            reply = _read_line(self._connection)
        except socket.timeout:
            raise ConnectionError("the daemon did not reply in time") from None
        self._is_idle = True
        return reply

    def _connect(self) -> Optional[socket.socket]:
        """Connects, starting a daemon if there is none. Returns `None` where sockets cannot be used."""
        for is_retry in (False, True):
            try:
                connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            except PermissionError:
                self._use_socket = False
                return None
            try:
                connection.connect(self.place.socket)
                return connection
            except OSError:
                connection.close()
            if not is_retry:
                self.place.start_daemon()
        # A daemon that cannot be reached at its path, or none at all: the program knows the other ways.
        self._use_socket = False
        return None

    def _through_command(self, line: bytes) -> bytes:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                self.place.call_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(line)
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def watch(self, since: Optional[str] = None, *, ids: Optional[List[str]] = None) -> Iterator[types.EventAnswer]:
        """Yields events as they happen, each once and in order, across restarts of the daemon.

        Without `since` it begins now. Continue after a restart of your program from `cursor` of the last event.
        """
        cursor = since if since is not None else self.events()["cursor"]
        while True:
            page = self.events(since=cursor, ids=ids, wait_ms=30_000)
            for event in page["events"]:
                yield event
            cursor = page["cursor"]

    def settings(self) -> Dict[str, str]:
        """Returns all settings."""
        return self.request("config_list")


def _read_line(connection: socket.socket) -> bytes:
    parts: List[bytes] = []
    while not parts or not parts[-1].endswith(b"\n"):
        part = connection.recv(1 << 16)
        if not part:
            raise ConnectionError("the connection ended before the reply")
        parts.append(part)
    return b"".join(parts)

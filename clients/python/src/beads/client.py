"""The client that blocks."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from typing import Any, Dict, Iterator, List, Optional

from . import types
from ._api import Api
from ._place import Place
from ._request import ATTEMPTS, DaemonOlder, decode, encode, no_daemon, no_reply, patience, pause_s, short_lived_id


class Client(Api):
    """A store, for programs that block. Safe to share between threads: requests run one after the other.

    `bd` is the program to use, `directory` any directory of the repository, `actor` who acts (else `$BD_ACTOR`, else as
    `bd` decides), and `session` the run of that actor (else `$BD_SESSION`). Claims that something other than this client
    ended are appended to `claims_over`.
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
        self._lock = threading.Lock()
        self._connection: Optional[socket.socket] = None
        self._process: Optional["subprocess.Popen[bytes]"] = None
        #: A request was sent, and its reply not read yet.
        self._awaits_reply = False

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
            process, self._process = self._process, None
            assert process.stdin and process.stdout
            if self._awaits_reply:
                # It would finish its request first, which may wait for long.
                process.kill()
            try:
                process.stdin.close()
            except BrokenPipeError:
                pass  # what it did not read
            process.stdout.close()
            process.wait()
        self._awaits_reply = False

    def request(self, call: Any, *, request_id: Optional[str] = None, changes: bool = False) -> Any:
        """Sends a call as docs/PROTOCOL.md describes it, and again if the daemon ends before it replies."""
        request_id = request_id or (short_lived_id() if changes else None)
        line = encode(call, self.actor, self.session, request_id)
        last: Optional[Exception] = None
        with self._lock:
            for attempt in range(ATTEMPTS):
                try:
                    return decode(self._exchange(line, patience(call)), self.claims_over.extend)
                except socket.timeout:
                    self.close_connection()
                    raise no_reply(call, request_id) from None
                except (OSError, DaemonOlder) as error:
                    last = error
                    self.close_connection()
                    time.sleep(pause_s(attempt))
                finally:
                    if self._awaits_reply:
                        # A reply that was not read must not be taken for that of the next request.
                        self.close_connection()
        raise no_daemon(last, request_id)

    def _exchange(self, line: bytes, timeout: float) -> bytes:
        if not self._use_socket:
            return self._through_command(line, timeout)
        if self._connection is None:
            connected = self._connect(timeout)
            if connected is None:
                return self._through_command(line, timeout)
            self._connection = connected
        self._connection.settimeout(timeout)
        self._awaits_reply = True
        self._connection.sendall(line)
        reply = _read_line(self._connection)
        self._awaits_reply = False
        return reply

    def _connect(self, timeout: float) -> Optional[socket.socket]:
        """Connects, starting a daemon if there is none. Returns `None` where sockets cannot be used."""
        for is_retry in (False, True):
            try:
                connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            except PermissionError:
                self._use_socket = False
                return None
            try:
                self.place.check_socket()
                connection.settimeout(timeout)
                connection.connect(self.place.socket)
                self.place.check_lock()
                return connection
            except OSError:
                connection.close()
            if not is_retry:
                self.place.start_daemon()
        # A daemon that cannot be reached at its path, or none at all: the program knows the other ways.
        self._use_socket = False
        return None

    def _through_command(self, line: bytes, timeout: float) -> bytes:
        if self._process is not None and self._process.poll() is not None:
            self.close_connection()
        if self._process is None:
            self._process = subprocess.Popen(
                self.place.call_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        process = self._process
        assert process.stdin and process.stdout
        timed_out = threading.Event()
        timer = threading.Timer(timeout, lambda: (timed_out.set(), process.kill()))
        timer.daemon = True
        self._awaits_reply = True
        timer.start()
        try:
            process.stdin.write(line)
            process.stdin.flush()
            reply = process.stdout.readline()
        except OSError:
            if timed_out.is_set():
                raise socket.timeout from None
            raise
        finally:
            timer.cancel()
        if timed_out.is_set() and not reply.endswith(b"\n"):
            raise socket.timeout
        self._awaits_reply = False
        return reply

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

"""Where the store is and how to reach it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from importlib import metadata
from typing import List, Optional

from .errors import BY_CODE, BeadsError, DaemonUnreachableError

#: The version of the protocol that this library speaks, as the daemon reads it. A daemon that is older exits, and the
#: `bd` that is found starts a newer one.
PROTOCOL = "0.10.0"


def find_bd(bd: Optional[str] = None) -> str:
    """Returns the program: the argument, `$BD`, the one in the wheel of this library, or `bd` on the search path."""
    found = bd or os.environ.get("BD") or _installed_with_this() or shutil.which("bd")
    if not found:
        raise DaemonUnreachableError("bd is not installed or not on the search path")
    return found


def _installed_with_this() -> Optional[str]:
    """Returns the program of the wheel. It need not be on the search path: few activate the environment of a script."""
    try:
        files = metadata.files("beads-rs") or []
    except metadata.PackageNotFoundError:
        return None
    programs = (os.path.realpath(str(file.locate())) for file in files if file.name == "bd")
    return next((program for program in programs if os.access(program, os.X_OK)), None)


@dataclass(frozen=True)
class Place:
    """A store and the socket of its daemon."""

    bd: str
    directory: str
    store: str
    socket: str
    actor: str

    @staticmethod
    def find(directory: str, bd: Optional[str], actor: Optional[str]) -> "Place":
        """Asks `bd` where the store of a directory is."""
        program = find_bd(bd)
        place = _json([program, "-C", directory, "where", "--json=spec"])
        acts_as = actor or os.environ.get("BD_ACTOR")
        if not acts_as:
            acts_as = _json([program, "-C", directory, "info", "--json=spec"])["actor"]
        return Place(program, directory, place["path"], place["socket"], acts_as)

    def check_socket(self) -> None:
        """Refuses a socket in a directory that other users can write to: anyone could be listening there."""
        found = os.lstat(os.path.dirname(self.socket))
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise ConnectionRefusedError(f"{self.socket} may belong to another user")

    def check_lock(self) -> None:
        """Refuses a daemon that listens while the lock on the store is free: it serves another repository with the same
        path, for example in another container."""
        with open(os.path.join(self.store, "lock"), "rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            # At once, because a child process that another thread starts now would keep the lock.
            fcntl.flock(lock, fcntl.LOCK_UN)
        raise ConnectionRefusedError(f"the daemon at {self.socket} does not serve {self.store}")

    def start_command(self) -> List[str]:
        """The command that starts the daemon, if none runs. Any command does."""
        return [self.bd, "-C", self.directory, "status", "--json=spec"]

    def start_daemon(self) -> None:
        """Starts the daemon, if none runs."""
        _json(self.start_command())

    def call_command(self) -> List[str]:
        """The command that answers requests where the socket cannot be used."""
        return [self.bd, "-C", self.directory, "call"]


def _json(command: List[str]) -> dict:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        raise DaemonUnreachableError(f"cannot run {command[0]}: {error}") from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise DaemonUnreachableError(f"{command[0]} failed: {done.stderr.strip()}") from None
    if isinstance(answer, dict) and "error" in answer and done.returncode != 0:
        raise error_of(answer["error"])
    return answer


def error_of(error: dict) -> BeadsError:
    """Returns the exception for an error of the daemon."""
    code = error.get("code", "")
    kind = BY_CODE.get(code, BeadsError)
    return kind(error.get("message", code), code, error.get("details"), error.get("hint"))

"""Where the store is and how to reach it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import List, Optional

from .errors import BY_CODE, BeadsError, DaemonUnreachableError

#: The version of the protocol that this library speaks, as the daemon reads it. A daemon that is older exits, and the
#: `bd` that is found starts a newer one.
PROTOCOL = "0.10.0"

#: The longest time that one request may take beyond the time it waits for.
PATIENCE_S = 60.0


def find_bd(bd: Optional[str] = None) -> str:
    """Returns the program: the argument, `$BD`, or `bd` on the search path."""
    found = bd or os.environ.get("BD") or shutil.which("bd")
    if not found:
        raise DaemonUnreachableError("bd is not installed or not on the search path")
    return found


@dataclass(frozen=True)
class Place:
    """A store and the socket of its daemon."""

    bd: str
    directory: str
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
        return Place(program, directory, place["socket"], acts_as)

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
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
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

"""Requests and replies as lines."""

from __future__ import annotations

import json
import secrets
from typing import Any, Callable, List, Optional

from . import types
from ._place import PROTOCOL, error_of
from .errors import BusyError, DaemonUnreachableError, TooLargeError

#: How often a request is sent again when the daemon ends before it replies.
ATTEMPTS = 8

#: The longest time that one request may take beyond the time it waits for.
PATIENCE_S = 60.0

#: The same for calls that take as long as a remote or a file needs: the largest `sync.deadline`.
LONG_PATIENCE_S = 24 * 60 * 60.0
LONG_CALLS = ("sync", "import", "import_rescued")

#: The daemon closes the connection on a longer line, which looks as if it had ended.
MAX_FRAME_BYTES = 16 * 1024 * 1024


def short_lived_id() -> str:
    """Returns an id that lets a change survive a lost reply. The daemon remembers it for two minutes."""
    return "~" + secrets.token_hex(16)


def encode(call: Any, actor: str, session: Optional[str], request_id: Optional[str]) -> bytes:
    """Returns the line of a request."""
    request = {"client": PROTOCOL, "actor": actor, "call": call, "output": {"format": "value", "dialect": "spec"}}
    if session:
        request["session"] = session
    if request_id:
        request["request_id"] = request_id
    line = json.dumps(request, separators=(",", ":")).encode() + b"\n"
    if len(line) > MAX_FRAME_BYTES:
        raise TooLargeError(f"the request has {len(line)} bytes, more than the limit of {MAX_FRAME_BYTES}")
    return line


def patience(call: Any) -> float:
    """Returns how long the reply to a call may take."""
    name = call if isinstance(call, str) else next(iter(call), None)
    wait = call.get("wait") if isinstance(call, dict) else None
    return (LONG_PATIENCE_S if name in LONG_CALLS else PATIENCE_S) + (wait["ms"] / 1000 if wait else 0)


def no_reply(call: Any, request_id: Optional[str]) -> BusyError:
    """Returns the error for a daemon that runs but does not reply."""
    message = f"the daemon did not reply within {patience(call):.0f} s"
    if request_id is None:
        return BusyError(message, hint="try again; bd daemon status shows its process")
    error = BusyError(f"{message}; the request may still be carried out", hint=_how_to_repeat(request_id))
    error.request_id = request_id
    return error


def no_daemon(last: Optional[BaseException], request_id: Optional[str]) -> DaemonUnreachableError:
    """Returns the error for a daemon that ended each time that the request was sent."""
    message = f"the daemon ended {ATTEMPTS} times before it replied: {last}"
    if request_id is None:
        return DaemonUnreachableError(message)
    message += "; the request may have been carried out"
    error = DaemonUnreachableError(message, hint=_how_to_repeat(request_id))
    error.request_id = request_id
    return error


def _how_to_repeat(request_id: str) -> str:
    if request_id.startswith("~"):
        return (
            f"repeat it only with request_id {request_id!r} and within two minutes; later, check first whether it was "
            "carried out"
        )
    return f"repeat it only with the same request_id, {request_id!r}"


def pause_s(attempt: int) -> float:
    """Returns how long to wait before a request is sent again: a daemon that exits needs a moment."""
    return 0.002 * 2**attempt


class DaemonOlder(Exception):
    """The daemon exits so that a newer one can start."""


def decode(line: bytes, on_claim_over: Callable[[List[types.ClaimOver]], None]) -> Any:
    """Returns the result of a reply, or raises its error."""
    if not line.endswith(b"\n"):
        raise ConnectionError("the connection ended before the reply")
    reply = json.loads(line)
    if reply.get("claim_over"):
        on_claim_over(reply["claim_over"])
    if "error" in reply:
        if reply["error"].get("code") == "daemon_older":
            raise DaemonOlder(reply["error"].get("message"))
        raise error_of(reply["error"])
    return reply.get("result")


def hands_out_work(call: Any) -> bool:
    """Returns whether a call claims the next bead: only its reply says which one."""
    while isinstance(call, dict) and ("wait" in call or "confirm" in call):
        call = (call.get("wait") or call["confirm"])["call"]
    ops = call["mutate"]["ops"] if isinstance(call, dict) and "mutate" in call else []
    return any(op.get("op") == "claim_next" for op in ops)


def result_of(line: bytes) -> Any:
    """Returns the result of a reply that its caller no longer waits for; `None` if it is an error or incomplete."""
    return json.loads(line).get("result") if line.endswith(b"\n") else None

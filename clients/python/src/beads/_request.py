"""Requests and replies as lines."""

from __future__ import annotations

import json
import secrets
from typing import Any, Callable, List, Optional

from . import types
from ._place import PATIENCE_S, PROTOCOL, error_of


def short_lived_id() -> str:
    """Returns an id that lets a change survive a lost reply."""
    return "~" + secrets.token_hex(16)


def encode(call: Any, actor: str, session: Optional[str], request_id: Optional[str], changes: bool) -> bytes:
    """Returns the line of a request."""
    request = {"client": PROTOCOL, "actor": actor, "call": call, "output": {"format": "value", "dialect": "spec"}}
    if session:
        request["session"] = session
    if request_id or changes:
        request["request_id"] = request_id or short_lived_id()
    return json.dumps(request, separators=(",", ":")).encode() + b"\n"


def patience(call: Any) -> float:
    """Returns how long the reply to a call may take."""
    wait = call.get("wait") if isinstance(call, dict) else None
    return PATIENCE_S + (wait["ms"] / 1000 if wait else 0)


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

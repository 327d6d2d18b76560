"""Client library for beads, the local-first issue tracker for coding agents."""

from . import errors, types
from .aio import AsyncClient
from .claim import Claim, ClaimEnded
from .client import Client
from .errors import BeadsError
from .worker import Worker

__all__ = ["AsyncClient", "BeadsError", "Claim", "ClaimEnded", "Client", "Worker", "errors", "types"]

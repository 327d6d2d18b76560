"""One connection of the asyncio client."""

from __future__ import annotations

import asyncio
from typing import Optional


class Connection:
    """A connection that answers one line with one line: a socket, or the program `bd call`."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        process: Optional["asyncio.subprocess.Process"] = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._process = process
        self._timed_out = False

    async def exchange(self, line: bytes, timeout_s: float) -> bytes:
        """Sends a line and returns the reply, which has no end of line if the connection ended before. Raises
        `asyncio.TimeoutError` if sending and receiving take too long."""
        # Not `asyncio.wait_for`: before Python 3.12 it may swallow a cancellation.
        timer = asyncio.get_running_loop().call_later(timeout_s, self._time_out)
        try:
            self._writer.write(line)
            await self._writer.drain()
            reply = await self._reader.readline()
        except OSError:
            if self._timed_out:
                raise asyncio.TimeoutError from None
            raise
        finally:
            timer.cancel()
        if self._timed_out and not reply.endswith(b"\n"):
            raise asyncio.TimeoutError
        return reply

    def end_sending(self) -> None:
        """Tells the daemon that the client is gone, and leaves a reply that is on its way readable."""
        if self._process is not None or self._writer.transport.get_write_buffer_size():
            # A program would finish its request first, which may wait for long. And what was not sent need not be.
            self.abort()
        else:
            self._writer.write_eof()

    async def last_reply(self, timeout_s: float) -> bytes:
        """Returns the reply that was on its way, if any."""
        timer = asyncio.get_running_loop().call_later(timeout_s, self.abort)
        try:
            return await self._reader.readline()
        except OSError:
            return b""
        finally:
            timer.cancel()

    def abort(self) -> None:
        """Ends the connection at once, without sending the rest of a request."""
        if not self._writer.transport.is_closing():
            self._writer.transport.abort()
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def close(self) -> None:
        """Closes the connection."""
        self._writer.close()
        if self._process is not None:
            await self._process.wait()
            return
        try:
            await self._writer.wait_closed()
        except OSError:
            pass

    def _time_out(self) -> None:
        self._timed_out = True
        self.abort()

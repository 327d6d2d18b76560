"""A repository of its own for each test. `$BD` is the program."""

import fcntl
import json
import os
import signal
import socket
import subprocess
import tempfile
import unittest
from contextlib import contextmanager
from pathlib import Path

from beads import AsyncClient, Client

BD = os.environ["BD"]


class Store(unittest.TestCase):
    """A repository of its own, with its own runtime directory."""

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        root = Path(self.scratch.name)
        self.repo = str(root / "repo")
        (root / "run").mkdir(mode=0o700)
        (root / "home").mkdir()
        os.environ.update(
            HOME=str(root / "home"), BD_RUNTIME_DIR=str(root / "run"), XDG_STATE_HOME=str(root / "home/state")
        )
        subprocess.run(["git", "init", "--quiet", self.repo], check=True)
        self.bd("init", "--quiet")

    def tearDown(self):
        self.bd("daemon", "stop")
        self.scratch.cleanup()

    def bd(self, *args):
        done = subprocess.run([BD, "-C", self.repo, *args], capture_output=True, text=True, check=True)
        return done.stdout

    def kill_daemon(self):
        status = json.loads(self.bd("daemon", "status", "--json"))
        if status["running"]:
            os.kill(status["pid"], signal.SIGKILL)

    @contextmanager
    def listener(self):
        """Listens where the daemon would, without the lock on the store: as the daemon of another repository does."""
        self.bd("daemon", "stop")
        path = json.loads(self.bd("where", "--json=spec"))["socket"]
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            try:
                yield listener
            finally:
                os.unlink(path)

    @contextmanager
    def daemon_of_test(self):
        """Listens as the daemon of this repository does, with the lock on the store."""
        with self.listener() as listener, open(Path(self.repo) / ".git/beads/lock", "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield listener

    def client(self, actor="ann", **options):
        client = Client(self.repo, actor=actor, bd=BD, **options)
        self.addCleanup(client.close_connection)
        return client

    def aio(self, actor="ann", **options):
        return AsyncClient(self.repo, actor=actor, bd=BD, **options)

    async def create(self, title, **options):
        """Creates a bead with an asyncio client of its own."""
        async with self.aio(**options) as beads:
            return await beads.create(title)

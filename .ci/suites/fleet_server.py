"""git's smart HTTP backend behind a faulty connection, in threads of this process.

A request may be delayed, cut before it reaches git (nothing happened), or processed by git with the answer dropped (it
happened, but the client does not know).
"""
import os
import random
import sys
import threading
import time
from http.server import ThreadingHTTPServer

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../crates/bd/tests/cli/remotes"))
from git_backend import GitHandler


class Line:
    """The faulty connection. `cut` and `swallow` are fractions of all requests."""

    def __init__(self, seed):
        self.dice, self.lock = random.Random(seed), threading.Lock()
        self.cut = self.swallow = 0.0
        self.delay = 0.0
        self.counts = {"served": 0, "cut": 0, "swallowed": 0}

    def draw(self):
        with self.lock:
            fate = self.dice.random()
            what = "cut" if fate < self.cut else "swallowed" if fate < self.cut + self.swallow else "served"
            self.counts[what] += 1
            return what, self.dice.random() * self.delay


def serve(root, line):
    class Handler(GitHandler):
        def answer(self, body):
            fate, delay = line.draw()
            time.sleep(delay)
            if fate == "cut":
                return self.hang_up()
            answer = self.run_backend(body)
            if fate == "swallowed":
                return self.hang_up()
            self.reply(*answer)

        def hang_up(self):
            self.close_connection = True

        def handle(self):
            try:
                super().handle()
            except (OSError, ValueError):
                pass  # the client was killed

    Handler.root = root
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server

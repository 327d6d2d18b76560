"""git's smart HTTP backend behind a faulty line, in threads of this process.

A request may be delayed, cut before it reaches git (nothing happened), or answered by git and the answer swallowed (it did
happen, and nobody learns of it).
"""
import os
import random
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Line:
    """How the line behaves. Shares are of all requests."""

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
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.answer(b"")

        def do_POST(self):
            self.answer(self.body())

        def body(self):
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def answer(self, body):
            fate, delay = line.draw()
            time.sleep(delay)
            if fate == "cut":
                return self.hang_up()
            path, _, query = self.path.partition("?")
            environment = {
                **os.environ,
                "GIT_PROJECT_ROOT": root,
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "REMOTE_USER": "fleet",
            }
            backend = subprocess.run(["git", "http-backend"], input=body, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
            if fate == "swallowed":
                return self.hang_up()
            head, _, content = backend.stdout.partition(b"\r\n\r\n")
            headers = [tuple(row.split(": ", 1)) for row in head.decode().split("\r\n") if ": " in row]
            code, _, reason = dict(headers).get("Status", "200 OK").partition(" ")
            self.send_response(int(code), reason)
            for name, value in headers:
                if name != "Status":
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def hang_up(self):
            self.close_connection = True

        def log_message(self, *arguments):
            pass

        def handle(self):
            try:
                super().handle()
            except (OSError, ValueError):
                pass  # the client was killed

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server

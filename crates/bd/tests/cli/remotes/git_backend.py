"""A handler for git's smart HTTP protocol that uses `git http-backend`, shared by the test servers."""

import os
import subprocess
from http.server import BaseHTTPRequestHandler


class GitHandler(BaseHTTPRequestHandler):
    """Subclasses handle a request in `answer`; `run_backend` runs git and `reply` sends its response."""

    protocol_version = "HTTP/1.1"
    root = None
    user = "git"

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

    def run_backend(self, body):
        """Returns status, headers and content."""
        path, _, query = self.path.partition("?")
        environment = {
            **os.environ,
            "GIT_PROJECT_ROOT": self.root,
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_USER": self.user,
        }
        backend = subprocess.run(["git", "http-backend"], input=body, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        head, _, content = backend.stdout.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n") if ": " in line]
        status = dict(headers).get("Status", "200 OK")
        return status, [pair for pair in headers if pair[0] != "Status"], content

    def reply(self, status, headers, content):
        code, _, reason = status.partition(" ")
        self.send_response(int(code), reason)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass

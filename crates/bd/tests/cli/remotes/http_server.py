"""git's smart HTTP backend behind a password, on two loopback ports of its own: http, and https with a given certificate.

usage: http_server.py REPOSITORIES USER PASSWORD CERTIFICATE KEY PORTS_FILE

Repositories named `readonly-*` can be fetched from but not pushed to. Both ports are written to PORTS_FILE when the
servers listen.
"""

import base64
import os
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROOT, USER, PASSWORD, CERTIFICATE, KEY, PORTS_FILE = sys.argv[1:]
EXPECTED = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


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
        if self.headers.get("Authorization") != EXPECTED:
            return self.reply("401 Unauthorized", [("WWW-Authenticate", 'Basic realm="git"')], b"")
        path, _, query = self.path.partition("?")
        if path.startswith("/readonly-") and "git-receive-pack" in self.path:
            return self.reply("403 Forbidden", [], b"read only\n")
        environment = {
            **os.environ,
            "GIT_PROJECT_ROOT": ROOT,
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_USER": USER,
        }
        backend = subprocess.run(["git", "http-backend"], input=body, env=environment, stdout=subprocess.PIPE, check=False)
        head, _, content = backend.stdout.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n") if ": " in line]
        status = dict(headers).pop("Status", "200 OK")
        self.reply(status, [pair for pair in headers if pair[0] != "Status"], content)

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


plain = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
secure = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERTIFICATE, KEY)
secure.socket = context.wrap_socket(secure.socket, server_side=True)
threading.Thread(target=secure.serve_forever, daemon=True).start()
with open(PORTS_FILE + ".new", "w") as file:
    file.write(f"{plain.server_port} {secure.server_port}\n")
os.rename(PORTS_FILE + ".new", PORTS_FILE)
plain.serve_forever()

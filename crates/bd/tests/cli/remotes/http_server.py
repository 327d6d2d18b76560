"""git's smart HTTP backend behind a password, on two loopback ports: http, and https with a given certificate.

usage: http_server.py REPOSITORIES USER PASSWORD CERTIFICATE KEY PORTS_FILE

Repositories named `readonly-*` can be fetched from but not pushed to, and those named `limited-*` ask to come back in two
minutes. Both ports are written to PORTS_FILE when the servers listen.
"""

import base64
import os
import ssl
import sys
import threading
from http.server import ThreadingHTTPServer

from git_backend import GitHandler

ROOT, USER, PASSWORD, CERTIFICATE, KEY, PORTS_FILE = sys.argv[1:]
EXPECTED = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


class Handler(GitHandler):
    root, user = ROOT, USER

    def answer(self, body):
        if self.headers.get("Authorization") != EXPECTED:
            return self.reply("401 Unauthorized", [("WWW-Authenticate", 'Basic realm="git"')], b"")
        if self.path.startswith("/readonly-") and "git-receive-pack" in self.path:
            return self.reply("403 Forbidden", [], b"read only\n")
        if self.path.startswith("/limited-"):
            return self.reply("429 Too Many Requests", [("Retry-After", "120")], b"slow down\n")
        self.reply(*self.run_backend(body))


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

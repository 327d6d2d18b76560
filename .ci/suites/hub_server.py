"""A PostgreSQL cluster in a temporary directory, a pooler, and a connection that can be cut."""
import os
import random
import socket
import subprocess
import threading
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def as_postgres(command, **options):
    """Runs a program as the user postgres, because the server refuses to run as root."""
    if os.getuid() == 0:
        command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command]
    return subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)


def own(path):
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", "postgres", path], check=True)


def shifted_clock(shift):
    """Returns the environment in which a program with shared libraries has a wall clock that is off, such as by "+1d"."""
    library = subprocess.run(["sh", "-c", "ls /usr/lib/*/faketime/libfaketime.so.1"], capture_output=True, text=True, check=True).stdout.strip()
    return {"LD_PRELOAD": library, "FAKETIME": shift, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


class Cluster:
    def __init__(self, programs, directory, bd, clock=None):
        """Creates and starts a cluster. `clock` shifts its clock, such as "+1d"."""
        self.bd, self.clock = bd, clock
        self.programs, self.directory, self.port = programs, directory, free_port()
        self.data = os.path.join(directory, "data")
        os.makedirs(directory)
        own(directory)
        as_postgres([self.program("initdb"), "-D", self.data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync"], cwd=directory)
        # The default of the database must not matter.
        with open(os.path.join(self.data, "postgresql.auto.conf"), "a") as settings:
            settings.write("default_transaction_isolation = 'repeatable read'\n")
        self.start()

    @classmethod
    def standby_of(cls, primary, directory):
        """Returns a running standby."""
        standby = cls.__new__(cls)
        standby.programs, standby.directory, standby.port = primary.programs, directory, free_port()
        standby.data, standby.bd, standby.clock = os.path.join(directory, "data"), primary.bd, primary.clock
        os.makedirs(directory)
        own(directory)
        source = f"host=127.0.0.1 port={primary.port} user=postgres"
        as_postgres([standby.program("pg_basebackup"), "-D", standby.data, "-d", source, "-R", "-X", "stream", "-c", "fast", "--no-sync"], cwd=directory)
        standby.start()
        return standby

    def promote(self):
        as_postgres([self.program("pg_ctl"), "-D", self.data, "-w", "promote"], cwd=self.directory)

    def install(self, url):
        subprocess.run([self.bd, "hub", "init", url], check=True, stdout=subprocess.DEVNULL)

    def program(self, name):
        return os.path.join(self.programs, name)

    def start(self):
        options = f"-p {self.port} -k {self.directory} -c listen_addresses=127.0.0.1"
        log = os.path.join(self.directory, "log")
        shifted = []
        if self.clock:
            shifted = ["env", *(f"{name}={value}" for name, value in shifted_clock(self.clock).items())]
        as_postgres([*shifted, self.program("pg_ctl"), "-D", self.data, "-w", "-o", options, "-l", log, "start"], cwd=self.directory)

    def stop(self, mode="fast"):
        as_postgres([self.program("pg_ctl"), "-D", self.data, "-w", "-m", mode, "stop"], cwd=self.directory)

    def url(self, port=None, user="worker"):
        return f"postgres://{user}@127.0.0.1:{port or self.port}/postgres?sslmode=disable"

    def sql(self, text, user="postgres", check=True, database="postgres"):
        """Returns the rows as text, or the error message with its code."""
        command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose", "-h", "127.0.0.1", "-p", str(self.port), "-U", user, "-d", database]
        done = subprocess.run(command, input="SET default_transaction_isolation = 'read committed';\n" + text, capture_output=True, text=True)
        if check and done.returncode:
            raise RuntimeError(f"{text}\n{done.stderr}")
        return done.stdout.strip() if done.returncode == 0 else done.stderr.strip()


class Pooler:
    """A transaction pooler, through which notifications do not arrive. It has its default settings: without
    server_reset_query_always, `LISTEN` outlives its transaction, and a notification that a machine sends to itself arrives."""

    def __init__(self, cluster, directory):
        self.port = free_port()
        os.makedirs(directory)
        path = os.path.join(directory, "pgbouncer.ini")
        with open(path, "w") as settings:
            settings.write(f"[databases]\npostgres = host=127.0.0.1 port={cluster.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nauth_type = any\npool_mode = transaction\nunix_socket_dir =\n")
        # With auth_type any, the pooler needs one login for all.
        with open(path) as settings:
            text = settings.read().replace(f"port={cluster.port}", f"port={cluster.port} user=worker")
        with open(path, "w") as settings:
            settings.write(text)
        own(directory)
        command = ["pgbouncer", "-q", path]
        if os.getuid() == 0:
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Line:
    """Forwards connections to the server, delays them, cuts them, and swallows answers."""

    def __init__(self, target, seed):
        self.target, self.port, self.faults = target, free_port(), False
        # A function to call when the machines have sent some bytes for the given time. What follows them is not sent before.
        self.trap, self.seen, self.frozen = None, 0, False
        self.random, self.open = random.Random(seed), []
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(64)
        threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def cut(self):
        """Cuts all connections."""
        for end in self.open:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.open = []

    def accept(self, listener):
        while True:
            client, _ = listener.accept()
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            self.open += [client, server]
            for one, other, answers in ((client, server, False), (server, client, True)):
                threading.Thread(target=self.forward, args=(one, other, answers), daemon=True).start()

    def spring(self, data):
        if not self.trap:
            self.seen = 0
            return
        wanted, count, strike = self.trap
        self.seen += data.count(wanted)
        if self.seen >= count:
            self.trap = None
            strike()

    def forward(self, one, other, answers):
        try:
            while data := one.recv(65536):
                if not answers:
                    self.spring(data)
                while self.frozen:
                    time.sleep(0.05)
                if self.faults:
                    time.sleep(self.random.random() * 0.02)
                    if self.random.random() < 0.02:
                        # An answer that is swallowed was acted upon by the server.
                        if not answers:
                            other.sendall(data)
                        break
                other.sendall(data)
        except OSError:
            pass
        for end in (one, other):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

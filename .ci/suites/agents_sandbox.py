#!/usr/bin/env python3
"""Runs bd under bubblewrap with all combinations of a read-only .git, no sockets, no runtime directory, and a daemon outside."""

import itertools
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

BD, WORK = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
LONGEST = 20  # seconds that a command may take

# Architecture and number of the system call socket().
SOCKET = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}.get(os.uname().machine)


def deny_sockets():
    """Returns a seccomp program that answers socket() with EPERM."""
    arch, number = SOCKET
    load, jump, ret = 0x20, 0x15, 0x06
    program = [
        (load, 0, 0, 4), (jump, 0, 3, arch), (load, 0, 0, 0), (jump, 0, 1, number), (ret, 0, 0, 0x00050001), (ret, 0, 0, 0x7FFF0000),
    ]
    file = tempfile.TemporaryFile()
    file.write(b"".join(struct.pack("HBBI", *step) for step in program))
    file.seek(0)
    return file


class Case:
    def __init__(self, name, read_only, no_sockets, no_runtime, daemon):
        self.read_only, self.no_sockets, self.no_runtime, self.daemon = read_only, no_sockets, no_runtime, daemon
        self.root = os.path.join(WORK, name)
        self.repo, self.run_dir = os.path.join(self.root, "repo"), os.path.join(self.root, "run")
        os.makedirs(self.repo)
        os.mkdir(self.run_dir, 0o700)
        subprocess.run(["git", "init", "-q", self.repo], check=True)
        self.env = {"PATH": os.environ["PATH"], "HOME": self.root, "BD_RUNTIME_DIR": self.run_dir, "BD_ACTOR": "ann"}

    def outside(self, *args):
        env = self.env if self.daemon else {**self.env, "BD_NO_DAEMON": "1"}
        done = subprocess.run([BD, *args], cwd=self.repo, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (args, done)
        return done.stdout

    def inside(self, *args):
        """Runs a command in the sandbox. Returns its exit code, output and errors."""
        command = ["bwrap", "--dev-bind", "/", "/"]
        if self.read_only:
            command += ["--ro-bind", self.repo + "/.git", self.repo + "/.git"]
        if self.no_runtime:
            command += ["--tmpfs", self.run_dir]
        files = []
        if self.no_sockets:
            files.append(deny_sockets())
            command += ["--seccomp", str(files[0].fileno())]
        command += ["--chdir", self.repo, BD, *args]
        began = time.monotonic()
        done = subprocess.run(
            command, env=self.env, capture_output=True, text=True, timeout=120, pass_fds=[file.fileno() for file in files]
        )
        took = time.monotonic() - began
        assert took < LONGEST, (self.root, args, took)
        return done

    def check(self):
        made = json.loads(self.outside("create", "Made outside", "--json"))["id"]
        if self.daemon:
            assert json.loads(self.outside("daemon", "status", "--json"))["running"]
        for query in (["list"], ["ready"], ["show", made], ["status"], ["prime"], ["export"]):
            done = self.inside(*query, "--json")
            assert done.returncode == 0, (self.root, query, done)
        assert made in self.inside("list").stdout
        done = self.inside("create", "Made inside", "--json")
        # A daemon outside can be reached through its socket, or through files if the store can be written.
        reachable = self.daemon and not self.no_sockets and not self.no_runtime
        if self.read_only and not reachable:
            assert done.returncode != 0, (self.root, done)
            error = json.loads(done.stdout)["error"]
            assert error["details"]["allow_write"] == self.repo + "/.git/beads", error
            assert self.repo + "/.git/beads" in done.stderr, done
            self.env["CLAUDECODE"] = "1"
            done = self.inside("create", "Made inside")
            assert "sandbox.filesystem.allowWrite" in done.stderr, done
        else:
            assert done.returncode == 0, (self.root, done)
            assert json.loads(done.stdout)["id"] in self.outside("list"), self.root
            left = os.path.join(self.repo, ".git/beads/requests")
            until = time.monotonic() + LONGEST
            while os.path.isdir(left) and os.listdir(left):
                assert time.monotonic() < until, os.listdir(left)
                time.sleep(0.05)

    def end(self):
        subprocess.run([BD, "daemon", "stop"], cwd=self.repo, env=self.env, capture_output=True, timeout=60)


def main():
    if SOCKET is None:
        print(f"skipped: the number of socket() on {os.uname().machine} is not known")
        return
    tried = subprocess.run(["bwrap", "--dev-bind", "/", "/", "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        sys.exit(f"bubblewrap does not work here: {tried.stderr.strip()}")
    cases = 0
    for read_only, no_sockets, no_runtime, daemon in itertools.product([False, True], repeat=4):
        name = "-".join(
            word for word, on in (("ro", read_only), ("nosocket", no_sockets), ("noruntime", no_runtime), ("daemon", daemon)) if on
        )
        case = Case(name or "plain", read_only, no_sockets, no_runtime, daemon)
        try:
            case.check()
        finally:
            case.end()
        cases += 1
    print(f"{cases} sandboxes: queries answered, changes made or refused with the path to allow, nothing hung")


main()

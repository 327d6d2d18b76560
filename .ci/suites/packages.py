"""Installs every package of a release in a place of its own and runs it there: packages.py WORK, with WORK/dist."""

import contextlib
import functools
import hashlib
import http.server
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tarfile
import tempfile
import threading
from pathlib import Path

WORK = Path(sys.argv[1])
DIST = WORK / "dist"
CHECKOUT_SCRIPT = Path(__file__).parents[2] / "install.sh"


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def one(pattern):
    (found,) = DIST.glob(pattern)
    return found


def release_version():
    return one("beads-*-x86_64-linux.tar.gz").name.removeprefix("beads-").removesuffix("-x86_64-linux.tar.gz")


def check_program(bd, installed_by, environment=None):
    """Runs the demo, and compares what bd says about its own installation."""
    home = WORK / "home"
    home.mkdir(exist_ok=True)
    env = {"HOME": str(home), "PATH": f"{Path(bd).parent}:/usr/bin:/bin", **(environment or {})}
    demo = run(bd, "demo", env=env)
    assert demo.strip(), "the demo printed nothing"
    said = json.loads(run(bd, "upgrade", "--check", "--json", env=env))
    assert installed_by in said["installed_by"], said
    version = json.loads(run(bd, "version", "--json", env=env))
    assert version["version"] == release_version(), version
    run(Path(bd).parent / "bb", "--help", env=env)
    print(f"ok  {installed_by}")


def sums():
    for line in (DIST / "SHA256SUMS").read_text().splitlines():
        expected, name = line.split("  ")
        assert hashlib.sha256((DIST / name).read_bytes()).hexdigest() == expected, name
    listed = {line.split("  ")[1] for line in (DIST / "SHA256SUMS").read_text().splitlines()}
    assert listed == {path.name for path in DIST.iterdir()} - {"SHA256SUMS"}
    # GitHub replaces every other character in the name of an uploaded file.
    renamed = [name for name in listed if not re.fullmatch(r"[A-Za-z0-9._-]+", name)]
    assert not renamed, renamed
    bill = json.loads(one("*.cdx.json").read_text())
    names = {component["name"] for component in bill["components"]}
    assert bill["bomFormat"] == "CycloneDX" and {"git2", "openssl-src", "tokio"} <= names, names
    others = {component["name"] for component in bill["components"] if component["purl"].startswith("pkg:generic/")}
    assert others == {"libgit2", "libssh2", "openssl", "zlib", "glibc", "rust-std"}, others
    assert not {"proptest", "tempfile", "xtask"} & names, "what only tests use is not in the programs"
    print(f"ok  sums and SBOM ({len(names)} components)")


def debian():
    package = one("*.deb")
    run("dpkg-deb", "--info", package)
    version = run("dpkg-deb", "--field", package, "Version").strip()
    assert version == release_version().replace("-", "~", 1), version
    root = WORK / "root"
    for directory in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "tmp", "dev", "proc", "home"):
        (root / directory).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    run("dpkg", "--root", root, "--force-not-root", "--force-depends", "--log=/dev/null", "--install", package)
    listed = run("dpkg", "--root", root, "--listfiles", "beads")
    assert "/usr/bin/bd" in listed and "/usr/share/man/man1/bd.1" in listed, listed
    (root / "dev/null").touch()
    # Mounting /proc needs more rights than a container has. A program asks it only for its own path.
    (root / "proc/self").mkdir()
    (root / "proc/self/exe").symlink_to("/usr/bin/bd")
    # The root contains nothing but the package: no shell, no C library, no git.
    chroot = [shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin:/bin"), root]
    env = {"HOME": "/home", "PATH": "/usr/bin"}
    assert run(*chroot, "/usr/bin/bd", "demo", env=env).strip()
    said = json.loads(run(*chroot, "/usr/bin/bd", "upgrade", "--check", "--json", env=env))
    assert "Debian" in said["installed_by"], said
    run("dpkg", "--root", root, "--force-not-root", "--log=/dev/null", "--purge", "beads")
    assert not (root / "usr/bin/bd").exists()
    print("ok  the Debian package, in an empty root")


def wheel():
    venv = WORK / "venv"
    run(sys.executable, "-m", "venv", venv)
    run(venv / "bin/pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", one("*.whl"))
    check_program(venv / "bin/bd", "pip")
    # A program of an environment that is not activated finds the bd of the wheel.
    check_library(venv / "bin/python", "-c", "import beads; print(beads.Client(bd=None).place.bd)", finds=venv / "bin/bd")
    run(venv / "bin/pip", "uninstall", "--quiet", "--yes", "--disable-pip-version-check", "beads-rs")
    assert not (venv / "bin/bd").exists()


def npm():
    packages = [one("beads-rs-[0-9]*.tgz"), one("beads-rs-linux-x64-*.tgz")]
    prefix = WORK / "npm"
    npm_install("--global", "--prefix", prefix, "--offline", *packages)
    check_program(prefix / "bin/bd", "npm")
    project = WORK / "project"
    project.mkdir()
    (project / "package.json").write_text("{}")
    npm_install("--offline", *packages, cwd=project)
    code = "import('beads-rs').then((beads) => beads.Client.open()).then((client) => console.log(client.bd))"
    shutil.copytree(project / "node_modules", WORK / "library/node_modules", symlinks=True)
    check_library(shutil.which("node"), "-e", code, finds=WORK / "library/node_modules/beads-rs/bin/bd")
    run("npx", "--no-install", "bd", "version", cwd=project)


def check_library(*command, finds):
    """Opens a client of the library, where the bd of the package is not on the search path."""
    repo = WORK / "library"
    repo.mkdir(exist_ok=True)
    run("git", "init", "--quiet", repo)
    (WORK / "home").mkdir(exist_ok=True)
    env = {"HOME": str(WORK / "home"), "PATH": "/usr/bin:/bin", "BD_RUNTIME_DIR": str(WORK / "run"), "BD_ACTOR": "ann"}
    said = run(*command, cwd=repo, env=env).strip()
    assert said == str(finds), (said, finds)


def npm_install(*arguments, **options):
    # Without what an earlier installation downloaded.
    cache = tempfile.mkdtemp(dir=WORK, prefix="npm-cache-")
    quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
    return run("npm", "install", "--cache", cache, *quiet, *arguments, **options)


def npm_registry():
    """Installs by name from a registry. It has packages for two processors, and npm takes the one for this machine."""
    names = {"beads-rs": "[0-9]*", "beads-rs-linux-x64": "*"}
    root = WORK / "registry"
    root.mkdir()
    with serving(root) as url:
        for name, version in names.items():
            package = one(f"{name}-{version}.tgz")
            shutil.copy(package, root)
            with tarfile.open(package) as archive:
                manifest = json.load(archive.extractfile("package/package.json"))
            if name == "beads-rs":
                manifest["optionalDependencies"]["beads-rs-linux-arm64"] = manifest["version"]
            publish(root, manifest, f"{url}/{package.name}")
        publish(root, {**manifest, "name": "beads-rs-linux-arm64", "cpu": ["arm64"]}, f"{url}/not-downloaded.tgz")
        prefix = WORK / "npm-by-name"
        npm_install("--global", "--prefix", prefix, "--registry", url, "beads-rs")
        check_program(prefix / "bin/bd", "npm")
        found = {path.parent.name for path in prefix.rglob("package.json")}
        assert found == set(names), found
    # Without the package with the programs, which npm tolerates.
    alone = WORK / "npm-alone"
    npm_install("--global", "--prefix", alone, "--offline", one("beads-rs-[0-9]*.tgz"))
    refused = subprocess.run([alone / "bin/bd", "version"], capture_output=True, text=True)
    assert refused.returncode == 127 and "the package beads-rs-linux-x64 is missing" in refused.stderr, refused
    print("ok  npm, from a registry")


def publish(root, manifest, tarball):
    version = manifest["version"]
    versions = {version: {**manifest, "dist": {"tarball": tarball}}}
    described = {"name": manifest["name"], "dist-tags": {"latest": version}, "versions": versions}
    (root / manifest["name"]).write_text(json.dumps(described))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Redirecting(http.server.BaseHTTPRequestHandler):
    """Sends every request to another server."""

    def __init__(self, *arguments, target):
        self.target = target
        super().__init__(*arguments)

    def do_GET(self):
        self.send_response(302)
        self.send_header("Location", self.target + self.path)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(directory, certificate=None, redirect_to=None):
    """Serves a directory, or sends every request elsewhere, and yields the address. With a certificate, over https."""
    handler = functools.partial(Quiet, directory=str(directory))
    if redirect_to:
        handler = functools.partial(Redirecting, target=redirect_to)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http{'s' if certificate else ''}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def script():
    """Installs, upgrades and uninstalls from a local server, and refuses a damaged archive."""
    served = WORK / "served"
    version = release_version()
    shutil.copytree(DIST, served / f"v{version}")
    (served / "latest").write_text(version)
    home = WORK / "user"
    home.mkdir()
    checkout = CHECKOUT_SCRIPT
    with serving(served) as url:
        env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "BEADS_URL": url}
        run("sh", checkout, env=env)
        check_program(home / ".local/bin/bd", "install.sh")
        assert (home / ".local/share/man/man1/bd.1").exists()
        receipt = home / ".local/share/beads/receipt"
        obsolete = home / ".local/share/doc/beads/OBSOLETE"
        obsolete.touch()
        receipt.write_text(receipt.read_text() + f"{obsolete}\n")
        # The script of the release knows its own address and version (--url), also when it is piped into a shell.
        alone = WORK / "install.sh"
        shutil.copy(DIST / "install.sh", alone)
        run("sh", alone, env={**env, "BEADS_URL": ""})
        assert not obsolete.exists(), "an upgrade removes what the new version no longer has"
        run("sh", "-c", f"sh -s -- <{alone}", env={**env, "BEADS_URL": ""})
        archive = served / f"v{version}" / f"beads-{version}-x86_64-linux.tar.gz"
        archive.write_bytes(archive.read_bytes()[:-1] + b"?")
        before = (home / ".local/bin/bd").stat().st_ino
        refused = subprocess.run(["sh", checkout, "--version", version], env=env, capture_output=True, text=True)
        assert refused.returncode == 1 and "nothing was changed" in refused.stderr, refused
        assert (home / ".local/bin/bd").stat().st_ino == before
        # Beside the files of a release it needs no address, and no server.
        aside = WORK / "downloaded"
        shutil.copytree(DIST, aside)
        run("sh", "install.sh", cwd=aside, env={**env, "BEADS_URL": ""})
        run("sh", "install.sh", "--version", version, cwd=aside, env={**env, "BEADS_URL": ""})
        (aside / "SHA256SUMS").write_text("")
        refused = subprocess.run(["sh", aside / "install.sh"], env={**env, "BEADS_URL": ""}, capture_output=True, text=True)
        assert refused.returncode == 1 and "this release has no beads-" in refused.stderr, refused
        refused = subprocess.run(["sh", checkout], env={**env, "BEADS_URL": ""}, capture_output=True, text=True)
        assert refused.returncode == 1 and "set BEADS_URL" in refused.stderr, refused
        # Another spelling of the prefix is the same installation.
        (WORK / "link").symlink_to(home)
        run("sh", DIST / "install.sh", "--prefix", WORK / "link/.local/", env={**env, "BEADS_URL": ""})
        assert (home / ".local/bin/bd").exists() and (home / ".local/share/man/man1/bd.1").exists()
        run("sh", alone, "--uninstall", env=env)
        left = [path for path in (home / ".local").rglob("*") if path.is_file()]
        assert not left, left
    print("ok  install.sh: install, upgrade, damaged archive, without a server, uninstall")


def script_options():
    """Keeps a bd that the script did not install, and refuses options without a value."""
    prefix = WORK / "other"
    (prefix / "bin").mkdir(parents=True)
    other = prefix / "bin/bd"
    other.write_text("another program\n")
    env = {"HOME": str(WORK / "home"), "PATH": "/usr/bin:/bin"}
    install = [DIST / "install.sh", "--prefix", prefix]
    refuse(*install, env=env, because=f"{other} exists, but this script did not install it; nothing was changed")
    assert [path for path in prefix.rglob("*") if path.is_file()] == [other]
    run("sh", *install, "--force", env=env)
    run(other, "version")
    run("sh", *install, env=env)
    kept = prefix / "bin/bd.old"
    assert kept.read_text() == "another program\n"
    run("sh", *install, "--uninstall", env=env)
    assert [path for path in prefix.rglob("*") if path.is_file()] == [kept]
    # A dangling link counts, too, and an earlier copy is not overwritten.
    other.symlink_to(prefix / "nowhere")
    refuse(*install, "--force", env=env, because="cannot be kept as")
    assert other.is_symlink() and kept.exists()
    refuse(DIST / "install.sh", "--prefix", "", env=env, because="--prefix needs a value")
    refuse(DIST / "install.sh", "--version", env=env, because="--version needs a value")
    assert "--force" in run("sh", CHECKOUT_SCRIPT, "--help", env=env)
    print("ok  install.sh keeps other programs of the same name")


def script_encryption():
    """An https address must not lead to an http one, with curl and with wget."""
    served = WORK / "encrypted"
    shutil.copytree(DIST, served / f"v{release_version()}")
    (served / "latest").write_text(release_version())
    key, certificate = WORK / "tls.key", WORK / "tls.crt"
    run(
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"),
        *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate),
    )
    both = WORK / "tls.pem"
    both.write_text(key.read_text() + certificate.read_text())
    settings = WORK / "wgetrc"
    settings.write_text(f"ca_certificate = {certificate}\n")
    trust = {"CURL_CA_BUNDLE": str(certificate), "WGETRC": str(settings)}
    # A search path without curl, so that the script takes wget.
    without_curl = WORK / "without-curl"
    without_curl.mkdir()
    for program in [*Path("/usr/bin").iterdir(), *Path("/bin").iterdir()]:
        if program.name != "curl" and not (without_curl / program.name).is_symlink():
            (without_curl / program.name).symlink_to(program)
    tried = []
    for name, path in {"curl": "/usr/bin:/bin", "wget": str(without_curl)}.items():
        if shutil.which(name, path=path) is None:
            continue
        tried.append(name)
        prefix = WORK / f"encrypted-{name}"
        env = {"HOME": str(WORK / "home"), "PATH": path, **trust}
        with serving(served) as plain, serving(served, both) as encrypted:
            with serving(served, both, redirect_to=plain) as downgraded:
                refuse(
                    *(CHECKOUT_SCRIPT, "--prefix", prefix),
                    env={**env, "BEADS_URL": downgraded},
                    because=f"cannot read {downgraded}/latest; nothing was changed",
                )
            assert not prefix.exists()
            with serving(served, both, redirect_to=encrypted) as moved:
                run("sh", CHECKOUT_SCRIPT, "--prefix", prefix, env={**env, "BEADS_URL": moved})
        assert (prefix / "bin/bd").exists()
    print(f"ok  install.sh over https ({', '.join(tried)})")


def refuse(*command, env, because):
    refused = subprocess.run(["sh", *map(str, command)], env=env, capture_output=True, text=True)
    assert refused.returncode == 1 and because in refused.stderr, refused


sums()
debian()
wheel()
npm()
npm_registry()
script()
script_options()
script_encryption()

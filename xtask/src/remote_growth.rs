//! `cargo xtask remote-growth`: measures how a remote grows when one bead changes before every sync. The
//! remote is a local directory that the library writes to, or git's smart HTTP backend.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use beads_core::Op;
use beads_core::op::Update;
use beads_store::{AnyRemote, GitRepository, RealDisk, RealWorld, Replica, Transport};

use crate::arguments::{Arguments, Result};
use crate::growth::{bytes_below, caller, fill};

const SERVER: &str = "crates/bd/tests/cli/remotes/http_server.py";
const DEADLINE: Duration = Duration::from_secs(120);

/// The files in the object directory of a repository, and their total size.
#[derive(Debug, Clone, Copy)]
struct Size {
    loose: usize,
    packs: usize,
    bytes: u64,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let directory = Path::new(arguments.required("dir")?);
    let syncs: u64 = arguments.or("syncs", 2_000)?;
    let (beads, seed): (u32, u64) = (arguments.or("beads", 200)?, arguments.or("seed", 1)?);
    let most: usize = arguments.or("most-files", 1_000)?;
    let (server, autogc): (bool, bool) = (arguments.or("server", false)?, arguments.or("autogc", true)?);
    std::fs::create_dir_all(directory.join("served"))?;
    let directory = directory.canonicalize()?;
    let there = directory.join("served/remote.git");
    let remote = git2::Repository::init_bare(&there)?;
    remote.config()?.set_bool("http.receivepack", true)?;
    remote.config()?.set_bool("receive.autogc", autogc)?;
    let served = if server { Some(Served::start(&directory)?) } else { None };
    let url = served.as_ref().map_or_else(|| there.display().to_string(), |served| served.url.clone());
    let here = git2::Repository::init_bare(directory.join("here.git"))?;
    here.remote("origin", &url)?;

    let repository = GitRepository::open(here.path())?;
    let mut replica = Replica::open(RealDisk::new(here.path().join("beads")), &repository, RealWorld)?;
    fill(&mut replica, beads)?;
    let (started, mut largest) = (Instant::now(), 0);
    for number in 0..syncs {
        let bead = (number * 7919 + seed) % u64::from(beads.max(1));
        let title = format!("changed before sync {number}").parse()?;
        let update = Update { title: Some(title), ..Update::of(format!("bd-{bead}")) };
        replica.apply(&Op::Update(Box::new(update)), &caller()?)?;
        sync(&mut replica, &repository, here.path())?;
        repository.pack_loose_history()?;
        let size = measure(&there)?;
        largest = largest.max(size.loose + size.packs);
        if (number + 1) % (syncs / 10).max(1) == 0 {
            let seconds = started.elapsed().as_secs();
            println!(
                "{:>6} syncs: {} loose objects, {} packs, {} kB ({seconds} s)",
                number + 1,
                size.loose,
                size.packs,
                size.bytes / 1024
            );
        }
    }
    println!(
        "at most {largest} files; repacked it would have {} kB",
        repacked_bytes(&directory, &there)? / 1024
    );
    if largest > most {
        return Err(format!("the remote had {largest} files, more than {most}").into());
    }
    Ok(())
}

fn sync(
    replica: &mut Replica<RealDisk, RealWorld>,
    repository: &GitRepository,
    git_dir: &Path,
) -> Result<()> {
    replica.commit()?;
    let remote = AnyRemote::open(git_dir, "origin", Transport::Native, DEADLINE);
    let checkpoint = replica.begin_checkpoint()?;
    let (saved, exchange) = checkpoint.sync(repository, &remote, |_| ())?;
    replica.finish_checkpoint(saved, Vec::new())?;
    if !exchange?.pushed {
        return Err("a changed bead was not pushed".into());
    }
    Ok(())
}

fn measure(git_dir: &Path) -> Result<Size> {
    let objects = git_dir.join("objects");
    let mut size = Size { loose: 0, packs: 0, bytes: bytes_below(&objects)? };
    for entry in std::fs::read_dir(&objects)? {
        let entry = entry?;
        // Git may remove a directory during a repack.
        let files = std::fs::read_dir(entry.path()).map_or(0, Iterator::count);
        match entry.file_name().to_str() {
            Some("pack") => size.packs += files,
            Some(name) if name.len() == 2 => size.loose += files,
            _ => {}
        }
    }
    Ok(size)
}

/// Returns the size of a fresh clone, which has all data in one pack.
fn repacked_bytes(directory: &Path, there: &Path) -> Result<u64> {
    let fresh = directory.join("fresh.git");
    let git = Command::new("git")
        .args(["clone", "--quiet", "--bare", "--no-local"])
        .args([there, fresh.as_path()])
        .status()?;
    if !git.success() {
        return Err("git clone failed".into());
    }
    bytes_below(&fresh.join("objects"))
}

/// git's smart HTTP backend, as in the tests of remotes. Stopped on drop.
struct Served {
    process: Child,
    url: String,
}

impl Served {
    fn start(directory: &Path) -> Result<Self> {
        let file = |name: &str| -> PathBuf { directory.join(name) };
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
            .arg("-keyout")
            .arg(file("tls.key"))
            .arg("-out")
            .arg(file("tls.pem"))
            .stderr(Stdio::null())
            .status()?;
        if !made.success() {
            return Err("openssl did not create a certificate".into());
        }
        let process = Command::new("python3")
            .arg(SERVER)
            .arg(file("served"))
            .args(["tester", "secret"])
            .args([file("tls.pem"), file("tls.key"), file("ports")])
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .spawn()?;
        let mut served = Self { process, url: String::new() };
        let give_up = Instant::now() + DEADLINE;
        while !file("ports").exists() {
            if Instant::now() > give_up || served.process.try_wait()?.is_some() {
                return Err("the server did not start".into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let ports = std::fs::read_to_string(file("ports"))?;
        let port = ports.split_whitespace().next().ok_or("the server did not report a port")?;
        served.url = format!("http://tester:secret@127.0.0.1:{port}/remote.git");
        Ok(served)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

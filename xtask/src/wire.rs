//! `cargo xtask wire`: counts the bytes on the wire for one changed bead, with each transport. A proxy in
//! front of `git daemon` counts them; ssh and http carry the same protocol.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use beads_core::Op;
use beads_core::op::Update;
use beads_store::{AnyRemote, GitRepository, RealDisk, RealWorld, Replica, Transport};

use crate::arguments::{Arguments, Result};
use crate::growth::{caller, fill};

/// The deadline for all exchanges of one measurement, counted from the opening of the remote.
const DEADLINE: Duration = Duration::from_secs(24 * 60 * 60);

pub fn run(arguments: &Arguments) -> Result<()> {
    let directory = Path::new(arguments.required("dir")?);
    let beads: u32 = arguments.or("beads", 10_000)?;
    println!("one changed bead of {beads}, bytes on the wire");
    println!("{:10} {:>24} {:>24}", "transport", "push: sent / received", "pull: sent / received");
    for (name, transport) in [("git", Transport::Git), ("native", Transport::Native)] {
        let cost = measure(&directory.join(name), beads, transport)?;
        println!("{name:10} {:>24} {:>24}", cost.push.to_string(), cost.pull.to_string());
    }
    Ok(())
}

/// The cost of one changed bead.
pub struct Cost {
    /// The cost for the writer.
    pub push: Bytes,
    /// The cost for a reader.
    pub pull: Bytes,
}

/// Bytes on the wire.
pub struct Bytes {
    pub sent: u64,
    pub received: u64,
}

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} / {}", self.sent, self.received)
    }
}

/// Changes one of `beads` beads, between two repositories in a new directory.
pub fn measure(root: &Path, beads: u32, transport: Transport) -> Result<Cost> {
    git2::Repository::init_bare(root.join("remote.git"))?;
    let server = Server::start(root)?;
    let meter = Meter::in_front_of(server.port)?;
    let url = format!("git://127.0.0.1:{}/remote.git", meter.port);
    let mut writer = Peer::new(&root.join("writer"), &url, transport)?;
    fill(&mut writer.replica, beads)?;
    writer.sync()?;
    let mut reader = Peer::new(&root.join("reader"), &url, transport)?;
    reader.sync()?;
    let update = Update { title: Some("changed".parse()?), ..Update::of("bd-77") };
    writer.replica.apply(&Op::Update(Box::new(update)), &caller()?)?;
    meter.reset();
    writer.sync()?;
    let push = meter.reset();
    reader.sync()?;
    Ok(Cost { push, pull: meter.reset() })
}

struct Peer {
    repository: GitRepository,
    remote: AnyRemote,
    replica: Replica<RealDisk, RealWorld>,
}

impl Peer {
    fn new(directory: &Path, url: &str, transport: Transport) -> Result<Self> {
        git2::Repository::init_bare(directory)?.remote("origin", url)?;
        let repository = GitRepository::open(directory)?;
        let replica = Replica::open(RealDisk::new(directory.join("beads")), &repository, RealWorld)?;
        let remote = AnyRemote::open(directory, "origin", transport, DEADLINE);
        Ok(Self { repository, remote, replica })
    }

    fn sync(&mut self) -> Result<()> {
        let checkpoint = self.replica.begin_checkpoint()?;
        let (saved, exchange) = checkpoint.sync(&self.repository, &self.remote, |_| {})?;
        self.replica.finish_checkpoint(saved, Vec::new())?;
        exchange?;
        Ok(())
    }
}

/// `git daemon` on a free port. Stopped on drop.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(root: &Path) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        // Run the program directly: `git daemon` would start it as a child that survives its killed parent.
        let programs = Command::new("git").arg("--exec-path").output()?.stdout;
        let programs = String::from_utf8(programs)?;
        let child = Command::new(Path::new(programs.trim()).join("git-daemon"))
            .args(["--listen=127.0.0.1", "--export-all", "--enable=receive-pack"])
            .arg(format!("--port={port}"))
            .arg(format!("--base-path={}", root.canonicalize()?.display()))
            .stdin(Stdio::null())
            .spawn()?;
        let server = Self { child, port };
        for _ in 0..600 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(server);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err("git daemon is not listening".into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A proxy that counts bytes.
struct Meter {
    port: u16,
    sent: Arc<AtomicU64>,
    received: Arc<AtomicU64>,
}

impl Meter {
    fn in_front_of(target: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let meter =
            Self { port: listener.local_addr()?.port(), sent: Arc::default(), received: Arc::default() };
        let (sent, received) = (meter.sent.clone(), meter.received.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", target)) else { continue };
                let (Ok(client_too), Ok(server_too)) = (client.try_clone(), server.try_clone()) else {
                    continue;
                };
                let (sent, received) = (sent.clone(), received.clone());
                std::thread::spawn(move || forward(client, server, &sent));
                std::thread::spawn(move || forward(server_too, client_too, &received));
            }
        });
        Ok(meter)
    }

    fn reset(&self) -> Bytes {
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        Bytes { sent: take(&self.sent), received: take(&self.received) }
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, counter: &AtomicU64) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count) = from.read(&mut buffer) {
        if count == 0 || to.write_all(&buffer[..count]).is_err() {
            break;
        }
        counter.fetch_add(count as u64, Ordering::Relaxed);
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

//! A second client of the same daemon. It measures that the daemon keeps answering, whatever other clients
//! ask.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::sandbox::Sandbox;
use crate::socket::Client;

/// How much memory a daemon may use beyond what it used at the start. The bugs tested here took gigabytes.
#[cfg(target_os = "linux")]
const MAX_EXTRA_MEMORY: u64 = 512 * 1024 * 1024;

#[derive(Debug)]
pub struct Bystander {
    socket: PathBuf,
    id: String,
    pub pid: u32,
    /// The slowest of a few answers from an idle daemon.
    usual: Duration,
}

impl Bystander {
    /// Creates a bead to ask for, and limits the memory of the daemon from now on.
    pub fn of(bd: &Sandbox) -> Self {
        let id = bd.create(&["of the bystander"]);
        let pid = bd.daemon_pid().unwrap();
        limit_memory(pid);
        let mut bystander = Self { socket: bd.socket(), id, pid, usual: Duration::ZERO };
        bystander.usual = (0..20).map(|_| bystander.ask()).max().unwrap();
        bystander
    }

    /// Asks for its bead and returns how long the answer took.
    pub fn ask(&self) -> Duration {
        let started = Instant::now();
        let mut client = Client::connect(&self.socket).expect("the daemon is there");
        let reply = client.ask(&json!({"query": {"show": {"ids": [self.id]}}})).expect("an answer");
        assert_eq!(reply["result"][0]["id"], self.id.as_str(), "{reply}");
        started.elapsed()
    }

    /// Fails if an answer takes much longer than usual. A daemon that hangs does not answer.
    pub fn is_served(&self, during: &str) {
        let worst = (0..5).map(|_| self.ask()).max().unwrap();
        let bound = self.usual.max(Duration::from_millis(2)) * 500;
        assert!(worst < bound, "during {during} an answer took {worst:?}; usual are {:?}", self.usual);
    }
}

/// Limits the daemon's memory: the kernel refuses it more than this, so a daemon that keeps allocating
/// aborts. Other systems than Linux have no limit for a process that runs already.
#[cfg(target_os = "linux")]
fn limit_memory(pid: u32) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};

    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmData:")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    let limit = Some(kilobytes * 1024 + MAX_EXTRA_MEMORY);
    let process = Pid::from_raw(i32::try_from(pid).unwrap());
    prlimit(process, Resource::Data, Rlimit { current: limit, maximum: limit }).unwrap();
}

#[cfg(not(target_os = "linux"))]
fn limit_memory(_: u32) {}

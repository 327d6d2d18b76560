//! A second client of the same daemon, whose waiting time is the judge: whatever others ask for, it is answered.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::json;

use crate::sandbox::Sandbox;
use crate::socket::Client;

/// So much more memory than at the start may a daemon have. What is measured here took gigabytes.
pub const MORE_MEMORY: u64 = 512 * 1024 * 1024;

#[derive(Debug)]
pub struct Bystander {
    socket: PathBuf,
    id: String,
    pub pid: u32,
    /// The longest of some answers while nothing else goes on.
    usual: Duration,
}

impl Bystander {
    /// A bead of its own in the store of a daemon whose memory is limited from now on.
    pub fn of(bd: &Sandbox) -> Self {
        let id = bd.create(&["of the bystander"]);
        let pid = bd.daemon_pid().unwrap();
        limit_memory(pid);
        let mut bystander = Self { socket: bd.socket(), id, pid, usual: Duration::ZERO };
        bystander.usual = (0..20).map(|_| bystander.waits()).max().unwrap();
        bystander
    }

    /// Asks for its bead, and says how long the answer took.
    pub fn waits(&self) -> Duration {
        let started = Instant::now();
        let mut client = Client::connect(&self.socket).expect("the daemon is there");
        let reply = client.ask(&json!({"query": {"show": {"ids": [self.id]}}})).expect("an answer");
        assert_eq!(reply["result"][0]["id"], self.id.as_str(), "{reply}");
        started.elapsed()
    }

    /// Fails when an answer takes out of all proportion longer than usual. A daemon that hangs does not answer at all.
    pub fn is_served(&self, during: &str) {
        let worst = (0..5).map(|_| self.waits()).max().unwrap();
        let bound = self.usual.max(Duration::from_millis(2)) * 500;
        assert!(worst < bound, "during {during} an answer took {worst:?}; usual are {:?}", self.usual);
    }
}

/// The kernel refuses the daemon more memory than this; one that goes on asking ends.
fn limit_memory(pid: u32) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmData:")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    let limit = Some(kilobytes * 1024 + MORE_MEMORY);
    let process = Pid::from_raw(i32::try_from(pid).unwrap());
    prlimit(process, Resource::Data, Rlimit { current: limit, maximum: limit }).unwrap();
}

//! Many workers claim beads until none are left. Measures claims per second and the 99th percentile, over the
//! socket like an agent with its own client, and with the command, which starts a process each time.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::arguments::{Arguments, Result};

pub fn run(arguments: &Arguments) -> Result<()> {
    let workers = arguments.or("workers", 50_usize)?;
    let beads = arguments.or("beads", 1_000_usize)?;
    let bd: PathBuf = arguments.or("bd", "target/release/bd".into())?;
    let bd = bd.canonicalize().map_err(|error| format!("{}: {error}", bd.display()))?;
    for by_command in [false, true] {
        let scratch = Scratch::new(&bd, beads)?;
        let start = Instant::now();
        let mut times = scratch.claim_all(workers, by_command)?;
        let took = start.elapsed();
        times.sort_unstable();
        if times.len() != beads {
            return Err(format!("{} claims of {beads} beads", times.len()).into());
        }
        let at = |percent: usize| times[(times.len() - 1) * percent / 100];
        println!(
            "{workers} workers, {beads} beads, {}: {:.0} claims/s, median {:.2?}, p99 {:.2?}",
            if by_command { "bd claim --next" } else { "over the socket" },
            beads as f64 / took.as_secs_f64(),
            at(50),
            at(99),
        );
    }
    Ok(())
}

struct Scratch<'a> {
    bd: &'a Path,
    dir: PathBuf,
    socket: PathBuf,
}

impl<'a> Scratch<'a> {
    fn new(bd: &'a Path, beads: usize) -> Result<Self> {
        let dir = std::env::temp_dir().join(format!("bd-claims-{}", std::process::id()));
        std::fs::create_dir_all(&dir)?;
        let mut scratch = Self { bd, dir, socket: PathBuf::new() };
        scratch.command(&["--db", ".beads/beads.db", "init"])?;
        let place: Value = serde_json::from_str(&scratch.command(&["where", "--json"])?)?;
        scratch.socket = place["socket"].as_str().ok_or("no socket")?.into();
        let ops: Vec<_> = (0..beads).map(|n| json!({"op": "create", "title": format!("bead {n}")})).collect();
        let made = scratch.ask(&mut scratch.connect()?, "maker", &json!({"ops": ops, "many": true}))?;
        if made["exit"] == 0 { Ok(scratch) } else { Err(made.to_string().into()) }
    }

    fn command(&self, args: &[&str]) -> Result<String> {
        let output = Command::new(self.bd).args(args).current_dir(&self.dir).output()?;
        Ok(String::from_utf8(output.stdout)?)
    }

    fn connect(&self) -> Result<BufReader<UnixStream>> {
        Ok(BufReader::new(UnixStream::connect(&self.socket)?))
    }

    fn ask(&self, stream: &mut BufReader<UnixStream>, actor: &str, mutate: &Value) -> Result<Value> {
        let request = json!({"client": "0", "actor": actor, "call": {"mutate": mutate}});
        stream.get_mut().write_all(format!("{request}\n").as_bytes())?;
        let mut line = String::new();
        stream.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }

    fn claim_all(&self, workers: usize, by_command: bool) -> Result<Vec<Duration>> {
        let times = std::thread::scope(|scope| {
            let working: Vec<_> = (0..workers)
                .map(|worker| scope.spawn(move || self.work(worker, by_command).map_err(|e| e.to_string())))
                .collect();
            working
                .into_iter()
                .map(|worker| worker.join().unwrap_or_else(|_| Err("a worker died".into())))
                .collect()
        });
        let times: std::result::Result<Vec<Vec<Duration>>, String> = times;
        Ok(times?.concat())
    }

    fn work(&self, worker: usize, by_command: bool) -> Result<Vec<Duration>> {
        let actor = format!("worker{worker}");
        let mut stream = self.connect()?;
        let mut times = Vec::new();
        loop {
            let start = Instant::now();
            let done = if by_command {
                self.command(&["--actor", &actor, "claim", "--next", "--json"])?.contains("\"nothing_ready\"")
            } else {
                self.ask(&mut stream, &actor, &json!({"ops": [{"op": "claim_next"}]}))?["exit"] != 0
            };
            if done {
                return Ok(times);
            }
            times.push(start.elapsed());
        }
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        let _ = self.command(&["daemon", "stop"]);
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

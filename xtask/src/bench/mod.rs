//! `cargo xtask bench`: measures all performance goals in one run, together with the limits of the machine.

mod background;
mod crowd;
mod exchange;
mod floor;
mod import;
mod long_list;
mod peer;
mod plot;
mod report;
mod samples;
mod start;
mod store;
mod warm;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use beads_store::Transport;
use peer::Peer;
use report::Report;
use samples::Samples;
use store::Store;
use warm::Warm;

use crate::arguments::{Arguments, Result};
use crate::generate::Size;
use crate::wire;

const MIB: f64 = 1024.0 * 1024.0;
const LARGEST_BINARY: f64 = 15.0 * MIB;
/// The number of clients in tests with many clients.
const CROWD: usize = 50;

struct Bench {
    bd: PathBuf,
    root: PathBuf,
    runs: usize,
    large: usize,
    report: Report,
    /// How many parts could not be measured.
    failed: usize,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let bd: PathBuf = arguments.or("bd", "target/release/bd".into())?;
    let bd = bd.canonicalize().map_err(|error| format!("{}: {error}", bd.display()))?;
    let out: PathBuf = arguments.or("out", "bench".into())?;
    let root = std::env::temp_dir().join(format!("bd-bench-{}", std::process::id()));
    std::fs::create_dir_all(&root)?;
    let (runs, large) = (arguments.or("runs", 200_usize)?, arguments.or("large", 100_000_usize)?);
    let (build, tests) = (arguments.or("build", false)?, arguments.or("tests", false)?);
    let peers: Vec<Peer> = arguments.all("peer").map(str::parse).collect::<Result<_>>()?;
    let mut bench = Bench { bd, root: root.clone(), runs, large, report: Report::default(), failed: 0 };
    bench.everything();
    if !peers.is_empty() {
        bench.part("other programs", |bench| bench.peers(&peers));
    }
    if build {
        bench.part("clean release build", Bench::build);
    }
    if tests {
        bench.part("`cargo test --workspace`", Bench::tests);
    }
    std::fs::remove_dir_all(&root)?;
    bench.report.write(&out)?;
    if bench.failed == 0 {
        Ok(())
    } else {
        Err("some parts could not be measured; the report names them".into())
    }
}

impl Bench {
    /// Measures one part. If that fails, the report says so, and the other parts are still measured.
    fn part(&mut self, name: &str, measure: impl FnOnce(&mut Self) -> Result<()>) {
        if let Err(error) = measure(self) {
            self.failed += 1;
            self.report.row(name, "measured", error.to_string(), f64::INFINITY);
        }
    }

    fn everything(&mut self) {
        let (mut near, large) = (None, self.large);
        self.part("1,000 live beads of 10,000", |bench| {
            let small = bench.store(sized(1_000, 10_000))?;
            let warm = near.insert(bench.warm(&small)?);
            bench.reads(warm);
            bench.writes(warm);
            bench.crowd(&small)
        });
        self.part("10,000 beads", |bench| {
            let middle = bench.store(sized(10_000, 10_000))?;
            bench.warm(&middle)?;
            bench.first_command(&middle, Some(("≤ 40 ms", 40.0)))?;
            bench.import(&middle)?;
            bench.background(&middle)?;
            bench.exchange(&middle)?;
            bench.without_daemon(&middle, 50).map(drop)
        });
        self.part("a list of 10,000 beads", |bench| {
            // A store of its own, because the measurements of writes leave beads behind.
            let listed = Store::generate(&bench.bd, &bench.root.join("listed"), sized(10_000, 10_000))?;
            bench.long_list(&listed)
        });
        self.part("the wire", Self::wire);
        self.part(&format!("{large} beads"), |bench| {
            let store = bench.store(sized(large, large))?;
            let far = bench.warm(&store)?;
            if let Some(near) = &near {
                bench.growth(near, &far);
            }
            bench.resident(&store)?;
            bench.first_command(&store, Some(("≤ 250 ms", 250.0)))?;
            bench.saving(&store)?;
            bench.without_daemon(&store, 20).map(drop)
        });
        self.part("1,000 beads", |bench| {
            let embedded = bench.store(sized(1_000, 1_000))?;
            bench.lists(&embedded)?;
            bench.first_command(&embedded, None)?;
            bench.embedded(&embedded)
        });
        self.part("binary", Self::binary);
    }

    fn store(&self, size: Size) -> Result<Store> {
        Store::generate(&self.bd, &self.root, size)
    }

    fn warm(&mut self, store: &Store) -> Result<Warm> {
        let warm = Warm::measure(store, &self.root, self.runs)?;
        let process = warm.process.median();
        for (name, samples) in warm.reads().into_iter().chain(warm.writes()) {
            self.report.latency(name, store.size.live, samples.median() / process);
        }
        self.report.latency("version (no daemon)", store.size.live, warm.version.median() / process);
        Ok(warm)
    }

    fn reads(&mut self, warm: &Warm) {
        let process = warm.process.median();
        let floor = warm.version.median() / process;
        for (name, samples) in warm.reads() {
            let ratio = samples.median() / process;
            let measured = format!("{ratio:.2} × (`bd version`, without a daemon: {floor:.2} ×)");
            self.report.row(
                format!("warm `{name}`, 1,000 live of 10,000"),
                "≤ 2.0 × `/bin/true`",
                measured,
                ratio / 2.0,
            );
        }
    }

    fn writes(&mut self, warm: &Warm) {
        let (process, durable) = (warm.process.median(), warm.durable.median());
        let allowed = 2.0 * process + durable;
        for (name, samples) in warm.writes() {
            let used = samples.median() / allowed;
            let ratio = samples.median() / process;
            let measured = format!(
                "{used:.2} of that ({ratio:.2} × `/bin/true`; `fdatasync` {:.2} ×)",
                durable / process
            );
            self.report.row(
                format!("warm durable `{name}`"),
                "≤ 2.0 × `/bin/true` + `fdatasync`",
                measured,
                used,
            );
        }
    }

    fn crowd(&mut self, store: &Store) -> Result<()> {
        let (floor, creates) = crowd::processes(store, CROWD, 20)?;
        let share = creates / floor;
        let measured = format!("{:.0} % ({creates:.0} per second)", share * 100.0);
        self.report.row(
            "50 client processes creating",
            "≥ 65 % of starting `/bin/true`",
            measured,
            0.65 / share,
        );
        for clients in [1, 5, 10, 25, CROWD] {
            let many = crowd::connections(store, &self.root, clients, 200)?;
            self.report.throughput("bd, persistent connections", clients, many.rate);
            self.report.throughput("raw group commit", clients, many.floor);
            if clients == CROWD {
                let share = many.rate / many.floor;
                let measured = format!("{:.0} % ({:.0} per second)", share * 100.0, many.rate);
                self.report.row(
                    "50 connections creating durably",
                    "≥ 40 % of raw group commit",
                    measured,
                    0.4 / share,
                );
                let mut log = floor::Log::new(&self.root)?;
                let syncs: Result<Samples> = (0..self.runs).map(|_| log.append()).collect();
                let p99 = many.times.at(99.0) / syncs?.median();
                self.report.row("the same, p99", "≤ 20 × `fdatasync`", format!("{p99:.1} ×"), p99 / 20.0);
            }
        }
        Ok(())
    }

    /// Measures a command that starts the daemon, and compares it with a goal in milliseconds, if there is one.
    fn first_command(&mut self, store: &Store, goal: Option<(&'static str, f64)>) -> Result<()> {
        let took = start::first_command(store, 10)?.median() * 1000.0;
        self.report.opening("first command", store.size.live, took);
        if let Some((goal, allowed)) = goal {
            let what = format!("first command, {} beads", store.size.live);
            self.report.row(what, goal, format!("{took:.0} ms"), took / allowed);
        }
        Ok(())
    }

    /// Measures lists of all 1,000 beads against starting a process.
    fn lists(&mut self, store: &Store) -> Result<()> {
        let all = long_list::measure(store, &self.root, self.runs.min(50))?;
        let megabytes = all.bytes as f64 / 1e6;
        for (name, samples) in [("list", &all.list), ("ready", &all.ready)] {
            let ratio = samples.median() / all.process.median();
            let what = format!("`{name} --json` of all 1,000 beads, {megabytes:.1} MB");
            self.report.row(what, "≤ 5 × `/bin/true`", format!("{ratio:.1} ×"), ratio / 5.0);
        }
        Ok(())
    }

    /// Measures a list of all 10,000 beads against copying it.
    fn long_list(&mut self, store: &Store) -> Result<()> {
        let all = long_list::measure(store, &self.root, 20)?;
        let ratio = all.list.median() / all.copy.median();
        let what = format!("`list --json` of all 10,000 beads, {:.0} MB", all.bytes as f64 / 1e6);
        self.report.row(what, "≤ 3 × `cat` of the same bytes", format!("{ratio:.1} ×"), ratio / 3.0);
        Ok(())
    }

    /// Measures a command that opens the store itself. Returns the times of `/bin/true` and of the command.
    fn without_daemon(&mut self, store: &Store, runs: usize) -> Result<(Samples, Samples)> {
        let (floor, times) = start::embedded(store, runs)?;
        self.report.opening("show without a daemon", store.size.live, times.median() * 1000.0);
        Ok((floor, times))
    }

    fn embedded(&mut self, store: &Store) -> Result<()> {
        let (floor, times) = self.without_daemon(store, self.runs)?;
        let ratio = times.median() / floor.median();
        let what = "without a daemon: `show`, 1,000 beads";
        self.report.row(what, "≤ 8 × `/bin/true`", format!("{ratio:.1} ×"), ratio / 8.0);
        Ok(())
    }

    fn import(&mut self, from: &Store) -> Result<()> {
        let into = self.store(Size { live: 2, total: 2, edges: 0 })?;
        let (memory, whole) = import::measure(from, &into, &self.root)?;
        let measured = format!("{whole:.0} lines per second; into memory {memory:.0}");
        self.report.row(
            "`import` of 10,000 beads, whole command",
            "≥ 50,000 lines per second",
            measured,
            50_000.0 / whole,
        );
        Ok(())
    }

    fn background(&mut self, store: &Store) -> Result<()> {
        let idle = background::idle(store, 20)?;
        let share = idle.share * 100.0;
        let measured = format!("{share:.2} %, {} wake-ups in 20 s", idle.wake_ups);
        self.report.row("idle daemon", "< 0.1 % CPU", measured, share / 0.1);
        self.memory(store.size.live, idle.resident_bytes);
        let (without, with) = background::saving(store, 5)?;
        let more = (with.at(99.9) - without.at(99.9)) * 1000.0;
        let measured = format!(
            "p99.9 {:.1} ms while saving, {:.1} ms without; longest {:.1} and {:.1} ms",
            with.at(99.9) * 1000.0,
            without.at(99.9) * 1000.0,
            with.at(100.0) * 1000.0,
            without.at(100.0) * 1000.0
        );
        self.report.row("a mutation during a commit, 10,000 beads", "≤ 5 ms later", measured, more / 5.0);
        Ok(())
    }

    /// Measures the processor time of saves while a client keeps writing.
    fn saving(&mut self, store: &Store) -> Result<()> {
        let saving = background::saving_share(store, Duration::from_secs(60))?;
        let measured = format!(
            "{:.1} % ({} saves; the longest pause between two saves {:.0} s)",
            saving.share * 100.0,
            saving.saves,
            saving.longest_pause.as_secs_f64()
        );
        let what = format!("saving while a client writes for a minute, {} beads", store.size.live);
        self.report.row(what, "≤ 5 % of one core", measured, saving.share / 0.05);
        Ok(())
    }

    fn resident(&mut self, store: &Store) -> Result<()> {
        let idle = background::idle(store, 1)?;
        self.memory(store.size.live, idle.resident_bytes);
        Ok(())
    }

    fn memory(&mut self, beads: usize, resident: u64) {
        let allowed = 10.0 * MIB + 4096.0 * beads as f64;
        let measured = format!("{:.0} MiB of {:.0}", resident as f64 / MIB, allowed / MIB);
        let what = format!("resident at {beads} beads");
        self.report.row(what, "≤ 10 MiB + 4 KiB per bead", measured, resident as f64 / allowed);
    }

    fn exchange(&mut self, store: &Store) -> Result<()> {
        let all = exchange::measure(store, &self.root, 20)?;
        let ratio = all.sync.median() / (all.library.median() + all.process.median());
        let measured = format!(
            "{ratio:.2} × ({:.0} ms; the library {:.0} ms)",
            all.sync.median() * 1000.0,
            all.library.median() * 1000.0
        );
        let what = "`sync` of one change at 10,000 beads, local bare remote";
        self.report.row(what, "≤ 1.2 × the git library", measured, ratio / 1.2);
        Ok(())
    }

    /// Measures bytes on the wire, if `git daemon` is available.
    fn wire(&mut self) -> Result<()> {
        let what = "the same on the wire, sent and received";
        let cost =
            |name: &str, transport| wire::measure(&self.root.join("wire").join(name), 10_000, transport);
        let (Ok(git), Ok(native)) = (cost("git", Transport::Git), cost("native", Transport::Native)) else {
            eprintln!("{what}: not measured: `git daemon` is not available");
            return Ok(());
        };
        let kilobytes = |bytes: &wire::Bytes| (bytes.sent + bytes.received) as f64 / 1000.0;
        let (git, native) = (kilobytes(&git.push), kilobytes(&native.push));
        let measured = format!("{git:.1} kB through the git program, {native:.0} kB through the library");
        self.report.row(what, "kilobytes", measured, native / 1000.0);
        Ok(())
    }

    /// Measures a release build from scratch, in a separate directory.
    fn build(&mut self) -> Result<()> {
        let start = Instant::now();
        let built = Command::new("cargo")
            .args(["build", "--release", "--locked", "--quiet"])
            .env("CARGO_TARGET_DIR", self.root.join("target"))
            .status()?;
        if !built.success() {
            return Err("the release build failed".into());
        }
        let seconds = start.elapsed().as_secs();
        let measured = format!("{} min {} s", seconds / 60, seconds % 60);
        self.report.row("clean release build", "≤ 4 min on 2 cores", measured, seconds as f64 / 240.0);
        Ok(())
    }

    /// Compares the figures for many beads with those for few.
    fn growth(&mut self, near: &Warm, far: &Warm) {
        let ratio = |near: &Samples, far: &Samples, warm: (&Warm, &Warm)| {
            (far.median() / warm.1.process.median()) / (near.median() / warm.0.process.median())
        };
        let pairs =
            near.reads().into_iter().chain(near.writes()).zip(far.reads().into_iter().chain(far.writes()));
        for ((name, few), (_, many)) in pairs {
            let scans = name.starts_with("ready") || name.starts_with("list");
            let (goal, bound) =
                if scans { ("≤ 2 × that at 1,000", 2.0) } else { ("≤ 1.3 × that at 1,000", 1.3) };
            let grown = ratio(few, many, (near, far));
            self.report.row(
                format!("`{name}` at {} live", self.large),
                goal,
                format!("{grown:.2} ×"),
                grown / bound,
            );
        }
    }

    fn binary(&mut self) -> Result<()> {
        let bytes = std::fs::metadata(&self.bd)?.len() as f64;
        let measured = format!("{:.1} MiB", bytes / MIB);
        self.report.row("binary, stripped", "≤ 15 MiB", measured, bytes / LARGEST_BINARY);
        Ok(())
    }

    /// Measures other programs with the commands of `bd`, on stores of their own with the same beads.
    fn peers(&mut self, peers: &[Peer]) -> Result<()> {
        let store = Store::generate(&self.bd, &self.root.join("compared"), sized(1_000, 1_000))?;
        let compared = peer::measure(peers, &store, &self.root, self.runs.min(50))?;
        self.report.peers(compared);
        Ok(())
    }

    /// Measures the processor time of all tests, without building them.
    fn tests(&mut self) -> Result<()> {
        let cargo = |arguments: &[&str]| {
            Command::new("cargo").arg("test").arg("--workspace").args(arguments).status()
        };
        if !cargo(&["--no-run", "--quiet"])?.success() {
            return Err("the tests could not be built".into());
        }
        let before = background::children_time()?;
        let passed = cargo(&["--quiet"])?.success();
        let minutes = (background::children_time()? - before).as_secs_f64() / 60.0;
        let measured = format!("{minutes:.1} CPU min{}", if passed { "" } else { "; some failed" });
        let used = if passed { minutes / 15.0 } else { f64::INFINITY };
        self.report.row("`cargo test --workspace`", "≤ 15 CPU min", measured, used);
        Ok(())
    }
}

/// Returns the size of a store with as many dependencies as beads.
fn sized(live: usize, total: usize) -> Size {
    Size { live, total, edges: total }
}

//! `cargo xtask growth`: measures how a repository grows with its history.

use std::path::Path;

use beads_core::Op;
use beads_core::op::{Create, Update};
use beads_store::{Caller, GitRepository, RealDisk, RealWorld, Replica};

use crate::arguments::{Arguments, Result};

/// Changes one bead per commit, and packs like a running daemon.
pub fn run(arguments: &Arguments) -> Result<()> {
    let directory = Path::new(arguments.required("dir")?);
    let (commits, beads): (u32, u32) = (arguments.or("commits", 1_000)?, arguments.or("beads", 1_000)?);
    let repository = GitRepository::open_or_init_bare(directory)?;
    let mut replica = Replica::open(RealDisk::new(directory.join("beads")), &repository, RealWorld)?;
    fill(&mut replica, beads)?;
    let caller = caller()?;
    let mut largest = 0;
    for number in 0..commits {
        let id = format!("bd-{}", (u64::from(number) * 7919) % u64::from(beads.max(1)));
        let update = Update { title: Some(format!("changed in commit {number}").parse()?), ..Update::of(id) };
        replica.apply(&Op::Update(Box::new(update)), &caller)?;
        replica.checkpoint(&repository)?;
        if number % 8 == 7 {
            largest = largest.max(bytes_below(&directory.join("objects"))?);
        }
        repository.pack_loose_history()?;
    }
    let end = bytes_below(&directory.join("objects"))?;
    println!(
        "{commits} commits of {beads} beads: {} kB at the end, {} kB at most",
        end / 1024,
        largest / 1024
    );
    Ok(())
}

/// Returns the caller of all mutations.
pub fn caller() -> Result<Caller> {
    Ok(Caller { actor: "growth".parse()?, branch: Default::default(), lease_ms: 1, request: None })
}

/// Creates beads `bd-0`, `bd-1` and so on, with realistic texts.
pub fn fill(replica: &mut Replica<RealDisk, RealWorld>, beads: u32) -> Result<()> {
    for number in 0..beads {
        let mut create = Create::titled(format!("bead number {number} of a store that grows").parse()?);
        create.id = Some(format!("bd-{number}").parse()?);
        create.description =
            format!("Something that has to be done, for the {number}th time.").repeat(4).parse()?;
        replica.apply(&Op::Create(Box::new(create)), &caller()?)?;
    }
    Ok(())
}

/// Returns the total size of all files below a directory. Ignores files that git removes in the meantime.
pub fn bytes_below(directory: &Path) -> Result<u64> {
    let gone = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
    let entries = match std::fs::read_dir(directory) {
        Err(error) if gone(&error) => return Ok(0),
        entries => entries?,
    };
    let mut total = 0;
    for entry in entries {
        let entry = entry?;
        total += match entry.metadata() {
            Err(error) if gone(&error) => 0,
            Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path())?,
            metadata => metadata?.len(),
        };
    }
    Ok(total)
}

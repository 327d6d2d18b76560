//! Measures the limits of the machine in the same run: starting a process, and making bytes durable.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use super::samples::Samples;
use super::store;
use crate::arguments::Result;

/// About the size of the journal record of a create.
const RECORD: [u8; 300] = [b'x'; 300];

/// Measures the start of `/bin/true`.
pub fn start_a_process() -> Result<Duration> {
    store::time(Command::new("/bin/true").stdin(Stdio::null()).stdout(Stdio::null()))
}

/// A file to which records are appended durably.
pub struct Log(File);

impl Log {
    pub fn new(dir: &Path) -> Result<Self> {
        Ok(Self(File::options().append(true).create(true).open(dir.join("floor.log"))?))
    }

    pub fn append(&mut self) -> Result<Duration> {
        let start = Instant::now();
        self.0.write_all(&RECORD)?;
        self.0.sync_data()?;
        Ok(start.elapsed())
    }
}

#[derive(Default)]
struct Group {
    waiting: usize,
    /// Records requested so far.
    asked: u64,
    /// Records that are durable.
    durable: u64,
    writers: usize,
}

/// Measures writers that pass their records to one thread, which makes all pending records durable at once.
/// No store with a journal can be faster.
pub fn group_commit(dir: &Path, writers: usize, each: usize) -> Result<(f64, Samples)> {
    let mut file = File::options().append(true).create(true).open(dir.join("group.log"))?;
    let group = Mutex::new(Group { writers, ..Group::default() });
    let (come, done) = (Condvar::new(), Condvar::new());
    let start = Instant::now();
    let times = std::thread::scope(|scope| {
        let committer = scope.spawn(|| -> std::io::Result<()> {
            loop {
                let mut state = group.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                while state.waiting == 0 && state.writers > 0 {
                    state = come.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
                }
                let (count, upto) = (std::mem::take(&mut state.waiting), state.asked);
                if count == 0 {
                    return Ok(());
                }
                drop(state);
                file.write_all(&RECORD.repeat(count))?;
                file.sync_data()?;
                group.lock().unwrap_or_else(std::sync::PoisonError::into_inner).durable = upto;
                done.notify_all();
            }
        });
        let writing: Vec<_> = (0..writers)
            .map(|_| {
                scope.spawn(|| {
                    let mut times = Vec::with_capacity(each);
                    for _ in 0..each {
                        let start = Instant::now();
                        let mut state = group.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        state.waiting += 1;
                        state.asked += 1;
                        let mine = state.asked;
                        come.notify_one();
                        while state.durable < mine {
                            state = done.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
                        }
                        times.push(start.elapsed());
                    }
                    group.lock().unwrap_or_else(std::sync::PoisonError::into_inner).writers -= 1;
                    come.notify_one();
                    times
                })
            })
            .collect();
        let times: Vec<_> =
            writing.into_iter().flat_map(|writer| writer.join().unwrap_or_default()).collect();
        committer.join().unwrap_or_else(|_| Err(std::io::Error::other("the committer died")))?;
        Ok::<_, std::io::Error>(times)
    })?;
    let rate = times.len() as f64 / start.elapsed().as_secs_f64();
    Ok((rate, times.into_iter().collect()))
}

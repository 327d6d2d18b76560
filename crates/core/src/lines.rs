//! The lines of a canonical file, and how many of them are read at once.

use std::panic::resume_unwind;
use std::thread;

use memchr::{memchr, memchr_iter};

use crate::Result;
use crate::decode::corrupt;
use crate::limits::MAX_DECODED_LINE_BYTES;
use crate::parts::threads_worth;

/// So many bytes are read before another thread would have begun.
const WORTH_A_THREAD: usize = 256 * 1024;

/// The lines of a file with their numbers. Every line must end with one `\n`.
pub(crate) struct Lines<'a> {
    file: &'static str,
    rest: &'a [u8],
    number: usize,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(file: &'static str, bytes: &'a [u8]) -> Self {
        Self { file, rest: bytes, number: 0 }
    }

    /// Cuts the lines into so many runs of about the same length.
    fn split(self, runs: usize) -> Vec<Self> {
        let size = self.rest.len() / runs.max(1);
        let mut left = self;
        let mut split = Vec::new();
        while split.len() + 1 < runs {
            let Some(end) = memchr(b'\n', left.rest.get(size..).unwrap_or_default()) else { break };
            let (first, rest) = left.rest.split_at(size + end + 1);
            let lines = memchr_iter(b'\n', first).count();
            split.push(Self { rest: first, ..left });
            left = Self { rest, number: left.number + lines, ..left };
        }
        split.push(left);
        split
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, Result<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let Some(end) = memchr(b'\n', self.rest) else {
            self.rest = &[];
            return Some((self.number, Err(corrupt(self.file, self.number, "the line is cut off"))));
        };
        let (line, rest) = (&self.rest[..end], &self.rest[end + 1..]);
        self.rest = rest;
        if line.len() > MAX_DECODED_LINE_BYTES {
            return Some((self.number, Err(corrupt(self.file, self.number, "the line is too long"))));
        }
        Some((self.number, Ok(line)))
    }
}

/// Reads every line, a long file on several processors, and takes in what was read in the order of the lines; so the first
/// line that is wrong is the one that is told, however many there are.
pub(crate) fn read<T: Send>(
    file: &'static str,
    bytes: &[u8],
    read: impl Fn(usize, &[u8]) -> Result<T> + Sync,
    mut take: impl FnMut(usize, T) -> Result<()>,
) -> Result<()> {
    let read = &read;
    let mut runs = Lines::of(file, bytes).split(threads_worth(bytes.len() / WORTH_A_THREAD)).into_iter();
    thread::scope(|scope| {
        let ours = runs.next().into_iter().flat_map(|run| each(run, read));
        let theirs: Vec<_> =
            runs.map(|run| scope.spawn(move || each(run, read).collect::<Vec<_>>())).collect();
        let mut take = |found: Result<(usize, T)>| found.and_then(|(number, line)| take(number, line));
        for found in ours {
            take(found)?;
        }
        for run in theirs {
            let found = run.join().unwrap_or_else(|panic| resume_unwind(panic));
            found.into_iter().try_for_each(&mut take)?;
        }
        Ok(())
    })
}

fn each<'a, T>(
    lines: Lines<'a>,
    read: &'a (impl Fn(usize, &[u8]) -> Result<T> + Sync),
) -> impl Iterator<Item = Result<(usize, T)>> {
    lines.map(|(number, line)| Ok((number, read(number, line?)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_all_lines_with_their_numbers() {
        let text: Vec<u8> =
            (1..=40).flat_map(|n: usize| format!("{}\n", "x".repeat(n)).into_bytes()).collect();
        for runs in [1, 2, 3, 7, 100, 1000] {
            let split = Lines::of("f", &text).split(runs);
            assert!(split.len() <= runs);
            let found: Vec<(usize, usize)> =
                split.into_iter().flatten().map(|(number, line)| (number, line.unwrap().len())).collect();
            assert_eq!(found, (1..=40).map(|n| (n, n)).collect::<Vec<_>>(), "{runs} runs");
        }
    }

    #[test]
    fn the_first_wrong_line_of_a_long_file_is_told() {
        let text = b"some line\n".repeat(WORTH_A_THREAD);
        let wrong = |at: &'static [usize]| {
            let mut taken = 0;
            let told = read(
                "f",
                &text,
                |number, _| {
                    if at.contains(&number) { Err(corrupt("f", number, "wrong")) } else { Ok(number) }
                },
                |number, line| {
                    taken += 1;
                    assert_eq!((number, line), (taken, taken));
                    Ok(())
                },
            );
            (told.err().map(|error| error.to_string()), taken)
        };
        assert_eq!(wrong(&[]), (None, WORTH_A_THREAD));
        let last = WORTH_A_THREAD - 1;
        assert_eq!(wrong(&[WORTH_A_THREAD - 1, WORTH_A_THREAD]).1, last - 1);
        assert_eq!(wrong(&[3, WORTH_A_THREAD]).1, 2);
    }
}

//! Reads the lines of a canonical file, in parallel if the file is long.

use std::panic::resume_unwind;
use std::thread;

use memchr::{memchr, memchr_iter};

use crate::Result;
use crate::decode::corrupt;
use crate::limits::MAX_DECODED_LINE_BYTES;
use crate::parts::thread_count;

/// Below this size, starting another thread takes longer than reading the bytes.
const BYTES_PER_THREAD: usize = 256 * 1024;

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

    /// Splits the lines into at most `runs` runs of about the same length.
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
            return Some((self.number, Err(corrupt(self.file, self.number, "the line is incomplete"))));
        };
        let (line, rest) = (&self.rest[..end], &self.rest[end + 1..]);
        self.rest = rest;
        if line.len() > MAX_DECODED_LINE_BYTES {
            return Some((self.number, Err(corrupt(self.file, self.number, "the line is too long"))));
        }
        Some((self.number, Ok(line)))
    }
}

/// Calls `read` for every line, on several threads if the file is long, and `take` for each result in the
/// order of the lines. So the error is always that of the first bad line.
pub(crate) fn read<T: Send>(
    file: &'static str,
    bytes: &[u8],
    read: impl Fn(usize, &[u8]) -> Result<T> + Sync,
    mut take: impl FnMut(usize, T) -> Result<()>,
) -> Result<()> {
    let read = &read;
    let mut runs = Lines::of(file, bytes).split(thread_count(bytes.len() / BYTES_PER_THREAD)).into_iter();
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
    fn runs_contain_all_lines_with_their_numbers() {
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
    fn the_first_bad_line_of_a_long_file_is_reported() {
        let text = b"some line\n".repeat(BYTES_PER_THREAD);
        let read_with_errors = |at: &'static [usize]| {
            let mut taken = 0;
            let result = read(
                "f",
                &text,
                |number, _| {
                    if at.contains(&number) { Err(corrupt("f", number, "bad")) } else { Ok(number) }
                },
                |number, line| {
                    taken += 1;
                    assert_eq!((number, line), (taken, taken));
                    Ok(())
                },
            );
            (result.err().map(|error| error.to_string()), taken)
        };
        assert_eq!(read_with_errors(&[]), (None, BYTES_PER_THREAD));
        let last = BYTES_PER_THREAD - 1;
        assert_eq!(read_with_errors(&[BYTES_PER_THREAD - 1, BYTES_PER_THREAD]).1, last - 1);
        assert_eq!(read_with_errors(&[3, BYTES_PER_THREAD]).1, 2);
    }
}

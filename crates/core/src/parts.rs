//! Runs the same work for many entries on several threads.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

/// More threads would only wait for the thread that combines the results.
const MAX_THREADS: usize = 4;

/// Below this number, starting another thread takes longer than the work itself.
const ENTRIES_PER_THREAD: usize = 512;

/// Returns the number of threads to use for work that could keep `worth` threads busy.
pub(crate) fn thread_count(worth: usize) -> usize {
    if worth < 2 {
        return 1;
    }
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    worth.min(processors).min(MAX_THREADS)
}

/// Calls `work` for parts of the entries and returns the results in order.
pub(crate) fn in_parts<T: Sync, R: Send>(entries: &[T], work: impl Fn(&[T]) -> R + Sync) -> Vec<R> {
    let size = entries.len().div_ceil(thread_count(entries.len() / ENTRIES_PER_THREAD)).max(1);
    let work = &work;
    let mut parts = entries.chunks(size);
    let first = parts.next().unwrap_or_default();
    thread::scope(|scope| {
        let others: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        let done = others.into_iter().map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)));
        [work(first)].into_iter().chain(done).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_contain_all_entries_in_order() {
        for length in [0, 1, ENTRIES_PER_THREAD, 2 * ENTRIES_PER_THREAD, 10 * ENTRIES_PER_THREAD + 3] {
            let entries: Vec<usize> = (0..length).collect();
            assert_eq!(in_parts(&entries, <[usize]>::to_vec).concat(), entries, "{length}");
        }
    }
}

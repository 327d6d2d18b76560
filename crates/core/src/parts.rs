//! Work that is the same for every entry, done on several processors.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

/// More threads than this wait for the one that puts together what they did.
const MAX_THREADS: usize = 4;

/// So many entries are done before another thread would have begun.
const WORTH_A_THREAD: usize = 512;

/// How many threads to use for work that would keep so many of them busy.
pub(crate) fn threads_worth(worth: usize) -> usize {
    if worth < 2 {
        return 1;
    }
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    worth.min(processors).min(MAX_THREADS)
}

/// What `work` makes of the entries, part by part and in their order.
pub(crate) fn in_parts<T: Sync, R: Send>(entries: &[T], work: impl Fn(&[T]) -> R + Sync) -> Vec<R> {
    let size = entries.len().div_ceil(threads_worth(entries.len() / WORTH_A_THREAD)).max(1);
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
    fn parts_have_all_entries_in_their_order() {
        for length in [0, 1, WORTH_A_THREAD, 2 * WORTH_A_THREAD, 10 * WORTH_A_THREAD + 3] {
            let entries: Vec<usize> = (0..length).collect();
            assert_eq!(in_parts(&entries, <[usize]>::to_vec).concat(), entries, "{length}");
        }
    }
}

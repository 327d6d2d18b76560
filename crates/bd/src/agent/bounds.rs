//! Every bound of `bb agent`, with its reason.

use std::time::Duration;

/// Contract §5.1: shorter names mean nothing, longer ones do not fit on a line.
pub const AGENT_ID_LEN: std::ops::RangeInclusive<usize> = 3..=48;
/// A role or display name is a label, not a text.
pub const LABEL_MAX: usize = 128;
/// Contract 1 allows bead ids up to 128 bytes.
pub const BEAD_ID_MAX: usize = 128;
/// A thread is named after a bead, plus a prefix.
pub const THREAD_ID_MAX: usize = 256;
/// A message id is a file name: `msg_`, a time, a tag, and for a broadcast the recipient.
pub const MESSAGE_ID_MAX: usize = 160;
/// A subject is one line in an inbox.
pub const SUBJECT_MAX: usize = 1024;
/// One line of a message log; a longer body belongs in a file.
pub const BODY_MAX: usize = 1024 * 1024;
/// Contract §6.2.
pub const INBOX_LIMIT_DEFAULT: i64 = 50;
/// Contract §6.2.
pub const INBOX_LIMIT: std::ops::RangeInclusive<i64> = 1..=500;
/// Contract §7.1, minutes.
pub const TTL_DEFAULT: i64 = 120;
/// Contract §7.1, minutes.
pub const TTL: std::ops::RangeInclusive<i64> = 5..=1440;
/// Longer than any path people type; keeps the overlap check small.
pub const SCOPE_MAX: usize = 1024;
/// Characters of one scope after brace expansion. Comparing two scopes takes at most the square of this.
pub const SCOPE_EXPANDED_MAX: usize = 4096;
/// Alternatives of one scope after brace expansion.
pub const SCOPE_ALTERNATIVES_MAX: usize = 256;
/// Far larger than any snapshot `bb` writes; a larger file is not ours.
pub const SNAPSHOT_MAX: u64 = 64 * 1024 * 1024;
/// A log of messages or ended reservations is read into memory. This holds sixty thousand messages with long
/// bodies.
pub const LOG_MAX: u64 = 256 * 1024 * 1024;
/// The longest wait for the lock. A command holds it for milliseconds, so only a stopped process holds it
/// this long.
pub const LOCK_WAIT: Duration = Duration::from_secs(30);
/// An agent that was not seen for this long is `stale`.
pub const STALE_AFTER_MINUTES: i64 = 15;
/// An agent that was not seen for this long is `gone`.
pub const GONE_AFTER_MINUTES: i64 = 60;

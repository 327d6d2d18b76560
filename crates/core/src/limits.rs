//! Every bound of the data model, each with its reason.

/// First millisecond of the year 2100. A stamp at or past it is a broken clock or a hostile file.
pub const MAX_MS: u64 = 4_102_444_800_000;

/// The low bits of a stamp's counter name the replica; "plus one" adds this much.
pub const COUNTER_STEP: u32 = 1 << 16;

/// How far ahead of our wall clock an observed stamp may be and still pull our clock forward. Past it, one
/// machine with a broken clock would drag every other machine along.
pub const MAX_DRIFT_MS: u64 = 60 * 60 * 1000;

/// Ids are typed, spoken and put into file names.
pub const MAX_ID_BYTES: usize = 128;

/// A bead that lost its id in a collision gets a longer one; refusing it would make a merge fail.
pub const MAX_DERIVED_ID_BYTES: usize = MAX_ID_BYTES + 64;

/// An actor is a name, not a document.
pub const MAX_ACTOR_BYTES: usize = 256;

/// A title fits on a few lines of a terminal; longer text belongs in the description.
pub const MAX_TITLE_BYTES: usize = 4 * 1024;

/// A memory is named by a few words.
pub const MAX_MEMORY_KEY_CHARS: usize = 64;

/// A word for a status, a type or the kind of a note.
pub const MAX_WORD_BYTES: usize = 64;

/// The key of a replicated setting.
pub const MAX_SETTING_KEY_BYTES: usize = 64;

/// Replicated settings of one store. Each is at most one line, so `meta.json` stays below 2 MiB.
pub const MAX_SETTINGS: usize = 256;

/// A label is a word.
pub const MAX_LABEL_BYTES: usize = 256;

/// Enough for every real label scheme, small enough that a bead's line stays readable.
pub const MAX_LABELS: usize = 256;

/// A bead whose canonical line would grow past this is refused when written or imported, so that a commit
/// stays in the megabytes. What a merge yields is never refused.
pub const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;

/// The notes of a bead may take this much of its line when one is added. They are what a merge adds up: replicas that
/// do not know of each other each add their own.
pub const MAX_NOTES_BYTES: usize = 2 * 1024 * 1024;

/// A merge whose longest line would be past this is not made; the remote is refused with a reason, and local work goes on.
/// A register has one winner, so the five that hold long text (description, design, acceptance criteria, metadata, reason
/// for closing) take 5 × 8 MiB at most. The other 56 MiB hold the notes of 28 replicas that each filled 2 MiB of one bead
/// without knowing of the others.
pub const MAX_MERGED_LINE_BYTES: usize = 96 * 1024 * 1024;

/// A line of a snapshot may be this long before decoding gives up, which it does while the line is still being inflated. It
/// leaves room for what was written here while a merge was made: a line of 8 MiB joined with a merged one of 96 MiB.
pub const MAX_DECODED_LINE_BYTES: usize = 128 * 1024 * 1024;

/// A merge that would make one file of the snapshot longer than this is not made. 100,000 beads, which is where saving becomes slow
/// (docs/SCALE.md), take about 100 MB.
pub const MAX_MERGED_FILE_BYTES: usize = 448 * 1024 * 1024;

/// A file of a snapshot may be this long; a longer one is refused before it is read. Packed files are inflated as a whole, so
/// this is also the most memory that a file takes before its lines are looked at.
pub const MAX_FILE_BYTES: usize = 512 * 1024 * 1024;

/// Commits and trees of the sync ref have five entries and a short message; a longer object is not read.
pub const MAX_OBJECT_BYTES: usize = 16 * 1024 * 1024;

/// A prefix is the part of every id before the dash.
pub const MAX_PREFIX_BYTES: usize = 32;

/// How deep `dep tree` descends before it says "and more": a tree deeper than this is not read by anyone.
pub const MAX_TREE_DEPTH: usize = 64;

/// How many rows a dependency tree may have: shared subtrees unfold into copies.
pub const MAX_TREE_ROWS: usize = 10_000;

/// Estimates are minutes; ten years of them is a typing error.
pub const MAX_ESTIMATE_MINUTES: u32 = 5_256_000;

/// Deletions are remembered at least this long when garbage collection is on (§8.4).
pub const MIN_TOMBSTONE_TTL_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// How deep metadata may be nested. The JSON reader stops at 128 levels to save its stack, and a line or a journal
/// record puts some around the metadata: what was accepted must be readable again.
pub const MAX_METADATA_DEPTH: usize = 64;

//! All limits of the data model, each with its reason.

/// First millisecond of the year 2100. A stamp at or after it comes from a broken clock or a hostile file.
pub const MAX_MS: u64 = 4_102_444_800_000;

/// The increment of a stamp's counter. The low bits identify the replica.
pub const COUNTER_STEP: u32 = 1 << 16;

/// How far ahead of our wall clock an observed stamp may be and still advance our clock. Without this limit,
/// one machine with a broken clock would affect every other machine.
pub const MAX_DRIFT_MS: u64 = 60 * 60 * 1000;

/// Ids are typed, spoken and used in file names.
pub const MAX_ID_BYTES: usize = 128;

/// A bead that lost its id in a collision gets a longer one. Rejecting it would make a merge fail.
pub const MAX_DERIVED_ID_BYTES: usize = MAX_ID_BYTES + 64;

/// An actor is a name, not a document.
pub const MAX_ACTOR_BYTES: usize = 256;

/// A title fits on a few lines of a terminal; longer text belongs in the description.
pub const MAX_TITLE_BYTES: usize = 4 * 1024;

/// The key of a memory is a few words long.
pub const MAX_MEMORY_KEY_CHARS: usize = 64;

/// A custom word for a status or a type, or the kind of a note.
pub const MAX_WORD_BYTES: usize = 64;

/// A question suggests a few answers, not a questionnaire.
pub const MAX_QUESTION_OPTIONS: usize = 10;

/// A suggested answer fits on a button.
pub const MAX_QUESTION_OPTION_CHARS: usize = 120;

/// The key of a replicated setting.
pub const MAX_SETTING_KEY_BYTES: usize = 64;

/// Replicated settings of one store. Each is at most one line, so `meta.json` stays below 2 MiB.
pub const MAX_SETTINGS: usize = 256;

/// A label is a word.
pub const MAX_LABEL_BYTES: usize = 256;

/// Enough for any realistic label scheme, and small enough that a bead's line stays readable.
pub const MAX_LABELS: usize = 256;

/// A write or import that would make a bead's canonical line longer than this is rejected, so that commits
/// stay in the megabytes. The result of a merge is never rejected for this limit.
pub const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;

/// The maximum size of a bead's notes when a note is added. Notes have their own limit because merges add
/// them up: each replica may add notes without knowing about the others.
pub const MAX_NOTES_BYTES: usize = 2 * 1024 * 1024;

/// A merge that would produce a longer line is not made. The remote is rejected with a reason, and local work
/// continues. A register has one winner, so the five registers with long text (description, design,
/// acceptance criteria, metadata, close reason) take at most 5 × 8 MiB. The other 56 MiB are enough for the
/// notes of 28 replicas that each added 2 MiB to the same bead without knowing about the others.
pub const MAX_MERGED_LINE_BYTES: usize = 96 * 1024 * 1024;

/// The maximum length of a line of a snapshot. Decoding stops at this length while the line is still being
/// inflated. It leaves room for writes during a merge: a line of 8 MiB joined with a merged line of 96 MiB.
pub const MAX_DECODED_LINE_BYTES: usize = 128 * 1024 * 1024;

/// A merge that would produce a longer file is not made. 100,000 beads, where saving becomes slow
/// (docs/SCALE.md), take about 100 MB.
pub const MAX_MERGED_FILE_BYTES: usize = 448 * 1024 * 1024;

/// The maximum length of a file of a snapshot. A longer file is rejected before it is read. Packed files are
/// inflated as a whole, so this also limits the memory that a file takes before its lines are parsed.
pub const MAX_FILE_BYTES: usize = 512 * 1024 * 1024;

/// The maximum size of commits and trees of the sync ref. They have five entries and a short message.
pub const MAX_OBJECT_BYTES: usize = 16 * 1024 * 1024;

/// A prefix is the part of every id before the dash.
pub const MAX_PREFIX_BYTES: usize = 32;

/// The maximum depth that `dep tree` shows. No one reads a deeper tree.
pub const MAX_TREE_DEPTH: usize = 64;

/// The maximum number of rows of a dependency tree. Shared subtrees are repeated, so a tree can grow large.
pub const MAX_TREE_ROWS: usize = 10_000;

/// Ten years in minutes. A longer estimate is a typing error.
pub const MAX_ESTIMATE_MINUTES: u32 = 5_256_000;

/// The minimum time before garbage collection drops a deletion (§8.4).
pub const MIN_TOMBSTONE_TTL_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// The maximum nesting of metadata. The JSON parser stops at 128 levels to protect its stack, and lines and
/// journal records add some levels around the metadata. Whatever is accepted must be readable again.
pub const MAX_METADATA_DEPTH: usize = 64;

//! Decodes the canonical files into a state. Decoding is strict: if our encoder would not have written
//! exactly the same bytes, the result is an error that names the file and the line. The only exception is
//! `_at`, which need not be the greatest mark of its line.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::body::Body;
use crate::canonical::{hex, to_canonical};
use crate::line::{ConflictLine, EdgeLine, MetaFile, TombstoneLine, bead_body_under, bead_from_body};
use crate::lines::{self, Lines};
use crate::setting;
use crate::snapshot::{
    ARCHIVE_FORMAT_VERSION, CONFLICTS, DEPS, FIRST_FORMAT_VERSION, FORMAT_VERSION, META, STATE, Snapshot,
    TOMBSTONES,
};
use crate::{
    Bead, BeadId, Edge, EdgeKey, EdgeKind, Endpoint, Error, Lineage, Mark, Names, PrefixRegister, Result,
    SharedBead, SharedMap, Stamp, State,
};

/// A decoded state, with warnings about its files.
#[derive(Debug)]
pub struct Decoded {
    /// The state.
    pub state: State,
    /// Problems that do not affect the state, such as a missing checksum.
    pub warnings: Vec<String>,
}

/// What is known about the bytes. Checksums, order and ids are always checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Nothing. Each line is encoded again and compared.
    Unknown,
    /// The bytes are canonical, so lines are not compared.
    Canonical,
}

/// What a line must conform to.
#[derive(Debug, Clone, Copy)]
struct Expected {
    form: Form,
    /// The format version of the store.
    version: u64,
}

impl Expected {
    fn check(self, body: &Body) -> Result<(), String> {
        if body.format_version() > self.version {
            return Err(later_field(body.format_version()));
        }
        Ok(())
    }
}

impl Snapshot {
    /// Decodes files that may have been written by any program.
    pub fn decode(&self) -> Result<Decoded> {
        self.decode_from(Form::Unknown)
    }

    /// Decodes files that this program encoded, or that have passed [`decode`](Self::decode) before. They are
    /// known to be canonical, and the checksums show that they are unchanged.
    pub fn decode_again(&self) -> Result<Decoded> {
        self.decode_from(Form::Canonical)
    }

    fn decode_from(&self, form: Form) -> Result<Decoded> {
        let mut warnings = Vec::new();
        let meta = self.decode_meta(&mut warnings)?;
        let form = Expected { form, version: meta.format_version };
        let mut beads = Beads::default();
        let live = |number, line: &[u8]| LiveBead::read(number, line, form);
        lines::read(STATE, &self.state, live, |number, live| beads.add_live(number, live))?;
        let tombstone = |number, line: &[u8]| Tombstone::read(number, line, form);
        lines::read(TOMBSTONES, &self.tombstones, tombstone, |number, tombstone| {
            beads.add_tombstone(number, tombstone)
        })?;
        let (beads, names) = beads.finish()?;
        let mut state = State { beads, names, ..meta };
        let (mut edges, mut previous) = (Vec::new(), None);
        let edge = |number, line: &[u8]| ParsedEdge::read(number, line, form);
        lines::read(DEPS, &self.deps, edge, |number, edge| {
            edges.push(state.bind_edge(number, edge, &mut previous)?);
            Ok(())
        })?;
        state.bare_edges = edges.iter().map(|(key, _)| key).filter(|key| key.is_bare()).cloned().collect();
        state.edges = edges.into_iter().collect();
        // There are few conflicts, and each refers to a bead.
        for (number, line) in Lines::of(CONFLICTS, &self.conflicts) {
            state.add_conflict_line(number, line?)?;
        }
        Ok(Decoded { state, warnings })
    }

    /// Returns a state with only the contents of `meta.json`.
    fn decode_meta(&self, warnings: &mut Vec<String>) -> Result<State> {
        #[derive(Deserialize)]
        struct Version {
            format_version: u64,
        }
        let version: Version = parse(META, 1, &self.meta)?;
        if version.format_version > FORMAT_VERSION {
            return Err(Error::NewerFormat { found: version.format_version, known: FORMAT_VERSION });
        }
        if version.format_version < FIRST_FORMAT_VERSION {
            return Err(corrupt(META, 1, format!("format version {} never existed", version.format_version)));
        }
        let meta: MetaFile = parse(META, 1, &self.meta)?;
        if [to_canonical(&meta).as_slice(), b"\n"].concat() != self.meta {
            return Err(corrupt(META, 1, "not in canonical form"));
        }
        if meta.required_format() > meta.format_version {
            return Err(corrupt(META, 1, later_field(meta.required_format())));
        }
        if meta.gc_floor_epoch == Some(0) || meta.gc_floor == Some(Stamp::ZERO) {
            return Err(corrupt(META, 1, "a floor of zero must be omitted"));
        }
        for (name, bytes) in self.checksummed_files() {
            match meta.sha256.get(name) {
                None => warnings.push(format!("{META} has no checksum for {name}")),
                Some(sum) if *sum != hex(&Sha256::digest(bytes)) => {
                    return Err(corrupt(META, 1, format!("the checksum of {name} is wrong")));
                }
                Some(_) => {}
            }
        }
        let summed: Vec<_> = self.checksummed_files().map(|(name, _)| name).collect();
        if let Some(unknown) = meta.sha256.keys().find(|name| !summed.contains(&name.as_str())) {
            return Err(corrupt(
                META,
                1,
                format!("a checksum for {unknown:?}, which is missing or not part of the format"),
            ));
        }
        meta.into_state()
    }
}

impl MetaFile {
    /// Returns a state with only these contents.
    fn into_state(self) -> Result<State> {
        let (gc_floor, store_id) = (self.floor(), self.minted_store_id());
        let store_id = store_id.map_err(|reason| corrupt(META, 1, reason))?;
        let mark = match (self.prefix_at, self.prefix_by) {
            (Some(at), Some(by)) => Some(Mark::new(at, by)),
            (None, None) if self.prefix == Default::default() => None,
            _ => return Err(corrupt(META, 1, "prefix, prefix_at and prefix_by are inconsistent")),
        };
        Ok(State {
            gc_floor,
            prefix: PrefixRegister { mark, prefix: self.prefix },
            settings: setting::restored(self.settings),
            store_id,
            format_version: self.format_version,
            ..State::default()
        })
    }
}

/// Returns a state with only the contents of a `meta.json` that this program wrote, for a cached state.
pub(crate) fn state_of_meta(bytes: &[u8]) -> Option<State> {
    serde_json::from_slice::<MetaFile>(bytes).ok()?.into_state().ok()
}

/// Decodes the line of a bead that this program encoded, for a cached state.
pub(crate) fn decode_stored(line: &[u8], deleted: bool) -> Result<Bead> {
    let expected = Expected { form: Form::Canonical, version: FORMAT_VERSION };
    if !deleted {
        return Ok(LiveBead::read(0, line, expected)?.bead);
    }
    let (_, bead) =
        Tombstone::read(0, line, expected)?.bead.ok_or_else(|| corrupt(TOMBSTONES, 0, "no bead"))?;
    Ok(bead)
}

/// A line of `state.jsonl`, checked on its own.
struct LiveBead {
    id: BeadId,
    lineage: Lineage,
    bead: Bead,
}

impl LiveBead {
    fn read(number: usize, line: &[u8], expected: Expected) -> Result<Self> {
        let mut body: Body = parse(STATE, number, line)?;
        expected.check(&body).map_err(|reason| corrupt(STATE, number, reason))?;
        let id = body.id.take().ok_or_else(|| corrupt(STATE, number, "id is missing"))?;
        let (lineage, bead, top) =
            bead_from_body(&id, body).map_err(|reason| corrupt(STATE, number, reason))?;
        if expected.form == Form::Unknown {
            let mut canonical = bead_body_under(&top, &id, &lineage, &bead);
            canonical.id = Some(id.clone());
            if to_canonical(&canonical) != line {
                return Err(corrupt(STATE, number, "not in canonical form"));
            }
        }
        Ok(Self { id, lineage, bead })
    }
}

/// A line of `tombstones.jsonl`, checked on its own.
struct Tombstone {
    line: TombstoneLine,
    bead: Option<(Lineage, Bead)>,
}

impl Tombstone {
    fn read(number: usize, bytes: &[u8], expected: Expected) -> Result<Self> {
        let bad = |reason: &str| corrupt(TOMBSTONES, number, reason);
        let mut line: TombstoneLine = parse(TOMBSTONES, number, bytes)?;
        let mut deleted = None;
        if let Some(body) = &line.bead {
            expected.check(body).map_err(|reason| bad(&reason))?;
            if body.id.is_some() {
                return Err(bad("the id occurs twice"));
            }
        }
        if line.archived && expected.version < ARCHIVE_FORMAT_VERSION {
            return Err(bad(&later_field(ARCHIVE_FORMAT_VERSION)));
        }
        if let Some((lineage, bead, top)) = line.take_bead().map_err(|reason| bad(&reason))? {
            if let Some(top) = top.filter(|_| expected.form == Form::Unknown) {
                line.bead = Some(bead_body_under(&top, &line.id, &lineage, &bead));
            }
            if line.archived && !line.reason.is_empty() {
                return Err(bad("an archived bead has no reason"));
            }
            if bead.is_live() {
                return Err(bad("the bead was changed after its deletion and belongs in state.jsonl"));
            }
            deleted = Some((lineage, bead));
        } else if line.remapped.is_empty() {
            return Err(bad("neither a bead nor remapped ids"));
        } else if line.deleted_at != Stamp::ZERO || !line.reason.is_empty() {
            return Err(bad("a deletion without its bead"));
        }
        if expected.form == Form::Unknown && to_canonical(&line) != bytes {
            return Err(bad("not in canonical form"));
        }
        Ok(Self { line, bead: deleted })
    }
}

/// A line of `deps.jsonl`, checked on its own.
struct ParsedEdge {
    order: (BeadId, BeadId, EdgeKind),
    edge: Edge,
}

impl ParsedEdge {
    fn read(number: usize, bytes: &[u8], expected: Expected) -> Result<Self> {
        let line: EdgeLine = parse(DEPS, number, bytes)?;
        let edge = line.edge().map_err(|reason| corrupt(DEPS, number, reason))?;
        let order = (line.from, line.to, line.kind);
        let canonical = || to_canonical(&EdgeLine::new(order.0.clone(), order.1.clone(), line.kind, &edge));
        if expected.form == Form::Unknown && canonical() != bytes {
            return Err(corrupt(DEPS, number, "not in canonical form"));
        }
        Ok(Self { order, edge })
    }
}

/// The contents of `state.jsonl` and `tombstones.jsonl`, before the ids are checked against the births.
#[derive(Default)]
struct Beads {
    named: Vec<Named>,
    remapped: BTreeMap<BeadId, Remapped>,
    last_live: Option<BeadId>,
    last_tombstone: Option<BeadId>,
}

/// A line about an id that beads lost.
struct Remapped {
    line: TombstoneLine,
    /// Whether the bead that holds the id is deleted.
    is_deleted: bool,
    number: usize,
}

/// A bead with its id and its place in the files.
struct Named {
    id: BeadId,
    lineage: Lineage,
    bead: SharedBead,
    file: &'static str,
    number: usize,
}

impl Named {
    fn error(&self, reason: String) -> Error {
        corrupt(self.file, self.number, reason)
    }
}

impl Beads {
    fn add_live(&mut self, number: usize, LiveBead { id, lineage, bead }: LiveBead) -> Result<()> {
        in_order(STATE, number, &mut self.last_live, &id)?;
        self.named.push(Named { id, lineage, bead: bead.into(), file: STATE, number });
        Ok(())
    }

    fn add_tombstone(&mut self, number: usize, mut tombstone: Tombstone) -> Result<()> {
        let id = tombstone.line.id.clone();
        in_order(TOMBSTONES, number, &mut self.last_tombstone, &id)?;
        let is_deleted = tombstone.bead.is_some();
        if let Some((lineage, bead)) = tombstone.bead.take() {
            let bead = bead.into();
            self.named.push(Named { id: id.clone(), lineage, bead, file: TOMBSTONES, number });
        }
        if !tombstone.line.remapped.is_empty() {
            self.remapped.insert(id, Remapped { line: tombstone.line, is_deleted, number });
        }
        Ok(())
    }

    /// Returns all beads and their names, once both files are read.
    fn finish(mut self) -> Result<(SharedMap<Lineage, SharedBead>, Names)> {
        // Each file is already in order, so this only merges the two.
        self.named.sort_by(|one, other| one.id.cmp(&other.id));
        if let Some(pair) = self.named.windows(2).find(|pair| pair[0].id == pair[1].id) {
            let (first, second) = (&pair[0], &pair[1]);
            let reason = format!("{} already occurs in {} line {}", second.id, first.file, first.number);
            return Err(second.error(reason));
        }
        let beads: SharedMap<_, _> =
            self.named.iter().map(|named| (named.lineage.clone(), named.bead.clone())).collect();
        if beads.len() < self.named.len() {
            return Err(self.duplicate());
        }
        let names = self.check_names(&beads)?;
        Ok((beads, names))
    }

    /// Returns an error for the first bead that occurs a second time.
    fn duplicate(&self) -> Error {
        let mut seen = BTreeSet::new();
        let mut as_read: Vec<_> = self.named.iter().collect();
        as_read.sort_by_key(|named| (named.file == TOMBSTONES, named.number));
        let second = as_read.into_iter().find(|named| !seen.insert(&named.lineage));
        let second = second.expect("only called if there is a duplicate");
        second.error(format!("the bead {:?} occurs twice", second.lineage))
    }

    /// Checks that ids and `remapped` lists are those that follow from the births. Otherwise two replicas
    /// could disagree.
    fn check_names(&self, beads: &SharedMap<Lineage, SharedBead>) -> Result<Names> {
        let names = match Names::of_births(self.named.iter().map(|named| (&named.id, &named.lineage))) {
            Some(names) => names,
            None => {
                let mut names = Names::default();
                names.extend(beads.keys());
                names
            }
        };
        for named in &self.named {
            let expected = names.id_of(&named.lineage);
            if *expected != named.id {
                return Err(named.error(format!("{} should have the id {expected}", named.id)));
            }
        }
        for (id, displaced) in names.vacated() {
            let mut expected: Vec<_> = displaced.iter().map(|lost| names.id_of(lost).clone()).collect();
            expected.sort_unstable();
            let Some(found) = self.remapped.get(id) else {
                // The line is missing, so report the first bead that it should mention.
                let reported = self.named.partition_point(|named| named.id < expected[0]);
                let reason = format!("{TOMBSTONES} does not record that {expected:?} lost the id {id}");
                return Err(self.named[reported].error(reason));
            };
            if found.line.remapped != expected {
                return Err(corrupt(TOMBSTONES, found.number, format!("remapped should be {expected:?}")));
            }
            let holder = names.holder(id.as_str()).map(Lineage::by);
            if !found.is_deleted && holder != Some(&found.line.deleted_by) {
                return Err(corrupt(
                    TOMBSTONES,
                    found.number,
                    format!("deleted_by should be the creator of {id}"),
                ));
            }
        }
        let unknown = self.remapped.iter().find(|(id, _)| !names.vacated().contains_key(*id));
        if let Some((id, remapped)) = unknown {
            return Err(corrupt(TOMBSTONES, remapped.number, format!("no bead lost the id {id}")));
        }
        Ok(names)
    }
}

impl State {
    /// Returns the edge between the beads that hold the ids in a line.
    fn bind_edge(
        &self,
        number: usize,
        ParsedEdge { order, edge }: ParsedEdge,
        previous: &mut Option<(BeadId, BeadId, EdgeKind)>,
    ) -> Result<(EdgeKey, Edge)> {
        if previous.as_ref().is_some_and(|previous| *previous >= order) {
            return Err(corrupt(DEPS, number, "out of order, or a duplicate"));
        }
        let end = |id: &BeadId| match self.names.holder(id.as_str()) {
            Some(lineage) => Endpoint::Bead(lineage.clone()),
            None => Endpoint::Bare(id.clone()),
        };
        let key = EdgeKey { from: end(&order.0), to: end(&order.1), kind: order.2 };
        *previous = Some(order);
        Ok((key, edge))
    }
}

impl State {
    pub(crate) fn add_conflict_line(&mut self, number: usize, bytes: &[u8]) -> Result<()> {
        let bad = |reason: String| corrupt(CONFLICTS, number, reason);
        let line: ConflictLine = parse(CONFLICTS, number, bytes)?;
        let bead = self
            .names
            .holder(line.bead.as_str())
            .ok_or_else(|| bad(format!("no bead {}", line.bead)))?
            .clone();
        let conflict = line.conflict(bead).map_err(bad)?;
        if conflict.format_version() > self.format_version {
            return Err(bad(later_field(conflict.format_version())));
        }
        if to_canonical(&ConflictLine::new(line.bead, &conflict)) != bytes {
            return Err(bad("not in canonical form".into()));
        }
        if self.conflicts.last_key_value().is_some_and(|(last, _)| *last >= line.id) {
            return Err(bad("out of order, or a duplicate".into()));
        }
        self.conflicts.insert(line.id, conflict);
        Ok(())
    }
}

fn in_order(file: &'static str, number: usize, last: &mut Option<BeadId>, id: &BeadId) -> Result<()> {
    if last.as_ref().is_some_and(|last| last >= id) {
        return Err(corrupt(file, number, format!("{id} is out of order, or a duplicate")));
    }
    *last = Some(id.clone());
    Ok(())
}

fn later_field(version: u64) -> String {
    format!("a field of format version {version}, which is later than the version in {META}")
}

pub(crate) fn corrupt(file: &'static str, line: usize, reason: impl Into<String>) -> Error {
    Error::Corrupt { file, line, reason: reason.into() }
}

fn parse<T: DeserializeOwned>(file: &'static str, line: usize, bytes: &[u8]) -> Result<T> {
    let text = std::str::from_utf8(bytes).map_err(|_| corrupt(file, line, "not valid UTF-8"))?;
    serde_json::from_str(text).map_err(|error| {
        // serde_json counts lines within its input, which is a single line of the file.
        let text = error.to_string();
        let reason = text.split(" at line ").next().unwrap_or(&text);
        corrupt(file, line, format!("{reason} (column {})", error.column()))
    })
}

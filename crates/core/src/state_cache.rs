//! A derived form of a state that can be opened without decoding its beads: the lines of the files as they
//! are, preceded by tables of what a [`Catalog`](crate::Catalog) has to know about them.
//!
//! The bytes carry no checksums. The caller must store and check them, together with the release that wrote
//! them, and must not pass bytes that another release wrote: a bead is decoded when it is first read, and
//! then there is nobody left to report an error to.

mod table;

use std::sync::{Arc, OnceLock};

use crate::decode::state_of_meta;
use crate::encoder::{Encoded, Encoder};
use crate::lines::Lines;
use crate::shared_bead::{Facts, StoredBead, StoredBeads};
use crate::snapshot::CONFLICTS;
use crate::{
    Actor, BeadId, Edge, EdgeKey, EdgeKind, Endpoint, Lineage, Mark, Names, Priority, SharedBead, Stamp,
    State, Status,
};
use table::{Actors, Reader, Writer};

/// The number of a bead that does not exist, for the end of an edge.
const BARE: u32 = u32::MAX;

const DELETED: u8 = 1;
const EPIC: u8 = 2;
const OPEN_QUESTION: u8 = 4;
const WORDS: u8 = 8;
const UNTIL: u8 = 16;
const ARCHIVED: u8 = 32;
const HOLLOW: u8 = 64;

/// The bytes of a cached state, in several parts.
#[derive(Debug)]
pub struct StateCache<'a> {
    tables: Vec<u8>,
    encoded: Encoded<'a>,
}

impl Encoder {
    /// Returns the cache of the last state, if the encoder has its files.
    pub fn cache(&self) -> Option<StateCache<'_>> {
        let encoded = self.encoded()?;
        let tables = write_tables(&encoded)?;
        Some(StateCache { tables, encoded })
    }
}

impl StateCache<'_> {
    /// Returns the bytes.
    pub fn parts(&self) -> [&[u8]; 3] {
        [&self.tables, &self.encoded.files.state, &self.encoded.files.tombstones]
    }

    /// Returns the `meta.json` of the state. It identifies the state, because it has the checksums of the
    /// other files.
    pub fn meta(&self) -> &[u8] {
        &self.encoded.files.meta
    }
}

/// Where the line of each bead is, in the order of their lineages.
fn lines_of_beads<'a>(encoded: &Encoded<'a>, order: &[(Stamp, &Lineage)]) -> Option<Vec<(u32, u32)>> {
    let mut found = vec![(0, 0); order.len()];
    let (mut live, mut deleted) = (encoded.beads.iter().peekable(), encoded.tombstones.iter().peekable());
    let (mut live_at, mut deleted_at) = (0, encoded.files.state.len());
    for (id, lineage) in encoded.state.names.holders() {
        let bead = encoded.state.beads.get(lineage)?;
        let (lines, at) =
            if bead.is_deleted() { (&mut deleted, &mut deleted_at) } else { (&mut live, &mut live_at) };
        // A tombstone may only list beads that lost its id.
        while let Some((_, length)) = lines.next_if(|(key, _)| key < id) {
            *at += length;
        }
        let (_, length) = lines.next_if(|(key, _)| key == id)?;
        found[number_of(order, lineage)? as usize] = (u32::try_from(*at).ok()?, u32::try_from(*length).ok()?);
        *at += length;
    }
    Some(found)
}

fn number_of(order: &[(Stamp, &Lineage)], lineage: &Lineage) -> Option<u32> {
    let found =
        order.binary_search_by(|(at, found)| at.cmp(&lineage.at()).then_with(|| (*found).cmp(lineage)));
    found.ok().and_then(|number| u32::try_from(number).ok())
}

fn write_tables(encoded: &Encoded<'_>) -> Option<Vec<u8>> {
    let state = encoded.state;
    let order: Vec<(Stamp, &Lineage)> = state.beads.keys().map(|lineage| (lineage.at(), lineage)).collect();
    let mut actors = Actors::default();
    let mut beads = Writer::default();
    beads.u32(u32::try_from(order.len()).ok().filter(|count| *count < BARE)?);
    for ((lineage, bead), (start, length)) in state.beads.iter().zip(lines_of_beads(encoded, &order)?) {
        beads.text(lineage.birth_id().as_str());
        beads.mark(lineage.at(), actors.number(lineage.by()));
        beads.u32(start);
        beads.u32(length);
        write_facts(&mut beads, bead);
    }
    let is_plain = state.names.holders().all(|(id, lineage)| lineage.birth_id() == id);
    beads.u8(u8::from(is_plain));
    if is_plain {
        for (_, lineage) in state.names.holders() {
            beads.u32(number_of(&order, lineage)?);
        }
    }
    beads.u32(u32::try_from(state.edges.len()).ok()?);
    for (key, edge) in &state.edges {
        for end in [&key.from, &key.to] {
            match end {
                Endpoint::Bead(lineage) => beads.u32(number_of(&order, lineage)?),
                Endpoint::Bare(id) => {
                    beads.u32(BARE);
                    beads.text(id.as_str());
                }
            }
        }
        beads.u8(EdgeKind::ALL.iter().position(|kind| *kind == key.kind)? as u8);
        beads.u8(u8::from(edge.deleted));
        for mark in [&edge.created, &edge.changed] {
            beads.mark(mark.at(), actors.number(mark.by()));
        }
    }
    let mut tables = Writer::default();
    tables.u64((encoded.files.state.len() + encoded.files.tombstones.len()) as u64);
    tables.bytes(&encoded.files.meta);
    tables.bytes(&encoded.files.conflicts);
    actors.write(&mut tables);
    tables.bytes(&beads.0);
    Some(tables.0)
}

fn write_facts(out: &mut Writer, bead: &SharedBead) {
    let (facts, newest) = (bead.facts(), bead.newest_stamp());
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    out.u8(flag(facts.deleted, DELETED)
        | flag(facts.archived, ARCHIVED)
        | flag(facts.hollow, HOLLOW)
        | flag(facts.is_epic, EPIC)
        | flag(facts.has_open_question, OPEN_QUESTION)
        | flag(facts.has_words, WORDS)
        | flag(facts.until_ms.is_some(), UNTIL));
    out.u8(facts.priority.get());
    out.u8(facts.status as u8);
    out.u64(facts.until_ms.unwrap_or_default());
    out.u64(newest.ms());
    out.u32(newest.counter());
}

fn read_facts(from: &mut Reader<'_>) -> Option<(Facts, Stamp)> {
    let flags = from.u8()?;
    let is = |flag: u8| flags & flag != 0;
    let facts = Facts {
        deleted: is(DELETED),
        archived: is(ARCHIVED),
        hollow: is(HOLLOW),
        is_epic: is(EPIC),
        has_open_question: is(OPEN_QUESTION),
        has_words: is(WORDS),
        priority: Priority::try_from(u64::from(from.u8()?)).ok()?,
        status: *Status::ALL.get(usize::from(from.u8()?))?,
        until_ms: Some(from.u64()?).filter(|_| is(UNTIL)),
    };
    Some((facts, from.stamp()?))
}

impl State {
    /// Opens a cached state. The cache is `bytes[start..]`, whose checksums the caller has checked. Returns
    /// `None` if the bytes are not a cache.
    pub fn from_cache(bytes: Vec<u8>, start: usize) -> Option<Self> {
        let mut from = Reader::new(bytes.get(start..)?);
        let length = from.u64()?;
        let (meta, conflicts) = (from.bytes()?, from.bytes()?);
        let mut state = state_of_meta(meta)?;
        let conflicts = conflicts.to_vec();
        let actors = from.actors()?;
        let mut tables = Reader::new(from.bytes()?);
        let lines = bytes.len() - from.rest();
        if from.rest() as u64 != length {
            return None;
        }
        let (lineages, stored) = read_beads(&mut tables, &actors, lines, bytes.len())?;
        let is_plain = tables.u8()? == 1;
        if is_plain {
            let holders: Option<Vec<&Lineage>> =
                lineages.iter().map(|_| lineages.get(tables.u32()? as usize)).collect();
            let holders = holders?;
            if !holders.is_sorted_by(|one, other| one.birth_id() < other.birth_id()) {
                return None;
            }
            state.names = Names::of_births(holders.iter().map(|lineage| (lineage.birth_id(), *lineage)))?;
        } else {
            state.names.extend(&lineages);
        }
        state.edges = read_edges(&mut tables, &lineages, &actors)?.into_iter().collect();
        state.bare_edges = state.edges.keys().filter(|key| key.is_bare()).cloned().collect();
        if tables.rest() > 0 {
            return None;
        }
        let stored = Arc::new(StoredBeads { bytes, is_plain, beads: stored });
        let bead = |index| SharedBead::stored(&stored, index);
        state.beads = lineages.into_iter().zip((0..).map(bead)).collect();
        for (number, line) in Lines::of(CONFLICTS, &conflicts) {
            state.add_conflict_line(number, line.ok()?).ok()?;
        }
        Some(state)
    }
}

/// Reads the beads, which are in the order of their lineages. Their lines are in `bytes[lines..end]`.
fn read_beads(
    from: &mut Reader<'_>,
    actors: &[Actor],
    lines: usize,
    end: usize,
) -> Option<(Vec<Lineage>, Vec<StoredBead>)> {
    let count = from.count()?;
    let (mut lineages, mut stored) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for _ in 0..count {
        let id: BeadId = from.text()?.parse().ok()?;
        let (at, by) = from.mark(actors)?;
        let lineage = Lineage::new(id, at, by);
        if lineages.last().is_some_and(|last| *last >= lineage) {
            return None;
        }
        lineages.push(lineage);
        let (start, length) = (lines + from.u32()? as usize, from.u32()? as usize);
        if length == 0 || start + length > end {
            return None;
        }
        let (facts, newest) = read_facts(from)?;
        stored.push(StoredBead { start, length, facts, newest, decoded: OnceLock::new() });
    }
    Some((lineages, stored))
}

fn read_edges(from: &mut Reader<'_>, lineages: &[Lineage], actors: &[Actor]) -> Option<Vec<(EdgeKey, Edge)>> {
    let count = from.count()?;
    let mut edges = Vec::with_capacity(count);
    for _ in 0..count {
        let mut end = || match from.u32()? {
            BARE => Some(Endpoint::Bare(from.text()?.parse().ok()?)),
            number => Some(Endpoint::Bead(lineages.get(number as usize)?.clone())),
        };
        let (start, target) = (end()?, end()?);
        let key = EdgeKey { from: start, to: target, kind: *EdgeKind::ALL.get(usize::from(from.u8()?))? };
        let deleted = from.u8()? == 1;
        let (at, by) = from.mark(actors)?;
        let created = Mark::new(at, by);
        let (at, by) = from.mark(actors)?;
        let changed =
            if (at, &by) == (created.at(), created.by()) { created.clone() } else { Mark::new(at, by) };
        edges.push((key, Edge { deleted, changed, created }));
    }
    Some(edges)
}

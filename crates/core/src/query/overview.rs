//! All beads in brief: what a screen over the whole store needs of each, and nothing longer than a line.

use serde::Serialize;

use crate::{
    Actor, Bead, BeadId, BeadType, Catalog, EdgeKey, EdgeKind, Labels, Lineage, SharedBead, Status,
    Timestamp, Title, Word,
};

/// The most notes of one bead whose times are listed.
const MAX_NOTE_TIMES: usize = 200;

/// A bead in brief. Times are in milliseconds since 1970; fields without a value are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BeadBrief {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The status.
    pub status: Status,
    /// The custom word for the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub word: Option<Word>,
    /// The priority, from 0 to 4.
    pub priority: u8,
    /// The type.
    #[serde(rename = "type")]
    pub kind: BeadType,
    /// The labels.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// The parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<BeadId>,
    /// The beads it waits for, open or closed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<BeadId>,
    /// When each of these edges was added, in the same order; left out if all are as old as the bead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub linked: Vec<u64>,
    /// The assignee: the holder if the bead is in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Actor>,
    /// Whether the bead is only offered to the assignee by a handover.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub offered: bool,
    /// When the current or last claim was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed: Option<u64>,
    /// The fence of the claim, `ms.counter`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<String>,
    /// When the lease ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<u64>,
    /// When it was created.
    pub created: u64,
    /// Who created it.
    pub creator: Actor,
    /// When it was last changed.
    pub updated: u64,
    /// When it was closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<u64>,
    /// Who closed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closer: Option<Actor>,
    /// The estimate in minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
    /// When it is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<u64>,
    /// It is not ready before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred: Option<u64>,
    /// Whether a question on it waits for an answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// The times of the notes of an unfinished bead, oldest first; only the newest 200.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<u64>,
}

impl Catalog {
    /// Returns the beads in brief, oldest first: all of them, or those with these ids. Memories, unknown ids
    /// and beads that were closed before `closed_since` are left out.
    pub fn overview(&self, ids: Option<&[String]>, closed_since: Option<Timestamp>) -> Vec<BeadBrief> {
        let since_ms = closed_since.map_or(0, Timestamp::ms);
        let is_recent = |(_, bead): &(&Lineage, &SharedBead)| {
            since_ms == 0 || bead.status() != Status::Closed || bead.status.mark.at().ms() >= since_ms
        };
        let brief = |(lineage, bead): (&Lineage, &SharedBead)| self.brief(lineage, bead);
        match ids {
            None => self.work().filter(is_recent).map(brief).collect(),
            Some(ids) => {
                let known = ids.iter().filter_map(|id| self.resolve(id).ok());
                let live = known.filter_map(|lineage| Some((lineage, self.live_bead(lineage)?)));
                live.filter(|(_, bead)| !bead.is_memory()).filter(is_recent).map(brief).collect()
            }
        }
    }

    fn brief(&self, lineage: &Lineage, bead: &Bead) -> BeadBrief {
        let status = bead.status();
        let closing = (status == Status::Closed).then_some(&bead.status.mark);
        let is_open = status != Status::Closed;
        let mut notes: Vec<u64> = bead.notes.values().filter(|_| is_open).map(|note| note.at.ms()).collect();
        notes.sort_unstable();
        notes.drain(..notes.len().saturating_sub(MAX_NOTE_TIMES));
        let targets = self.targets(lineage, EdgeKind::Blocks).filter(|to| self.live_bead(to).is_some());
        let (created, mut after, mut linked) = (lineage.at().ms(), Vec::new(), Vec::new());
        for to in targets {
            let edge = self.state().edges().get(&EdgeKey::new(lineage, to, EdgeKind::Blocks));
            after.push(self.id_of(to).clone());
            linked.push(edge.map_or(created, |edge| edge.changed.at().ms()));
        }
        if linked.iter().all(|at| *at == created) {
            linked.clear();
        }
        BeadBrief {
            id: self.id_of(lineage).clone(),
            title: bead.title.value.clone(),
            status,
            word: bead.status.value.word.clone(),
            priority: bead.priority.value.get(),
            kind: bead.kind.value.kind,
            labels: bead.labels.value.clone(),
            parent: self.parent(lineage).map(|parent| self.id_of(parent).clone()),
            after,
            linked,
            assignee: bead.claim.assignee.clone(),
            offered: bead.is_offer(),
            claimed: bead.claim.is_taken().then(|| bead.claim.mark.at().ms()),
            fence: bead.claim.fence().filter(|_| is_open).map(|fence| fence.to_string()),
            lease: bead.claim.expires.filter(|_| is_open).map(Timestamp::ms),
            created,
            creator: lineage.by().clone(),
            updated: bead.updated().at().ms(),
            closed: closing.map(|mark| mark.at().ms()),
            closer: closing.map(|mark| mark.by().clone()),
            minutes: bead.estimated_minutes.value.map(crate::Estimate::minutes),
            due: bead.due_at.value.map(Timestamp::ms),
            deferred: bead.defer_until.value.map(Timestamp::ms),
            asks: is_open && bead.has_open_question(),
            notes,
        }
    }
}

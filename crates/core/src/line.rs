//! The lines of the canonical files as types. Their fields are in byte order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::body::Body;
use crate::setting::StoredSetting;
use crate::{
    Actor, Bead, BeadId, Conflict, ConflictId, Deletion, Edge, EdgeKind, Field, Floor, Lineage, Mark,
    MintedStoreId, Prefix, SettingKey, Stamp, StoreId, Text,
};

/// Returns a bead's line in `state.jsonl`.
pub(crate) fn bead_line(id: &BeadId, lineage: &Lineage, bead: &Bead) -> Body {
    let mut body = bead_body(id, lineage, bead);
    body.id = Some(id.clone());
    body
}

/// Returns the part that a bead's line and its tombstone have in common: everything but the id.
pub(crate) fn bead_body(id: &BeadId, lineage: &Lineage, bead: &Bead) -> Body {
    bead_body_under(bead.top_mark(), id, lineage, bead)
}

/// Like [`bead_body`], with a given bead-level mark. §5.2.1 lets the writer choose this mark, so files from
/// other programs may have a mark in `_v` that is newer than `_at`.
pub(crate) fn bead_body_under(top: &Mark, id: &BeadId, lineage: &Lineage, bead: &Bead) -> Body {
    let mut body = Body::of_bead(bead, top);
    body.created_at = Some(lineage.at());
    body.created_by = Some(lineage.by().clone());
    body.born = (lineage.birth_id() != id).then(|| lineage.birth_id().clone());
    body
}

/// Returns the bead of a line with the given id, and the bead-level mark that the writer chose.
pub(crate) fn bead_from_body(id: &BeadId, mut body: Body) -> Result<(Lineage, Bead, Mark), String> {
    let top = body.top().ok_or("_at and _by are missing")?;
    let born = body.born.take().unwrap_or_else(|| id.clone());
    if !born.is_valid_birth_id() {
        return Err(format!("id {born} is too long"));
    }
    let at = body.created_at.take().ok_or("created_at is missing")?;
    let by = body.created_by.take().ok_or("created_by is missing")?;
    let bead = body.into_patch()?.into_bead().ok_or("a register is missing")?;
    Ok((Lineage::new(born, at, by), bead, top))
}

/// A line of `tombstones.jsonl`: a deleted bead, an id that other beads lost, or both.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TombstoneLine {
    /// Whether the bead was archived rather than deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bead: Option<Body>,
    /// The lineage of an archived bead without its content. `born` is absent if it is the id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born: Option<BeadId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<Actor>,
    pub deleted_at: Stamp,
    pub deleted_by: Actor,
    pub id: BeadId,
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub reason: Text,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remapped: Vec<BeadId>,
}

impl TombstoneLine {
    /// Returns the deletion of the bead.
    pub(crate) fn deletion(&self) -> Deletion {
        let mark = Mark::new(self.deleted_at, self.deleted_by.clone());
        Deletion { mark, reason: self.reason.clone(), archived: self.archived }
    }

    /// Takes the bead out of the line: complete, or hollow if the line is the marker of an archived bead.
    /// Returns `None` if the line only has ids that other beads lost.
    pub(crate) fn take_bead(&mut self) -> Result<Option<(Lineage, Bead, Option<Mark>)>, String> {
        let has_lineage = self.born.is_some() || self.created_at.is_some() || self.created_by.is_some();
        if let Some(body) = self.bead.take() {
            if has_lineage {
                return Err("the lineage occurs twice".into());
            }
            let (lineage, mut bead, top) = bead_from_body(&self.id, body)?;
            bead.deletion = Some(self.deletion());
            return Ok(Some((lineage, bead, Some(top))));
        }
        if !self.archived {
            return if has_lineage { Err("a deletion without its bead".into()) } else { Ok(None) };
        }
        let (Some(at), Some(by)) = (self.created_at, &self.created_by) else {
            return Err("created_at or created_by of an archived bead is missing".into());
        };
        let born = self.born.as_ref().unwrap_or(&self.id);
        if !born.is_valid_birth_id() {
            return Err(format!("id {born} is too long"));
        }
        let lineage = Lineage::new(born.clone(), at, by.clone());
        Ok(Some((lineage, Bead::hollow(self.deletion()), None)))
    }
}

/// A line of `deps.jsonl`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EdgeLine {
    #[serde(rename = "_at", default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Stamp>,
    #[serde(rename = "_by", default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    pub created_at: Stamp,
    pub created_by: Actor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_by: Option<Actor>,
    pub from: BeadId,
    pub kind: EdgeKind,
    pub to: BeadId,
}

impl EdgeLine {
    pub(crate) fn new(from: BeadId, to: BeadId, kind: EdgeKind, edge: &Edge) -> Self {
        let changed = || (Some(edge.changed.at()), Some(edge.changed.by().clone()));
        let (deleted_at, deleted_by) = if edge.deleted { changed() } else { (None, None) };
        let re_added = !edge.deleted && edge.changed != edge.created;
        let (at, by) = if re_added { changed() } else { (None, None) };
        Self {
            at,
            by,
            created_at: edge.created.at(),
            created_by: edge.created.by().clone(),
            deleted_at,
            deleted_by,
            from,
            kind,
            to,
        }
    }

    pub(crate) fn edge(&self) -> Result<Edge, String> {
        let mark = |at: Option<Stamp>, by: &Option<Actor>| match (at, by) {
            (Some(at), Some(by)) => Ok(Some(Mark::new(at, by.clone()))),
            (None, None) => Ok(None),
            _ => Err("a stamp and its actor must occur together"),
        };
        let created = Mark::new(self.created_at, self.created_by.clone());
        let deleted = mark(self.deleted_at, &self.deleted_by)?;
        let re_added = mark(self.at, &self.by)?;
        if deleted.is_some() && re_added.is_some() {
            return Err("an edge cannot be both deleted and re-added".into());
        }
        Ok(Edge {
            deleted: deleted.is_some(),
            changed: deleted.or(re_added).unwrap_or_else(|| created.clone()),
            created,
        })
    }
}

/// A line of `conflicts.jsonl`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConflictLine {
    pub at: Stamp,
    pub bead: BeadId,
    pub by: Actor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dismissed_at: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dismissed_by: Option<Actor>,
    pub field: Field,
    pub id: ConflictId,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub value: Value,
    pub won_at: Stamp,
    pub won_by: Actor,
}

impl ConflictLine {
    pub(crate) fn new(bead: BeadId, conflict: &Conflict) -> Self {
        Self {
            at: conflict.lost.at(),
            bead,
            by: conflict.lost.by().clone(),
            dismissed_at: conflict.dismissed.as_ref().map(Mark::at),
            dismissed_by: conflict.dismissed.as_ref().map(|mark| mark.by().clone()),
            field: conflict.field,
            id: conflict.id(),
            value: conflict.value.clone(),
            won_at: conflict.won.at(),
            won_by: conflict.won.by().clone(),
        }
    }

    pub(crate) fn conflict(&self, bead: Lineage) -> Result<Conflict, String> {
        let dismissed = match (self.dismissed_at, &self.dismissed_by) {
            (Some(at), Some(by)) => Some(Mark::new(at, by.clone())),
            (None, None) => None,
            _ => return Err("dismissed_at and dismissed_by must occur together".into()),
        };
        let conflict = Conflict {
            bead,
            field: self.field,
            value: self.value.clone(),
            lost: Mark::new(self.at, self.by.clone()),
            won: Mark::new(self.won_at, self.won_by.clone()),
            dismissed,
        };
        // A value that the register cannot hold could never be restored.
        crate::Patch::from_json(conflict.field, &conflict.value, &conflict.lost)?;
        if conflict.id() != self.id {
            return Err(format!("the id should be {}", conflict.id()));
        }
        Ok(conflict)
    }
}

/// The contents of `meta.json`. They are the same on all replicas with equal states.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MetaFile {
    pub format_version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gc_floor: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gc_floor_epoch: Option<u64>,
    pub prefix: Prefix,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix_at: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix_by: Option<Actor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<SettingKey, StoredSetting>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sha256: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_id: Option<StoreId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_id_at: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_id_by: Option<Actor>,
}

impl MetaFile {
    /// Returns the floor of garbage collection. If there is only an epoch, its stamp is zero.
    pub(crate) fn floor(&self) -> Floor {
        let epoch = self.gc_floor_epoch.unwrap_or_default();
        Floor { epoch, stamp: self.gc_floor.unwrap_or(Stamp::ZERO) }
    }

    pub(crate) fn minted_store_id(&self) -> Result<Option<MintedStoreId>, String> {
        match (&self.store_id, self.store_id_at, &self.store_id_by) {
            (None, None, None) => Ok(None),
            (Some(id), Some(at), Some(by)) => {
                Ok(Some(MintedStoreId { mark: Mark::new(at, by.clone()), id: id.clone() }))
            }
            _ => Err("store_id, store_id_at and store_id_by must occur together".into()),
        }
    }

    /// Returns the lowest format version that can hold this file.
    pub(crate) fn required_format(&self) -> u64 {
        let later = self.gc_floor_epoch.is_some() || !self.settings.is_empty() || self.store_id.is_some();
        if later { 2 } else { 1 }
    }
}

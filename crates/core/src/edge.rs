//! Dependency edges (§4.3). A present or deleted edge is a register; who made it first is kept for provenance.

use serde::{Deserialize, Serialize};

use crate::planted::{Bug, is_planted};
use crate::{BeadId, Error, Lineage, Mark, Result};

/// What an edge means. `from` waits for, is a child of, relates to, or was found while working on `to`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    #[default]
    Blocks,
    DiscoveredFrom,
    Parent,
    Related,
}

impl EdgeKind {
    pub const ALL: [Self; 4] = [Self::Blocks, Self::DiscoveredFrom, Self::Parent, Self::Related];

    /// As the files and `kind` spell it. Variants are declared in the byte order of these names.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocks => "blocks",
            Self::DiscoveredFrom => "discovered_from",
            Self::Parent => "parent",
            Self::Related => "related",
        }
    }

    /// As clients written for the Go `bd` expect it in `dependency_type`.
    pub fn client_name(self) -> &'static str {
        match self {
            Self::Parent => "parent-child",
            Self::DiscoveredFrom => "discovered-from",
            Self::Blocks | Self::Related => self.as_str(),
        }
    }

    /// Kinds whose edges may not form a cycle.
    pub fn is_acyclic(self) -> bool {
        matches!(self, Self::Blocks | Self::Parent)
    }
}

impl std::str::FromStr for EdgeKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "blocks" => Ok(Self::Blocks),
            "parent" | "parent-child" | "parent_child" => Ok(Self::Parent),
            "related" | "relates-to" | "relates_to" => Ok(Self::Related),
            "discovered_from" | "discovered-from" => Ok(Self::DiscoveredFrom),
            _ => Err(Error::invalid(
                "dependency type",
                format!("{text:?} is not blocks, parent, related or discovered_from"),
            )),
        }
    }
}

impl std::fmt::Display for EdgeKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// One end of an edge. An id that no bead of its snapshot holds stays bare and never binds to a bead.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Endpoint {
    Bead(Lineage),
    Bare(BeadId),
}

impl Endpoint {
    pub fn lineage(&self) -> Option<&Lineage> {
        match self {
            Self::Bead(lineage) => Some(lineage),
            Self::Bare(_) => None,
        }
    }
}

/// What makes an edge the same edge: `(from, to, kind)`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeKey {
    pub from: Endpoint,
    pub to: Endpoint,
    pub kind: EdgeKind,
}

impl EdgeKey {
    pub fn new(from: &Lineage, to: &Lineage, kind: EdgeKind) -> Self {
        Self { from: Endpoint::Bead(from.clone()), to: Endpoint::Bead(to.clone()), kind }
    }

    pub(crate) fn is_bare(&self) -> bool {
        self.from.lineage().is_none() || self.to.lineage().is_none()
    }
}

/// The first creation and the latest change of an edge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    pub created: Mark,
    pub changed: Mark,
    pub deleted: bool,
}

impl Edge {
    pub fn added(mark: Mark) -> Self {
        Self { created: mark.clone(), changed: mark, deleted: false }
    }

    /// The earliest creation, the latest change; on a full tie deleted wins.
    pub(crate) fn join(&mut self, other: &Self) {
        if other.created < self.created {
            self.created = other.created.clone();
        }
        if other.deleted && is_planted(Bug::EdgeRemovalLost) {
            return;
        }
        if (&other.changed, other.deleted) > (&self.changed, self.deleted) {
            self.changed = other.changed.clone();
            self.deleted = other.deleted;
        }
    }
}

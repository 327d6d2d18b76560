//! Dependency edges (§4.3). Whether an edge is present or deleted is a register. Its first creation is kept
//! for provenance.

use serde::{Deserialize, Serialize};

use crate::planted::{Bug, is_planted};
use crate::{BeadId, Error, Lineage, Mark, Result};

/// What an edge means: `from` is blocked by, child of, related to or discovered from `to`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schemars(transform = crate::schema::plain_enum))]
pub enum EdgeKind {
    /// `from` waits until `to` is closed.
    #[default]
    Blocks,
    /// `from` was found while working on `to`.
    DiscoveredFrom,
    /// `from` is a child of `to`.
    Parent,
    /// The two have something in common.
    Related,
}

impl EdgeKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Blocks, Self::DiscoveredFrom, Self::Parent, Self::Related];

    /// Returns the name in the files and in `kind`. Variants are declared in the byte order of these names.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocks => "blocks",
            Self::DiscoveredFrom => "discovered_from",
            Self::Parent => "parent",
            Self::Related => "related",
        }
    }

    /// Returns the name in `dependency_type`, as clients written for the Go `bd` expect it.
    pub fn client_name(self) -> &'static str {
        match self {
            Self::Parent => "parent-child",
            Self::DiscoveredFrom => "discovered-from",
            Self::Blocks | Self::Related => self.as_str(),
        }
    }

    /// Returns whether edges of this kind must not form a cycle.
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

/// One end of an edge.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Endpoint {
    /// A known bead.
    Bead(Lineage),
    /// An id that no bead of the snapshot holds. It never binds to a bead.
    Bare(BeadId),
}

impl Endpoint {
    /// Returns the lineage of a known bead.
    pub fn lineage(&self) -> Option<&Lineage> {
        match self {
            Self::Bead(lineage) => Some(lineage),
            Self::Bare(_) => None,
        }
    }
}

/// The identity of an edge.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeKey {
    /// The bead that has the dependency.
    pub from: Endpoint,
    /// The bead that it depends on.
    pub to: Endpoint,
    /// The kind of the dependency.
    pub kind: EdgeKind,
}

impl EdgeKey {
    /// Returns the key of the edge between two known beads.
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
    /// The first creation.
    pub created: Mark,
    /// The last time that the edge was added or removed.
    pub changed: Mark,
    /// Whether the last change removed the edge.
    pub deleted: bool,
}

impl Edge {
    /// Returns a new edge.
    pub fn added(mark: Mark) -> Self {
        Self { created: mark.clone(), changed: mark, deleted: false }
    }

    /// Keeps the earliest creation and the latest change. On a tie, the removal wins.
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

use serde::{Deserialize, Serialize};

use crate::{EdgeKey, EdgeKind, Error, Lineage, Result};

/// A dependency in the syntax of `create --deps`: `id` or `role:id`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Dep {
    /// How the bead relates to the one named by `id`.
    pub role: DepRole,
    /// The other bead: its id, or a unique prefix of one.
    pub id: String,
}

/// How a bead relates to the bead that its dependency names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepRole {
    /// It waits for the other bead: a bare id, `depends-on:` or `blocked-by:`.
    DependsOn,
    /// The other bead waits for it: `blocks:`, as in the Go `bd` since v0.60.
    Blocks,
    /// It is a child of the other bead.
    Parent,
    /// It is related to the other bead.
    Related,
    /// It was found while working on the other bead.
    DiscoveredFrom,
}

impl DepRole {
    /// Returns the edge between the two beads. It always points from the bead that waits.
    pub fn edge(self, bead: &Lineage, other: &Lineage) -> EdgeKey {
        match self {
            Self::Blocks => EdgeKey::new(other, bead, EdgeKind::Blocks),
            role => EdgeKey::new(bead, other, role.kind()),
        }
    }

    /// Returns the kind of the edge.
    pub fn kind(self) -> EdgeKind {
        match self {
            Self::DependsOn | Self::Blocks => EdgeKind::Blocks,
            Self::Parent => EdgeKind::Parent,
            Self::Related => EdgeKind::Related,
            Self::DiscoveredFrom => EdgeKind::DiscoveredFrom,
        }
    }

    /// Returns the name, as written before the colon.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DependsOn => "depends-on",
            Self::Blocks => "blocks",
            Self::Parent => "parent",
            Self::Related => "related",
            Self::DiscoveredFrom => "discovered-from",
        }
    }
}

impl std::str::FromStr for DepRole {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "depends-on" | "depends_on" | "blocked-by" | "blocked_by" => Ok(Self::DependsOn),
            "blocks" => Ok(Self::Blocks),
            other => match other.parse() {
                Ok(EdgeKind::Parent) => Ok(Self::Parent),
                Ok(EdgeKind::Related) => Ok(Self::Related),
                Ok(EdgeKind::DiscoveredFrom) => Ok(Self::DiscoveredFrom),
                _ => Err(Error::invalid(
                    "dependency type",
                    format!(
                        "{text:?} is not depends-on, blocked-by, blocks, parent, related or discovered-from"
                    ),
                )),
            },
        }
    }
}

impl std::str::FromStr for Dep {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_once(':') {
            Some((role, id)) => Ok(Self { role: role.trim().parse()?, id: id.trim().to_owned() }),
            None => Ok(Self { role: DepRole::DependsOn, id: text.trim().to_owned() }),
        }
    }
}

impl TryFrom<String> for Dep {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Dep> for String {
    fn from(dep: Dep) -> Self {
        format!("{}:{}", dep.role.as_str(), dep.id)
    }
}

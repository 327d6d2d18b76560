use serde::{Deserialize, Serialize};

use crate::{EdgeKey, EdgeKind, Error, Lineage, Result};

/// A dependency as `create --deps` writes it: `id`, or `role:id`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Dep {
    pub role: DepRole,
    pub id: String,
}

/// What the bead that has the dependency is to the one it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepRole {
    /// It waits for the other: a bare id, `depends-on:` or `blocked-by:`.
    DependsOn,
    /// The other waits for it: `blocks:`, as the Go `bd` has it since v0.60.
    Blocks,
    Parent,
    Related,
    DiscoveredFrom,
}

impl DepRole {
    /// The edge between a bead and the other one. It always runs from the one that waits.
    pub fn edge(self, bead: &Lineage, other: &Lineage) -> EdgeKey {
        match self {
            Self::Blocks => EdgeKey::new(other, bead, EdgeKind::Blocks),
            role => EdgeKey::new(bead, other, role.kind()),
        }
    }

    pub fn kind(self) -> EdgeKind {
        match self {
            Self::DependsOn | Self::Blocks => EdgeKind::Blocks,
            Self::Parent => EdgeKind::Parent,
            Self::Related => EdgeKind::Related,
            Self::DiscoveredFrom => EdgeKind::DiscoveredFrom,
        }
    }

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

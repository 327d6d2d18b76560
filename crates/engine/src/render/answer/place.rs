//! Where a store is, how it is set up, and which program answers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use beads_core::{Actor, Prefix};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::upkeep::StoreSchema;
use crate::dialect::Dialect;
use crate::session_id::SessionId;

/// The output of `init`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InitAnswer {
    /// The prefix of new ids.
    pub prefix: Prefix,
    /// The git directory that holds the store.
    pub git_dir: PathBuf,
    /// With `--compat`: what was set up for clients of the Go `bd`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compat: Option<CompatSetup>,
}

/// What was set up for clients of the Go `bd`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompatSetup {
    /// The dialect of `--json`.
    pub json_dialect: Dialect,
    /// The file by which they recognise the workspace.
    pub metadata: PathBuf,
    /// The file that is kept up to date, relative to the main work tree; null when there is none.
    pub export_path: Option<&'static str>,
    /// Why nothing is exported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_exported: Option<String>,
}

/// A setting and its value.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SettingAnswer {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
}

/// The output of `where`. Clients of the Go `bd` read `database_path`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlaceAnswer {
    /// The directory of the store.
    pub path: PathBuf,
    /// The same, for clients of the Go `bd`.
    pub database_path: PathBuf,
    /// The git directory that holds the store.
    pub git_dir: PathBuf,
    /// Whether the store is private.
    pub private: bool,
    /// Whether the store exists.
    pub exists: bool,
    /// The branch that holds the store.
    #[serde(rename = "ref")]
    pub reference: &'static str,
    /// The daemon's socket.
    pub socket: PathBuf,
}

/// The output of `info`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InfoAnswer {
    /// The directory of the store.
    pub database_path: PathBuf,
    /// The git directory that holds the store.
    pub git_dir: PathBuf,
    /// `daemon`, or `direct` when commands open the store themselves.
    pub mode: &'static str,
    /// Whether a daemon answered.
    pub daemon_connected: bool,
    /// The daemon's socket.
    pub socket_path: PathBuf,
    /// The version of `bd`.
    pub version: &'static str,
    /// The number of beads.
    pub issue_count: u64,
    /// The actor of this command.
    pub actor: Actor,
    /// The person behind the actor: `user.name` of git's configuration.
    pub person: Option<String>,
    /// The agent's session, if it is known.
    pub session: Option<SessionId>,
    /// Every setting and its value.
    pub config: BTreeMap<String, String>,
    /// With `--schema`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<StoreSchema>,
}

/// The output of `version`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VersionAnswer {
    /// The version of `bd`.
    pub version: &'static str,
    /// The name of this implementation.
    pub implementation: &'static str,
    /// The commit of a release build; null for other builds.
    pub commit: Option<&'static str>,
    /// The version of the store's file format.
    pub format_version: u64,
    /// The version of the socket protocol.
    pub protocol_version: u64,
    /// The parts of the protocol that clients may rely on.
    pub features: &'static [&'static str],
}

/// The output of `upgrade --check`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UpgradeAnswer {
    /// The version of this `bd`.
    pub version: &'static str,
    /// The file of this program.
    pub executable: PathBuf,
    /// What installed it.
    pub installed_by: &'static str,
    /// How to upgrade it.
    pub upgrade_with: &'static str,
    /// Other copies of `bd` on the search path.
    pub other_copies: Vec<PathBuf>,
}

/// A text for people or agents to read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TextAnswer {
    /// The text.
    pub text: String,
}

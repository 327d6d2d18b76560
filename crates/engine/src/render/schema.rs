//! JSON schemas of all `--json` output, in both dialects. `cargo xtask schema` writes them to `docs/schema/`.

use std::collections::BTreeMap;

use beads_core::import::{Comparison, Summary};
use beads_core::query::{Finding, LabelCount};
use beads_core::{BeadId, BeadView, Labels};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use super::agents::{ActivityAnswer, AgentAnswer};
use super::answer::{
    ConflictAnswer, CountAnswer, CountByAnswer, CycleAnswer, DetailOf, EdgeAnswer, EpicAnswer, ExportAnswer,
    InfoAnswer, InitAnswer, LinkedBead, NoteAnswer, PlaceAnswer, RepairAnswer, RescuedAnswer, SettingAnswer,
    StatusAnswer, SyncAnswer, TextAnswer, TreeNode, UpgradeAnswer, VerifyAnswer, VersionAnswer,
};
use super::compat::{CompatBead, CompatDetail, CompatEpic, CompatLinked};
use super::done::{ClaimedOf, ClosedOf, CreatedOf, DoneOf, UnchangedOf};
use super::events::EventAnswer;
use super::graph_answer::GraphAnswer;
use super::links::remove_links;
use super::memory::MemoryAnswer;
use super::past::{BlameAnswer, DifferenceAnswer, LogAnswer, UndoAnswer};
use super::planning::{ExplainAnswer, PlanAnswer};
use super::question::QuestionAnswer;
use super::recap::FullRecap;
use super::sessions::{HeartbeatAnswer, SessionAnswer};
use super::settings::SettingDescription;
use super::upkeep::{ArchivedAnswer, DoctorAnswer, MigrationAnswer, OrphansAnswer, UninstallAnswer};
use super::{DaemonStatus, HubAnswer, HubStatusAnswer};
use crate::dialect::Dialect;
use crate::failure::ErrorAnswer;

/// One form of answer. Answers without beads have the same schema in both dialects.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    name: &'static str,
    spec: fn() -> Schema,
    compat: Option<fn() -> Schema>,
}

impl Shape {
    /// Returns the name of its file in `docs/schema/`, without the extension.
    pub fn name(&self, dialect: Dialect) -> String {
        match (dialect, self.compat) {
            (Dialect::Compat, Some(_)) => format!("{}.compat", self.name),
            _ => self.name.to_owned(),
        }
    }

    /// Returns the JSON schema in a dialect.
    pub fn schema(&self, dialect: Dialect) -> Schema {
        let mut schema = match (dialect, self.compat) {
            (Dialect::Compat, Some(schema)) => schema(),
            _ => (self.spec)(),
        }
        .to_value();
        remove_links(&mut schema);
        Schema::try_from(schema).unwrap_or_default()
    }
}

const fn one<T: JsonSchema>(name: &'static str) -> Shape {
    Shape { name, spec: of::<T>, compat: None }
}

const fn two<S: JsonSchema, C: JsonSchema>(name: &'static str) -> Shape {
    Shape { name, spec: of::<S>, compat: Some(of::<C>) }
}

fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

const CLAIMED: Shape = two::<ClaimedOf<'_, BeadView>, ClaimedOf<'_, CompatBead<'_>>>("claimed");
const RENEWED: Shape = two::<Vec<ClaimedOf<'_, BeadView>>, Vec<ClaimedOf<'_, CompatBead<'_>>>>("renewed");
const CLOSED: Shape = two::<Vec<ClosedOf<'_, BeadView>>, Vec<ClosedOf<'_, CompatBead<'_>>>>("closed");
const CREATED: Shape = two::<CreatedOf<'_, BeadView>, CreatedOf<'_, CompatBead<'_>>>("created");
const CREATED_MANY: Shape =
    two::<Vec<CreatedOf<'_, BeadView>>, Vec<CreatedOf<'_, CompatBead<'_>>>>("created-many");
const CONFIRMED: Shape = two::<Confirmed<'_, BeadView>, Confirmed<'_, CompatBead<'_>>>("confirmed");
const EXPLAINED: Shape = two::<ExplainAnswer, ExplainAnswer<CompatBead<'_>>>("explained");
const CLOSED_AND_CLAIMED: Shape = two::<Next<'_, BeadView>, Next<'_, CompatBead<'_>>>("closed-and-claimed");
const BATCH: Shape = two::<Batch<'_, BeadView>, Batch<'_, CompatBead<'_>>>("batch");
const BEADS: Shape = two::<Vec<BeadView>, Vec<CompatBead<'_>>>("beads");
const CHANGED: Shape = two::<Vec<UnchangedOf<BeadView>>, Vec<UnchangedOf<CompatBead<'_>>>>("changed");
const DETAILS: Shape = two::<Vec<DetailOf<'_>>, Vec<CompatDetail<'_>>>("details");
const LINKED: Shape = two::<Vec<LinkedBead>, Vec<CompatLinked<'_>>>("linked");
const EPICS: Shape = two::<Vec<EpicAnswer>, Vec<CompatEpic<'_>>>("epics");
const EDGE: Shape = one::<EdgeAnswer>("edge");
const NOTE: Shape = one::<NoteAnswer>("note");
const NOTED: Shape = two::<NoteAnswer, CompatBead<'_>>("noted");
const NOTES: Shape = one::<Vec<NoteAnswer>>("notes");
const SETTING: Shape = one::<SettingAnswer>("setting");
const CONFLICT: Shape = one::<ConflictAnswer>("conflict");
const DAEMON: Shape = one::<DaemonStatus>("daemon");
const HUB: Shape = one::<HubAnswer>("hub");
const TEXT: Shape = one::<TextAnswer>("text");

/// The output of `close --claim-next`.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Next<'a, B> {
    closed: Vec<ClosedOf<'a, B>>,
    /// Null when nothing was ready.
    claimed: Option<ClaimedOf<'a, B>>,
}

/// The output of `claim --confirm`.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Confirmed<'a, B> {
    #[serde(flatten)]
    claimed: ClaimedOf<'a, B>,
    /// The remote that has the claim, or null when there is none.
    confirmed_by: Option<String>,
}

/// The output of an all-or-nothing batch.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Batch<'a, B> {
    /// The ids behind the names.
    ids: BTreeMap<String, BeadId>,
    results: Vec<DoneOf<'a, B>>,
}

/// The `--json` output of each command on success.
pub const OUTPUTS: &[(&str, Shape)] = &[
    ("activity", one::<ActivityAnswer>("activity")),
    ("agents", one::<Vec<AgentAnswer>>("agents")),
    ("archive", one::<ArchivedAnswer>("archive")),
    ("blame", one::<Vec<BlameAnswer>>("blame")),
    ("blocked", BEADS),
    ("cancel", CLOSED),
    ("children", BEADS),
    ("children --detailed", DETAILS),
    ("claim", CLAIMED),
    ("claim --confirm", CONFIRMED),
    ("claim --mine", RENEWED),
    ("close", CLOSED),
    ("close --claim-next", CLOSED_AND_CLAIMED),
    ("comment add", NOTE),
    ("config describe", one::<Vec<SettingDescription>>("setting-descriptions")),
    ("config get", SETTING),
    ("config list", one::<BTreeMap<String, String>>("settings")),
    ("config set", SETTING),
    ("config unset", SETTING),
    ("conflicts dismiss", BEADS),
    ("conflicts list", one::<Vec<ConflictAnswer>>("conflicts")),
    ("conflicts restore", BEADS),
    ("conflicts show", CONFLICT),
    ("count", one::<CountAnswer>("count")),
    ("count --by-*", one::<CountByAnswer>("count-by")),
    ("create", CREATED),
    ("create --file", CREATED_MANY),
    ("create --graph", BATCH),
    ("daemon status", DAEMON),
    ("daemon stop", DAEMON),
    ("delete", BEADS),
    ("deleted", BEADS),
    ("dep add", EDGE),
    ("dep cycles", one::<Vec<CycleAnswer>>("cycles")),
    ("dep list", LINKED),
    ("dep remove", EDGE),
    ("dep tree", one::<Vec<TreeNode>>("tree")),
    ("diff", one::<Vec<DifferenceAnswer>>("diff")),
    ("doctor", one::<DoctorAnswer>("doctor")),
    ("edit", BEADS),
    ("epic close-eligible", CLOSED),
    ("epic status", EPICS),
    ("export", one::<ExportAnswer>("export")),
    ("forget", BEADS),
    ("graph", one::<GraphAnswer>("graph")),
    ("handover", BEADS),
    ("heartbeat", one::<HeartbeatAnswer>("heartbeat")),
    ("hub fence", HUB),
    ("hub init", HUB),
    ("hub status", one::<HubStatusAnswer>("hub-status")),
    ("hub upgrade", HUB),
    ("import", one::<Summary>("import")),
    ("import --rescued", one::<RescuedAnswer>("import-rescued")),
    ("import --verify", one::<Comparison>("import-verify")),
    ("info", one::<InfoAnswer>("info")),
    ("init", one::<InitAnswer>("init")),
    ("label add", BEADS),
    ("label list", one::<Labels>("label-names")),
    ("label list-all", one::<Vec<LabelCount>>("label-counts")),
    ("label remove", BEADS),
    ("list", BEADS),
    ("log", one::<LogAnswer>("log")),
    ("man", TEXT),
    ("migrate", one::<MigrationAnswer>("migrate")),
    ("mine", BEADS),
    ("next", CLAIMED),
    ("note add", NOTED),
    ("note list", NOTES),
    ("onboard", TEXT),
    ("plan", one::<PlanAnswer>("plan")),
    ("prime", TEXT),
    ("quickstart", TEXT),
    ("questions", one::<Vec<QuestionAnswer>>("questions")),
    ("ready", BEADS),
    ("ready --explain", EXPLAINED),
    ("recall", one::<Vec<MemoryAnswer>>("memories")),
    ("recap", one::<FullRecap>("recap")),
    ("recap --brief", TEXT),
    ("reclaim", BEADS),
    ("remember", CREATED),
    ("renew", RENEWED),
    ("reopen", CHANGED),
    ("repair", one::<RepairAnswer>("repair")),
    ("repair-deps", one::<OrphansAnswer>("repair-deps")),
    ("restore", CHANGED),
    ("search", BEADS),
    ("session end", CHANGED),
    ("session list", one::<Vec<SessionAnswer>>("sessions")),
    ("show", DETAILS),
    ("stale", BEADS),
    ("status", one::<StatusAnswer>("status")),
    ("sync", one::<SyncAnswer>("sync")),
    ("unclaim", CHANGED),
    ("undo", one::<UndoAnswer>("undo")),
    ("uninstall", one::<UninstallAnswer>("uninstall")),
    ("update", BEADS),
    ("validate", one::<Vec<Finding>>("findings")),
    ("verify", one::<VerifyAnswer>("verify")),
    ("upgrade", one::<UpgradeAnswer>("upgrade")),
    ("version", one::<VersionAnswer>("version")),
    // One event per line.
    ("watch", one::<EventAnswer>("event")),
    ("where", one::<PlaceAnswer>("where")),
];

/// The `--json` output of any command on failure.
pub const ERROR: Shape = one::<ErrorAnswer>("error");

/// Returns the schema of the output of a command, named as in the table: verb, then subcommand.
pub fn output(command: &str, dialect: Dialect) -> Option<Schema> {
    let (_, shape) = OUTPUTS.iter().find(|(name, _)| *name == command)?;
    Some(shape.schema(dialect))
}

/// Returns every file of `docs/schema/` by name, with its content.
pub fn files() -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut index = BTreeMap::new();
    let failed = ("(any, on failure)", ERROR);
    for (command, shape) in OUTPUTS.iter().chain([&failed]) {
        let mut names = BTreeMap::new();
        for (word, dialect) in [("spec", Dialect::Spec), ("compat", Dialect::Compat)] {
            let name = format!("{}.json", shape.name(dialect));
            names.insert(word, name.clone());
            files.entry(name).or_insert_with(|| super::json(&shape.schema(dialect)));
        }
        index.insert(*command, names);
    }
    files.insert("index.json".to_owned(), super::json(&index));
    files
}

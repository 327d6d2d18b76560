use beads_core::Op;
use beads_core::op::NoteAdd;
use beads_engine::failure::Failure;
use beads_engine::request::Call;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::artifact::Artifact;
use super::{Caller, Expected, Open, meant, text};
use crate::mcp::lines::{Lines, command};

/// Append to the log of your bead, or of the named one, for others to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Note {
    text: String,
    id: Option<String>,
    /// Evidence: kind cmd_output (command, stdout, stderr, exit_code), diff (diff) or url (url)
    #[schemars(with = "Option<Map<String, Value>>")]
    artifact: Option<Artifact>,
    expected_target_id: Option<String>,
    #[serde(default)]
    strict_targeting: bool,
}

impl Open for Note {
    fn open(self, caller: Caller<'_>) -> Result<Lines, Failure> {
        let Caller { session, actor, .. } = caller;
        let expected = Expected::new(self.expected_target_id.map(Value::from), self.strict_targeting)?;
        let id = meant(caller, self.id.as_deref(), &expected)?;
        let content = match self.artifact {
            None => self.text,
            Some(artifact) => artifact.bounded()?.note(&self.text),
        };
        let op = Op::NoteAdd(NoteAdd { id, content: content.parse()?, ..NoteAdd::default() });
        let noted = session.ask(actor, Call::one(op))?;
        let next = match self.id {
            None => command("done", &json!({"id": noted["issue_id"], "reason": "…"})),
            Some(_) => "status".to_owned(),
        };
        Ok(Lines::state(format!("noted on {}", text(&noted, "issue_id"))).then(next))
    }
}

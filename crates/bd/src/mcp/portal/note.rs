use beads_core::op::{Fence, Guard, NoteAdd};
use beads_core::{MemoryKey, Op};
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::artifact::Artifact;
use super::{Caller, Expected, PortalCall, finish_command, resolve_target, text};
use crate::mcp::lines::{Lines, command};

/// Add a note for others to your bead or the given one; with remember, keep it for later sessions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Note {
    text: String,
    id: Option<String>,
    /// Key of the memory; status recalls it
    remember: Option<String>,
    #[schemars(with = "Option<String>")]
    fence: Option<Fence>,
    /// Evidence: kind cmd_output (command, stdout, stderr, exit_code), diff (diff) or url (url)
    #[schemars(with = "Option<Map<String, Value>>")]
    artifact: Option<Artifact>,
    expected_target_id: Option<String>,
    #[serde(default)]
    strict_targeting: bool,
}

impl PortalCall for Note {
    fn execute(self, caller: Caller<'_>) -> Result<Lines, Failure> {
        if let Some(key) = &self.remember {
            return self.remember_text(key, caller);
        }
        let expected = Expected::new(self.expected_target_id.map(Value::from), self.strict_targeting)?;
        let id = resolve_target(caller, self.id.as_deref(), &expected)?;
        let content = match self.artifact {
            None => self.text,
            Some(artifact) => artifact.bounded()?.note(&self.text),
        };
        let guard = Guard { fence: self.fence, ..Guard::default() };
        let op = Op::NoteAdd(NoteAdd { id, guard, content: content.parse()?, ..NoteAdd::default() });
        let noted = caller.mutate(Call::one(op))?;
        let next = match self.id {
            None => {
                let ids = vec![text(&noted, "issue_id").to_owned()];
                finish_command(&caller.session.query(caller.actor, Query::Show { ids })?[0])
            }
            Some(_) => "status".to_owned(),
        };
        Ok(Lines::state(format!("noted on {}", text(&noted, "issue_id"))).then(next).with_data(noted))
    }
}

impl Note {
    /// Stores the text as a memory for later sessions instead of a note on a bead.
    fn remember_text(&self, key: &str, caller: Caller<'_>) -> Result<Lines, Failure> {
        if self.id.is_some() || self.fence.is_some() || self.artifact.is_some() {
            let message =
                "a memory belongs to no bead: leave out id, fence and artifact, or leave out remember";
            return Err(Failure::usage(message));
        }
        let key: MemoryKey = key.parse()?;
        let kept = caller.mutate(Call::one(key.remember(self.text.parse()?)?))?;
        Ok(Lines::state(format!("remembered {key}"))
            .then(command("status", &json!({"recall": key.as_str()})))
            .with_data(kept))
    }
}

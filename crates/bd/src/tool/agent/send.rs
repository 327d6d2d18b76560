use schemars::JsonSchema;
use serde::Deserialize;

use super::output;
use crate::agent::error::Result;
use crate::agent::send;
use crate::agent::store::Store;
use crate::tool::{Coordination, Definition, field};

/// Send a message about a bead to an agent, a role or all agents
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Send {
    /// Sender
    #[schemars(with = "field::AgentId")]
    from: String,
    /// An agent, broadcast for all other agents, or role:ROLE
    #[schemars(with = "field::Recipient")]
    to: String,
    /// Bead the message is about
    #[schemars(with = "field::AgentBead")]
    bead: String,
    /// HANDOFF and BLOCKED require an acknowledgement; DECISION and INFO do not
    #[schemars(with = "field::Category")]
    category: String,
    /// Subject line
    #[schemars(with = "field::Subject")]
    subject: String,
    /// Message text
    #[schemars(with = "field::Body")]
    body: String,
    /// Thread; default: bead:ID
    #[serde(default)]
    #[schemars(with = "field::Thread")]
    thread: Option<String>,
}

impl Definition for Send {
    const NAME: &'static str = "agent.send";
    const EXAMPLE: &'static str = r#"{"from":"agent-ui-1","to":"agent-api-1","bead":"bd-a1","category":"HANDOFF","subject":"Ready for review","body":"Please look at the login."}"#;
    type Output = output::Sent;
}

impl Coordination for Send {
    const MUTATES: bool = true;

    fn act(self, store: &Store) -> Result<Self::Output> {
        let Self { from, to, bead, category, subject, body, thread } = self;
        let bead = Some(bead);
        send::send(store, &send::Send { from, to, bead, category, subject, body, thread })
    }
}

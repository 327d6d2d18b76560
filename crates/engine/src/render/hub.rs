//! The answers of `bd hub`.

use beads_core::counted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The output of `bd hub status`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HubStatusAnswer {
    /// The address, without a password; null if no hub is configured.
    pub url: Option<String>,
    /// The id of the store; null before the hub is first used.
    pub store: Option<String>,
    /// Whether the daemon is attached.
    pub attached: bool,
    /// Whether the hub answered this command.
    pub reachable: bool,
    /// How long one round trip took.
    pub latency_ms: Option<f64>,
    /// The last delta that this machine has taken.
    pub cursor: Option<u64>,
    /// How many deltas this machine lacks.
    pub lag: Option<u64>,
    /// Whether changes wait to be appended.
    pub unsent: bool,
    /// Whether this machine polls, because notifications do not arrive.
    pub polls: bool,
    /// How long the hub has been away.
    pub away_ms: Option<u64>,
    /// Why it is away, with what to do.
    pub error: Option<String>,
    /// The code of that error.
    pub error_code: Option<beads_core::Code>,
    /// The version of the hub's tables and functions.
    pub hub_version: Option<u64>,
    /// The number of machines that ever attached.
    pub machines: Option<u64>,
    /// The number of machines seen within a day.
    pub active_machines: Option<u64>,
    /// The number of claims that the hub holds.
    pub claims: Option<u64>,
    /// The number of deltas that are kept.
    pub deltas: Option<u64>,
    /// The size of all tables.
    pub table_bytes: Option<u64>,
    /// The epoch, which is raised after a failover.
    pub epoch: Option<u64>,
    /// Whether grants are held since the last failover.
    pub holding: bool,
    /// The number of machines that grants wait for: those seen lately that have not attached again.
    pub awaited_machines: Option<u64>,
    /// The longest that grants are still held.
    pub hold_ms: Option<u64>,
    /// Whether the server has a synchronous standby. Without one, a failover may lose grants.
    pub synchronous_standby: Option<bool>,
}

impl HubStatusAnswer {
    pub(super) fn text(&self) -> String {
        let Some(url) = &self.url else {
            return "no hub is configured; bd config set hub.url postgres://user@host/database sets one\n"
                .to_owned();
        };
        let mut lines = vec![format!("hub: {url}")];
        if self.reachable {
            lines.push(format!("reachable: yes, {:.1} ms", self.latency_ms.unwrap_or_default()));
        } else {
            lines.push(format!("reachable: no, {}", self.error.as_deref().unwrap_or("no answer")));
        }
        let attached = if self.attached { "attached" } else { "not attached" };
        let polls = if self.polls { ", polling" } else { "" };
        let error = self.error.as_deref().filter(|_| self.reachable && !self.attached);
        let error = error.map(|error| format!(", {error}")).unwrap_or_default();
        lines.push(format!("daemon: {attached}{polls}{error}"));
        if let Some(away_ms) = self.away_ms {
            lines.push(format!("away for: {} s", away_ms / 1_000));
        }
        let mut add = |name: &str, value: Option<u64>| {
            if let Some(value) = value {
                lines.push(format!("{name}: {value}"));
            }
        };
        add("hub version", self.hub_version);
        add("cursor", self.cursor);
        add("lag", self.lag);
        add("machines", self.machines);
        add("claims held", self.claims);
        add("deltas", self.deltas);
        add("table bytes", self.table_bytes);
        add("epoch", self.epoch);
        if self.holding {
            let awaited = self.awaited_machines.unwrap_or_default();
            let machines = counted(awaited, "machine");
            let have = if awaited == 1 { "has" } else { "have" };
            let seconds = self.hold_ms.unwrap_or_default().div_ceil(1_000);
            lines.push(format!(
                "grants: held until {machines} {have} attached again, for at most {seconds} s"
            ));
        }
        match self.synchronous_standby {
            Some(true) => lines.push("synchronous standby: yes".to_owned()),
            Some(false) => lines.push("synchronous standby: no; a failover may lose grants".to_owned()),
            None => {}
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

/// The output of `bd hub init`, `bd hub upgrade` and `bd hub fence`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HubAnswer {
    /// The address, without a password.
    pub url: String,
    /// What was done: `installed`, `upgraded` or `fenced`.
    pub done: &'static str,
    /// The version of the hub's tables and functions.
    pub hub_version: i32,
    /// The new epoch, after `fenced`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<i32>,
}

impl HubAnswer {
    pub(super) fn text(&self) -> String {
        match self.epoch {
            Some(epoch) => format!("epoch {epoch} began; grants are held until all machines have attached\n"),
            None => {
                let next = match self.done {
                    "installed" => {
                        "next: GRANT beads_member TO the role of each machine, then bd config set hub.url there\n"
                    }
                    _ => "",
                };
                format!("{} hub version {} in {}\n{next}", self.done, self.hub_version, self.url)
            }
        }
    }
}

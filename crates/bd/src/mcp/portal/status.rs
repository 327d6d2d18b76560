use beads_core::query::{Filter, ReadyFilter};
use beads_engine::failure::Failure;
use beads_engine::request::Query;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Caller, PortalCall, mail, row, text, title};
use crate::mcp::lines::{Lines, command};
use crate::mcp::toolset::Toolset;

/// How many silent beads are named; the rest is in the data.
const NAMED_SILENT: usize = 3;

/// Show what you hold, what is ready, and what to do next.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// How many ready beads to list
    ready: Option<usize>,
    /// How many of them to skip
    offset: Option<usize>,
    /// Read memories: a key, words, or * for all keys
    recall: Option<String>,
}

impl PortalCall for Status {
    fn execute(self, caller: Caller<'_>) -> Result<Lines, Failure> {
        if let Some(asked) = &self.recall {
            return recall(asked, caller);
        }
        let Caller { session, actor, .. } = caller;
        let mine = session.mine(actor)?;
        let status = session.query(actor, Query::Status)?;
        let count = |name: &str| status["summary"][name].as_u64().unwrap_or_default();
        let ready = count("ready_issues");
        let focus = session.focus_among(actor, &mine);
        let mut state = match focus {
            Some(bead) => {
                format!("{} ACTIVE {} | mine {}, ", text(bead, "id"), title(bead), mine.len())
            }
            None => "no focus | ".to_owned(),
        };
        state +=
            &format!("ready {ready}, blocked {}, open {}", count("blocked_issues"), count("open_issues"));
        match status["memories"].as_u64().unwrap_or_default() {
            0 => {}
            memories => state += &format!(", memories {memories}"),
        }
        match mail::unread(caller) {
            0 => {}
            unread => state += &format!(", mail {unread}"),
        }
        let next = match focus {
            Some(bead) => command("next", &json!({"id": bead["id"]})),
            None if ready > 0 => "next".to_owned(),
            None if count("open_issues") > 0 => command("next", &json!({"wait_s": 60})),
            None if caller.toolset == Toolset::Core => command("next", &json!({"wait_s": 60})),
            None => command("make", &json!({"title": "…"})),
        };
        let held: Vec<Value> = mine
            .iter()
            .map(|bead| {
                let fence = format!("{}.{}", bead["assignee_at"][0], bead["assignee_at"][1]);
                json!({"id": bead["id"], "title": bead["title"], "expires": bead["assignee_expires"], "fence": fence})
            })
            .collect();
        let data = json!({"focus": focus.map(|bead| &bead["id"]), "held": held, "summary": status["summary"],
                          "stuck": status["stuck"], "silent": status["silent"], "sync": status["sync"]});
        let mut lines = Lines::state(state).then(next).with_data(data);
        warn(&mut lines, &status["sync"], caller.toolset);
        silent(&mut lines, &status["silent"]);
        self.list(&mut lines, caller, ready)?;
        Ok(lines)
    }
}

impl Status {
    fn list(&self, lines: &mut Lines, caller: Caller<'_>, ready: u64) -> Result<(), Failure> {
        let Some(wanted) = self.ready.filter(|wanted| *wanted > 0) else { return Ok(()) };
        let offset = self.offset.unwrap_or_default();
        let filter = Filter { limit: Some(offset.saturating_add(wanted)), ..Filter::default() };
        let filter = ReadyFilter { filter, under: None };
        let beads = caller.session.query(caller.actor, Query::Ready(filter))?;
        let shown: Vec<&Value> = beads.as_array().into_iter().flatten().skip(offset).collect();
        for (index, bead) in shown.iter().enumerate() {
            let end = offset.saturating_add(index + 1);
            let more = usize::try_from(ready).is_ok_and(|ready| end < ready);
            lines.add_row(&row(bead), more.then(|| ("status", json!({"ready": wanted, "offset": end}))));
        }
        Ok(())
    }
}

/// Warns about the first few beads whose holders are silent.
fn silent(lines: &mut Lines, silent: &Value) {
    for claim in silent.as_array().into_iter().flatten().take(NAMED_SILENT) {
        let (id, holder, since) = (text(claim, "id"), text(claim, "holder"), text(claim, "since"));
        let fix = command("next", &json!({"id": id, "take_over": true}));
        lines.warn("SILENT", &format!("{id} held by {holder}, silent since {since}"), &fix);
    }
}

/// Warns about conflicts and failed syncs, with a fix from the client's toolset.
fn warn(lines: &mut Lines, sync: &Value, toolset: Toolset) {
    let fix = |tool: &'static str, person: &'static str| if toolset == Toolset::Core { person } else { tool };
    match sync["conflicts"].as_u64() {
        None | Some(0) => {}
        Some(lost) => {
            let fix = fix("beads_conflicts", "tell the user to run bd conflicts list");
            lines.warn("CONFLICT", &format!("{lost} overwritten values"), fix);
        }
    }
    if let Some(message) = sync["last_error"]["message"].as_str() {
        lines.warn("NOT_SYNCED", message, fix("beads_sync", "tell the user to run bd sync"));
    }
}

/// Lists memories: their texts, or for `*` every key with the beginning of its text.
fn recall(asked: &str, caller: Caller<'_>) -> Result<Lines, Failure> {
    let asked = Some(asked.trim().to_owned()).filter(|asked| !asked.is_empty() && asked != "*");
    let query = Query::Memories { brief: asked.is_none(), asked: asked.clone() };
    let memories = caller.session.query(caller.actor, query)?;
    let found = memories.as_array().map_or(&[][..], Vec::as_slice);
    let about = asked.as_ref().map(|asked| format!(" for {asked:?}")).unwrap_or_default();
    let next =
        if found.is_empty() { command("status", &json!({"recall": "*"})) } else { "status".to_owned() };
    let mut lines = Lines::state(format!("memories {}{about}", found.len())).then(next);
    for memory in found {
        let (day, _) = text(memory, "at").split_at_checked(10).unwrap_or_default();
        let head = format!("{} by {} on {day}", text(memory, "key"), text(memory, "author"));
        lines.add_text(&head, text(memory, "text"));
    }
    Ok(lines.with_data(json!({"memories": memories})))
}

use std::time::{Duration, Instant};

use beads_core::Op;
use beads_core::op::{Ask, Fence, Guard, Unclaim};
use beads_engine::failure::{Code, Failure};
use beads_engine::render::EventsAnswer;
use beads_engine::request::{Call, EventsQuery, Query, Reply};
use beads_store::Cursor;
use serde_json::{Value, json};

use super::globals::Globals;
use super::guard::GuardArgs;
use super::input::Input;
use super::{ask_at, stdout_reply};

/// The longest single wait for an event; the wait is repeated until the timeout.
const LONG_POLL: Duration = Duration::from_secs(30);

/// Ask a person about a bead
///
/// Records the question as a note and releases your claim. The bead is not ready until the question is
/// answered with `bd answer`; then it is offered to you first. `bd questions` lists the open questions.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd ask bd-a1 \"Which index should the query use?\" --option hash --option btree\n  bd ask bd-a1 \"May I drop the old table?\" --wait 10m"
)]
pub struct Args {
    /// Id of the bead; an unambiguous prefix is enough
    #[arg(value_name = "ID")]
    id: String,
    /// The question; - reads it from standard input
    #[arg(value_name = "QUESTION", allow_hyphen_values = true)]
    text: String,
    /// A suggested answer; repeat for more
    #[arg(long = "option", value_name = "TEXT")]
    options: Vec<String>,
    /// Keep the claim and wait up to TIME for the answer; without one, the claim is given back
    #[arg(long, value_name = "TIME", value_parser = super::globals::duration)]
    wait: Option<Duration>,
    #[command(flatten)]
    guard: GuardArgs,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let place = globals.place()?;
        let text = Input::Local.text(&self.text)?;
        let ask = Ask {
            id: self.id,
            guard: self.guard.guard(),
            text,
            options: self.options,
            keep: self.wait.is_some(),
        };
        let Some(wait) = self.wait else {
            return ask_at(&place, globals, Call::one(Op::Ask(ask)), |_| ());
        };
        let before: EventsAnswer =
            globals.value(&place, Call::query(Query::Events(EventsQuery::default())))?;
        let asked: Value = globals.value(&place, Call::one(Op::Ask(ask)))?;
        let id = asked["id"].as_str().unwrap_or_default().to_owned();
        let mut cursor: Cursor = before.cursor.parse()?;
        let deadline = Instant::now().checked_add(wait);
        loop {
            let left = deadline.map_or(LONG_POLL, |end| end.saturating_duration_since(Instant::now()));
            let events = EventsQuery { since: Some(cursor), ids: vec![id.clone()], limit: None };
            let call = Call::query(Query::Events(events)).waiting(Some(left.min(LONG_POLL)));
            let batch: EventsAnswer = globals.value(&place, call)?;
            let answered =
                batch.events.iter().find(|event| event.event.kind == beads_core::EventKind::Answered);
            if let Some(answer) = answered {
                let text = answer.event.text.clone().unwrap_or_default();
                return Ok(stdout_reply(match globals.format() {
                    beads_engine::request::Format::Json => {
                        beads_engine::render::json(&json!({"id": id, "answer": text, "by": answer.event.by}))
                    }
                    _ => format!("{}\n", beads_engine::escape::escape_lines(&text)),
                }));
            }
            cursor = batch.cursor.parse()?;
            if left.is_zero() && !batch.more {
                return Err(timed_out(globals, &place, &id, &asked));
            }
        }
    }
}

/// Releases the claim under its fence and reports that there is no answer.
fn timed_out(globals: &Globals, place: &beads_engine::place::Place, id: &str, asked: &Value) -> Failure {
    let fence = asked["fence"].as_str().and_then(|fence| fence.parse::<Fence>().ok());
    let guard = Guard { fence, ..Guard::default() };
    let unclaim = Unclaim { id: id.to_owned(), guard, ..Unclaim::default() };
    let released: Result<Value, Failure> = globals.value(place, Call::one(Op::Unclaim(unclaim)));
    let claim = match released {
        Ok(_) => "the claim was given back".to_owned(),
        Err(failure) => format!("the claim was not given back: {}", failure.message),
    };
    let message = format!("no answer for {id} yet; {claim}. The question stays open: bd questions lists it");
    Failure::new(Code::Timeout, message).with(json!({"id": id}))
}

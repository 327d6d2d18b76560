use beads_core::Op;
use beads_core::op::Delete;
use beads_engine::failure::{Code, Failure};
use beads_engine::request::{Call, Query, Reply};
use serde::Deserialize;
use serde_json::json;

use super::ask_at;
use super::globals::Globals;

/// Delete the memories with a key
///
/// They stay in the store, and `bd restore` brings them back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd forget release")]
pub struct Args {
    /// Key of the memories
    #[arg(value_name = "KEY")]
    key: String,
}

#[derive(Debug, Deserialize)]
struct Remembered {
    key: String,
    id: String,
    #[serde(default)]
    earlier: Vec<String>,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let place = globals.place()?;
        let asked = Query::Memories { asked: Some(self.key.clone()), brief: true };
        let found: Vec<Remembered> = globals.value(&place, Call::query(asked))?;
        // If no memory has this key, the answer lists those that mention it.
        let Some(found) = found.into_iter().find(|memory| memory.key == self.key) else {
            let message = format!("there is no memory with the key {:?}; bd recall lists the keys", self.key);
            return Err(Failure {
                details: json!({"kind": "memory"}),
                ..Failure::new(Code::NotFound, message)
            });
        };
        let ids = [vec![found.id], found.earlier].concat();
        let call = Call::each(ids, |id| Op::Delete(Delete { id, ..Delete::default() }));
        ask_at(&place, globals, call, |_| ())
    }
}

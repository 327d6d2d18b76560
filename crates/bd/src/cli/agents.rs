use beads_core::Timestamp;
use beads_engine::failure::Failure;
use beads_engine::render::{AgentAnswer, AgentMail, Answer};
use beads_engine::request::{Call, Query, Reply};

use super::filter::past_time;
use super::globals::Globals;
use crate::agent::mailbox;

/// List the agents, what each holds and how much it did
///
/// Lists every actor that holds beads or was heard from since a time: its state (dead, hung, quiet, working or
/// idle), its last sign of life, its sessions on this machine, the beads it closed and, for agents registered
/// with `bb agent`, unread messages and reservations.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd agents\n  bd agents --since 8h --json")]
pub struct Args {
    /// Beginning of the period: an age such as 8h, today, yesterday, a date, a local date-time or RFC 3339
    #[arg(long, short = 's', value_name = "TIME", default_value = "24h", value_parser = past_time)]
    since: Timestamp,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let query = Query::Agents { since: self.since };
        let mut agents: Vec<AgentAnswer> = globals.value(&globals.place()?, Call::query(query))?;
        let mut mail = mailbox::overview(&globals.directory()?);
        for agent in &mut agents {
            let address = mailbox::address_of(&agent.worker.actor);
            agent.mail = mail.remove(&address).map(|(unread, reservations)| AgentMail {
                agent: address,
                unread,
                reservations,
            });
        }
        globals.answer(Answer::Agents(agents))
    }
}

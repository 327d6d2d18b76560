//! Black-box tests of `bb agent`: one file per verb.
#![allow(clippy::unwrap_used)]

mod team;

mod ack;
mod damage;
mod errors;
mod guard;
mod heartbeat;
mod inbox;
mod list;
mod output;
mod read;
mod register;
mod release;
mod reserve;
mod root;
mod send;
mod show;
mod status;
mod swarm;
mod terminal;
mod workflow;

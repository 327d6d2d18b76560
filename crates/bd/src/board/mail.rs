//! The mailboxes and reservations of agents (`bb agent`), as the board shows them.

use std::collections::BTreeMap;
use std::path::Path;

use beads_core::Actor;
use beads_engine::failure::Failure;
use serde::Serialize;

use crate::agent::mailbox;
use crate::agent::message::Message;
use crate::agent::register::{Register, register};
use crate::agent::reservation::Reservation;
use crate::agent::send::{Send, send as send_mail};

/// The most messages of one agent that are shown.
const SHOWN: usize = 50;

/// The longest subject of a message; the rest of the first line is only in the body.
const SUBJECT: usize = 80;

/// What an agent has in its mailbox, in numbers.
#[derive(Debug, Serialize)]
pub struct MailCount {
    unread: usize,
    reserved: Vec<String>,
}

/// The mail and reservations of an agent, or those about a bead.
#[derive(Debug, Default, Serialize)]
pub struct Contents {
    /// Newest first.
    messages: Vec<Message>,
    reserved: Vec<Reservation>,
}

/// Returns the mailboxes of all registered agents by their addresses.
pub fn overview(directory: &Path) -> BTreeMap<String, MailCount> {
    let boxes = mailbox::overview(directory).into_iter();
    boxes.map(|(address, (unread, reserved))| (address, MailCount { unread, reserved })).collect()
}

/// Returns the mailbox of an actor; empty for one that never registered.
pub fn contents(directory: &Path, actor: &str) -> Contents {
    let read = || -> Option<Contents> {
        let address = mailbox::address_of(&actor.parse::<Actor>().ok()?);
        let store = mailbox::store(directory).ok()?.preview();
        let session = store.read().ok()?;
        let id = session.agent_ids().ok()?.into_iter().find(|id| id.to_string() == address)?;
        let sent = session.sent_to(&id).unwrap_or_default();
        let newest = sent.iter().rev().take(SHOWN);
        let held = session.reservations().ok()?.into_iter();
        Some(Contents {
            messages: session.readable(newest).collect(),
            reserved: held.filter(|held| held.agent_id == id && !held.is_expired(session.now)).collect(),
        })
    };
    read().unwrap_or_default()
}

/// Returns the messages about a bead and the reservations made for it, also those that ended.
pub fn about(directory: &Path, bead: &str) -> Contents {
    let read = || -> Option<Contents> {
        let store = mailbox::store(directory).ok()?.preview();
        let session = store.read().ok()?;
        let mut messages: Vec<Message> = Vec::new();
        for id in session.recipients().ok()? {
            let sent = session.sent_to(&id).unwrap_or_default();
            messages.extend(session.readable(sent.iter().filter(|one| one.bead_id == bead)));
        }
        messages.sort_by_key(|message| std::cmp::Reverse(message.created_at));
        messages.truncate(SHOWN);
        let mut reserved = session.reservations().ok()?;
        reserved.extend(session.history().unwrap_or_default());
        reserved.retain(|one| one.bead_id == bead);
        Some(Contents { messages, reserved })
    };
    read().unwrap_or_default()
}

/// Sends a message to an actor. Returns false if it has no mailbox.
pub fn send(directory: &Path, from: &Actor, to: &str, bead: &str, text: &str) -> Result<bool, Failure> {
    let to = mailbox::address_of(&to.parse::<Actor>()?);
    if !mailbox::overview(directory).contains_key(&to) {
        return Ok(false);
    }
    let store = mailbox::store(directory)?;
    let from = mailbox::address(from)?.to_string();
    if !mailbox::overview(directory).contains_key(&from) {
        let name = from.clone();
        register(&store, &Register { name, role: "person".to_owned(), ..Register::default() })?;
    }
    let subject: String = text.lines().next().unwrap_or_default().chars().take(SUBJECT).collect();
    let bead = Some(bead.to_owned());
    let (category, body) = ("INFO".to_owned(), text.to_owned());
    send_mail(&store, &Send { from, to, bead, category, subject, body, thread: None })?;
    Ok(true)
}

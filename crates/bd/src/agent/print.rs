//! Text output. Text from agents is escaped, so that it cannot control the terminal.

use std::fmt::Write;

use beads_engine::escape::{escape, escape_lines};

use super::agent_record::{Agent, Liveness, SeenAgent};
use super::doctor::Report;
use super::guard::{Decision, Verdict};
use super::message::Message;
use super::reservation::Reservation;
use super::send::Sent;
use super::status::StatusReport;

pub fn report(report: &Report) -> String {
    let mut text = format!("{} files checked, {} findings\n", report.files, report.findings.len());
    for finding in &report.findings {
        line(&mut text, format_args!("- {}", escape(&finding.message)));
    }
    text
}

pub fn registered(agent: &Agent) -> String {
    let Agent { agent_id, role, status, .. } = agent;
    format!("✓ Agent registered: {agent_id} (role: {}, status: {})\n", escape(role), escape(status))
}

pub fn agents(agents: &[SeenAgent]) -> String {
    let mut text = format!("Found {} agents:\n", agents.len());
    for SeenAgent { agent, liveness } in agents {
        let Agent { agent_id, role, status, last_seen_at, .. } = agent;
        let silent = match liveness {
            Liveness::Active => String::new(),
            other => format!(" {}, last seen {last_seen_at}", other.as_str()),
        };
        line(&mut text, format_args!("- {agent_id} ({}) [{}]{silent}", escape(role), escape(status)));
    }
    text
}

pub fn agent(seen: &SeenAgent) -> String {
    let Agent { agent_id, display_name, role, status, last_seen_at, .. } = &seen.agent;
    format!(
        "Agent: {agent_id}\nName: {}\nRole: {}\nStatus: {}\nLast Seen: {last_seen_at} ({})\n",
        escape(display_name),
        escape(role),
        escape(status),
        seen.liveness.as_str(),
    )
}

pub fn seen(agent: &Agent) -> String {
    format!("✓ Heartbeat: {} (last seen: {})\n", agent.agent_id, agent.last_seen_at)
}

pub fn sent(sent: &Sent) -> String {
    let one = std::slice::from_ref(&sent.message.message_id);
    let state = sent.message.state.as_str();
    let mut text = String::new();
    for id in sent.message_ids.as_deref().unwrap_or(one) {
        line(&mut text, format_args!("✓ Message sent: {id} (state: {state})"));
    }
    text
}

pub fn inbox(messages: &[Message]) -> String {
    let mut text = format!("Inbox ({}):\n", messages.len());
    for message in messages {
        let Message { message_id, category, subject, from_agent, .. } = message;
        let category = category.as_str();
        line(
            &mut text,
            format_args!("- [{message_id}] {category}: {} (from: {from_agent})", escape(subject)),
        );
    }
    text
}

pub fn read(message: &Message) -> String {
    format!("✓ Message read: {} (state: {})\n", message.message_id, message.state.as_str())
}

pub fn read_body(message: &Message) -> String {
    let Message { from_agent, bead_id, category, subject, body, .. } = message;
    format!(
        "{}From: {from_agent}\nBead: {}\n{}: {}\n\n{}\n",
        read(message),
        escape(bead_id),
        category.as_str(),
        escape(subject),
        escape_lines(body),
    )
}

pub fn acked(message: &Message) -> String {
    format!("✓ Message acked: {} (state: {})\n", message.message_id, message.state.as_str())
}

pub fn reserved(reservation: &Reservation) -> String {
    let Reservation { reservation_id, scope, expires_at, .. } = reservation;
    format!("✓ Scope reserved: {}\nScope: {}\nExpires: {expires_at}\n", escape(reservation_id), escape(scope))
}

pub fn released(reservation: &Reservation) -> String {
    format!("✓ Reservation released. State: {}\n", reservation.state.as_str())
}

pub fn status(report: &StatusReport) -> String {
    let mut text = format!("Active Reservations: {}\n", report.reservations.len());
    for Reservation { scope, agent_id, expires_at, .. } in &report.reservations {
        line(&mut text, format_args!("- {} (agent: {agent_id}, expires: {expires_at})", escape(scope)));
    }
    let waiting = &report.unacked_required_messages;
    line(&mut text, format_args!("Unacked Required Messages: {}", waiting.len()));
    for Message { message_id, category, subject, from_agent, to_agent, .. } in waiting {
        let (category, subject) = (category.as_str(), escape(subject));
        line(
            &mut text,
            format_args!("- [{message_id}] {category}: {subject} (from: {from_agent}, to: {to_agent})"),
        );
    }
    text
}

pub fn verdict(verdict: &Verdict) -> String {
    match verdict.decision {
        Decision::Allow => format!("✓ Allowed: {} paths\n", verdict.paths.len()),
        Decision::Unknown => String::new(),
    }
}

fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    writeln!(text, "{what}").expect("a String takes everything");
}

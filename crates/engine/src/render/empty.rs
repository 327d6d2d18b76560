//! Says on standard error that a list is empty. Standard output stays empty for pipes.

use super::answer::{Answer, UnfinishedAnswer};
use crate::request::Call;

/// Returns what there is none of, if the answer is an empty list.
pub fn note(answer: &Answer) -> Option<&'static str> {
    let (is_empty, note) = match answer {
        Answer::Beads(beads) => (beads.is_empty(), "no beads match"),
        Answer::Unfinished(UnfinishedAnswer { listed, hidden }) if *hidden == 0 => return note(listed),
        Answer::Linked(linked) => (linked.is_empty(), "no dependencies"),
        Answer::Notes(notes) => (notes.is_empty(), "no notes"),
        Answer::Memories(memories) => (memories.is_empty(), "no memories match"),
        Answer::Questions(questions) => (questions.is_empty(), "no open questions"),
        Answer::Labels(labels) => (labels.is_empty(), "no labels"),
        Answer::LabelsOf(labels) => (labels.iter().next().is_none(), "no labels"),
        Answer::Cycles(cycles) => (cycles.is_empty(), "no cycles"),
        Answer::Activity(activity) => (activity.events.is_empty(), "no events match"),
        Answer::Agents(agents) => (agents.is_empty(), "no agents"),
        Answer::Diff(differences) => (differences.is_empty(), "no differences"),
        Answer::Graph(graph) => (graph.nodes.is_empty(), "no beads match"),
        Answer::Epics(epics) => (epics.is_empty(), "no epics"),
        Answer::Conflicts(conflicts) => (conflicts.is_empty(), "no conflicts"),
        Answer::Sessions(sessions) => (sessions.is_empty(), "no sessions"),
        Answer::Findings(findings) => (findings.is_empty(), "no problems found"),
        _ => return None,
    };
    is_empty.then_some(note)
}

/// Returns what there was none of, if a request found nothing to change.
pub fn nothing_to_change(call: &Call, answer: &Answer) -> Option<&'static str> {
    let Answer::Many(done) = answer else { return None };
    let note = match call {
        Call::RenewHeld { .. } => "no claims to renew",
        Call::UnclaimAll { .. } => "no claims to release",
        Call::ReclaimExpired { .. } => "no expired claims",
        Call::CloseEligibleEpics { .. } => "no epics to close",
        _ => return None,
    };
    done.is_empty().then_some(note)
}

//! Renders answers as text: aligned and coloured on a terminal, plain when piped.

use std::fmt::Write;

use beads_core::query::{Finding, Links, Severity};
use beads_core::{BeadView, EdgeKind, MEMORY, counted};

use super::answer::{
    Answer, BalanceAnswer, EachAnswer, EdgeAnswer, InitAnswer, RepairAnswer, SettingAnswer, StatusAnswer,
    UnfinishedAnswer,
};
use super::done::{ClosedAndClaimed, ConfirmedAnswer, Done};
use super::style::{Style, age};
use super::wrap::wrap;
use super::{
    agents, conflict, detail, graph_answer, import, memory, past, planning, question, recap, report, rows,
    screen, sessions, settings, upkeep,
};
use crate::escape::escape;
use crate::request::Output;

/// Renders an answer as text.
pub fn render(answer: &Answer, output: &Output) -> String {
    let style = Style::new(output);
    let mut out = String::new();
    match answer {
        Answer::One(one) => {
            done(&mut out, one, output, style);
            directions(&mut out, one, output, style);
        }
        Answer::ClosedAndClaimed(ClosedAndClaimed { closed, claimed }) => {
            closed.iter().for_each(|one| done(&mut out, one, output, style));
            match claimed {
                Some(claimed) => done(&mut out, claimed, output, style),
                None => out.push_str("nothing is ready\n"),
            }
        }
        Answer::Each(items) => {
            for item in items {
                match item {
                    EachAnswer::Done(one) => done(&mut out, one, output, style),
                    EachAnswer::Failed(failure) => out.push_str(&escape(&failure.line())),
                }
            }
        }
        Answer::Many(many) => many.iter().for_each(|one| done(&mut out, one, output, style)),
        Answer::Partly(partly) => out.push_str(&render(&partly.done, output)),
        Answer::Confirmed(ConfirmedAnswer { claimed, remote }) => {
            let text = |name: &str| escape(claimed[name].as_str().unwrap_or_default()).into_owned();
            let by = remote.as_str().map_or_else(
                || "there is no remote".to_owned(),
                |name| format!("pushed to {}", escape(name)),
            );
            let _ = writeln!(
                out,
                "claimed {}: {} (until {}; {by})",
                text("id"),
                text("title"),
                style.time(&text("assignee_expires"), Style::at)
            );
        }
        Answer::Unconfirmed(_) => {}
        Answer::Revisions(revisions) => {
            for (id, revision) in revisions {
                let _ = writeln!(out, "{}  {revision}", style.id(id));
            }
        }
        Answer::ClaimOver(answer) => match &answer.claim_over {
            Some(over) => {
                let _ = writeln!(out, "{}", escape(&over.to_string()));
            }
            None => {
                let _ = writeln!(out, "claim {} is still active", answer.fence);
            }
        },
        Answer::Batch(batch) => batch.results.iter().for_each(|one| done(&mut out, one, output, style)),
        Answer::Details(details) => {
            for (index, detail) in details.iter().enumerate() {
                if index > 0 {
                    out.push('\n');
                }
                if style.is_piped() {
                    detail::bead(&mut out, &detail.bead, detail.progress.as_ref(), style);
                } else {
                    screen::bead(&mut out, detail, style);
                }
            }
        }
        Answer::Overview(beads) => {
            for bead in beads {
                let _ = writeln!(out, "{}  {}", style.id(bead.id.as_str()), escape(bead.title.as_str()));
            }
        }
        Answer::Links(Links { beads, edges, .. }) => {
            for (before, after) in edges {
                let _ = writeln!(out, "{} after {}", style.id(beads[*after].as_str()), beads[*before]);
            }
        }
        Answer::Beads(views) => rows::beads(&mut out, views, style),
        Answer::RenderedBeads(text) => out.push_str(text),
        Answer::Unfinished(UnfinishedAnswer { listed, hidden }) => {
            out = render(listed, output);
            if *hidden > 0 && !output.quiet {
                let beads = if *hidden == 1 { "bead is" } else { "beads are" };
                let line = format!("{hidden} closed {beads} hidden; --all shows them");
                let _ = writeln!(out, "{}", style.faint(&line));
            }
        }
        Answer::Linked(linked) => rows::linked(&mut out, linked, style),
        Answer::Notes(notes) => detail::notes(&mut out, notes, style),
        Answer::Memories(memories) => memory::render(&mut out, memories, style),
        Answer::Questions(questions) => question::render(&mut out, questions, style),
        Answer::Labels(labels) => {
            for label in labels {
                let _ = writeln!(out, "{:>6}  {}", label.count, escape(label.label.as_str()));
            }
        }
        Answer::LabelsOf(labels) => {
            for label in labels {
                let _ = writeln!(out, "{}", escape(label.as_str()));
            }
        }
        Answer::Tree(nodes) => rows::tree(&mut out, nodes, style),
        Answer::Cycles(cycles) => {
            for cycle in cycles {
                let ids: Vec<_> = cycle.ids.iter().map(beads_core::BeadId::as_str).collect();
                let _ = writeln!(out, "{}: {}", cycle.kind, ids.join(" -> "));
            }
        }
        Answer::Log(log) => past::log(&mut out, log, style),
        Answer::Recap(answer) => recap::render(&mut out, answer, style),
        Answer::Activity(answer) => super::events::lines(&mut out, &answer.events, style),
        Answer::Agents(answers) => agents::list(&mut out, answers, style),
        Answer::Blame(fields) => past::blame(&mut out, fields, style),
        Answer::Diff(differences) => past::diff(&mut out, differences, style),
        Answer::Undone(undone) => past::undone(&mut out, undone, output, style),
        Answer::Explained(explained) => planning::explain(&mut out, explained, style),
        Answer::Planned(plan) => planning::plan(&mut out, plan, style),
        Answer::Graph(graph) => graph_answer::render(&mut out, graph, style),
        Answer::Epics(epics) => rows::epics(&mut out, epics, style),
        Answer::Count(counted) => {
            let _ = writeln!(out, "{}", counted.count);
        }
        Answer::CountBy(counted) => {
            for group in &counted.groups {
                let _ = writeln!(out, "{:>6}  {}", group.count, escape(&group.group));
            }
        }
        Answer::Events(batch) => out.push_str(&super::events::events(&batch.events, output)),
        Answer::Status(status) => {
            self::status(&mut out, status, style);
            if let Some(width) = style.width() {
                out = wrap(&out, width);
            }
        }
        Answer::Findings(findings) => self::findings(&mut out, findings, style),
        Answer::Repair(repair) => self::repair(&mut out, repair),
        Answer::Archived(answer) => upkeep::archived(&mut out, answer),
        Answer::Orphans(orphans) => upkeep::orphans(&mut out, orphans),
        Answer::Daemon(daemon) => match daemon.pid {
            Some(pid) => {
                let _ = writeln!(out, "running as process {pid}, listening on {}", daemon.socket);
                for (what, progress) in [("sync", daemon.sync), ("import", daemon.import)] {
                    if let Some(progress) = progress {
                        let _ = writeln!(out, "{what}: {progress}");
                    }
                }
            }
            None => out.push_str("not running\n"),
        },
        Answer::Initialised(init) => {
            if !output.quiet {
                initialised(&mut out, init);
            }
        }
        Answer::Imported(imported) => import::summary(&mut out, &imported.summary, output),
        Answer::Rescued(rescued) => {
            let would = if rescued.dry_run { "would be " } else { "" };
            let (added, changed, conflicts) = (rescued.added, rescued.changed, rescued.conflicts);
            let (added, conflicts) = (counted(added, "bead"), counted(conflicts, "conflict"));
            out.push_str(&format!("{added} {would}added, {changed} {would}changed, {conflicts}\n"));
        }
        Answer::Compared(comparison) => import::comparison(&mut out, comparison, output),
        Answer::Exported(exported) => match (&exported.content, &exported.path) {
            (Some(content), _) => out.push_str(content),
            (None, Some(path)) if !output.quiet => {
                let path = path.display().to_string();
                let _ = writeln!(out, "exported {} to {}", counted(exported.beads, "bead"), escape(&path));
            }
            (None, _) => {}
        },
        Answer::Synced(synced) if !output.quiet && !style.is_piped() => report::synced(&mut out, synced),
        // Contract 1: `sync` writes nothing to a pipe. Its report goes to standard error.
        Answer::Synced(_) => {}
        Answer::HubStatus(status) => out.push_str(&status.text()),
        Answer::Hub(done) => out.push_str(&done.text()),
        Answer::Verified(verified) => {
            let _ = writeln!(out, "{}", verified.fingerprint);
        }
        Answer::Conflicts(conflicts) => conflict::list(&mut out, conflicts, output, style),
        Answer::Conflict(one) => conflict::one(&mut out, one, style),
        Answer::Uninstalled(answer) => upkeep::uninstalled(&mut out, answer),
        Answer::Heartbeat(answer) => sessions::heartbeat(&mut out, answer),
        Answer::Sessions(answers) => sessions::list(&mut out, answers, style),
        Answer::Setting(SettingAnswer { key, value }) => {
            let _ = if output.verbose { writeln!(out, "{key} = {value}") } else { writeln!(out, "{value}") };
        }
        Answer::SettingsDescribed(all) => settings::render(&mut out, all, style),
        Answer::Settings(settings) => {
            for (key, value) in settings {
                let _ = writeln!(out, "{key} = {value}");
            }
        }
    }
    out
}

fn initialised(out: &mut String, init: &InitAnswer) {
    let InitAnswer { prefix, git_dir, compat } = init;
    let _ = writeln!(out, "Store ready in {} (ids start with {prefix}-)", git_dir.display());
    let Some(compat) = compat else { return };
    out.push_str("json.dialect = compat: --json output has the form that clients of the Go bd expect\n");
    let _ = writeln!(out, "Metadata for these clients: {}", compat.metadata.display());
    match (compat.export_path, &compat.not_exported) {
        (Some(path), _) => {
            let _ = writeln!(out, "Every change is exported to {path}");
        }
        (None, Some(why)) => {
            let _ = writeln!(out, "Not exported: {}", escape(why));
        }
        (None, None) => {}
    }
}

fn done(out: &mut String, one: &Done, output: &Output, style: Style) {
    // Contract 1: `close` writes nothing to a pipe. Its report goes to standard error.
    if output.quiet || (one.verb == "closed" && style.is_piped()) {
        return;
    }
    if output.ids_only {
        let _ = one.bead.iter().try_for_each(|bead| writeln!(out, "{}", bead.id));
        return;
    }
    if one.unchanged {
        // Standard error has the reason.
        return;
    }
    let would = if one.dry_run { "would have " } else { "" };
    if let Some(edge) = &one.edge {
        edge_line(out, would, edge);
    } else if let Some(bead) = one.bead.as_ref().filter(|bead| one.verb == "created" && is_memory(bead)) {
        let (key, id) = (escape(bead.title.as_str()), style.id(bead.id.as_str()));
        let _ = writeln!(out, "{would}remembered {key} as {id}");
    } else if let Some(bead) = &one.bead {
        let verb = if one.renewed { "renewed" } else { one.verb };
        let title = style.fit(&escape(bead.title.as_str()), bead.id.as_str().len() + verb.len() + 4);
        let _ = write!(out, "{would}{verb} {}: {title}", style.id(bead.id.as_str()));
        if matches!(one.verb, "claimed" | "renewed")
            && let Some(expires) = bead.assignee_expires
        {
            let _ = write!(out, " (until {})", style.at(expires));
        }
        if one.verb == "answered"
            && bead.offered
            && let Some(asker) = &bead.assignee
        {
            let _ = write!(out, " (offered to {}, after ten minutes to everyone)", escape(asker.as_str()));
        }
        out.push('\n');
        report::unblocked(out, one, style);
        if let Some(brief) = one.brief.as_ref().filter(|_| one.next) {
            if let Some(fence) = one.fence {
                let _ = writeln!(out, "{}", style.faint(&format!("fence {fence}")));
            }
            brief.text(out, style);
        }
    }
}

fn is_memory(bead: &BeadView) -> bool {
    bead.type_word.as_ref().is_some_and(|word| word.as_str() == MEMORY)
}

/// Writes the direction of each dependency of a new bead. The answer to a whole graph lists its edges anyway.
fn directions(out: &mut String, one: &Done, output: &Output, style: Style) {
    let is_shown = one.verb == "created" && !output.quiet && !output.ids_only;
    let Some(bead) = one.bead.as_ref().filter(|_| is_shown) else { return };
    let id = style.id(bead.id.as_str());
    for link in bead.dependencies.iter().filter(|link| link.kind == EdgeKind::Blocks) {
        let _ = writeln!(out, "{id} waits for {}", style.id(link.id.as_str()));
    }
    for link in bead.dependents.iter().filter(|link| link.kind == EdgeKind::Blocks) {
        let _ = writeln!(out, "{id} blocks {}", style.id(link.id.as_str()));
    }
}

pub(super) fn edge_line(out: &mut String, would: &str, edge: &EdgeAnswer) {
    let EdgeAnswer { status, issue_id, depends_on_id, dependency_type, .. } = edge;
    let _ = writeln!(out, "{would}{status} {issue_id} -> {depends_on_id} ({dependency_type})");
}

fn status(out: &mut String, status: &StatusAnswer, style: Style) {
    let summary = &status.summary;
    let rows = [
        ("open", summary.open_issues),
        ("in progress", summary.in_progress_issues),
        ("closed", summary.closed_issues),
        ("total", summary.total_issues),
        ("ready", summary.ready_issues),
        ("blocked", summary.blocked_issues),
        ("deferred", summary.deferred_issues),
        ("deleted", summary.deleted_issues),
    ];
    for (name, count) in rows {
        let _ = writeln!(out, "{name:<12} {count:>6}");
    }
    if summary.archived_issues > 0 {
        let _ = writeln!(out, "{:<12} {:>6}", "archived", summary.archived_issues);
    }
    if status.memories > 0 {
        let _ = writeln!(out, "{:<12} {:>6}", "memories", status.memories);
    }
    let _ = writeln!(out, "{:<12} {:>6}", "unsaved", status.unsaved);
    if let Some(age) = status.oldest_unsaved_ms {
        let _ = writeln!(out, "oldest unsaved change: {} ago", self::age(age));
    }
    for skew in &status.clock_skew {
        let since = skew.since.map(|since| format!(" since {}", style.moment(since))).unwrap_or_default();
        let ahead = age(skew.ahead_ms);
        let actor = escape(skew.actor.as_str());
        let beads = counted(skew.beads, "bead");
        let _ = writeln!(out, "clock skew: {actor} wrote {ahead} ahead on {beads}{since}");
    }
    for skipped in &status.skipped_records {
        let _ = writeln!(out, "skipped {}", escape(skipped));
    }
    if !status.stuck.is_empty() {
        let _ = writeln!(out, "{:<12} {:>6}", "stuck", status.stuck.len());
        out.push_str(
            "in progress without a claim: run bd update ID --status open to free one, bd doctor to list them\n",
        );
    }
    agents::working(out, &status.working, style);
    sessions::silent(out, &status.silent, style);
    recap::waiting(out, &status.waiting, style);
    let sync = &status.sync;
    if let Some(remote) = sync.remote.as_ref().filter(|_| sync.local_only.is_none()) {
        let last = sync.last_success.as_deref().map(|time| style.time(time, Style::ago));
        let last = last.unwrap_or_else(|| "never".to_owned());
        let _ = writeln!(out, "{:<12} {:>6}\nlast synced with {remote}: {last}", "unsynced", sync.unsynced);
        if let Some(age) = sync.oldest_unsynced_ms.filter(|_| sync.unsynced > 0) {
            let _ = writeln!(out, "oldest unsynced change: {} ago", self::age(age));
        }
    }
    if let Some(error) = &sync.last_error {
        let _ = writeln!(out, "sync failing for {}: {}", age(error.age_ms), escape(&error.message));
    }
    if let Some(error) = &sync.hub_error {
        let _ = writeln!(out, "no hub for {}: {}", age(error.age_ms), escape(&error.message));
    }
    if sync.conflicts > 0 {
        let _ = writeln!(out, "{:<12} {:>6}", "conflicts", sync.conflicts);
    }
    if let Some(budget) = &sync.push_budget {
        let waits = budget.waits_ms.map(|ms| format!(", next push in {} s", ms.div_ceil(1_000)));
        let (rate, machines, used) = (budget.rate, budget.machines, budget.last_minute);
        let waits = waits.unwrap_or_default();
        let _ = writeln!(
            out,
            "push budget: {rate} per minute for {machines} active, {used} used here in the last minute{waits}"
        );
    }
    if let Some(reason) = &sync.claim_refs_refused {
        let _ = writeln!(out, "the remote rejects claim refs: {}", escape(reason));
    }
    conflict::lost_claims(out, &sync.lost_claims);
    let commit = status.commit.as_deref().map_or("(no commit yet)", |commit| &commit[..commit.len().min(12)]);
    let _ = writeln!(out, "{} at {commit} in {}", status.reference, status.git_dir.display());
}

fn findings(out: &mut String, findings: &[Finding], style: Style) {
    for finding in findings {
        let severity = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        };
        let place = match (finding.file, finding.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: "),
            (Some(file), None) => format!("{file}: "),
            _ => String::new(),
        };
        let _ = writeln!(out, "{severity}: {place}{}", escape(&finding.message));
    }
    if findings.is_empty() && !style.is_piped() {
        out.push_str("No problems found\n");
    }
}

fn repair(out: &mut String, repair: &RepairAnswer) {
    if repair.damage.is_empty() {
        out.push_str("Nothing to repair\n");
        return;
    }
    for damage in &repair.damage {
        let _ = writeln!(out, "damage: {}", escape(damage));
    }
    for lost in &repair.unreadable {
        let line = lost.line.map(|line| format!(" line {line}")).unwrap_or_default();
        let _ = writeln!(out, "unreadable: {}{line}: {}", escape(&lost.file), escape(&lost.reason));
    }
    for (when, balance) in [("before", &repair.before), ("after", &repair.after)] {
        if let Some(BalanceAnswer { beads, deleted, dependencies }) = balance {
            let counts = [(beads, "bead"), (deleted, "deleted bead"), (dependencies, "dependency")];
            let counts = counts.map(|(count, noun)| counted(*count, noun)).join(", ");
            let _ = writeln!(out, "{when}: {counts}");
        }
    }
    for action in &repair.actions {
        let _ = writeln!(out, "{} {}", if repair.applied { "did:" } else { "would:" }, escape(action));
    }
    if repair.applied && !repair.unreadable.is_empty() {
        out.push_str("Unreadable data is kept in the backup\n");
    }
}

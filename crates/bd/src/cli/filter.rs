//! The filters that several verbs share.

use beads_core::query::{Filter, Sort, SortKey, StatusFilter};
use beads_core::{Actor, Label, Priority, Timestamp, TypeName};
use beads_engine::config::parse_duration;
use clap::Args;

use super::future_time::future_time;
use crate::moment;

#[derive(Debug, Clone, Args)]
pub struct FilterArgs {
    /// Status: open, in_progress, closed, blocked, deferred, another custom one, or all; comma-separated
    #[arg(long, short = 's', value_delimiter = ',')]
    status: Vec<StatusArg>,
    /// Type: bug, feature, task, epic, chore, or a custom one such as decision; comma-separated
    #[arg(long = "type", short = 't', value_name = "TYPE", value_delimiter = ',')]
    kind: Vec<TypeName>,
    /// Exact priority: 0 to 4, P0 to P4, high, medium or low
    #[arg(
        long,
        short = 'p',
        value_name = "0-4",
        conflicts_with_all = ["priority_min", "priority_max"]
    )]
    priority: Option<Priority>,
    /// This priority or a less urgent one
    #[arg(long, value_name = "0-4")]
    priority_min: Option<Priority>,
    /// This priority or a more urgent one
    #[arg(long, value_name = "0-4")]
    priority_max: Option<Priority>,
    /// Assigned to NAME; me for yourself
    #[arg(long, short = 'a', value_name = "NAME")]
    assignee: Option<Actor>,
    /// Without an assignee
    #[arg(long, conflicts_with = "assignee", visible_alias = "no-assignee")]
    unassigned: bool,
    /// With all of these labels
    #[arg(long, short = 'l', value_name = "LABEL,…", value_delimiter = ',', visible_alias = "labels")]
    label: Vec<Label>,
    /// With any of these labels
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',')]
    label_any: Vec<Label>,
    /// Only these ids; unknown ids are ignored
    #[arg(long = "id", value_name = "ID,…", value_delimiter = ',')]
    ids: Option<Vec<String>>,
    /// Title contains TEXT (case-insensitive)
    #[arg(long, value_name = "TEXT", visible_alias = "title")]
    title_contains: Option<String>,
    /// Created at or after TIME: RFC 3339, a local date-time, a date, or an age such as 3d
    #[arg(long, value_name = "TIME", value_parser = time)]
    created_after: Option<Timestamp>,
    /// Created before TIME
    #[arg(long, value_name = "TIME", value_parser = time)]
    created_before: Option<Timestamp>,
    /// Updated at or after TIME
    #[arg(long, value_name = "TIME", value_parser = time)]
    updated_after: Option<Timestamp>,
    /// Updated before TIME
    #[arg(long, value_name = "TIME", value_parser = time)]
    updated_before: Option<Timestamp>,
    /// Closed at or after TIME
    #[arg(long, value_name = "TIME", value_parser = time)]
    closed_after: Option<Timestamp>,
    /// Closed before TIME
    #[arg(long, value_name = "TIME", value_parser = time)]
    closed_before: Option<Timestamp>,
    /// Due before TIME: RFC 3339, a local date-time, a date, or a time from now such as +2d
    #[arg(long, value_name = "TIME", value_parser = future_time)]
    due_before: Option<Timestamp>,
    /// Unfinished and due before now
    #[arg(long, conflicts_with = "due_before")]
    overdue: bool,
    /// Sort by priority, created (or oldest), updated, closed, id, title, status, type, assignee, due or
    /// impact; append :asc or :desc to set the direction
    #[arg(long, value_name = "KEY[:asc|:desc]", default_value = "priority", value_parser = sort)]
    sort: Sort,
    /// Reverse the order
    #[arg(long, short = 'r')]
    reverse: bool,
    /// Show at most N beads; 0 for all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 0)]
    limit: usize,
}

/// Filters of a list that can be limited to the children of one bead.
#[derive(Debug, Clone, Args)]
pub struct SelectionArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Direct children of this bead
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
}

impl SelectionArgs {
    /// Returns whether `--status all` was given.
    pub fn wants_every_status(&self) -> bool {
        self.filter.wants_every_status()
    }

    pub fn filter(self) -> Filter {
        Filter { parent: self.parent, ..self.filter.filter() }
    }
}

/// A status to filter by, or `all`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum StatusArg {
    All,
    One(StatusFilter),
}

impl std::str::FromStr for StatusArg {
    type Err = beads_core::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "all" { Ok(Self::All) } else { text.parse().map(Self::One) }
    }
}

impl FilterArgs {
    /// Returns whether `--status all` was given.
    pub fn wants_every_status(&self) -> bool {
        self.status.contains(&StatusArg::All)
    }

    pub fn filter(self) -> Filter {
        let one = |status: &StatusArg| match status {
            StatusArg::All => None,
            StatusArg::One(status) => Some(status.clone()),
        };
        let mut status: Vec<StatusFilter> =
            if self.wants_every_status() { Vec::new() } else { self.status.iter().filter_map(one).collect() };
        if self.overdue && self.status.is_empty() {
            status = vec![StatusFilter::Open, StatusFilter::InProgress];
        }
        let wants_deferred =
            status.iter().any(|one| matches!(one, StatusFilter::Word(word) if word.as_str() == "deferred"));
        Filter {
            ids: self.ids,
            status,
            types: self.kind,
            priority_min: self.priority.or(self.priority_min),
            priority_max: self.priority.or(self.priority_max),
            assignee: self.assignee,
            unassigned: self.unassigned,
            labels: self.label,
            labels_any: self.label_any,
            title_contains: self.title_contains,
            created_after: self.created_after,
            created_before: self.created_before,
            updated_after: self.updated_after,
            updated_before: self.updated_before,
            closed_after: self.closed_after,
            closed_before: self.closed_before,
            due_before: if self.overdue { now() } else { self.due_before },
            deferred_at: if wants_deferred { now() } else { None },
            sort: Sort { by: self.sort.by, reverse: self.sort.reverse != self.reverse },
            limit: (self.limit > 0).then_some(self.limit),
            ..Filter::default()
        }
    }
}

/// Parses a sort key with an optional direction.
fn sort(text: &str) -> Result<Sort, String> {
    let (key, direction) =
        text.split_once(':').map_or((text, None), |(key, direction)| (key, Some(direction)));
    let by: SortKey = key.parse().map_err(|error: beads_core::Error| error.to_string())?;
    let reverse = match direction {
        None => false,
        Some("asc") => by.is_descending(),
        Some("desc") => !by.is_descending(),
        Some(other) => return Err(format!("{other:?} is not asc or desc")),
    };
    Ok(Sort { by, reverse })
}

/// Parses a time as [`moment::read`] does, or an age.
pub fn time(text: &str) -> Result<Timestamp, String> {
    moment::read(text).or_else(|error| ago(text).map_err(|why| format!("{error}, or an age such as 3d{why}")))
}

/// Parses a time as [`time`] does, or `today` or `yesterday`: midnight in this process's time zone.
pub fn past_time(text: &str) -> Result<Timestamp, String> {
    let days = match text {
        "today" => 0,
        "yesterday" => 1,
        _ => return time(text),
    };
    moment::midnight(days).ok_or_else(|| format!("{text}: the clock is wrong"))
}

fn now() -> Option<Timestamp> {
    Timestamp::from_ms(beads_store::World::now_ms(&beads_store::RealWorld)).ok()
}

/// Parses an age, or returns what to add to the error message. A bare number could mean a year, days or seconds.
fn ago(text: &str) -> Result<Timestamp, &'static str> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(" (a number needs a unit, and a year a month and a day)");
    }
    if text.starts_with('+') {
        return Err(" (a time with + is in the future)");
    }
    let age = parse_duration(text).map_err(|_| "")?;
    let now = beads_store::World::now_ms(&beads_store::RealWorld);
    let ms = now.saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
    Timestamp::from_ms(ms).map_err(|_| "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_need_a_unit_and_no_sign() {
        let (hour, day) = (time("1h").unwrap(), time("1d").unwrap());
        assert!(day < hour);
        assert_eq!(time("2026-01-01").unwrap().to_string(), "2026-01-01T00:00:00.000Z");
        for (bad, why) in [
            ("2026", "(a number needs a unit, and a year a month and a day)"),
            ("0", "(a number needs a unit, and a year a month and a day)"),
            ("+1d", "(a time with + is in the future)"),
            ("+5", "(a time with + is in the future)"),
            ("", "such as 3d"),
            ("soon", "such as 3d"),
        ] {
            let error = time(bad).unwrap_err();
            assert!(error.ends_with(why), "{bad}: {error}");
        }
    }
}

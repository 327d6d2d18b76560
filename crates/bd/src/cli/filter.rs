//! The filters that list, search, ready, blocked and count share.

use beads_core::query::{Filter, Sort, SortKey, StatusFilter};
use beads_core::{Actor, Label, Priority, Timestamp, TypeName};
use beads_engine::failure::Failure;
use clap::Args;

#[derive(Debug, Clone, Args)]
pub struct FilterArgs {
    /// open, in_progress, closed, blocked, or a word such as deferred; several separated by commas
    #[arg(long, short = 's', value_delimiter = ',')]
    status: Vec<StatusFilter>,
    /// bug, feature, task, epic, chore, or a word such as decision; several separated by commas
    #[arg(long = "type", short = 't', value_name = "TYPE", value_delimiter = ',')]
    kind: Vec<TypeName>,
    /// Exactly this priority
    #[arg(
        long,
        short = 'p',
        value_name = "0-4",
        allow_negative_numbers = true,
        conflicts_with_all = ["priority_min", "priority_max"]
    )]
    priority: Option<Priority>,
    /// This priority or a less urgent one
    #[arg(long, value_name = "0-4", allow_negative_numbers = true)]
    priority_min: Option<Priority>,
    /// This priority or a more urgent one
    #[arg(long, value_name = "0-4", allow_negative_numbers = true)]
    priority_max: Option<Priority>,
    /// In these hands
    #[arg(long, short = 'a', value_name = "NAME")]
    assignee: Option<Actor>,
    /// In nobody's hands
    #[arg(long, conflicts_with = "assignee", visible_alias = "no-assignee")]
    unassigned: bool,
    /// With all of these labels
    #[arg(long, short = 'l', value_name = "LABEL,…", value_delimiter = ',', visible_alias = "labels")]
    label: Vec<Label>,
    /// With any of these labels
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',')]
    label_any: Vec<Label>,
    /// Only these ids; unknown ones are silently left out
    #[arg(long = "id", value_name = "ID,…", value_delimiter = ',')]
    ids: Option<Vec<String>>,
    /// With this in the title, in any case
    #[arg(long, value_name = "TEXT", visible_alias = "title")]
    title_contains: Option<String>,
    /// Made at or after this time: RFC 3339, a date, or an age such as 3d
    #[arg(long, value_name = "TIME", value_parser = time)]
    created_after: Option<Timestamp>,
    #[arg(long, value_name = "TIME", value_parser = time)]
    created_before: Option<Timestamp>,
    #[arg(long, value_name = "TIME", value_parser = time)]
    updated_after: Option<Timestamp>,
    #[arg(long, value_name = "TIME", value_parser = time)]
    updated_before: Option<Timestamp>,
    #[arg(long, value_name = "TIME", value_parser = time)]
    closed_after: Option<Timestamp>,
    #[arg(long, value_name = "TIME", value_parser = time)]
    closed_before: Option<Timestamp>,
    /// priority, created (or oldest), updated, closed, id, title, status, type, assignee or impact
    #[arg(long, value_name = "KEY", default_value = "priority")]
    sort: SortKey,
    /// The other way round
    #[arg(long, short = 'r')]
    reverse: bool,
    /// At most so many; 0 for all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    limit: usize,
}

impl FilterArgs {
    pub fn filter(self) -> Filter {
        Filter {
            ids: self.ids,
            status: self.status,
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
            sort: Sort { by: self.sort, reverse: self.reverse },
            limit: (self.limit > 0).then_some(self.limit),
            ..Filter::default()
        }
    }
}

/// RFC 3339, a date (its first moment in UTC), or an age.
pub fn time(text: &str) -> Result<Timestamp, String> {
    if let Some(time) = moment(text) {
        return Ok(time);
    }
    ago(text).map_err(|_| format!("{text:?} is neither an RFC 3339 time, nor a date, nor an age such as 3d"))
}

/// RFC 3339, or a date.
pub fn moment(text: &str) -> Option<Timestamp> {
    let date = || text.parse::<jiff::civil::Date>().ok();
    let first_moment = || format!("{}T00:00:00Z", date()?).parse().ok();
    text.parse().ok().or_else(first_moment)
}

fn ago(text: &str) -> Result<Timestamp, Failure> {
    let age = beads_engine::config::parse_duration(text)?;
    let now = beads_store::World::now_ms(&beads_store::RealWorld);
    let ms = now.saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
    Ok(Timestamp::from_ms(ms)?)
}

//! Keeps the rendered rows of long lists until their beads change.
//!
//! Rendering a bead takes a hundred times as long as copying the result. A row shows more than its bead: its
//! id, which a merge may change, and the beads at the other ends of its edges. So the cache keeps a copy of
//! the state that its rows were rendered from, and drops the rows of all beads whose views differ from it.
//! What depends on time or on the query is never kept: silent sessions, and the open children of an epic.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use beads_core::{Catalog, Lineage, Stamp, State, Status};

use super::reader::Reader;
use crate::dialect::Dialect;
use crate::render::{json_list, json_row};

/// A list is long if it has at least this many beads. Shorter lists are rendered every time, because
/// comparing two states takes longer the larger the store is.
pub(super) const LONG_LIST: usize = 100;

/// The maximum size of all rows. Further rows are rendered every time.
const MAX_BYTES: usize = 24 * 1024 * 1024;

/// Rows are dropped when no long list has been requested for this long, and so are indexes.
pub(super) const LIFETIME: Duration = Duration::from_secs(60);

/// Rendered rows by bead, and the state that they were rendered from.
#[derive(Debug, Default)]
pub(super) struct RowCache(Mutex<Rows>);

#[derive(Debug, Default)]
struct Rows {
    state: State,
    /// One map for each dialect.
    by_dialect: [HashMap<Lineage, Row>; 2],
    bytes: usize,
    last_used: Option<Instant>,
}

#[derive(Debug)]
struct Row {
    text: Box<str>,
    /// The fence of the claim on a bead in progress, whose session may fall silent at any time.
    held: Option<Stamp>,
}

impl RowCache {
    /// Returns a list for `--json`. Each bead comes with the number of open children that its row shows.
    /// Returns `None` if another thread is using the cache or a bead does not exist.
    pub(super) fn render<'a>(
        &self,
        reader: &Reader<'_>,
        found: impl ExactSizeIterator<Item = (&'a Lineage, Option<usize>)>,
        dialect: Dialect,
    ) -> Option<String> {
        let mut rows = self.0.try_lock().ok()?;
        rows.last_used = Some(Instant::now());
        rows.update(reader.catalog);
        rows.render(reader, &found.collect::<Vec<_>>(), dialect)
    }

    /// Returns when the rows expire, if there are any.
    pub(super) fn expires_at(&self) -> Option<Instant> {
        // A thread that is using the rows extends their life; the engine looks again at its next wake-up.
        Some(self.0.try_lock().ok()?.last_used? + LIFETIME)
    }

    /// Drops the rows if they have expired.
    pub(super) fn expire(&self, now: Instant) {
        if let Ok(mut rows) = self.0.try_lock()
            && rows.last_used.is_some_and(|used| used + LIFETIME <= now)
        {
            *rows = Rows::default();
        }
    }
}

impl Rows {
    /// Drops the rows that are out of date.
    fn update(&mut self, catalog: &Catalog) {
        if self.state.is_same_copy(catalog.state()) {
            return;
        }
        match catalog.views_changed_since(&self.state) {
            Some(changed) => {
                for rows in &mut self.by_dialect {
                    for row in changed.iter().filter_map(|lineage| rows.remove(lineage)) {
                        self.bytes -= row.text.len();
                    }
                }
            }
            None => {
                self.by_dialect = Default::default();
                self.bytes = 0;
            }
        }
        self.state = catalog.state().clone();
    }

    fn render(
        &mut self,
        reader: &Reader<'_>,
        found: &[(&Lineage, Option<usize>)],
        dialect: Dialect,
    ) -> Option<String> {
        // The rows that cannot be kept, by their index in the list.
        let mut fresh: HashMap<usize, String> = HashMap::new();
        let mut length = 0;
        for (index, (lineage, open_children)) in found.iter().enumerate() {
            if let Some(row) = self.by_dialect[dialect as usize].get(*lineage)
                && open_children.is_none()
                && row.held.is_none_or(|_| !reader.is_silent(lineage, row.held))
            {
                length += row.text.len();
                continue;
            }
            let mut view = reader.view(lineage).ok()?;
            view.facts.open_children = *open_children;
            let held = view.assignee_at.filter(|_| view.status == Status::InProgress);
            let lasts = open_children.is_none() && view.silent_since.is_none();
            let text = json_row(view, dialect);
            length += text.len();
            if lasts && self.bytes + text.len() <= MAX_BYTES {
                self.bytes += text.len();
                let row = Row { text: text.into(), held };
                self.by_dialect[dialect as usize].insert((*lineage).clone(), row);
            } else {
                fresh.insert(index, text);
            }
        }
        let kept = &self.by_dialect[dialect as usize];
        let texts = found.iter().enumerate().map(|(index, (lineage, _))| match fresh.get(&index) {
            Some(text) => text.as_str(),
            None => &kept[*lineage].text,
        });
        Some(json_list(texts, length))
    }
}

#[cfg(test)]
mod tests {
    use beads_core::op::Op;
    use beads_core::query::ReadyFilter;
    use beads_core::{BeadView, Clock, Context};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::render::{Answer, reply};
    use crate::request::{Format, Output};
    use crate::service::sessions::Sessions;

    /// Two replicas that use the same ids, so that joining them gives beads other ids.
    struct Replica {
        catalog: Catalog,
        clock: Clock,
        sessions: Sessions,
        now_ms: u64,
    }

    impl Replica {
        fn new(tag: u16) -> Self {
            Self {
                catalog: Catalog::default(),
                clock: Clock::new(Stamp::ZERO, tag),
                sessions: Sessions::default(),
                now_ms: 1_700_000_000_000,
            }
        }

        /// Applies an operation, unless it is refused.
        fn apply(&mut self, op: Value) {
            self.now_ms += 1;
            let op: Op = serde_json::from_value(op).unwrap();
            let mut context = Context {
                actor: "ann".parse().unwrap(),
                now_ms: self.now_ms,
                clock: &mut self.clock,
                random: &mut || 4,
                branch: Default::default(),
                lease_ms: 600_000,
            };
            if let Ok(applied) = op.apply(&self.catalog, &mut context) {
                self.catalog.join_delta(&applied.delta).unwrap();
            }
        }

        fn step(&mut self, (kind, a, b): (u8, u8, u8), other: &Self) {
            let [id, to] = [a, b].map(|n| format!("bd-{}", n % 6));
            match kind {
                0 | 1 => {
                    self.apply(json!({"op": "create", "id": id, "title": format!("T{b}"), "type": "epic"}));
                }
                2 => self.apply(json!({"op": "update", "id": id, "title": format!("\u{202e}{b}")})),
                3 => self.apply(json!({"op": "dep_add", "from": id, "to": to})),
                4 => self.apply(json!({"op": "dep_add", "from": id, "to": to, "kind": "parent"})),
                5 => self.apply(json!({"op": "dep_remove", "from": id, "to": to})),
                6 => self.apply(json!({"op": "close", "id": id})),
                7 => self.apply(json!({"op": "delete", "id": id})),
                8 => self.apply(json!({"op": "note_add", "id": id, "content": format!("N{b}")})),
                9 => {
                    self.apply(json!({"op": "claim", "id": id}));
                    let held = self.catalog.resolve(&id).ok().cloned();
                    let fence = held.as_ref().and_then(|lineage| self.catalog.bead(lineage)?.claim.fence());
                    if let (Some(lineage), Some(fence)) = (held, fence) {
                        self.sessions.claimed(&lineage, fence, Some(&"s:1".parse().unwrap()), self.now_ms);
                    }
                }
                10 => {
                    self.catalog.join(other.catalog.state());
                }
                _ => self.now_ms += 1_000 * u64::from(b),
            }
        }

        fn reader(&self) -> Reader<'_> {
            Reader { catalog: &self.catalog, now_ms: self.now_ms, sessions: &self.sessions, rows: None }
        }

        /// Compares `list` and `ready` from the cache with those rendered afresh.
        fn check(&self, cache: &RowCache, dialect: Dialect) {
            let live: Vec<_> = self.catalog.live().map(|(lineage, _)| (lineage.clone(), None)).collect();
            let ready = self.catalog.ready(&ReadyFilter::default(), self.now_ms).unwrap();
            let ready = ready.into_iter().map(|ready| (ready.lineage, ready.open_children)).collect();
            for list in [live, ready] {
                if list.is_empty() {
                    continue;
                }
                let view = |(lineage, open_children): &(Lineage, Option<usize>)| -> BeadView {
                    let mut view = self.reader().view(lineage).unwrap();
                    view.facts.open_children = *open_children;
                    view
                };
                let output = Output { format: Format::Json, dialect: Some(dialect), ..Output::default() };
                let fresh = reply(Ok(Answer::Beads(list.iter().map(view).collect())), &output, 0).stdout;
                let rows = list.iter().map(|(lineage, open_children)| (lineage, *open_children));
                assert_eq!(cache.render(&self.reader(), rows, dialect), Some(fresh));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

        #[test]
        fn kept_rows_equal_fresh_ones(
            steps in proptest::collection::vec((0..2_usize, (0..12_u8, any::<u8>(), any::<u8>())), 1..60),
        ) {
            let mut replicas = [Replica::new(1), Replica::new(2)];
            let cache = RowCache::default();
            for (index, (on, step)) in steps.into_iter().enumerate() {
                let [one, two] = &mut replicas;
                if on == 0 { one.step(step, two) } else { two.step(step, one) }
                let dialect = if index % 3 == 0 { Dialect::Compat } else { Dialect::Spec };
                // Mostly one replica, but the cache must not depend on that.
                replicas[usize::from(index % 7 == 0)].check(&cache, dialect);
            }
        }
    }

    #[test]
    fn rows_are_counted_and_expire() {
        let (mut replica, cache) = (Replica::new(1), RowCache::default());
        replica.apply(json!({"op": "create", "id": "bd-1", "title": "One"}));
        replica.check(&cache, Dialect::Spec);
        replica.apply(json!({"op": "update", "id": "bd-1", "title": "Two"}));
        replica.check(&cache, Dialect::Spec);
        let bytes = || cache.0.lock().unwrap().bytes;
        let kept = bytes();
        assert!(kept > 0);
        cache.expire(Instant::now());
        assert_eq!(bytes(), kept);
        cache.expire(Instant::now() + LIFETIME);
        assert_eq!((bytes(), cache.expires_at()), (0, None));
    }
}

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::reach::reach;
use super::{Filter, SortKey};
use crate::{Actor, Catalog, EdgeKind, Error, Lineage, Priority, QueueKey, Result};

/// The age up to which the order `hybrid` treats a bead as recent: two days, as in the Go `bd`.
const RECENT_MS: u64 = 48 * 60 * 60 * 1000;

/// The sort keys of `ready`.
const ORDERS: [SortKey; 4] = [SortKey::Priority, SortKey::Created, SortKey::Hybrid, SortKey::Impact];

/// The arguments of `ready`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadyFilter {
    /// Which beads to list.
    pub filter: Filter,
    /// Only descendants of this bead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
}

/// A bead that can be worked on now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// The bead.
    pub lineage: Lineage,
    /// The number of open children of an epic, or `None`. Such an epic is listed, but `claim --next` skips
    /// it.
    pub open_children: Option<usize>,
}

impl Catalog {
    /// Returns the beads that can be worked on now (§6.3): open and unblocked ones and those with an expired
    /// lease, but no deferred ones. They are sorted by priority and age, or by another of the [`ORDERS`];
    /// epics with open children come last.
    pub fn ready(&self, request: &ReadyFilter, now_ms: u64) -> Result<Vec<Ready>> {
        Ok(self.ready_in_order(request, now_ms)?.collect())
    }

    /// Returns the first bead that is offered to an actor. It comes before all other work.
    pub fn offer_to(&self, actor: &Actor, request: &ReadyFilter, now_ms: u64) -> Result<Option<Lineage>> {
        let prepared = request.filter.prepare(self)?;
        let below =
            request.under.as_deref().map(|name| self.resolve(name)).transpose()?.map(|root| self.below(root));
        let mut running = self.leases().range(now_ms..).flat_map(|(_, keys)| keys);
        let found = running.find(|(_, _, lineage)| {
            below.as_ref().is_none_or(|below| below.contains(lineage))
                && self.bead(lineage).is_some_and(|bead| {
                    bead.claim.assignee.as_ref() == Some(actor)
                        && bead.is_offer()
                        && prepared.matches(self, lineage, bead)
                })
        });
        Ok(found.map(|(_, _, lineage)| lineage.clone()))
    }

    /// Returns the result of [`ready`](Self::ready) as an iterator, for callers that need only the first few
    /// beads.
    pub fn ready_in_order<'a>(
        &'a self,
        request: &'a ReadyFilter,
        now_ms: u64,
    ) -> Result<Box<dyn Iterator<Item = Ready> + 'a>> {
        let sort = request.filter.sort;
        if sort.reverse || !ORDERS.contains(&sort.by) {
            return Err(Error::invalid("sort", "ready can be sorted by priority, oldest, hybrid or impact"));
        }
        let prepared = request.filter.prepare(self)?;
        let below =
            request.under.as_deref().map(|name| self.resolve(name)).transpose()?.map(|root| self.below(root));
        // Collecting is cheap: even with many leases, few are expired at any time.
        let mut expired: Vec<_> = self.leases().range(..now_ms).flat_map(|(_, keys)| keys).collect();
        expired.sort_unstable();
        let queue =
            Merge { left: self.open_and_unblocked().peekable(), right: expired.into_iter().peekable() };
        let found = queue
            .filter(move |(_, _, lineage)| below.as_ref().is_none_or(|below| below.contains(lineage)))
            .filter(move |(_, _, lineage)| {
                self.bead(lineage).is_some_and(|bead| {
                    !bead.is_memory()
                        && bead.defer_until.value.is_none_or(|until| until.ms() <= now_ms)
                        && prepared.matches(self, lineage, bead)
                })
            })
            .map(|(waits, priority, lineage)| {
                let open_children = waits.then(|| self.open_children(lineage).count());
                (*priority, Ready { lineage: lineage.clone(), open_children })
            });
        let limit = request.filter.limit.unwrap_or(usize::MAX);
        if sort.by == SortKey::Priority {
            // The queues are in this order already, so this stops at the limit without sorting everything.
            return Ok(Box::new(found.map(|(_, ready)| ready).take(limit)));
        }
        let found = self.reordered(found.collect(), sort.by, now_ms);
        Ok(Box::new(found.into_iter().map(|(_, ready)| ready).take(limit)))
    }

    fn reordered(
        &self,
        mut found: Vec<(Priority, Ready)>,
        by: SortKey,
        now_ms: u64,
    ) -> Vec<(Priority, Ready)> {
        match by {
            SortKey::Impact => {
                let impacts = self.impacts();
                found.sort_by_key(|(priority, ready)| {
                    let impact = impacts.get(&ready.lineage).copied().unwrap_or_default();
                    (ready.open_children.is_some(), *priority, impact.order(), ready.lineage.clone())
                });
            }
            SortKey::Hybrid => found.sort_by_key(|(priority, ready)| {
                let recent = ready.lineage.at().ms() >= now_ms.saturating_sub(RECENT_MS);
                let priority = recent.then_some(*priority);
                (ready.open_children.is_some(), !recent, priority, ready.lineage.clone())
            }),
            _ => found.sort_by_key(|(_, ready)| (ready.open_children.is_some(), ready.lineage.clone())),
        }
        found
    }

    /// Returns the next time at which a lease or a deferral ends, and a bead may become ready without a
    /// write.
    pub fn next_ready_by_time(&self, now_ms: u64) -> Option<u64> {
        let lease = self.leases().range(now_ms..).next().map(|(end, _)| end.saturating_add(1));
        let deferral = self.deferrals().range(now_ms.saturating_add(1)..).next().map(|(end, _)| *end);
        lease.into_iter().chain(deferral).min()
    }

    /// Returns the descendants of a bead.
    pub fn below<'a>(&'a self, root: &'a Lineage) -> BTreeSet<&'a Lineage> {
        let mut below = reach([root], |parent| self.sources(parent, EdgeKind::Parent));
        below.remove(root);
        below
    }
}

/// Merges two sorted queues.
struct Merge<L: Iterator, R: Iterator> {
    left: std::iter::Peekable<L>,
    right: std::iter::Peekable<R>,
}

impl<'a, L, R> Iterator for Merge<L, R>
where
    L: Iterator<Item = &'a QueueKey>,
    R: Iterator<Item = &'a QueueKey>,
{
    type Item = &'a QueueKey;

    fn next(&mut self) -> Option<Self::Item> {
        match (self.left.peek(), self.right.peek()) {
            (Some(left), Some(right)) if right < left => self.right.next(),
            (Some(_), _) => self.left.next(),
            (None, _) => self.right.next(),
        }
    }
}

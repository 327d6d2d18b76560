use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Filter, SortKey};
use crate::{Catalog, EdgeKind, Lineage, QueueKey, Result};

/// What `ready` is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadyFilter {
    pub filter: Filter,
    /// Only beads below this one, at any depth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
}

/// A bead that can be worked on now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    pub lineage: Lineage,
    /// Set for an epic that waits for its children: it is listed, but it is not work to hand out.
    pub open_children: Option<usize>,
}

impl Catalog {
    /// §6.3: open and unblocked, plus in progress with an expired lease, minus those deferred into the future. By
    /// priority, then oldest first, or by impact; epics with open children last.
    pub fn ready(&self, asked: &ReadyFilter, now_ms: u64) -> Result<Vec<Ready>> {
        Ok(self.ready_in_order(asked, now_ms)?.collect())
    }

    /// The same one by one, for whoever needs only the first that suits.
    pub fn ready_in_order<'a>(
        &'a self,
        asked: &'a ReadyFilter,
        now_ms: u64,
    ) -> Result<Box<dyn Iterator<Item = Ready> + 'a>> {
        let prepared = asked.filter.prepare(self)?;
        let below =
            asked.under.as_deref().map(|name| self.resolve(name)).transpose()?.map(|root| self.below(root));
        let expired = move |key: &&QueueKey| self.bead(&key.2).is_some_and(|bead| bead.claim.expired(now_ms));
        let queue = Merge {
            left: self.open_and_unblocked().peekable(),
            right: self.started_and_unblocked().filter(expired).peekable(),
        };
        let found = queue
            .filter(move |(_, _, lineage)| below.as_ref().is_none_or(|below| below.contains(lineage)))
            .filter(move |(_, _, lineage)| {
                self.bead(lineage).is_some_and(|bead| {
                    bead.defer_until.value.is_none_or(|until| until.ms() <= now_ms)
                        && prepared.matches(self, lineage, bead)
                })
            })
            .map(|(waits, priority, lineage)| {
                let open_children = waits.then(|| self.open_children(lineage).count());
                (*priority, Ready { lineage: lineage.clone(), open_children })
            });
        let limit = asked.filter.limit.unwrap_or(usize::MAX);
        if asked.filter.sort.by != SortKey::Impact {
            return Ok(Box::new(found.map(|(_, ready)| ready).take(limit)));
        }
        let impacts = self.impacts();
        let mut found: Vec<_> = found.collect();
        found.sort_by_key(|(priority, ready)| {
            let impact = impacts.get(&ready.lineage).copied().unwrap_or_default();
            (ready.open_children.is_some(), *priority, impact.order(), ready.lineage.clone())
        });
        Ok(Box::new(found.into_iter().map(|(_, ready)| ready).take(limit)))
    }

    /// The next time at which a lease or a deferral ends, so that something may become ready by itself.
    pub fn next_ready_by_time(&self, now_ms: u64) -> Option<u64> {
        let bead = |key: &'_ QueueKey| self.bead(&key.2);
        let leases = self
            .started_and_unblocked()
            .filter_map(|key| Some(bead(key)?.claim.expires?.ms().saturating_add(1)));
        let deferrals = self.open_and_unblocked().filter_map(|key| Some(bead(key)?.defer_until.value?.ms()));
        leases.chain(deferrals).filter(|at_ms| *at_ms > now_ms).min()
    }

    /// Everything below a bead, through any number of generations.
    pub fn below(&self, root: &Lineage) -> BTreeSet<Lineage> {
        let mut found = BTreeSet::new();
        let mut frontier = vec![root.clone()];
        while let Some(parent) = frontier.pop() {
            for child in self.sources(&parent, EdgeKind::Parent) {
                if child != root && found.insert(child.clone()) {
                    frontier.push(child.clone());
                }
            }
        }
        found
    }
}

/// Two sorted queues as one.
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

use serde::{Deserialize, Serialize};

use super::{Applied, ClaimBead};
use crate::query::{ReadyFilter, SortKey};
use crate::{Actor, Catalog, Context, Error, Lineage, Priority, Result};

/// Takes the best bead that is free, in one step, so that no two callers are handed the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClaimNext {
    /// Which beads will do; all that are ready when empty.
    pub filter: ReadyFilter,
    /// How long the claim lasts; the store's default when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// When nothing is ready, take a bead whose session was silent for so long. Sessions are local knowledge, so the
    /// service decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_silent_ms: Option<u64>,
    /// The machine by whose preference beads of one priority are tried, while other machines claim from the same store.
    #[serde(skip)]
    pub spread: Option<String>,
}

impl ClaimNext {
    pub(super) fn references_mut(&mut self) -> Vec<&mut String> {
        self.filter.under.iter_mut().collect()
    }

    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let next = self.candidates(catalog, &context.actor, context.now_ms, 1)?.pop();
        let next = next.ok_or(Error::NothingReady)?;
        let id = catalog.id_of(&next).to_string();
        ClaimBead { id, lease_ms: self.lease_ms, ..ClaimBead::default() }.apply(catalog, context)
    }

    /// The first few in the order of `ready` that are free for an actor. An epic with open children is no work, and a bead
    /// that was given to somebody else waits for them. With `spread`, beads of one priority come in the machine's order.
    pub fn candidates(
        &self,
        catalog: &Catalog,
        actor: &Actor,
        now_ms: u64,
        limit: usize,
    ) -> Result<Vec<Lineage>> {
        let free = |lineage: &Lineage| {
            catalog
                .bead(lineage)
                .is_some_and(|bead| bead.claim.holder(now_ms).is_none_or(|holder| holder == actor))
        };
        let ready = catalog.ready_in_order(&self.filter, now_ms)?;
        let found = ready.filter(|ready| ready.open_children.is_none() && free(&ready.lineage));
        let found = found.map(|ready| ready.lineage);
        let found = match &self.spread {
            Some(machine) if self.filter.filter.sort.by == SortKey::Priority => {
                spread(catalog, found, machine, limit)
            }
            _ => found.take(limit).collect(),
        };
        // What was handed over to the actor comes before everything else.
        let offered = catalog.offer_to(actor, &self.filter, now_ms)?;
        Ok(offered.into_iter().chain(found).take(limit).collect())
    }
}

/// Whole priorities, each in the machine's order, until there are enough.
fn spread(
    catalog: &Catalog,
    found: impl Iterator<Item = Lineage>,
    machine: &str,
    limit: usize,
) -> Vec<Lineage> {
    let mut chosen: Vec<Lineage> = Vec::new();
    let mut group: Option<(Priority, Vec<Lineage>)> = None;
    let flush = |mut group: Vec<Lineage>, chosen: &mut Vec<Lineage>| {
        group.sort_by_cached_key(|lineage| lineage.preference(machine));
        chosen.extend(group);
    };
    for lineage in found {
        let Some(priority) = catalog.bead(&lineage).map(|bead| bead.priority.value) else { continue };
        match &mut group {
            Some((of, members)) if *of == priority => members.push(lineage),
            _ => {
                if let Some((_, members)) = group.replace((priority, vec![lineage])) {
                    flush(members, &mut chosen);
                }
                if chosen.len() >= limit {
                    group = None;
                    break;
                }
            }
        }
    }
    if let Some((_, members)) = group {
        flush(members, &mut chosen);
    }
    chosen.truncate(limit);
    chosen
}

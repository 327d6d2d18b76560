use serde::{Deserialize, Serialize};

use super::{Applied, ClaimBead};
use crate::query::{ReadyFilter, SortKey};
use crate::{Actor, Catalog, Context, Error, Lineage, Priority, Result};

/// Claims the best available bead in one step, so that two callers never get the same one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClaimNext {
    /// Which ready beads to consider; all of them by default.
    pub filter: ReadyFilter,
    /// Length of the lease in milliseconds; the store's default if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// If nothing is ready, take a bead whose session has been silent for this long. The service handles
    /// this, because sessions are not part of the replicated state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_silent_ms: Option<u64>,
    /// Name of this machine. If set, beads of equal priority are tried in an order that differs per machine,
    /// so that machines claiming from the same store seldom pick the same bead.
    #[serde(skip)]
    pub spread: Option<String>,
}

impl ClaimNext {
    pub(super) fn references_mut(&mut self) -> Vec<&mut String> {
        self.filter.under.iter_mut().collect()
    }

    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let next = self.candidates(catalog, &context.actor, context.lease_now_ms(), 1)?.pop();
        let next = next.ok_or(Error::NothingReady)?;
        let id = catalog.id_of(&next).to_string();
        ClaimBead { id, lease_ms: self.lease_ms, ..ClaimBead::default() }.apply(catalog, context)
    }

    /// Returns up to `limit` beads that the actor can claim, in the order of `ready`. Skips epics with open
    /// children and beads assigned to other actors. With `spread`, beads of equal priority come in the
    /// machine's order.
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
        // A bead handed over to this actor comes first.
        let offered = catalog.offer_to(actor, &self.filter, now_ms)?;
        Ok(offered.into_iter().chain(found).take(limit).collect())
    }
}

/// Sorts the beads of each priority in the machine's order, and stops after the priority that reaches
/// `limit`.
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

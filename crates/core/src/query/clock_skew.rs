use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Actor, Catalog, Field, Lineage, Mark, SharedBead, Timestamp, is_sane};

/// An actor whose clock is ahead of the local clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockSkew {
    /// The actor.
    pub actor: Actor,
    /// How far its newest stamp is ahead, in milliseconds.
    pub ahead_ms: u64,
    /// Number of beads with a stamp in the future.
    pub beads: usize,
    /// The actor's last write with a plausible time: the clock has been wrong since. Null if there is none.
    #[serde(serialize_with = "time")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Rfc3339>"))]
    pub since: Option<Timestamp>,
}

fn time<S: serde::Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.to_string()).serialize(serializer)
}

impl Catalog {
    /// Returns the actors whose stamps are further ahead of the local clock than normal drift, by name.
    pub fn clock_skew(&self, now_ms: u64) -> Vec<ClockSkew> {
        let is_sane_bead = |(lineage, bead): (&Lineage, &SharedBead)| {
            is_sane(lineage.at(), now_ms) && is_sane(bead.newest_stamp(), now_ms)
        };
        // Almost always, and much faster than looking at who wrote what.
        if self.state().beads().iter().filter(|(_, bead)| !bead.is_hollow()).all(is_sane_bead) {
            return Vec::new();
        }
        let mut skews: BTreeMap<Actor, ClockSkew> = BTreeMap::new();
        let mut sane: BTreeMap<Actor, u64> = BTreeMap::new();
        for (lineage, bead) in self.state().beads().iter().filter(|(_, bead)| !bead.is_hollow()) {
            let registers = Field::ALL.iter().map(|field| bead.mark(*field).clone());
            let deletion = bead.deletion.iter().map(|deletion| deletion.mark.clone());
            let notes = bead.notes.values().map(|note| note.mark());
            let mut ahead: BTreeMap<Actor, u64> = BTreeMap::new();
            for mark in registers.chain(deletion).chain(notes).chain([lineage.mark()]) {
                let latest = if is_sane(mark.at(), now_ms) { &mut sane } else { &mut ahead };
                raise(latest, &mark);
            }
            for (actor, ms) in ahead {
                let skew = skews.entry(actor.clone()).or_insert(ClockSkew {
                    actor,
                    ahead_ms: 0,
                    beads: 0,
                    since: None,
                });
                skew.ahead_ms = skew.ahead_ms.max(ms.saturating_sub(now_ms));
                skew.beads += 1;
            }
        }
        let mut skews: Vec<_> = skews.into_values().collect();
        for skew in &mut skews {
            skew.since = sane.get(&skew.actor).and_then(|ms| Timestamp::from_ms(*ms).ok());
        }
        skews
    }
}

fn raise(latest: &mut BTreeMap<Actor, u64>, mark: &Mark) {
    let ms = mark.at().ms();
    match latest.get_mut(mark.by()) {
        Some(known) => *known = ms.max(*known),
        None => {
            latest.insert(mark.by().clone(), ms);
        }
    }
}

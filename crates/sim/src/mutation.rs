//! Random mutations of every kind.

use beads_core::op::{
    Change, ClaimBead, Close, Create, Delete, Dep, DepAdd, DepRemove, DepRole, Guard, NoteAdd, Reopen,
    Restore, SetPrefix, Unclaim, Update,
};
use beads_core::{
    Actor, BeadType, Catalog, EdgeKind, Error, Estimate, Label, Op, Priority, Status, Timestamp,
};

use crate::dice::Dice;

/// Ids that several replicas use for new beads.
const CONTESTED: [&str; 4] = ["bd-x1", "bd-x2", "bd-x3", "ext-9"];

/// How often one of the hot beads is chosen, so that writers collide.
const HOT_PERCENT: u64 = 60;
/// The number of hot beads.
const HOT_BEADS: usize = 2;

const WORDS: [&str; 6] = ["anchor", "bellows", "cog", "drum", "e\u{301}clair \u{1f680}", "tab\there"];
const ACTORS: [&str; 3] = ["ann", "bob", "carl"];

/// Chooses random mutations for the current state.
#[derive(Debug)]
pub struct Mutations<'a> {
    pub dice: &'a mut Dice,
    pub catalog: &'a Catalog,
    pub now_ms: u64,
}

impl Mutations<'_> {
    /// Returns a random actor.
    pub fn actor(dice: &mut Dice) -> Actor {
        let name = dice.pick(&ACTORS).copied().unwrap_or("ann");
        name.parse().expect("the names above are valid")
    }

    /// Returns a random operation. Random arguments may be invalid, in which case the caller skips the
    /// attempt.
    pub fn any(&mut self) -> Result<Op, Error> {
        Ok(match self.dice.below(36) {
            0..=5 => Op::Create(Box::new(self.create()?)),
            6..=10 | 24..=35 => Op::Update(Box::new(self.update()?)),
            11 | 12 => Op::Claim(ClaimBead {
                id: self.bead(),
                guard: self.guard(),
                lease_ms: self.dice.chance(50).then_some(90_000),
                ..ClaimBead::default()
            }),
            13 => Op::Unclaim(Unclaim {
                id: self.bead(),
                force: self.dice.chance(50),
                reason: self.word().parse()?,
                ..Unclaim::default()
            }),
            14 => Op::Close(Close { id: self.bead(), reason: self.word().parse()?, ..Close::default() }),
            15 => Op::Reopen(Reopen {
                id: self.bead(),
                status: self.dice.chance(30).then_some(Status::InProgress),
                ..Reopen::default()
            }),
            16 => Op::Delete(Delete { id: self.bead(), reason: self.word().parse()?, ..Delete::default() }),
            17 => Op::Restore(Restore { id: self.bead(), ..Restore::default() }),
            18..=20 => Op::NoteAdd(NoteAdd {
                id: self.bead(),
                guard: self.guard(),
                content: self.sentence().parse()?,
                ..NoteAdd::default()
            }),
            21 => Op::DepAdd(DepAdd { from: self.bead(), to: self.bead(), kind: self.edge_kind() }),
            22 => self.dep_remove(),
            _ => Op::SetPrefix(SetPrefix { prefix: format!("p{}", self.dice.below(4)).parse()? }),
        })
    }

    fn create(&mut self) -> Result<Create, Error> {
        let mut create = Create::titled(self.title().parse()?);
        if self.dice.chance(25) {
            create.id = Some(CONTESTED[self.dice.index(CONTESTED.len())].parse()?);
        } else if self.dice.chance(40) {
            create.parent = Some(self.bead());
        }
        if self.dice.chance(30) {
            create.deps = vec![Dep { role: self.dep_role(), id: self.bead() }];
        }
        create.kind = BeadType::ALL[self.dice.index(BeadType::ALL.len())].into();
        create.priority = Priority::try_from(self.dice.below(5))?;
        create.description = self.sentence().parse()?;
        create.notes = self.maybe_text().parse()?;
        create.labels = self.labels()?;
        create.assignee = self.dice.chance(20).then(|| Self::actor(self.dice));
        Ok(create)
    }

    fn update(&mut self) -> Result<Update, Error> {
        let mut update = Update::of(self.bead());
        update.guard = self.guard();
        for _ in 0..=self.dice.below(3) {
            self.set_some_field(&mut update)?;
        }
        Ok(update)
    }

    fn set_some_field(&mut self, update: &mut Update) -> Result<(), Error> {
        let time = Timestamp::from_ms(self.now_ms.saturating_add(self.dice.below(1_000_000)))?;
        match self.dice.below(19) {
            0 | 15..=18 => update.title = Some(self.title().parse()?),
            1 => update.description = Some(self.maybe_text().parse()?),
            2 => update.priority = Some(Priority::try_from(self.dice.below(5))?),
            3 => update.kind = Some(BeadType::ALL[self.dice.index(BeadType::ALL.len())].into()),
            4 => update.status = Some(Status::ALL[self.dice.index(Status::ALL.len())].into()),
            5 => update.assignee = Some(self.change(|mutations| Ok(Self::actor(mutations.dice)))?),
            6 => update.claim = true,
            7 => update.set_labels = Some(self.labels()?),
            8 => update.add_labels = self.labels()?,
            9 => update.design = Some(self.maybe_text().parse()?),
            10 => update.notes = Some(self.sentence().parse()?),
            11 => update.external_ref = Some("ref-1".parse()?),
            12 => {
                update.estimated_minutes =
                    Some(self.change(|mutations| Estimate::try_from(mutations.dice.below(500)))?);
            }
            13 => update.due_at = Some(self.change(|_| Ok(time))?),
            _ => update.parent = Some(self.change(|mutations| Ok(mutations.bead()))?),
        }
        Ok(())
    }

    fn change<T>(&mut self, value: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<Change<T>, Error> {
        if self.dice.chance(30) { Ok(Change::Clear) } else { Ok(Change::Set(value(self)?)) }
    }

    /// Removes an existing edge, most of the time.
    fn dep_remove(&mut self) -> Op {
        let edges: Vec<_> = self.catalog.state().edges().keys().collect();
        let end = |end: &beads_core::Endpoint| end.lineage().map(|bead| self.catalog.id_of(bead).to_string());
        let chosen = self.dice.pick(&edges).and_then(|key| Some((end(&key.from)?, end(&key.to)?, key.kind)));
        let (from, to, kind) = chosen.unwrap_or_else(|| (self.bead(), self.bead(), self.edge_kind()));
        Op::DepRemove(DepRemove { from, to, kind })
    }

    /// Returns a guard that sometimes has a hash that cannot match, so that the operation must change
    /// nothing.
    fn guard(&mut self) -> Guard {
        let content_hash = self.dice.chance(4).then(|| "0".repeat(64));
        Guard { content_hash, fence: None }
    }

    /// Returns any bead, live or deleted. Often a hot one, rarely one that does not exist.
    fn bead(&mut self) -> String {
        let count = self.catalog.state().beads().len();
        if count == 0 || self.dice.chance(2) {
            return "bd-nowhere".to_owned();
        }
        let chosen = if self.dice.chance(HOT_PERCENT) {
            self.dice.index(count.min(HOT_BEADS))
        } else {
            self.dice.index(count)
        };
        let lineage = self.catalog.state().beads().keys().nth(chosen);
        lineage.map(|lineage| self.catalog.id_of(lineage).to_string()).unwrap_or_default()
    }

    fn edge_kind(&mut self) -> EdgeKind {
        EdgeKind::ALL[self.dice.index(EdgeKind::ALL.len())]
    }

    fn dep_role(&mut self) -> DepRole {
        match self.edge_kind() {
            EdgeKind::Blocks => DepRole::DependsOn,
            EdgeKind::DiscoveredFrom => DepRole::DiscoveredFrom,
            EdgeKind::Parent => DepRole::Parent,
            EdgeKind::Related => DepRole::Related,
        }
    }

    fn labels(&mut self) -> Result<Vec<Label>, Error> {
        (0..self.dice.below(3)).map(|_| format!("label{}", self.dice.below(5)).parse()).collect()
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.dice.index(WORDS.len())]
    }

    fn title(&mut self) -> String {
        format!("work {}", self.dice.below(1_000))
    }

    fn sentence(&mut self) -> String {
        format!("{} \"{}\"\nand {}", self.word(), self.dice.below(1_000), self.word())
    }

    fn maybe_text(&mut self) -> String {
        if self.dice.chance(50) { String::new() } else { self.sentence() }
    }
}

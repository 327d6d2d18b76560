//! The example of `docs/FORMAT.md`: a state with each kind of line.

use std::sync::Arc;

use beads_core::{
    Claim, Deletion, Delta, Edge, EdgeKey, EdgeKind, Endpoint, Field, Lineage, Mark, Note, Patch,
    PrefixRegister, Slot, State,
};
use serde_json::{Value, json};

use super::{actor, id, mark, value};

const T: u64 = 1_702_234_567_890;

/// Ann's replica has the tag 4660, Bob's 51966.
fn ann(ms: u64) -> Mark {
    mark(T + ms, 4660, "ann@mac")
}

fn bob(ms: u64) -> Mark {
    mark(T + ms, 51966, "bob@pc")
}

pub fn example() -> State {
    let mut example = Example(State::default());
    let closed = example.bead("bd-p1", ann(0), "main");
    let child = example.bead("bd-p1.1", ann(10), "");
    let winner = example.bead("bd-a1", ann(20), "");
    let loser = example.bead("bd-a1", bob(30), "");
    let deleted = example.bead("bd-d1", ann(40), "");
    let deleted_winner = example.bead("bd-z9", ann(50), "");
    let rival = example.bead("bd-z9", bob(60), "");
    example.fill(&closed);
    example.claim(&child);
    example.note(&deleted, &ann(300), "seen on CI", None);
    example.delete(&deleted, ann(310), "duplicate");
    example.delete(&deleted_winner, ann(320), "");
    example.edge(&child, &closed, EdgeKind::Parent, [ann(400), ann(420)], false);
    example.edge(&loser, &rival, EdgeKind::Blocks, [bob(430), bob(430)], false);
    example.edge(&closed, &loser, EdgeKind::Related, [ann(440), bob(450)], true);
    let bare = EdgeKey {
        from: Endpoint::Bead(winner),
        to: Endpoint::Bare(id("bd-gone")),
        kind: EdgeKind::DiscoveredFrom,
    };
    example.join_delta(&Delta::of_edge(bare, Edge::added(ann(460))));
    let chosen = ann(500);
    let prefix = Some(PrefixRegister::chosen("app".parse().unwrap(), chosen.at(), chosen.by().clone()));
    example.join_delta(&Delta { prefix, ..Delta::default() });
    example.0
}

struct Example(State);

impl Example {
    fn join_delta(&mut self, delta: &Delta) {
        self.0.join_delta(delta).unwrap();
    }

    fn patch(&mut self, lineage: &Lineage, patch: Patch) {
        self.join_delta(&Delta::of_bead(lineage.clone(), patch));
    }

    fn bead(&mut self, born: &str, mark: Mark, branch: &str) -> Lineage {
        let lineage = Lineage::new(id(born), mark.at(), mark.by().clone());
        let mut patch = Patch { created_on_branch: branch.parse().unwrap(), ..value::birth(&mark) };
        let title = json!({"title": format!("Title of {born}")});
        value::overlay(&mut patch, value::patch(Field::Title, mark, title.as_object().unwrap()));
        self.patch(&lineage, patch);
        lineage
    }

    fn write(&mut self, lineage: &Lineage, mark: Mark, field: Field, group: &Value) {
        self.patch(lineage, value::patch(field, mark, group.as_object().unwrap()));
    }

    /// Gives every field a value.
    fn fill(&mut self, lineage: &Lineage) {
        let values = [
            (Field::Description, json!({"description": "Tab\tand \"quotes\"\nand \u{1b}[1m, ä/ö"})),
            (Field::Priority, json!({"priority": 0})),
            (Field::Type, json!({"type": "bug"})),
            (Field::Labels, json!({"labels": ["Zoo", "api", "ä"]})),
            (Field::Design, json!({"design": "Keep it simple"})),
            (Field::AcceptanceCriteria, json!({"acceptance_criteria": "It works"})),
            (Field::ExternalRef, json!({"external_ref": "gh-9"})),
            (Field::SourceRepo, json!({"source_repo": "git@example.com:app"})),
            (Field::EstimatedMinutes, json!({"estimated_minutes": 90})),
            (Field::DueAt, json!({"due_at": 1_703_000_000_000_u64})),
            (Field::DeferUntil, json!({"defer_until": 1_702_500_000_000_u64})),
            (Field::Metadata, json!({"metadata": {"points": 0.5, "sprint": ["a", null]}})),
        ];
        for (field, group) in values {
            self.write(lineage, ann(100), field, &group);
        }
        let closing = json!({"status": "closed", "closed_reason": "shipped", "closed_on_branch": "main"});
        self.write(lineage, bob(110), Field::Status, &closing);
        self.note(lineage, &ann(120), "newer than _at", None);
        self.note(lineage, &bob(120), "set as a whole", Some(Slot::Notes));
    }

    /// Claims the bead at 200 and renews the claim at 210.
    fn claim(&mut self, lineage: &Lineage) {
        let expires = |ms: u64| value::typed(Some(&json!(T + ms)), json!(null));
        let claim = Claim::new(bob(200), Some(actor("bob@pc")), expires(3_600_000));
        let renewed = claim.renewed(bob(210), expires(7_200_000));
        for claim in [claim, renewed] {
            self.patch(lineage, Patch { claim: Some(claim), ..Patch::default() });
        }
        self.write(lineage, bob(200), Field::Status, &json!({"status": "in_progress"}));
    }

    fn note(&mut self, lineage: &Lineage, mark: &Mark, text: &str, slot: Option<Slot>) {
        let note = Note::new(lineage, mark, text.parse().unwrap(), slot);
        self.patch(lineage, Patch { notes: vec![Arc::new(note)], ..Patch::default() });
    }

    fn delete(&mut self, lineage: &Lineage, mark: Mark, reason: &str) {
        let deletion = Some(Deletion::new(mark, reason.parse().unwrap()));
        self.patch(lineage, Patch { deletion, ..Patch::default() });
    }

    fn edge(&mut self, from: &Lineage, to: &Lineage, kind: EdgeKind, marks: [Mark; 2], deleted: bool) {
        let [created, changed] = marks;
        self.join_delta(&Delta::of_edge(EdgeKey::new(from, to, kind), Edge { created, changed, deleted }));
    }
}

//! Similar titles are found, titles that only look alike are not, and the index follows every change.

use beads_core::op::{Close, Create, Delete, Op, Restore, Update};
use beads_core::{Catalog, Clock, Context, Delta, Stamp, Title};
use proptest::prelude::*;

use crate::support::{actor, cases};

struct Side {
    catalog: Catalog,
    clock: Clock,
    now_ms: u64,
}

impl Side {
    fn new(titles: &[&str]) -> Self {
        let mut side = Self { catalog: Catalog::default(), clock: Clock::new(Stamp::ZERO, 1), now_ms: 1_000 };
        for (index, title) in titles.iter().enumerate() {
            side.run(&create(index, title));
        }
        side
    }

    fn run(&mut self, op: &Op) -> Delta {
        self.now_ms += 10;
        let mut context = Context {
            actor: actor("ann"),
            now_ms: self.now_ms,
            clock: &mut self.clock,
            random: &mut || 0,
            branch: Default::default(),
            lease_ms: 100_000,
        };
        let delta = op.apply(&self.catalog, &mut context).map(|applied| applied.delta).unwrap_or_default();
        self.catalog.join_delta(&delta).unwrap();
        delta
    }

    fn similar(&self, title: &str) -> Vec<String> {
        let title: Title = title.parse().unwrap();
        let found = self.catalog.similar(&title, None);
        // The first search scans all titles; the second uses an index.
        assert_eq!(self.catalog.similar(&title, None), found);
        found.iter().map(|lineage| self.catalog.id_of(lineage).to_string()).collect()
    }
}

fn create(index: usize, title: &str) -> Op {
    let id = Some(format!("bd-{index}").parse().unwrap());
    Op::Create(Box::new(Create { id, ..Create::titled(title.parse().unwrap()) }))
}

#[test]
fn which_titles_are_similar() {
    let same = [
        ("Fix the login loop", "fix login loop!"),
        ("Fix the login loop", "Login loop: fix"),
        ("Add unit tests", "Add unit test"),
        ("Fix the login loop", "Fix the login lop"),
        ("the", "The?"),
        ("Überprüfung der Lizenz", "überprüfung der lizenz"),
        ("Upgrade to v3 of the parser", "Upgrade parser to v3"),
    ];
    for (there, new) in same {
        assert_eq!(Side::new(&[there]).similar(new), ["bd-0"], "{there:?} and {new:?}");
    }
    let different = [
        ("Fix the login loop", "Fix the logout loop in the parser"),
        ("Write step 1", "Write step 2"),
        ("Write step", "Write step 2"),
        ("Upgrade to v3", "Upgrade to v4"),
        ("Add tests for the parser", "Add tests for the printer"),
        ("Fix login", "Fix logout"),
        ("???", "!!!"),
    ];
    for (there, new) in different {
        assert_eq!(Side::new(&[there]).similar(new), [""; 0], "{there:?} and {new:?}");
    }
}

#[test]
fn at_most_three_beads_are_found_unfinished_ones_first_and_never_the_bead_itself() {
    let mut side = Side::new(&["Write the docs"; 6]);
    side.run(&Op::Close(Close { id: "bd-0".into(), ..Close::default() }));
    assert_eq!(side.similar("write docs"), ["bd-1", "bd-2", "bd-3"]);
    for id in ["bd-1", "bd-2", "bd-3", "bd-4"] {
        side.run(&Op::Delete(Delete { id: id.into(), ..Delete::default() }));
    }
    assert_eq!(side.similar("write docs"), ["bd-5", "bd-0"]);
    let own = side.catalog.resolve("bd-5").unwrap();
    assert_eq!(side.catalog.similar(&"write docs".parse().unwrap(), Some(own)).len(), 1);
}

/// A title with the same words is found among any number of titles that share a frequent word.
#[test]
fn frequent_words_do_not_hide_equal_titles() {
    let mut side = Side::new(&[]);
    for index in 0..500 {
        let letters: String =
            format!("{index:03}").bytes().map(|digit| char::from(digit - b'0' + b'a')).collect();
        side.run(&create(index, &format!("Fix {letters}{letters}")));
    }
    side.run(&create(500, "Fix"));
    assert_eq!(side.similar("fix"), ["bd-500"]);
    assert_eq!(side.similar("Fix bcdbcd"), ["bd-123"]);
}

fn op() -> impl Strategy<Value = Op> {
    let words = prop::sample::select(vec!["fix", "fixes", "the", "login", "logins", "loop", "2", "3"]);
    let title = prop::collection::vec(words, 1..4).prop_map(|words| words.join(" "));
    let index = 0..6usize;
    prop_oneof![
        (index.clone(), title.clone()).prop_map(|(index, title)| create(index, &title)),
        (index.clone(), title).prop_map(|(index, title)| {
            let title = Some(title.parse().unwrap());
            Op::Update(Box::new(Update { title, ..Update::of(format!("bd-{index}")) }))
        }),
        index.clone().prop_map(|index| Op::Delete(Delete { id: format!("bd-{index}"), ..Delete::default() })),
        index.prop_map(|index| Op::Restore(Restore { id: format!("bd-{index}"), ..Restore::default() })),
    ]
}

proptest! {
    #![proptest_config(cases(64))]

    /// An updated index finds the same as a new one, also after a rollback.
    #[test]
    fn the_index_follows_every_change(ops in prop::collection::vec(op(), 1..20)) {
        let mut side = Side::new(&["fix the login loop"]);
        for op in &ops {
            side.similar("fix the login loop");
            let before = side.catalog.state().clone();
            let delta = side.run(op);
            side.catalog = Catalog::from(before);
            side.similar("fix the login loop");
            let savepoint = side.catalog.savepoint(&delta);
            side.catalog.join_delta(&delta).unwrap();
            side.catalog.roll_back(savepoint);
            let rolled_back = Catalog::from(side.catalog.state().clone());
            let title: Title = "fix the login loop".parse().unwrap();
            prop_assert_eq!(side.catalog.similar(&title, None), rolled_back.similar(&title, None));
            side.catalog.join_delta(&delta).unwrap();
            for title in ["fix the login loop", "fixes login loop", "login 2", "loop 3 fix"] {
                let title: Title = title.parse().unwrap();
                let rebuilt = Catalog::from(side.catalog.state().clone());
                prop_assert_eq!(side.catalog.similar(&title, None), rebuilt.similar(&title, None));
            }
        }
    }
}

//! Questions to a person: a bead with an open question is not ready, and nothing but an answer makes it ready.

use beads_core::op::{AnswerQuestion, Ask, ClaimBead, Close, Op, Reopen};
use beads_core::query::{Readiness, ReadyFilter};
use beads_core::{Error, EventKind, Status};

use crate::support::side::Side;

fn ask(text: &str) -> Op {
    Op::Ask(Ask { id: "bd-1".into(), text: text.parse().unwrap(), ..Ask::default() })
}

fn answer(text: &str) -> Op {
    Op::Answer(AnswerQuestion { id: "bd-1".into(), text: text.parse().unwrap(), ..AnswerQuestion::default() })
}

fn claim() -> Op {
    Op::Claim(ClaimBead { id: "bd-1".into(), ..ClaimBead::default() })
}

fn ready(side: &Side) -> bool {
    !side.catalog.ready(&ReadyFilter::default(), side.now_ms).unwrap().is_empty()
}

#[test]
fn a_question_releases_the_claim_and_blocks_until_it_is_answered() {
    let mut side = Side::with(&["bd-1"]);
    side.done("ann", &claim());
    assert!(matches!(side.refused("ben", &ask("mine?")), Error::NotHolder { .. }));
    let asked = side.done("ann", &ask("which index?"));
    assert!(asked.note.is_some());
    assert!(!side.bead("bd-1").claim.is_taken(), "the claim was released");
    assert_eq!(
        side.bead("bd-1").status.mark,
        Side::with(&["bd-1"]).bead("bd-1").status.mark,
        "no status was written"
    );
    assert!(!ready(&side));
    let lineage = side.catalog.resolve("bd-1").unwrap().clone();
    assert_eq!(side.catalog.readiness(&lineage, side.now_ms), Some(Readiness::Asked));
    let open = side.catalog.open_questions();
    assert_eq!((open.len(), open[0].1.note.content.as_str()), (1, "which index?"));

    side.done("eve", &answer("the second"));
    let bead = side.bead("bd-1").clone();
    assert!(bead.is_offer() && bead.claim.assignee.as_ref().unwrap().as_str() == "ann");
    assert_eq!(bead.questions()[0].answers[0].content.as_str(), "the second");
    assert!(side.catalog.open_questions().is_empty());
    let offer = side.catalog.offer_to(&"ann".parse().unwrap(), &ReadyFilter::default(), side.now_ms).unwrap();
    assert_eq!(offer, Some(lineage));
    side.now_ms += 11 * 60 * 1000;
    assert!(ready(&side), "the offer has expired");
    assert!(matches!(side.refused("eve", &answer("again")), Error::Invalid { .. }));
}

#[test]
fn each_of_several_questions_needs_its_own_answer() {
    let mut side = Side::with(&["bd-1"]);
    let first = side.done("ann", &ask("one?")).note.unwrap();
    side.done("ben", &ask("two?"));
    assert!(side.refused("eve", &answer("yes")).to_string().contains("--question"));
    let to = |question: &str| {
        Op::Answer(AnswerQuestion {
            id: "bd-1".into(),
            text: "yes".parse().unwrap(),
            question: Some(question.to_owned()),
            ..AnswerQuestion::default()
        })
    };
    side.refused("eve", &to("zzzz"));
    side.done("eve", &to(&first[..6]));
    assert!(!ready(&side) && !side.bead("bd-1").claim.is_taken(), "one question is still open");
    side.done("eve", &answer("no"));
    assert_eq!(side.bead("bd-1").claim.assignee.as_ref().unwrap().as_str(), "ben");
}

#[test]
fn questions_and_answers_of_two_replicas_merge_and_never_undo_a_close() {
    let mut one = Side::with(&["bd-1"]);
    let mut two = one.clone();
    two.clock = beads_core::Clock::new(beads_core::Stamp::ZERO, 2);
    one.done("ann", &ask("which?"));
    two.done("ben", &Op::Close(Close { id: "bd-1".into(), ..Close::default() }));
    let events = two.catalog.join_with_events(one.catalog.state(), two.now_ms);
    assert!(events.iter().any(|event| event.kind == EventKind::Asked), "{events:?}");
    one.catalog.join(two.catalog.state());
    assert_eq!(one.catalog.state(), two.catalog.state());
    assert_eq!(one.bead("bd-1").status(), Status::Closed);
    assert!(one.catalog.open_questions().is_empty(), "a closed bead asks nobody");
    one.done("ann", &Op::Reopen(Reopen { id: "bd-1".into(), ..Reopen::default() }));
    assert!(!ready(&one), "the question is still open");
    one.done("eve", &answer("this one"));
    two.catalog.join(one.catalog.state());
    assert_eq!(two.bead("bd-1").claim.assignee.as_ref().unwrap().as_str(), "ann");
}

#[test]
fn a_question_has_text_and_a_few_short_options() {
    let mut side = Side::with(&["bd-1"]);
    let with = |text: &str, options: Vec<String>| {
        Op::Ask(Ask { id: "bd-1".into(), text: text.parse().unwrap(), options, ..Ask::default() })
    };
    side.refused("ann", &with("  ", vec![]));
    side.refused("ann", &with("which?", vec![" ".into()]));
    side.refused("ann", &with("which?", vec!["x".repeat(121)]));
    side.refused("ann", &with("which?", vec!["x".into(); 11]));
    side.done("ann", &with("which?", vec!["hash".into(), "btree".into()]));
    assert_eq!(side.catalog.open_questions()[0].1.options(), ["hash", "btree"]);
    side.done("ann", &Op::Close(Close { id: "bd-1".into(), ..Close::default() }));
    assert!(matches!(side.refused("ann", &with("more?", vec![])), Error::Closed(_)));
}

//! Custom words for statuses and types, replicated settings, structured notes, and the format version that
//! they require.

use beads_core::op::{Close, Create, Guard, MintStoreId, NoteAdd, Op, RaiseFormat, SetSetting, Update};
use beads_core::query::{Filter, ReadyFilter, Reason};
use beads_core::{
    BeadType, Catalog, Clock, Context, Delta, Error, Salvage, Stamp, State, Status, concurrent_writes,
};
use serde_json::json;

/// A replica with a manual clock.
struct Side {
    catalog: Catalog,
    clock: Clock,
    now_ms: u64,
}

impl Side {
    fn new(tag: u16) -> Self {
        Self { catalog: Catalog::default(), clock: Clock::new(Stamp::ZERO, tag), now_ms: 1_000 }
    }

    fn apply(&mut self, op: &Op) -> Result<Delta, Error> {
        self.now_ms += 10;
        let mut number = self.now_ms;
        let mut context = Context {
            actor: "ann".parse().unwrap(),
            now_ms: self.now_ms,
            clock: &mut self.clock,
            random: &mut || {
                number += 1;
                number
            },
            branch: Default::default(),
            lease_ms: 60_000,
        };
        let applied = op.apply(&self.catalog, &mut context)?;
        // Join what the journal would contain.
        let line = serde_json::to_string(&applied.delta).unwrap();
        let delta: Delta = serde_json::from_str(&line).unwrap();
        assert_eq!(delta, applied.delta, "{line}");
        self.catalog.join_delta(&delta).unwrap();
        assert_eq!(self.catalog, Catalog::from(self.state().clone()), "the indexes are up to date");
        Ok(delta)
    }

    fn done(&mut self, op: &Op) {
        self.apply(op).unwrap();
    }

    fn state(&self) -> &State {
        self.catalog.state()
    }

    fn pull(&mut self, other: &Self) {
        self.catalog.join(other.state());
    }

    fn ready(&self) -> Vec<String> {
        let ready = self.catalog.ready(&ReadyFilter::default(), self.now_ms).unwrap();
        ready.iter().map(|ready| self.catalog.id_of(&ready.lineage).to_string()).collect()
    }

    fn listed(&self, filter: &Filter) -> Vec<String> {
        self.catalog.list(filter).unwrap().iter().map(|bead| self.catalog.id_of(bead).to_string()).collect()
    }
}

fn create(id: &str, kind: &str) -> Op {
    Op::Create(Box::new(Create {
        id: Some(id.parse().unwrap()),
        kind: kind.parse().unwrap(),
        ..Create::titled(id.parse().unwrap())
    }))
}

fn status(id: &str, word: &str) -> Op {
    Op::Update(Box::new(Update { status: Some(word.parse().unwrap()), ..Update::of(id) }))
}

fn setting(key: &str, value: &str) -> Op {
    Op::SetSetting(SetSetting { key: key.parse().unwrap(), value: value.parse().unwrap() })
}

fn round_trip(state: &State) {
    let snapshot = state.encode();
    assert_eq!(snapshot.decode().unwrap().state, *state);
    let mut salvage = Salvage::default();
    let files = snapshot.files().into_iter().map(|(name, bytes)| (name.to_owned(), bytes.to_vec()));
    salvage.add_files(&files.collect::<Vec<_>>()).unwrap();
    let (salvaged, unreadable) = salvage.finish();
    assert_eq!(unreadable, []);
    assert_eq!(salvaged.encode(), snapshot);
}

#[test]
fn the_first_custom_word_raises_the_format_permanently() {
    let mut ann = Side::new(7);
    ann.done(&create("bd-1", "bug"));
    assert_eq!(ann.state().format_version(), 1);
    let meta = String::from_utf8(ann.state().encode().meta).unwrap();
    assert!(meta.starts_with("{\"format_version\":1,\"prefix\":\"bd\",\"sha256\""), "{meta}");
    ann.done(&status("bd-1", "blocked"));
    assert_eq!(ann.state().format_version(), 2);
    round_trip(ann.state());
    let line = String::from_utf8(ann.state().encode().state).unwrap();
    assert!(line.contains("\"status\":\"open\",\"status_word\":\"blocked\",\"title\""), "{line}");
    ann.done(&status("bd-1", "open"));
    assert_eq!(ann.state().format_version(), 2, "it never decreases");
    assert!(!String::from_utf8(ann.state().encode().state).unwrap().contains("word"));
    let mut bob = Side::new(8);
    bob.pull(&ann);
    assert_eq!(bob.state().encode(), ann.state().encode());
}

#[test]
fn a_field_of_format_2_in_a_file_of_format_1_is_an_error() {
    let mut ann = Side::new(7);
    ann.done(&create("bd-1", "spike"));
    let mut snapshot = ann.state().encode();
    let meta =
        String::from_utf8(snapshot.meta).unwrap().replace("\"format_version\":2", "\"format_version\":1");
    snapshot.meta = meta.into_bytes();
    let error = snapshot.decode().unwrap_err().to_string();
    assert!(error.contains("state.jsonl line 1") && error.contains("format version 2"), "{error}");
    let mut bob = Side::new(8);
    bob.done(&setting("status.custom", "qa"));
    let mut snapshot = bob.state().encode();
    let meta =
        String::from_utf8(snapshot.meta).unwrap().replace("\"format_version\":2", "\"format_version\":1");
    snapshot.meta = meta.into_bytes();
    assert!(snapshot.decode().unwrap_err().to_string().contains("meta.json"));
}

#[test]
fn a_new_status_replaces_the_word_too() {
    let (mut ann, mut bob) = (Side::new(7), Side::new(8));
    ann.done(&create("bd-1", "task"));
    bob.now_ms = 2_000;
    bob.pull(&ann);
    ann.done(&status("bd-1", "deferred"));
    bob.done(&Op::Close(Close { id: "bd-1".into(), ..Close::default() }));
    let conflicts = concurrent_writes(ann.state(), bob.state(), None);
    assert_eq!(conflicts[0].value, json!({"status": "open", "status_word": "deferred"}));
    ann.pull(&bob);
    bob.pull(&ann);
    assert_eq!(ann.state().encode(), bob.state().encode());
    let group = &ann.state().beads().values().next().unwrap().status.value;
    assert_eq!((group.status, &group.word), (Status::Closed, &None));
    let mut kept = ann.state().clone();
    kept.join_conflict(&conflicts[0]);
    round_trip(&kept);
}

#[test]
fn a_bead_that_is_set_aside_by_a_word_is_not_ready() {
    let mut ann = Side::new(7);
    for id in ["bd-1", "bd-2", "bd-3", "bd-4"] {
        ann.done(&create(id, "task"));
    }
    ann.done(&create("bd-5", "memory"));
    ann.done(&create("bd-6", "decision"));
    for (id, word) in [("bd-1", "blocked"), ("bd-2", "deferred"), ("bd-3", "pinned")] {
        ann.done(&status(id, word));
    }
    assert_eq!(ann.ready(), ["bd-4", "bd-6"]);
    let explained = ann.catalog.explain(&ReadyFilter::default(), ann.now_ms).unwrap();
    let reasons: Vec<_> = explained.not_ready.iter().flat_map(|one| one.reasons.clone()).collect();
    assert!(reasons.contains(&Reason::SetAside { word: "pinned".parse().unwrap() }), "{reasons:?}");
    let blocked = ann.catalog.blocked(&Filter::default()).unwrap();
    assert_eq!(blocked.len(), 1, "it was marked as blocked by hand");
    ann.done(&status("bd-1", "open"));
    assert_eq!(ann.ready(), ["bd-1", "bd-4", "bd-6"]);
}

#[test]
fn filters_accept_words_and_exclude_memories_by_default() {
    let mut ann = Side::new(7);
    ann.done(&create("bd-1", "spike"));
    ann.done(&create("bd-2", "memory"));
    ann.done(&create("bd-3", "chore"));
    ann.done(&status("bd-1", "hooked"));
    let types = |word: &str| Filter { types: vec![word.parse().unwrap()], ..Filter::default() };
    let statuses = |word: &str| Filter { status: vec![word.parse().unwrap()], ..Filter::default() };
    assert_eq!(ann.listed(&Filter::default()), ["bd-1", "bd-3"]);
    assert_eq!(ann.listed(&types("memory")), ["bd-2"]);
    assert_eq!(ann.listed(&types("chore")), ["bd-3"]);
    assert_eq!(ann.listed(&types("task")), ["bd-1"], "a word also matches its own type");
    assert_eq!(ann.listed(&statuses("hooked")), ["bd-1"]);
    assert_eq!(ann.listed(&statuses("in_progress")), ["bd-1"]);
    let error = ann.catalog.list(&statuses("unheard-of")).unwrap_err().to_string();
    assert!(error.contains("open, in_progress, closed, blocked"), "{error}");
    assert!(serde_json::from_str::<Filter>(r#"{"status":["blocked","hooked"],"type":["bug"]}"#).is_ok());
}

#[test]
fn custom_words_are_replicated_settings() {
    let (mut ann, mut bob) = (Side::new(7), Side::new(8));
    ann.done(&create("bd-1", "task"));
    assert!(ann.apply(&status("bd-1", "qa")).is_err());
    assert!(ann.apply(&setting("status.custom", "open")).is_err());
    ann.done(&setting("status.custom", "qa:in_progress,someday:frozen"));
    ann.done(&setting("type.custom", "rfc:epic"));
    ann.done(&status("bd-1", "someday"));
    ann.done(&create("bd-2", "rfc"));
    bob.pull(&ann);
    assert_eq!(bob.ready(), ["bd-2"], "frozen beads are set aside there too");
    let kind = &bob.state().beads().values().last().unwrap().kind.value;
    assert_eq!((kind.kind, kind.shown()), (BeadType::Epic, "rfc"));
    bob.now_ms = 10_000;
    bob.done(&setting("status.custom", ""));
    ann.done(&setting("other.key", "kept"));
    ann.pull(&bob);
    bob.pull(&ann);
    assert_eq!(ann.state().encode(), bob.state().encode());
    assert_eq!(
        (ann.state().setting("status.custom"), ann.state().setting("other.key")),
        (None, Some("kept"))
    );
    assert!(ann.ready().contains(&"bd-1".to_owned()), "the setting that made the word frozen is gone");
    round_trip(ann.state());
}

#[test]
fn structured_notes_survive_encoding() {
    let mut ann = Side::new(7);
    ann.done(&create("bd-1", "task"));
    let note = |kind: Option<&str>, data| {
        Op::NoteAdd(NoteAdd {
            id: "bd-1".into(),
            content: "it works".parse().unwrap(),
            kind: kind.map(|kind| kind.parse().unwrap()),
            data: serde_json::from_value(data).unwrap(),
            ..NoteAdd::default()
        })
    };
    assert!(ann.apply(&note(None, json!({"exit": 0}))).is_err(), "data belongs to a kind");
    ann.done(&note(Some("evidence"), json!({"exit": 0, "ran": ["cargo", "test"]})));
    assert_eq!(ann.state().format_version(), 2);
    round_trip(ann.state());
    let line = String::from_utf8(ann.state().encode().state).unwrap();
    assert!(
        line.contains("\"content\":\"it works\",\"data\":{\"exit\":0,\"ran\":[\"cargo\",\"test\"]},\"id\"")
    );
    let note =
        ann.catalog.view(&ann.state().beads().keys().next().unwrap().clone()).unwrap().notes[0].clone();
    assert_eq!(serde_json::to_value(&note).unwrap()["kind"], "evidence");
}

#[test]
fn the_first_store_id_wins() {
    let (mut ann, mut bob) = (Side::new(7), Side::new(8));
    bob.now_ms = 5_000;
    for side in [&mut ann, &mut bob] {
        side.done(&Op::MintStoreId(MintStoreId {}));
        assert!(side.apply(&Op::MintStoreId(MintStoreId {})).unwrap().is_empty());
    }
    let first = ann.state().store_id().unwrap().clone();
    bob.pull(&ann);
    ann.pull(&bob);
    assert_eq!((ann.state().store_id(), bob.state().store_id()), (Some(&first), Some(&first)));
    round_trip(ann.state());
}

#[test]
fn the_format_can_be_raised_explicitly() {
    let mut ann = Side::new(7);
    ann.done(&Op::RaiseFormat(RaiseFormat { version: 2 }));
    assert_eq!(ann.state().format_version(), 2);
    assert!(ann.apply(&Op::RaiseFormat(RaiseFormat { version: 2 })).unwrap().is_empty());
    // Only archiving a bead raises the format to 3.
    assert!(ann.apply(&Op::RaiseFormat(RaiseFormat { version: 3 })).is_err());
    round_trip(ann.state());
}

#[test]
fn a_guard_compares_custom_words() {
    let mut ann = Side::new(7);
    ann.done(&create("bd-1", "task"));
    ann.done(&status("bd-1", "blocked"));
    let lineage = ann.state().beads().keys().next().unwrap().clone();
    let view = ann.catalog.view(&lineage).unwrap();
    let if_hash = view.if_hash.clone().unwrap();
    assert_eq!(if_hash, format!("{}+blocked/", view.content_hash));
    ann.done(&status("bd-1", "deferred"));
    assert_eq!(ann.catalog.view(&lineage).unwrap().content_hash, view.content_hash, "words are not hashed");
    let guarded = |hash: &str| {
        let guard = Guard { content_hash: Some(hash.to_owned()), ..Guard::default() };
        let title = Some("Other".parse().unwrap());
        Op::Update(Box::new(Update { guard, title, ..Update::of("bd-1") }))
    };
    for stale in [&if_hash, &view.content_hash] {
        assert!(
            matches!(ann.apply(&guarded(stale)), Err(Error::HashMismatch { if_hash: Some(now), .. })
                if now.ends_with("+deferred/")),
            "{stale}"
        );
    }
    let now = ann.catalog.view(&lineage).unwrap().if_hash.clone().unwrap();
    ann.done(&guarded(&now));
    // The guard also notices that a word was removed.
    let read = ann.catalog.view(&lineage).unwrap();
    ann.done(&status("bd-1", "open"));
    assert_eq!(ann.catalog.view(&lineage).unwrap().content_hash, read.content_hash);
    assert!(matches!(
        ann.apply(&guarded(&read.if_hash.clone().unwrap())),
        Err(Error::HashMismatch { if_hash: None, .. })
    ));
    ann.done(&guarded(&read.content_hash));
}

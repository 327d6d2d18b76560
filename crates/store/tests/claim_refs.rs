//! Claim refs on a path, with and without the git program.

use std::path::{Path, PathBuf};
use std::time::Duration;

use beads_core::{CLAIM_REFS, ClaimRecord, ClaimState, Lineage, Stamp};
use beads_store::{AnyRemote, ClaimRemote, GitProgram, GitRepository, RefChange, Swapped, Transport};
use tempfile::TempDir;

struct Machine {
    git_dir: PathBuf,
    transport: Transport,
    name: &'static str,
}

impl Machine {
    fn new(root: &Path, name: &'static str, transport: Transport) -> Self {
        let git = git2::Repository::init(root.join(name)).unwrap();
        git.remote("origin", root.join("remote.git").to_str().unwrap()).unwrap();
        Self { git_dir: git.path().to_owned(), transport, name }
    }

    fn remote(&self) -> AnyRemote {
        AnyRemote::open(&self.git_dir, "origin", self.transport, Duration::from_secs(60))
    }

    fn record(&self, id: &str, fence: u64) -> ClaimRecord {
        let at = Stamp::decode(1, 7).unwrap();
        ClaimRecord {
            claim: format!("{}-{fence}", self.name),
            fence: Stamp::decode(fence, 7).unwrap(),
            holder: self.name.parse().unwrap(),
            lease_ms: 1_000,
            lineage: Lineage::new(id.parse().unwrap(), at, "bob".parse().unwrap()),
            state: ClaimState::Live,
        }
    }

    /// Writes a value that replaces another, and returns the change that puts it on its ref.
    fn change(&self, record: &ClaimRecord, expected: Option<&str>) -> RefChange {
        let new = GitRepository::open(&self.git_dir).unwrap().write_claim(record, expected).unwrap();
        let expected = expected.map(str::to_owned);
        RefChange { name: record.lineage.claim_name(), expected, new: Some(new) }
    }

    fn swap(&self, change: RefChange) -> Swapped {
        self.remote().swap(CLAIM_REFS, &[change]).unwrap().pop().unwrap()
    }

    fn seen(&self, record: &ClaimRecord) -> Option<(String, Option<ClaimRecord>)> {
        let mut seen = self.remote().claims(CLAIM_REFS).unwrap();
        seen.refs.remove(&record.lineage.claim_name()).map(|value| (value.commit, value.record))
    }
}

fn on_every_transport(test: impl Fn(&Path, &Machine, &Machine)) {
    for transport in [Transport::Git, Transport::Native] {
        if transport == Transport::Git && !GitProgram::is_installed() {
            continue;
        }
        eprintln!("transport: {transport:?}");
        let root = TempDir::new().unwrap();
        git2::Repository::init_bare(root.path().join("remote.git")).unwrap();
        let [ann, ben] = ["ann", "ben"].map(|name| Machine::new(root.path(), name, transport));
        test(root.path(), &ann, &ben);
    }
}

#[test]
fn a_claim_has_one_winner_and_the_loser_learns_who() {
    on_every_transport(|_, ann, ben| {
        let (first, second) = (ann.record("bd-1", 10), ben.record("bd-1", 20));
        assert_eq!(ann.seen(&first), None);
        let theirs = ben.change(&second, None);
        assert_eq!(ann.swap(ann.change(&first, None)), Swapped::Done);
        assert!(matches!(ben.swap(theirs), Swapped::Lost(_)));
        let (commit, record) = ben.seen(&second).unwrap();
        assert_eq!(record.as_ref(), Some(&first));
        // A stale expectation fails just like a missing one.
        let stale = ben.change(&second, Some(&commit));
        assert_eq!(ann.swap(ann.change(&first.ended(Stamp::ZERO), Some(&commit))), Swapped::Done);
        assert!(matches!(ben.swap(stale), Swapped::Lost(_)));
        let (over, record) = ben.seen(&second).unwrap();
        assert_eq!(record.unwrap().state, ClaimState::Over);
        assert_eq!(ben.swap(ben.change(&second, Some(&over))), Swapped::Done);
        assert_eq!(ann.seen(&first).unwrap().1.unwrap().holder.as_str(), "ben");
    });
}

#[test]
fn claims_of_different_beads_never_race_and_each_value_is_a_child_of_the_last() {
    on_every_transport(|root, ann, ben| {
        let (one, two) = (ann.record("bd-1", 10), ben.record("bd-2", 20));
        let (ours, theirs) = (ann.change(&one, None), ben.change(&two, None));
        assert_eq!((ann.swap(ours.clone()), ben.swap(theirs)), (Swapped::Done, Swapped::Done));
        let over = ann.change(&one.ended(Stamp::ZERO), None);
        let bare = git2::Repository::open(root.join("remote.git")).unwrap();
        // Of two changes at once one is lost; the other succeeds.
        let (lost, wins) = (over, ann.record("bd-3", 30));
        let both = ann.remote().swap(CLAIM_REFS, &[lost, ann.change(&wins, None)]);
        let both = both.unwrap_or_else(|error| panic!("{error}"));
        assert!(matches!(both[0], Swapped::Lost(_)) && both[1] == Swapped::Done, "{both:?}");
        let next = ann.change(&one.ended(Stamp::ZERO), ours.new.as_deref());
        assert_eq!(ann.swap(next), Swapped::Done);
        let name = format!("{CLAIM_REFS}{}", one.lineage.claim_name());
        let tip = bare.find_reference(&name).unwrap().peel_to_commit().unwrap();
        assert_eq!(tip.parent_id(0).unwrap().to_string(), ours.new.unwrap());
        assert_eq!(ben.remote().claims(CLAIM_REFS).unwrap().refs.len(), 3);
    });
}

#[test]
fn a_ref_is_only_deleted_if_it_has_the_value_that_was_seen() {
    on_every_transport(|_, ann, ben| {
        let record = ann.record("bd-1", 10);
        let live = ann.change(&record, None);
        let delete = |expected: &Option<String>| RefChange {
            name: live.name.clone(),
            expected: expected.clone(),
            new: None,
        };
        assert_eq!(ann.swap(live.clone()), Swapped::Done);
        let over = ann.change(&record.ended(Stamp::ZERO), live.new.as_deref());
        assert_eq!(ann.swap(over.clone()), Swapped::Done);
        assert!(matches!(ben.swap(delete(&live.new)), Swapped::Lost(_)));
        assert!(ben.seen(&record).is_some());
        assert_eq!(ben.swap(delete(&over.new)), Swapped::Done);
        assert_eq!(ann.seen(&record), None);
    });
}

#[test]
fn a_value_that_is_not_a_record_of_its_ref_has_no_record() {
    on_every_transport(|root, ann, ben| {
        let (record, other) = (ann.record("bd-1", 10), ann.record("bd-2", 10));
        let strange = ann.change(&other, None);
        assert_eq!(ann.swap(RefChange { name: record.lineage.claim_name(), ..strange }), Swapped::Done);
        assert_eq!(ben.seen(&record).unwrap().1, None);
        let bare = git2::Repository::open(root.join("remote.git")).unwrap();
        let blob = bare.blob(b"no commit").unwrap();
        bare.reference(&format!("{CLAIM_REFS}00"), blob, true, "").unwrap();
        // A ref that points at no commit does not hide the others.
        if ann.transport == Transport::Native {
            let seen = ben.remote().claims(CLAIM_REFS);
            assert!(seen.is_err() || seen.unwrap().refs.contains_key(&record.lineage.claim_name()));
        }
    });
}

#[test]
fn a_server_that_forbids_the_refs_is_distinguished_from_a_lost_race() {
    if !GitProgram::is_installed() {
        return;
    }
    let root = TempDir::new().unwrap();
    let bare = git2::Repository::init_bare(root.path().join("remote.git")).unwrap();
    bare.config().unwrap().set_str("receive.hideRefs", "refs/beads").unwrap();
    let ann = Machine::new(root.path(), "ann", Transport::Git);
    let record = ann.record("bd-1", 10);
    assert!(matches!(ann.swap(ann.change(&record, None)), Swapped::Refused(_)));
    // Below refs/heads it works.
    let change = ann.change(&record, None);
    let elsewhere = ann.remote().swap("refs/heads/beads-claims/", &[change]).unwrap();
    assert_eq!(elsewhere, [Swapped::Done]);
}

//! Several replicas and one bare remote on this machine, over both transports: whatever happens concurrently, they end
//! with the same bytes, and every write is present or in the conflict list.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test that cannot go on stops; a skipped one says so

use std::path::{Path, PathBuf};
use std::time::Duration;

use beads_core::op::{Close, Create, Delete, DepAdd, DepRemove, NoteAdd, Restore, Update};
use beads_core::{EdgeKind, Field, Op, Priority, State};
use beads_store::{
    AnyRemote, Caller, Error, Exchange, GitProgram, GitRepository, MAX_ROUNDS, Pushed, REF, RealDisk,
    RealWorld, Remote, Replica, Repository, Transport, World,
};
use tempfile::TempDir;

/// A clone: a repository with a remote, and the replica in it.
struct Clone {
    git_dir: PathBuf,
    replica: Replica<RealDisk, RealWorld>,
    transport: Transport,
    actor: String,
}

impl Clone {
    fn new(root: &Path, name: &str, transport: Transport) -> Self {
        let git = git2::Repository::init(root.join(name)).unwrap();
        git.remote("origin", root.join("remote.git").to_str().unwrap()).unwrap();
        Self::open(git.path(), name, transport)
    }

    fn open(git_dir: &Path, name: &str, transport: Transport) -> Self {
        let repository = GitRepository::open(git_dir).unwrap();
        let replica = Replica::open(RealDisk::new(git_dir.join("beads")), &repository, RealWorld).unwrap();
        Self { git_dir: git_dir.to_owned(), replica, transport, actor: name.to_owned() }
    }

    fn reopen(self) -> Self {
        let Self { git_dir, transport, actor, replica } = self;
        drop(replica);
        Self::open(&git_dir, &actor, transport)
    }

    fn repository(&self) -> GitRepository {
        GitRepository::open(&self.git_dir).unwrap()
    }

    fn remote(&self) -> AnyRemote {
        AnyRemote::open(&self.git_dir, "origin", self.transport, Duration::from_secs(60))
    }

    /// Does it if it can be done: some operations meet beads that are gone.
    fn attempt(&mut self, op: &Op) -> bool {
        let caller = Caller {
            actor: self.actor.parse().unwrap(),
            branch: Default::default(),
            lease_ms: 7_200_000,
            request: None,
        };
        let done = self.replica.apply(op, &caller).is_ok();
        self.replica.commit().unwrap();
        done
    }

    fn run(&mut self, op: &Op) {
        assert!(self.attempt(op), "{op:?}");
    }

    fn sync(&mut self) -> Exchange {
        self.try_sync().unwrap()
    }

    fn try_sync(&mut self) -> Result<Exchange, Error> {
        let checkpoint = self.replica.begin_checkpoint()?;
        let (saved, exchange) = checkpoint.sync(&self.repository(), &self.remote(), |_| {})?;
        self.replica.finish_checkpoint(saved)?;
        exchange
    }

    fn state(&self) -> &State {
        self.replica.catalog().state()
    }

    fn tip(&self) -> Option<String> {
        self.repository().tip().unwrap()
    }
}

fn transports() -> Vec<Transport> {
    if GitProgram::is_installed() {
        vec![Transport::Native, Transport::Git]
    } else {
        println!("skipped: there is no git program to test its transport with");
        vec![Transport::Native]
    }
}

fn world(names: &[&str], transport: Transport) -> (TempDir, Vec<Clone>) {
    let root = tempfile::tempdir().unwrap();
    git2::Repository::init_bare(root.path().join("remote.git")).unwrap();
    let clones = names.iter().map(|name| Clone::new(root.path(), name, transport)).collect();
    (root, clones)
}

fn create(id: &str, title: &str) -> Op {
    let create = Create { id: Some(id.parse().unwrap()), ..Create::titled(title.parse().unwrap()) };
    Op::Create(Box::new(create))
}

fn retitle(id: &str, title: &str) -> Op {
    Op::Update(Box::new(Update { title: Some(title.parse().unwrap()), ..Update::of(id) }))
}

/// Lets the wall clock tick once, so that the next write is later than the last whatever the replicas' tags are.
fn tick() {
    let now = || RealWorld.now_ms();
    let before = now();
    while now() == before {
        std::thread::yield_now();
    }
}

/// Syncs all until nobody has anything new, and checks that all hold the same commit.
fn settle(clones: &mut [Clone]) {
    for _ in 0..4 {
        for clone in clones.iter_mut() {
            clone.sync();
        }
    }
    let tips: Vec<_> = clones.iter().map(Clone::tip).collect();
    assert!(tips.windows(2).all(|pair| pair[0] == pair[1]), "the tips differ: {tips:?}");
    let first = clones[0].state().encode();
    for clone in clones.iter() {
        assert!(clone.state().encode() == first, "{} holds other bytes", clone.actor);
        let tip = clone.tip().unwrap();
        assert!(
            clone.repository().snapshot(&tip).unwrap() == first,
            "the ref of {} is behind its memory",
            clone.actor
        );
    }
}

#[test]
fn the_first_push_makes_the_branch_and_a_second_replica_adopts_it_without_a_commit() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        assert!(clones[0].sync().pushed);
        let exchange = clones[1].sync();
        assert!(exchange.pulled && !exchange.pushed);
        assert_eq!(clones[0].tip(), clones[1].tip());
        let quiet = clones[0].sync();
        assert!(!quiet.pulled && !quiet.pushed, "two idle replicas exchange nothing");
    }
}

#[test]
fn concurrent_edits_of_different_fields_both_survive_and_nothing_is_a_conflict() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        settle(&mut clones);
        clones[0].run(&retitle("bd-a1", "better"));
        clones[1]
            .run(&Op::Update(Box::new(Update { priority: Some(Priority::HIGHEST), ..Update::of("bd-a1") })));
        settle(&mut clones);
        let view =
            clones[0].replica.catalog().view(clones[0].replica.catalog().resolve("bd-a1").unwrap()).unwrap();
        assert_eq!((view.title.as_str(), view.priority), ("better", Priority::HIGHEST));
        assert!(clones[0].state().conflicts().is_empty());
    }
}

#[test]
fn the_losing_title_is_kept_and_can_be_restored() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        settle(&mut clones);
        clones[0].run(&retitle("bd-a1", "from ann"));
        tick();
        clones[1].run(&retitle("bd-a1", "from ben"));
        settle(&mut clones);
        let conflicts: Vec<_> = clones[1].state().conflicts().iter().collect();
        let [(id, conflict)] = conflicts.as_slice() else { panic!("one conflict, not {}", conflicts.len()) };
        assert_eq!((conflict.field, conflict.value.as_str()), (Field::Title, Some("from ann")));
        let restore = Op::ConflictRestore(beads_core::op::ConflictRestore { id: (*id).clone() });
        clones[1].run(&restore);
        settle(&mut clones);
        let catalog = clones[0].replica.catalog();
        let bead = catalog.bead(catalog.resolve("bd-a1").unwrap()).unwrap();
        assert_eq!(bead.title.value.as_str(), "from ann");
        assert!(clones[0].state().conflicts().values().all(|conflict| conflict.dismissed.is_some()));
    }
}

#[test]
fn an_id_taken_on_both_sides_belongs_to_the_older_bead() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "older"));
        tick();
        clones[1].run(&create("bd-a1", "younger"));
        clones[1].run(&create("bd-b1", "needs it"));
        let dep = DepAdd { from: "bd-b1".into(), to: "bd-a1".into(), kind: EdgeKind::Blocks };
        clones[1].run(&Op::DepAdd(dep));
        settle(&mut clones);
        let catalog = clones[0].replica.catalog();
        let title = |id: &str| catalog.view(catalog.resolve(id).unwrap()).unwrap().title.to_string();
        assert_eq!(title("bd-a1"), "older");
        let needs = catalog.view(catalog.resolve("bd-b1").unwrap()).unwrap();
        let followed = &needs.dependencies[0].id;
        assert_ne!(followed.as_str(), "bd-a1", "the edge follows its bead");
        assert_eq!(title(followed.as_str()), "younger");
    }
}

#[test]
fn any_shape_of_remote_history_is_joined() {
    for transport in transports() {
        let (root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        settle(&mut clones);
        let remote = git2::Repository::open_bare(root.path().join("remote.git")).unwrap();
        let early = remote.refname_to_id(REF).unwrap();
        clones[1].run(&create("bd-b1", "two"));
        settle(&mut clones);
        // Rewound.
        remote.reference(REF, early, true, "test").unwrap();
        clones[0].run(&create("bd-c1", "three"));
        settle(&mut clones);
        // Deleted, and made again.
        remote.find_reference(REF).unwrap().delete().unwrap();
        clones[1].run(&create("bd-d1", "four"));
        settle(&mut clones);
        // Replaced by an unrelated history.
        let (other_root, mut others) = world(&["cyd"], transport);
        others[0].run(&create("bd-e1", "five"));
        others[0].sync();
        let stranger = other_root.path().join("remote.git");
        let mut strange = remote.remote_anonymous(stranger.to_str().unwrap()).unwrap();
        strange.fetch(&[format!("+{REF}:{REF}")], None, None).unwrap();
        settle(&mut clones);
        assert_eq!(clones[0].replica.catalog().live_count(), 5);
    }
}

#[test]
fn a_rival_push_between_fetch_and_push_never_vanishes() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        settle(&mut clones);
        let seen = clones[0].remote().fetch().unwrap();
        clones[1].run(&create("bd-b1", "rival"));
        clones[1].sync();
        clones[0].run(&create("bd-c1", "late"));
        let repository = clones[0].repository();
        clones[0].replica.checkpoint(&repository).unwrap();
        let tip = clones[0].tip().unwrap();
        assert_eq!(clones[0].remote().push(seen.as_deref(), &tip).unwrap(), Pushed::Lost);
        assert_eq!(clones[0].remote().push(None, &tip).unwrap(), Pushed::Lost);
        settle(&mut clones);
        assert_eq!(clones[1].replica.catalog().live_count(), 3);
    }
}

#[test]
fn trouble_with_the_remote_leaves_everything_safe_here() {
    for transport in transports() {
        let (root, mut clones) = world(&["ann"], transport);
        clones[0].run(&create("bd-a1", "one"));
        let remote = root.path().join("remote.git");
        std::fs::rename(&remote, root.path().join("away.git")).unwrap();
        assert!(matches!(clones[0].try_sync(), Err(Error::Remote { .. })), "{transport:?}");
        let mut clone = clones.pop().unwrap().reopen();
        assert_eq!(clone.replica.catalog().live_count(), 1);
        // Not a valid store: refused, and nothing changes here.
        std::fs::rename(root.path().join("away.git"), &remote).unwrap();
        let tip = clone.tip();
        let git = git2::Repository::open_bare(&remote).unwrap();
        let who = git2::Signature::now("x", "x@localhost").unwrap();
        let tree = git.find_tree(git.treebuilder(None).unwrap().write().unwrap()).unwrap();
        git.commit(Some(REF), &who, &who, "not ours", &tree, &[]).unwrap();
        assert!(matches!(clone.try_sync(), Err(Error::RemoteInvalid { .. })));
        assert_eq!(clone.tip(), tip);
        // Healed.
        git.find_reference(REF).unwrap().delete().unwrap();
        assert!(clone.sync().pushed);
    }
}

#[test]
fn lock_files_left_by_the_killed_do_not_stop_a_sync() {
    for transport in transports() {
        let (root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        settle(&mut clones);
        let old = std::time::SystemTime::now() - Duration::from_secs(60);
        let mut places = vec![clones[0].git_dir.join("refs/remotes/origin/beads/store.lock")];
        if transport == Transport::Native {
            // The git program's server side is git's own business.
            places.push(root.path().join("remote.git").join(format!("{REF}.lock")));
        }
        for place in places {
            std::fs::File::create(place).unwrap().set_modified(old).unwrap();
        }
        clones[1].run(&create("bd-b1", "two"));
        clones[1].sync();
        clones[0].run(&create("bd-c1", "three"));
        settle(&mut clones);
        assert_eq!(clones[0].replica.catalog().live_count(), 3);
    }
}

#[test]
fn a_fresh_clone_finds_the_beads_before_its_first_sync() {
    let (root, mut clones) = world(&["ann"], Transport::Native);
    clones[0].run(&create("bd-a1", "one"));
    clones[0].sync();
    let url = root.path().join("remote.git");
    let git = git2::build::RepoBuilder::new()
        .bare(false)
        .clone(url.to_str().unwrap(), &root.path().join("new"))
        .unwrap();
    let clone = Clone::open(git.path(), "new", Transport::Native);
    assert_eq!(clone.replica.catalog().live_count(), 1);
    assert_eq!(clone.tip(), None, "reading makes no ref");
}

/// A small generator of its own: one seed, one history.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn random_op(dice: &mut Dice, side: usize) -> Op {
    let id = format!("bd-{}", dice.roll(6));
    let other = format!("bd-{}", dice.roll(6));
    let stamp = dice.roll(1000);
    match dice.roll(10) {
        0 | 1 => create(&id, &format!("{id} of {side}")),
        2 | 3 => retitle(&id, &format!("title {stamp} of {side}")),
        4 => {
            let labels = vec![format!("l{stamp}").parse().unwrap()];
            Op::Update(Box::new(Update { set_labels: Some(labels), ..Update::of(id) }))
        }
        5 => Op::NoteAdd(NoteAdd {
            id,
            content: format!("note {stamp} of {side}").parse().unwrap(),
            ..NoteAdd::default()
        }),
        6 => Op::Delete(Delete { id, ..Delete::default() }),
        7 => Op::Restore(Restore { id, ..Restore::default() }),
        8 if dice.roll(2) == 0 => Op::DepAdd(DepAdd { from: id, to: other, kind: EdgeKind::Related }),
        8 => Op::DepRemove(DepRemove { from: id, to: other, kind: EdgeKind::Related }),
        _ => {
            let create = Create { parent: Some(id), ..Create::titled("child".parse().unwrap()) };
            if dice.roll(2) == 0 {
                Op::Create(Box::new(create))
            } else {
                Op::Close(Close { id: other, ..Close::default() })
            }
        }
    }
}

fn converges(seed: u64, names: &[&str], transport: Transport, steps: usize) {
    let (_root, mut clones) = world(names, transport);
    let mut dice = Dice(seed);
    let mut titles = Vec::new();
    for _ in 0..steps {
        let side = usize::try_from(dice.roll(names.len() as u64)).unwrap();
        if dice.roll(5) == 0 {
            clones[side].sync();
            continue;
        }
        let op = random_op(&mut dice, side);
        if clones[side].attempt(&op)
            && let Op::Update(update) = &op
            && let Some(title) = &update.title
        {
            titles.push(title.to_string());
        }
    }
    settle(&mut clones);
    let state = clones[0].state();
    // A title written last on its side is the bead's title, was overwritten there knowingly, or is in the conflict list:
    // here only the last write of all can be told apart, and it must be present.
    if let Some(last) = titles.last() {
        let present = state.beads().values().any(|bead| bead.title.value.as_str() == last);
        let kept = state.conflicts().values().any(|conflict| conflict.value.as_str() == Some(last.as_str()));
        assert!(present || kept, "seed {seed}: {last:?} is lost");
    }
}

#[test]
fn two_and_five_replicas_converge_over_many_seeds() {
    for seed in 0..6 {
        converges(seed, &["ann", "ben"], Transport::Native, 40);
    }
    for seed in 100..102 {
        converges(seed, &["ann", "ben", "cyd", "dan", "eve"], Transport::Native, 60);
    }
    if transports().contains(&Transport::Git) {
        converges(200, &["ann", "ben"], Transport::Git, 20);
    }
}

#[test]
fn eight_replicas_pushing_at_once_all_get_through() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let (_root, mut clones) = world(&names, Transport::Native);
    for round in 0..5 {
        std::thread::scope(|scope| {
            for (number, clone) in clones.iter_mut().enumerate() {
                scope.spawn(move || {
                    clone.run(&create(&format!("bd-{round}x{number}"), "work"));
                    // A contention error leaves everything here; the next sync goes on.
                    for _ in 0..5 {
                        match clone.try_sync() {
                            Ok(exchange) => return assert!(exchange.rounds <= MAX_ROUNDS),
                            Err(Error::Contention(_)) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
        });
    }
    settle(&mut clones);
    assert_eq!(clones[0].replica.catalog().live_count(), 5 * names.len());
}

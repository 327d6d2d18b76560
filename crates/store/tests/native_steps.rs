//! Syncs that were given up leave a bounded number of threads and connections.
#![allow(clippy::unwrap_used)] // a failing test may panic

use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::time::Duration;

use beads_store::{Native, Remote};

#[test]
fn a_server_that_never_answers_holds_a_few_connections_at_most() {
    let dir = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/store.git", listener.local_addr().unwrap());
    git2::Repository::init(dir.path()).unwrap().remote("origin", &url).unwrap();
    let (accepted, connections) = channel();
    // It accepts connections and keeps them open without answering.
    std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| drop(accepted.send(stream))));
    let git_dir = dir.path().join(".git");
    let failures: Vec<String> = (0..12)
        .map(|_| Native::new(&git_dir, "origin", Duration::from_millis(20)).fetch().unwrap_err().to_string())
        .collect();
    assert!(failures[0].contains("took longer than"), "{failures:?}");
    assert!(failures[11].contains("earlier attempts are still waiting"), "{failures:?}");
    assert!(connections.try_iter().count() <= 4);
}

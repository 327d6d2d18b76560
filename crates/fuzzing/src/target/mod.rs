//! One file per kind of input.

pub mod canonical;
pub mod config;
pub mod frame;
pub mod id;
pub mod import;
pub mod journal;
pub mod mcp;
pub mod tool;

/// What can be read can be written, and reads the same again.
fn stays_the_same<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) {
    let written = serde_json::to_vec(value).expect("what was read can be written");
    let again: T = serde_json::from_slice(&written).expect("what was written can be read");
    let rewritten = serde_json::to_vec(&again).expect("what was read can be written");
    assert_eq!(String::from_utf8(written), String::from_utf8(rewritten));
}

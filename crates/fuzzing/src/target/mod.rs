//! The fuzz targets, one file per kind of input.

pub mod canonical;
pub mod config;
pub mod frame;
pub mod hub;
pub mod id;
pub mod import;
pub mod journal;
pub mod mcp;
pub mod tool;

/// Checks that a value survives serialization.
fn check_round_trip<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) {
    let written = serde_json::to_vec(value).expect("a parsed value can be written");
    let again: T = serde_json::from_slice(&written).expect("a written value can be parsed");
    let rewritten = serde_json::to_vec(&again).expect("a parsed value can be written");
    assert_eq!(String::from_utf8(written), String::from_utf8(rewritten));
}

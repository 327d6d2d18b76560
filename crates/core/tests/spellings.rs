//! Parsing and printing of prefixes and edge kinds.

use beads_core::{EdgeKind, Prefix};

#[test]
fn a_prefix_is_lower_case_with_dashes_inside() {
    let longest = "x".repeat(32);
    for good in ["a", "7", "bd", "my-app", "my_app", "a1-b2", &longest] {
        assert_eq!(good.parse::<Prefix>().unwrap().as_str(), good);
    }
    assert_eq!("bd-".parse::<Prefix>().unwrap().as_str(), "bd", "a trailing dash is accepted");
    let too_long = "x".repeat(33);
    for bad in ["", "-", "-a", "_a", "a_", "a--", "-a-b-", "App", "a.b", "a b", "ä", &too_long] {
        assert!(bad.parse::<Prefix>().is_err(), "{bad:?}");
    }
}

#[test]
fn every_spelling_of_a_kind_is_parsed_and_two_are_printed() {
    let spellings: [(EdgeKind, &str, &str, &[&str]); 4] = [
        (EdgeKind::Blocks, "blocks", "blocks", &[]),
        (EdgeKind::Parent, "parent", "parent-child", &["parent_child"]),
        (EdgeKind::Related, "related", "related", &["relates-to", "relates_to"]),
        (EdgeKind::DiscoveredFrom, "discovered_from", "discovered-from", &[]),
    ];
    for (kind, stored, client, others) in spellings {
        assert_eq!((kind.as_str(), kind.client_name(), kind.to_string().as_str()), (stored, client, stored));
        for spelling in [stored, client].iter().chain(others) {
            assert_eq!(spelling.parse(), Ok(kind), "{spelling}");
        }
    }
    assert!("waits".parse::<EdgeKind>().is_err());
}

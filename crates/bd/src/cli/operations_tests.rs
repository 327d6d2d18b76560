//! Checks every interface against the table of operations.

use std::collections::BTreeSet;

use beads_core::Op;
use clap::CommandFactory;
use serde_json::json;

use super::Cli;
use crate::operations::{Effect, TABLE};

/// Operations that the store runs internally and no interface offers.
const INTERNAL: [&str; 2] = ["collect_garbage", "mint_store_id"];

#[test]
fn every_name_is_unique() {
    let mut names = BTreeSet::new();
    for row in TABLE {
        let tool = row.tool.into_iter().map(|name| ("tool", name));
        let ops = row.ops.iter().map(|name| ("op", *name));
        for name in [("verb", row.verb)].into_iter().chain(tool).chain(ops) {
            assert!(names.insert(name), "{name:?} is used twice");
        }
    }
}

#[test]
fn a_reading_operation_has_no_dry_run_and_is_not_destructive() {
    for row in TABLE.iter().filter(|row| row.effect == Effect::Reads) {
        assert!(!row.needs_apply && !row.dry_run && !row.destructive && row.ops.is_empty(), "{row:?}");
    }
}

#[test]
fn every_operation_of_the_socket_has_a_row() {
    let unknown = serde_json::from_value::<Op>(json!({"op": "?"})).unwrap_err().to_string();
    let known: BTreeSet<&str> = unknown.split('`').skip(3).step_by(2).collect();
    let rows = TABLE.iter().flat_map(|row| row.ops.iter().copied());
    assert_eq!(rows.chain(INTERNAL).collect::<BTreeSet<_>>(), known);
}

#[test]
fn every_tool_has_a_row_with_its_effect() {
    let rows: BTreeSet<_> = TABLE.iter().filter_map(|row| Some((row.tool?, row.changes()))).collect();
    let tools: BTreeSet<_> = crate::tool::table().iter().map(|tool| (tool.name, tool.mutates)).collect();
    assert_eq!(rows, tools);
}

#[test]
fn every_portal_has_a_row_with_its_effect() {
    let rows: BTreeSet<_> = TABLE.iter().filter_map(|row| Some((row.portal?, row.changes()))).collect();
    assert_eq!(rows, crate::mcp::portals().collect());
}

#[test]
fn dry_run_and_apply_match_the_command_line() {
    let mut bd = Cli::command();
    bd.build();
    let bb = crate::agent::cli::command();
    for row in TABLE {
        let root = if row.verb.starts_with("agent ") { &bb } else { &bd };
        let command = row.verb.split(' ').try_fold(root, |command, word| command.find_subcommand(word));
        assert!(command.is_some(), "there is no command {:?}", row.verb);
    }
    let rows = TABLE.iter().filter(|row| row.dry_run || row.needs_apply);
    let rows: BTreeSet<_> = rows.map(|row| (row.verb.to_owned(), row.dry_run, row.needs_apply)).collect();
    let mut found = BTreeSet::new();
    collect_dry_run_or_apply(&bd, "", &mut found);
    assert_eq!(rows, found);
}

/// Collects every command that has `--dry-run` or `--apply`.
fn collect_dry_run_or_apply(command: &clap::Command, path: &str, found: &mut BTreeSet<(String, bool, bool)>) {
    let has = |option: &str| command.get_arguments().any(|given| given.get_long() == Some(option));
    let (dry_run, apply) = (has("dry-run"), has("apply"));
    if dry_run || apply {
        found.insert((path.to_owned(), dry_run, apply));
    }
    for below in command.get_subcommands() {
        collect_dry_run_or_apply(below, format!("{path} {}", below.get_name()).trim(), found);
    }
}

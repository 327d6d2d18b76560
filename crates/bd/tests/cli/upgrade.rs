use crate::sandbox::{Mode, Sandbox};

#[test]
fn the_check_names_what_installed_this_copy_and_changes_nothing() {
    let bd = Sandbox::without_repository(Mode::Daemon);
    let answer = bd.json(&["upgrade", "--check"]);
    assert_eq!(answer["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(answer["executable"], env!("CARGO_BIN_EXE_bd"));
    assert!(bd.text(&["upgrade", "--check"]).contains(answer["upgrade_with"].as_str().unwrap()));
    bd.error(&["upgrade"], "usage");
    assert!(std::fs::read_dir(bd.dir()).unwrap().next().is_none());
}

use crate::sandbox::{Mode, Sandbox};

#[test]
fn version_help_and_completions_need_no_store() {
    let bd = Sandbox::without_repository(Mode::Daemon);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(bd.text(&["version"]), format!("bd {version}\n"));
    assert_eq!(bd.json(&["version"])["version"], version);
    let answer = bd.json(&["version"]);
    assert_eq!(answer["protocol_version"], 1, "frozen: docs/COMPATIBILITY.md");
    assert_eq!(answer["format_version"], 3, "frozen: docs/COMPATIBILITY.md");
    assert!(answer["features"].as_array().unwrap().contains(&"events".into()));
    assert!(bd.text(&["--version"]).contains(version));
    assert!(bd.text(&["--help"]).contains("ready"));
    assert!(bd.text(&["dep", "add", "--help"]).contains("bd dep add"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(bd.text(&["completions", shell]).contains("bd complete --"), "{shell}");
    }
    assert!(bd.text(&["completions", "elvish"]).contains("ready"), "this script lists the verbs");
    bd.error(&["completions", "abacus"], "invalid_value");
    assert!(std::fs::read_dir(bd.dir()).unwrap().next().is_none(), "none of this leaves anything behind");
}

//! The configuration file.

use beads_engine::config::Config;

/// Returns some configuration files.
pub fn corpus() -> Vec<Vec<u8>> {
    let files = [
        r#"{"sync.quiet":"500ms","sync.max_delay":"5s","sync.interval":"1m","sync.remote":"origin"}"#,
        r#"{"claim.lease":"90m","daemon.idle":"10m","json.dialect":"compat","sync.transport":"native"}"#,
        "{}",
    ];
    files.iter().map(|file| file.as_bytes().to_vec()).collect()
}

/// Loads the file, and checks that it can be saved and loaded again.
pub fn run(bytes: &[u8]) {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("config.json"), bytes).expect("a file");
    let Ok(config) = Config::load(dir.path()) else { return };
    config.save(dir.path()).expect("a loaded configuration can be saved");
    let again = Config::load(dir.path()).expect("a saved configuration can be loaded");
    assert_eq!(again.all(), config.all());
    for key in ["sync.quiet", "sync.max_delay", "sync.interval", "daemon.idle", "claim.lease"] {
        let _ = config.duration(key);
    }
}

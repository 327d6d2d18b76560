//! Whether a daemon answers, and whether it is of this version.

use beads_engine::client;
use beads_engine::daemon::VERSION;
use beads_engine::request::{Call, Output, Request};
use serde_json::Value;

use super::Examined;
use super::finding::{info, warning};

/// Reports a missing, silent or outdated daemon.
pub fn check(examined: &Examined) -> Vec<Value> {
    let access = examined.globals.access();
    match status(examined) {
        Ok(Some(status)) => outdated(status["version"].as_str()).into_iter().collect(),
        Ok(None) if access.no_daemon => vec![info(
            "daemon_switched_off",
            "no daemon is used (--no-daemon, --sandbox or BD_NO_DAEMON), so each command opens the store itself \
             and nothing syncs in the background; unset BD_NO_DAEMON to use one",
        )],
        Ok(None) => vec![warning(
            "no_daemon",
            "no daemon runs although commands try to start one, so each command opens the store itself, which is \
             slower, and nothing syncs in the background; see the check runtime_dir and run bd daemon log",
        )],
        Err(message) => vec![warning("daemon_silent", message)],
    }
}

/// Asks the running daemon for its status.
fn status(examined: &Examined) -> Result<Option<Value>, String> {
    let request = examined.globals.request(examined.place, Call::DaemonStatus);
    let request = request.map_err(|failure| failure.message)?;
    let request = Request { output: Output::default(), ..request };
    let asked = client::ask_running(examined.place, &request, examined.globals.access().lock_timeout);
    let reply = asked.map_err(|failure| failure.message)?;
    let result = reply.and_then(|reply| reply.result);
    Ok(result.and_then(|result| serde_json::from_str(result.get()).ok()))
}

fn outdated(version: Option<&str>) -> Option<Value> {
    let version = version.filter(|version| *version != VERSION)?;
    let message = format!(
        "the daemon is version {version}, this bd is {VERSION}; run bd daemon stop, and the next command starts the new one"
    );
    Some(warning("daemon_version", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_version_is_reported() {
        assert_eq!(outdated(Some(VERSION)), None);
        assert_eq!(outdated(None), None);
        let found = outdated(Some("0.0.1")).expect("an old daemon is reported");
        assert!(found["message"].as_str().is_some_and(|text| text.contains("bd daemon stop")), "{found}");
    }
}

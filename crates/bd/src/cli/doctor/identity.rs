//! Who the commands act as.

use serde_json::Value;

use super::Examined;
use super::finding::{error, info};

/// Reports an actor that is invalid or was guessed.
pub fn check(examined: &Examined) -> Vec<Value> {
    let globals = examined.globals;
    let mut findings = Vec::new();
    match globals.chosen_actor(examined.place) {
        Err(failure) => findings.push(error(
            "invalid_actor",
            format!("{}; set BD_ACTOR or run bd config set actor NAME", failure.message),
        )),
        Ok(Some(_)) => {}
        Ok(None) => {
            let actor = globals.actor(examined.place).map(|actor| actor.to_string()).unwrap_or_default();
            findings.push(info(
                "default_actor",
                format!(
                    "commands act as {actor}; if several agents share this directory, give each its own name with \
                     BD_ACTOR=NAME, so that they do not share their claims"
                ),
            ));
        }
    }
    if beads_store::git_user_name(&examined.place.git_dir).is_none() {
        findings.push(info(
            "no_git_user",
            "git has no user.name here, so bd cannot show the person behind an actor; run git config user.name NAME",
        ));
    }
    findings
}

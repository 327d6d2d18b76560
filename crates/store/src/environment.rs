//! Filters git's environment variables for the programs that we start. Users set them for their own work, and
//! git sets them for its hooks. Most of them name another repository, index or object directory than ours.

use std::ffi::OsStr;
use std::process::Command;

/// The variables that decide how a server is reached and which settings apply. All other `GIT_*` are removed.
const ACCESS: [&str; 10] = [
    "GIT_ALLOW_PROTOCOL",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_EXEC_PATH",
    "GIT_PROTOCOL_FROM_USER",
    "GIT_PROXY_COMMAND",
    "GIT_PROXY_SSL_CAINFO",
    "GIT_TEMPLATE_DIR",
];

/// Prefixes of such variables.
const ACCESS_PREFIXES: [&str; 5] =
    ["GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_HTTP_", "GIT_SSH", "GIT_SSL_"];

/// Returns whether a variable belongs to the user's own work with git and must not reach our programs.
fn is_withheld(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    name.starts_with("GIT_")
        && !ACCESS.contains(&name)
        && !ACCESS_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Removes the user's own git variables from a command's environment. Everything else is inherited, because
/// credential helpers, ssh and proxies depend on variables that we cannot know.
pub fn withhold_git_variables(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_withheld(name)) {
        command.env_remove(name);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_for_access_are_kept_and_the_rest_is_removed() {
        let kept = ["PATH", "HOME", "SSH_AUTH_SOCK", "https_proxy", "SSL_CERT_FILE", "BD_GIT_TOKEN"];
        let of_git = ["GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_KEY_0"];
        for name in kept.iter().chain(&of_git) {
            assert!(!is_withheld(OsStr::new(name)), "{name}");
        }
        for name in [
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "GIT_OBJECT_DIRECTORY",
            "GIT_ALTERNATE_OBJECT_DIRECTORIES",
            "GIT_NAMESPACE",
            "GIT_COMMON_DIR",
            "GIT_CONFIG_PARAMETERS",
            "GIT_QUARANTINE_PATH",
            "GIT_PREFIX",
        ] {
            assert!(is_withheld(OsStr::new(name)), "{name}");
        }
    }
}

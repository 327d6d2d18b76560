//! What an error of the server means, and what to do about it.

use crate::Error;
use crate::hub::HUB_VERSION;

/// Converts an error of the driver. The text of a driver error may not contain the address.
pub(super) fn failure(error: &tokio_postgres::Error) -> Error {
    if let Some(database) = error.as_db_error() {
        return refusal(database.code().code(), database.message());
    }
    use std::error::Error as _;
    let cause = error.source().map(ToString::to_string);
    if cause.as_deref() == Some("password missing") {
        return refused("the server asks for a password and there is none", PASSWORD);
    }
    Error::HubUnreachable(cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}")))
}

const PASSWORD: &str = "write it to ~/.pgpass or PGPASSFILE, which only you may read (the daemon reads the file again \
                        when it connects), or set PGPASSWORD and run bd daemon stop";

/// Returns the error for an SQLSTATE and the message of the server.
fn refusal(state: &str, message: &str) -> Error {
    match state {
        "BH001" => Error::HubAttachAgain,
        "BH002" => Error::HubHistory,
        "BH003" => Error::HubReplicaReused,
        "BH004" => refused(message, version_advice(message)),
        "BH005" => {
            let advice = "a pooler drops the settings of a session, so run ALTER ROLE … SET \
                          default_transaction_isolation = 'read committed'";
            refused(message, advice)
        }
        // The login: a wrong password, an unknown role, or pg_hba.conf.
        "28P01" => refused(message, PASSWORD),
        "28000" => refused(message, "check the role in hub.url and the server's pg_hba.conf"),
        "3D000" => refused(message, "check the name of the database in hub.url"),
        "3F000" | "42883" | "42P01" => {
            refused("the database has no hub", "run bd hub init with this address once")
        }
        "42501" if message.contains("schema beads") || message.contains("for function") => {
            refused(message, "an administrator has to run GRANT beads_member TO this role")
        }
        "25006" => unusable(message, "the server is a standby or read-only; set hub.url to the primary"),
        "53100" => unusable(message, "free disk space on the database server"),
        "53300" => unusable(message, "raise max_connections on the server, or use a pooler"),
        "57014" if message.contains("statement timeout") => unusable(
            message,
            "the role's statement_timeout is too short: ALTER ROLE … SET statement_timeout = '15s'",
        ),
        "55P03" => unusable(
            message,
            "another call holds up the hub, such as one that waits for a synchronous standby; pg_stat_activity on the \
             server shows it",
        ),
        // The server is shutting down or starting, is out of something, is a standby that is not ready, or ended
        // this call because of a deadlock, a failed disk, or an administrator. It can be repeated.
        "55000" => Error::HubUnreachable(message.to_owned()),
        _ if ["08", "40", "53", "57", "58"].iter().any(|class| state.starts_with(class)) => {
            Error::HubUnreachable(message.to_owned())
        }
        _ => Error::HubRefused(message.to_owned()),
    }
}

/// Returns what to do when the versions differ. An old hub says it only in its message.
fn version_advice(message: &str) -> &'static str {
    let digits = message.strip_prefix("the hub has version ").unwrap_or_default();
    let digits = digits.split(|character: char| !character.is_ascii_digit()).next();
    match digits.and_then(|digits| digits.parse::<i32>().ok()) {
        Some(version) if version < HUB_VERSION => {
            "an administrator has to run bd hub upgrade ADDRESS with this version of bd; machines with an older bd \
             are refused from then on"
        }
        Some(_) => "upgrade bd on this machine",
        None => "run bd hub upgrade, or upgrade bd",
    }
}

fn refused(message: &str, advice: &str) -> Error {
    Error::HubRefused(format!("{message}; {advice}"))
}

fn unusable(message: &str, advice: &str) -> Error {
    Error::HubUnreachable(format!("{message}; {advice}"))
}

#[cfg(test)]
mod tests {
    use beads_core::Code;

    use super::*;

    #[test]
    fn an_error_of_the_server_says_what_to_do() {
        let cases = [
            (
                "BH004",
                "the hub has version 1, this program needs version 2",
                Code::HubRefused,
                "bd hub upgrade",
            ),
            (
                "BH004",
                "the hub has version 9, this program needs version 2",
                Code::HubRefused,
                "upgrade bd on",
            ),
            ("28P01", "password authentication failed for user \"ann\"", Code::HubRefused, "PGPASSFILE"),
            ("42501", "permission denied for schema beads", Code::HubRefused, "GRANT beads_member"),
            ("42P01", "relation \"beads.store\" does not exist", Code::HubRefused, "bd hub init"),
            ("25006", "cannot execute UPDATE in a read-only transaction", Code::HubUnreachable, "primary"),
            ("53100", "could not extend file \"base/5/16400\"", Code::HubUnreachable, "free disk space"),
            ("53300", "sorry, too many clients already", Code::HubUnreachable, "max_connections"),
            ("55P03", "canceling statement due to lock timeout", Code::HubUnreachable, "synchronous standby"),
            (
                "57014",
                "canceling statement due to statement timeout",
                Code::HubUnreachable,
                "statement_timeout",
            ),
        ];
        for (code, message, expected, advice) in cases {
            let error = refusal(code, message);
            assert_eq!(error.code(), expected, "{code}");
            let text = error.to_string();
            assert!(text.contains(advice) && text.contains("nothing was lost"), "{text}");
        }
    }

    #[test]
    fn a_store_that_belongs_to_another_role_is_not_solved_by_the_common_one() {
        let error = refusal("42501", "role ann may not use this store; it needs role team_a");
        assert!(!error.to_string().contains("beads_member"), "{error}");
    }

    #[test]
    fn calls_that_can_be_repeated_do_not_count_as_refused() {
        for code in ["40P01", "40001", "57P01", "57P03", "57P05", "58030", "08006", "55000", "53200", "57014"]
        {
            assert_eq!(
                refusal(code, "canceling statement due to user request").code(),
                Code::HubUnreachable,
                "{code}"
            );
        }
        assert_eq!(refusal("22023", "a delta has up to 32 MB").code(), Code::HubRefused);
    }
}

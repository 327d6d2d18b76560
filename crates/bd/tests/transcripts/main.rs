//! Transcripts of every verb: help, text, JSON and a typical error, compared with the whole output of the commands, so
//! that a change of wording or shape shows up in review. The golden files below `golden/` hold the commands too;
//! `UPDATE_TRANSCRIPTS=1` replaces the outputs in them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod coverage;
mod golden;
mod indent;
mod redact;
#[allow(dead_code, reason = "shared with the tests of the command line")]
#[path = "../cli/sandbox.rs"]
mod sandbox;
mod session;
#[allow(dead_code, reason = "shared with the tests of the command line")]
#[path = "../cli/socket.rs"]
mod socket;

/// Makes a test of each golden file in a directory.
macro_rules! transcripts {
    ($directory:ident { $($name:ident)* }) => {
        mod $directory {
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];
            $(
                #[test]
                fn $name() {
                    crate::golden::check(stringify!($directory), stringify!($name));
                }
            )*
        }
    };
}

transcripts! {
    bd {
        bd
        init create update edit show list search ready blocked mine claim next renew unclaim reclaim heartbeat session close cancel
        handover ask answer questions wait reopen delete restore deleted archive note comment remember recall forget label dep log activity recap agents board blame diff undo graph
        plan children epic count stale status top watch r#where info config import export sync hub conflicts verify validate
        repair uninstall repair_deps doctor migrate daemon mcp setup prime hook quickstart onboard batch call tool version upgrade
        completions complete man demo
    }
}

transcripts! {
    bb {
        bb register list show heartbeat send inbox read ack reserve release status guard doctor
    }
}

transcripts! {
    tool {
        beads_create beads_update beads_show beads_list beads_search beads_ready beads_claim beads_unclaim beads_close
        beads_cancel beads_handover beads_ask beads_answer beads_questions beads_reopen beads_delete beads_restore beads_note_add beads_watch beads_import
        beads_export beads_sync beads_conflicts beads_validate beads_dep_add beads_dep_remove beads_dep_tree
        agent_register agent_list agent_show agent_send agent_inbox agent_read agent_ack agent_reserve agent_release
        agent_status agent_guard
    }
}

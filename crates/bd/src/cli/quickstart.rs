use beads_engine::request::Reply;

use super::globals::Globals;
use super::text_reply;

const TEXT: &str = "\
Beads in five minutes
=====================

A bead is a piece of work: a title, a type, a priority, perhaps a description, and what it waits for. Beads live in
the current git repository, on their own branch; there is nothing to set up, and your files are not touched.

Create some:
  bd create \"Ship the release\" -t epic -p 1
  bd create \"Write the changelog\" --parent bd-a1
  bd create \"Tag the commit\" --parent bd-a1 --deps bd-a1.1

See what is ready, claim a bead, finish it:
  bd ready
  bd claim bd-a1.1
  bd note add bd-a1.1 \"drafted, needs a second look\"
  bd close bd-a1.1 --reason \"in docs/\"

Look around:
  bd list --status open        bd show bd-a1.2
  bd blocked                   bd dep tree bd-a1.2
  bd search changelog          bd status

Work with others: every agent on this machine sees changes immediately. bd sync publishes a new store to the remote of the
repository. From then on, other machines get changes automatically, and bd sync waits until that is done.

bd --help lists all verbs, bd VERB --help explains one, and --json prints JSON for programs.
";

/// Print a short introduction
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd quickstart")]
pub struct Args {}

impl Args {
    pub fn run(self, globals: &Globals) -> Reply {
        text_reply(TEXT, globals)
    }
}

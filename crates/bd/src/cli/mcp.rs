use beads_engine::failure::{Failure, exit};
use beads_engine::request::Reply;

use super::globals::Globals;
use super::stdout_reply;
use crate::mcp::{Server, Session, Toolset};

/// Serve the store to a coding agent over MCP (stdin, stdout)
///
/// The coding agent starts it; see `bd setup`. The actor is --actor, $BD_ACTOR or the setting actor, else the
/// name that the client sends. Every call renews the agent's claims. The server exits at the end of its input
/// and releases the claims made through it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd mcp\n  bd mcp --toolset full --actor reviewer")]
pub struct Args {
    /// Tools to show to clients that do not ask for others
    #[arg(long, value_enum, default_value_t)]
    toolset: Toolset,
    /// Name of this store for clients [default: $BRANCHMIND_WORKSPACE, else the repository's name]
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let session = Session::new(globals.mcp_context()?, self.workspace.as_deref())?;
        let served = Server::new(session, self.toolset, std::io::stdout()).serve(std::io::stdin());
        let exit = served.map_or_else(
            |error| crate::print::report(&mut std::io::stderr(), &error, &[], exit::OK),
            |()| exit::OK,
        );
        Ok(Reply { exit, ..stdout_reply(String::new()) })
    }
}

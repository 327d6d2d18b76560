use beads_engine::failure::{Failure, exit};
use beads_engine::request::Reply;

use super::answered;
use super::globals::Globals;
use crate::mcp::{Server, Session, Toolset};

/// Serve this store to a coding agent, as an MCP server on standard input and output
///
/// The agent's program starts it; see `bd setup`. Who acts is --actor, $BD_ACTOR or the setting actor, else the client by the name
/// it gives. Each call renews the claims of its agent. Ends when its input does, and gives back what was claimed here.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd mcp\n  bd mcp --toolset full --actor reviewer")]
pub struct Args {
    /// The tools shown to a client that does not ask for others
    #[arg(long, value_enum, default_value_t)]
    toolset: Toolset,
    /// The name clients know this store by [default: $BRANCHMIND_WORKSPACE, else the repository's name]
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
        Ok(Reply { exit, ..answered(String::new()) })
    }
}

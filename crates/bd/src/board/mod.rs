//! `bd board`: one screen over the whole store in a browser (docs/BOARD.md). It is its own process and an
//! ordinary client of the daemon. `store` asks the daemon, `auth` decides which requests are answered, `api`
//! has the reads, `actions` the writes, `undo` their undo, `recent` what is remembered of both, `stream` the
//! changes as they happen, `assets` the page, `graph` the drawing, `redirect` opens it in a browser, and `export`
//! puts everything into one file.

mod actions;
mod api;
mod assets;
mod auth;
mod export;
mod graph;
mod grid;
mod mail;
mod recent;
mod redirect;
mod reply;
mod server;
mod snapshot;
mod store;
mod stream;
mod undo;

pub use auth::{Token, preferred_port};
pub use export::export;
pub use redirect::Redirect;
pub use server::{Server, ServerOptions};
pub use store::StoreClient;

use super::answered;
use crate::failure::Failure;
use crate::request::Reply;

/// Show it all in a temporary directory
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd demo")]
pub struct Args {}

impl Args {
    pub fn run(self) -> Result<Reply, Failure> {
        Ok(answered(String::new()))
    }
}

use beads_engine::config::check_key;
use beads_engine::failure::Failure;
use beads_engine::request::Call;
use clap::Subcommand;

/// Read and change settings; without a subcommand, list them
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd config\n  bd config set claim.lease 4h\n  bd config describe claim.lease"
)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print the value of a setting
    #[command(after_help = "Example:\n  bd config get issue_prefix")]
    Get {
        /// Name of the setting
        key: String,
    },
    /// Change a setting
    #[command(after_help = "Example:\n  bd config set issue_prefix app")]
    Set {
        /// Name of the setting
        key: String,
        /// New value
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Reset a setting to its default
    #[command(after_help = "Example:\n  bd config unset claim.lease")]
    Unset {
        /// Name of the setting
        key: String,
    },
    /// Show what settings do, with their values and defaults
    #[command(after_help = "Examples:\n  bd config describe\n  bd config describe claim.lease")]
    Describe {
        /// Name of the setting [default: all]
        key: Option<String>,
    },
    /// List all settings with their values
    #[command(after_help = "Example:\n  bd config list")]
    List,
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        Ok(match self.verb.unwrap_or(Verb::List) {
            Verb::Get { key } => Call::ConfigGet { key },
            Verb::Set { key, value } => {
                check_key(&key)?;
                Call::ConfigSet { key, value }
            }
            Verb::Unset { key } => Call::ConfigUnset { key },
            Verb::Describe { key } => {
                key.as_deref().map(check_key).transpose()?;
                Call::ConfigDescribe { key }
            }
            Verb::List => Call::ConfigList,
        })
    }
}

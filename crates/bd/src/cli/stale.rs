use beads_core::Timestamp;
use beads_core::query::{Filter, Sort, SortKey, StatusFilter};
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};

/// List unfinished beads without recent changes
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd stale --days 14")]
pub struct Args {
    /// Days without a change
    #[arg(long, short = 'd', default_value_t = 30, allow_negative_numbers = true)]
    days: u32,
    /// Status: open or in_progress [default: both]
    #[arg(long, short = 's', value_delimiter = ',')]
    status: Vec<StatusFilter>,
    /// Show at most N beads; 0 for all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    limit: usize,
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        let now = beads_store::World::now_ms(&beads_store::RealWorld);
        let before = Timestamp::from_ms(now.saturating_sub(u64::from(self.days) * 24 * 60 * 60 * 1000))?;
        let status = if self.status.is_empty() {
            vec![StatusFilter::Open, StatusFilter::InProgress]
        } else {
            self.status
        };
        Ok(Call::query(Query::List(Filter {
            status,
            updated_before: Some(before),
            // Least recently updated first.
            sort: Sort { by: SortKey::Updated, reverse: true },
            limit: (self.limit > 0).then_some(self.limit),
            ..Filter::default()
        })))
    }
}

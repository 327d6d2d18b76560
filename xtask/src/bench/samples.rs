//! Repeated measurements.

use std::time::Duration;

/// Repeated measurements of one thing.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<Duration>);

impl Samples {
    pub fn push(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// Returns the median, in seconds.
    pub fn median(&self) -> f64 {
        self.at(50.0)
    }

    /// Returns a percentile, in seconds.
    pub fn at(&self, percent: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        let index = (last as f64 * percent / 100.0).round() as usize;
        sorted.get(index).copied().unwrap_or_default().as_secs_f64()
    }
}

impl FromIterator<Duration> for Samples {
    fn from_iter<I: IntoIterator<Item = Duration>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}

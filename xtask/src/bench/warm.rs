//! Measures commands that a running daemon answers. The commands and the baselines take turns, so that other
//! load on the machine affects all of them equally.

use std::path::Path;

use super::floor::{self, Log};
use super::samples::Samples;
use super::store::Store;
use crate::arguments::Result;

#[derive(Default)]
pub struct Warm {
    pub process: Samples,
    pub durable: Samples,
    pub version: Samples,
    pub show: Samples,
    pub ready: Samples,
    pub list: Samples,
    pub create: Samples,
    pub update: Samples,
    pub claim: Samples,
    pub close: Samples,
}

impl Warm {
    pub fn measure(store: &Store, root: &Path, runs: usize) -> Result<Self> {
        let shown = store.some_id()?;
        let mut log = Log::new(root)?;
        let mut warm = Self::default();
        for run in 0..runs {
            let id = format!("bd-bench{run}");
            warm.process.push(floor::start_a_process()?);
            warm.durable.push(log.append()?);
            warm.version.push(store.time(&["version"])?);
            warm.show.push(store.time(&["show", &shown])?);
            warm.ready.push(store.time(&["ready", "--limit", "50"])?);
            warm.list.push(store.time(&["list", "--limit", "50"])?);
            warm.create.push(store.time(&["create", &format!("Measure {run} once"), "--id", &id])?);
            warm.update.push(store.time(&["update", &id, "--design", "as fast as the disk"])?);
            warm.claim.push(store.time(&["claim", &id])?);
            warm.close.push(store.time(&["close", &id])?);
        }
        Ok(warm)
    }

    pub fn reads(&self) -> [(&'static str, &Samples); 3] {
        [("show", &self.show), ("ready --limit 50", &self.ready), ("list --limit 50", &self.list)]
    }

    pub fn writes(&self) -> [(&'static str, &Samples); 4] {
        [("create", &self.create), ("update", &self.update), ("claim", &self.claim), ("close", &self.close)]
    }
}

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use super::{git, sha256};
use crate::arguments::Result;

/// The directory that `cargo xtask dist` builds in. It has its own flags, so it is not shared with other builds.
const TARGET: &str = "target/dist";

/// The built programs.
#[derive(Debug)]
pub struct Binaries {
    directory: PathBuf,
}

impl Binaries {
    /// Uses programs that are already built.
    pub fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// Builds both programs so that another build of the same commit in the same directory has the same bytes.
    pub fn build(epoch: u64) -> Result<Self> {
        let here = env::current_dir()?.display().to_string();
        let home =
            env::var("CARGO_HOME").or_else(|_| env::var("HOME").map(|home| format!("{home}/.cargo")))?;
        let flags = format!("--remap-path-prefix={here}=/beads --remap-path-prefix={home}=/cargo");
        let c_flags = format!("-ffile-prefix-map={here}=/beads -ffile-prefix-map={home}=/cargo");
        let status = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
            .args(["build", "--release", "--locked", "--package", "beads", "--target-dir", TARGET])
            .env("SOURCE_DATE_EPOCH", epoch.to_string())
            .env("RUSTFLAGS", flags)
            .env("CFLAGS", c_flags)
            .env("BD_COMMIT", git(&["rev-parse", "HEAD"])?)
            .env("CARGO_INCREMENTAL", "0")
            .status()?;
        if !status.success() {
            return Err("the build failed".into());
        }
        Ok(Self::at(&Path::new(TARGET).join("release")))
    }

    /// Builds everything a second time from nothing and compares the bytes.
    pub fn prove(&self, epoch: u64) -> Result<()> {
        let first = [self.read("bd")?, self.read("bb")?];
        fs::remove_dir_all(TARGET)?;
        let second = Self::build(epoch)?;
        for (name, first) in ["bd", "bb"].into_iter().zip(first) {
            let (first, second) = (sha256(&first), sha256(&second.read(name)?));
            if first != second {
                return Err(format!("two builds of {name} differ: {first} and {second}").into());
            }
            println!("two builds of {name} are identical: {first}");
        }
        Ok(())
    }

    /// Returns the bytes of a program.
    pub fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.path(name);
        fs::read(&path).map_err(|error| format!("{}: {error}; build it first", path.display()).into())
    }

    /// Runs `bd` and returns its standard output.
    pub fn output(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let done = Command::new(self.path("bd")).args(arguments).output()?;
        if !done.status.success() {
            return Err(format!("bd {arguments:?}: {}", String::from_utf8_lossy(&done.stderr)).into());
        }
        Ok(done.stdout)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

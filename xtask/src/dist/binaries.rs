use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use super::architecture::Architecture;
use super::{elf, git, sha256};
use crate::arguments::Result;

/// The directory that `cargo xtask dist` builds in. It has its own flags, so it is not shared with other builds.
const TARGET: &str = "target/dist";

/// The programs, built for one processor.
#[derive(Debug)]
pub struct Binaries {
    pub architecture: Architecture,
    directory: PathBuf,
}

impl Binaries {
    /// Uses programs that are already built.
    pub fn at(architecture: Architecture, directory: &Path) -> Self {
        Self { architecture, directory: directory.to_owned() }
    }

    /// Builds both programs for each processor. Another build of the same commit in the same directory has the same
    /// bytes.
    pub fn build_all(architectures: &[Architecture], epoch: u64) -> Result<Vec<Self>> {
        architectures.iter().map(|architecture| Self::build(*architecture, epoch)).collect()
    }

    fn build(architecture: Architecture, epoch: u64) -> Result<Self> {
        let here = env::current_dir()?.display().to_string();
        let home =
            env::var("CARGO_HOME").or_else(|_| env::var("HOME").map(|home| format!("{home}/.cargo")))?;
        let flags = format!("--remap-path-prefix={here}=/beads --remap-path-prefix={home}=/cargo");
        let c_flags = format!("-ffile-prefix-map={here}=/beads -ffile-prefix-map={home}=/cargo");
        let mut cargo = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
        cargo.args(["build", "--release", "--locked", "--package", "beads", "--target-dir", TARGET]);
        let mut directory = PathBuf::from(TARGET);
        if architecture != Architecture::host()? {
            let target = architecture.target();
            let variable = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"));
            cargo.args(["--target", &target]).env(variable, architecture.compiler()?);
            directory.push(target);
        }
        let status = cargo
            .env("SOURCE_DATE_EPOCH", epoch.to_string())
            .env("RUSTFLAGS", flags)
            .env("CFLAGS", c_flags)
            .env("BD_COMMIT", git(&["rev-parse", "HEAD"])?)
            .env("CARGO_INCREMENTAL", "0")
            .status()?;
        if !status.success() {
            return Err(format!("the build for {} failed", architecture.name()).into());
        }
        Ok(Self::at(architecture, &directory.join("release")))
    }

    /// Builds everything a second time from nothing and compares the bytes.
    pub fn prove(built: &[Self], epoch: u64) -> Result<()> {
        let sums = |built: &[Self]| -> Result<Vec<(String, String)>> {
            let programs = built.iter().flat_map(|binaries| ["bd", "bb"].map(|name| (binaries, name)));
            let sum = |(binaries, name): (&Self, &str)| {
                Ok((format!("{name} for {}", binaries.architecture.name()), sha256(&binaries.read(name)?)))
            };
            programs.map(sum).collect()
        };
        let first = sums(built)?;
        fs::remove_dir_all(TARGET)?;
        let architectures: Vec<Architecture> = built.iter().map(|binaries| binaries.architecture).collect();
        let second = sums(&Self::build_all(&architectures, epoch)?)?;
        for ((name, first), (_, second)) in first.into_iter().zip(second) {
            if first != second {
                return Err(format!("two builds of {name} differ: {first} and {second}").into());
            }
            println!("two builds of {name} are identical: {first}");
        }
        Ok(())
    }

    /// Returns the bytes of a program, which must be static and stripped.
    pub fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.path(name);
        let bytes =
            fs::read(&path).map_err(|error| format!("{}: {error}; build it first", path.display()))?;
        elf::check(&path.display().to_string(), &bytes, self.architecture)?;
        Ok(bytes)
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

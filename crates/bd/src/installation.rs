//! How this copy of `bd` was installed, judged by where its file is.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The file that `install.sh` writes below its prefix. It lists the installed files.
const RECEIPT: &str = "share/beads/receipt";

/// The list of files of the Debian package.
const DEBIAN_FILES: &str = "/var/lib/dpkg/info/beads.list";

/// The way this copy was installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installation {
    Debian,
    Npm,
    NpmGlobal,
    Python,
    InstallScript,
    Cargo,
    Checkout,
    Unknown,
}

impl Installation {
    /// Returns the way the program at this path was installed.
    pub fn of(executable: &Path) -> Self {
        let directory = executable.parent().unwrap_or(executable);
        let prefix = directory.parent().unwrap_or(directory);
        let packages = executable.ancestors().filter(|path| path.ends_with("node_modules")).last();
        if let Some(packages) = packages {
            // `npm install -g` uses `lib/node_modules` below its prefix.
            let is_global = packages.parent().is_some_and(|directory| directory.ends_with("lib"));
            if is_global { Self::NpmGlobal } else { Self::Npm }
        } else if lists(Path::new(DEBIAN_FILES), executable) {
            Self::Debian
        } else if lists(&prefix.join(RECEIPT), executable) {
            Self::InstallScript
        } else if has_wheel(prefix) {
            Self::Python
        } else if prefix.join(".crates.toml").exists() {
            Self::Cargo
        } else if prefix.file_name() == Some(OsStr::new("target")) {
            Self::Checkout
        } else {
            Self::Unknown
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Debian => "the Debian package beads",
            Self::Npm | Self::NpmGlobal => "npm, package beads-rs",
            Self::Python => "pip, package beads-rs",
            Self::InstallScript => "install.sh",
            Self::Cargo => "cargo install",
            Self::Checkout => "cargo build, in a checkout",
            Self::Unknown => "unknown: the file was copied here by hand",
        }
    }

    /// Returns the command that upgrades. It names no package of a registry, because none is published there, and others may
    /// publish something under these names.
    pub fn upgrade_command(self) -> &'static str {
        match self {
            Self::Debian => "sudo dpkg -i beads_*.deb, with the package of the new release for this machine",
            // The two packages of the new release for this machine.
            Self::Npm => "npm install ./beads-rs-[0-9]*.tgz ./beads-rs-linux-$(node -p process.arch)-*.tgz",
            Self::NpmGlobal => {
                "npm install -g ./beads-rs-[0-9]*.tgz ./beads-rs-linux-$(node -p process.arch)-*.tgz"
            }
            Self::Python => "pip install --upgrade ./beads_rs-*.whl, with the wheel of the new release",
            Self::InstallScript => "sh install.sh, with the script of the new release",
            Self::Cargo => "cargo install --locked --path crates/bd, in a checkout of the new release",
            Self::Checkout => "git pull && cargo build --release",
            Self::Unknown => "copy the new bd and bb over the old ones",
        }
    }
}

/// Returns whether a list of files, one per line, has this one. The list may name it through a link, such as that of a home
/// directory.
fn lists(list: &Path, file: &Path) -> bool {
    let is_it = |line: &Path| {
        line == file
            || line.file_name() == file.file_name() && line.canonicalize().is_ok_and(|path| path == file)
    };
    fs::read_to_string(list).is_ok_and(|text| text.lines().any(|line| is_it(Path::new(line))))
}

/// Returns whether the prefix is a Python environment with our wheel.
fn has_wheel(prefix: &Path) -> bool {
    let versions = fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
    let is_ours = |name: &str| name.starts_with("beads_rs-") && name.ends_with(".dist-info");
    versions.filter(|entry| entry.file_name().to_string_lossy().starts_with("python")).any(|python| {
        ["site-packages", "dist-packages"].iter().any(|packages| {
            let packages = fs::read_dir(python.path().join(packages)).into_iter().flatten().flatten();
            packages.into_iter().any(|package| package.file_name().to_str().is_some_and(is_ours))
        })
    })
}

/// Returns the other files named `bd` on the search path.
pub fn copies_on_path(executable: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for directory in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        if let Ok(copy) = directory.join("bd").canonicalize()
            && copy.is_file()
            && copy != executable
            && !found.contains(&copy)
        {
            found.push(copy);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates an empty file and its directories.
    fn touch(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    #[test]
    fn each_way_is_recognised_by_its_files() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let bd = |prefix: &str| root.join(prefix).join("bin/bd");
        assert_eq!(Installation::of(&bd("usr")), Installation::Unknown);
        assert_eq!(Installation::of(&root.join("node_modules/beads-rs/bin/bd")), Installation::Npm);
        let global = root.join("lib/node_modules/beads-rs/bin/bd");
        assert_eq!(Installation::of(&global), Installation::NpmGlobal);
        assert_eq!(Installation::of(&root.join("target/release/bd")), Installation::Checkout);
        touch(&root.join("cargo/.crates.toml"));
        assert_eq!(Installation::of(&bd("cargo")), Installation::Cargo);
        touch(&root.join("venv/lib/python3.12/site-packages/beads_rs-1.0.0.dist-info/RECORD"));
        assert_eq!(Installation::of(&bd("venv")), Installation::Python);
        touch(&root.join("local").join(RECEIPT));
        assert_eq!(Installation::of(&bd("local")), Installation::Unknown, "the receipt does not list it");
        fs::write(root.join("local").join(RECEIPT), format!("{}\n", bd("local").display())).unwrap();
        assert_eq!(Installation::of(&bd("local")), Installation::InstallScript);
        // The system resolves links in the path of a running program, and the receipt has the path as it was typed.
        std::os::unix::fs::symlink(root.join("local"), root.join("link")).unwrap();
        touch(&bd("local"));
        fs::write(root.join("local").join(RECEIPT), format!("{}\n", bd("link").display())).unwrap();
        let resolved = bd("local").canonicalize().unwrap();
        assert_eq!(Installation::of(&resolved), Installation::InstallScript);
    }
}

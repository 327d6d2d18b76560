//! Writes the Debian package: an ar archive of two tar archives.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::architecture::Architecture;
use super::tar::{Tar, gzip};
use super::tree::Tree;
use super::{VERSION, sha256};
use crate::arguments::Result;

/// Returns a version in the order of Debian, where `~` comes before the end: 1.0.0~rc.1 is older than 1.0.0.
fn version(version: &str) -> String {
    version.replacen('-', "~", 1)
}

/// Returns the name of the package's file. It has `.` instead of `~`, because GitHub would rename the file so.
pub fn file_name(version: &str, architecture: Architecture) -> String {
    format!("beads_{}_{}.deb", version.replacen('-', ".", 1), architecture.debian())
}

pub fn package(tree: &Tree, architecture: Architecture, epoch: u64) -> Result<Vec<u8>> {
    let mut data = Tar::new(epoch);
    data.directory("./")?;
    for directory in directories(tree) {
        data.directory(&format!("./{directory}/"))?;
    }
    for entry in &tree.0 {
        data.file(&format!("./usr/{}", entry.path), entry.is_executable, &entry.bytes)?;
    }
    data.file("./usr/share/doc/beads/copyright", false, &copyright(tree)?)?;
    let mut sums = String::new();
    for entry in &tree.0 {
        let _ = writeln!(sums, "{}  usr/{}", sha256(&entry.bytes), entry.path);
    }
    let size: usize = tree.0.iter().map(|entry| entry.bytes.len()).sum();
    let mut control = Tar::new(epoch);
    control.directory("./")?;
    control.file("./control", false, control_file(architecture, size / 1024).as_bytes())?;
    control.file("./sha256sums", false, sums.as_bytes())?;
    let mut package = b"!<arch>\n".to_vec();
    member(&mut package, "debian-binary", epoch, b"2.0\n");
    member(&mut package, "control.tar.gz", epoch, &gzip(&control.finish())?);
    member(&mut package, "data.tar.gz", epoch, &gzip(&data.finish())?);
    Ok(package)
}

fn control_file(architecture: Architecture, installed_kib: usize) -> String {
    format!(
        "Package: beads\nVersion: {}\nArchitecture: {}\nMaintainer: beads-rs <beads-rs@localhost>\n\
         Installed-Size: {installed_kib}\nSection: vcs\nPriority: optional\nRecommends: git\n\
         Description: local-first issue tracker for coding agents\n bd keeps work items on a branch of your Git repository, shares them \
         among all\n agents of a machine, and merges them across machines through any Git remote.\n",
        version(VERSION),
        architecture.debian()
    )
}

/// Returns every directory of the package, parents first.
fn directories(tree: &Tree) -> BTreeSet<String> {
    let mut directories = BTreeSet::from(["usr".to_owned()]);
    for entry in &tree.0 {
        let mut rest = entry.path.as_str();
        while let Some((directory, _)) = rest.rsplit_once('/') {
            directories.insert(format!("usr/{directory}"));
            rest = directory;
        }
    }
    directories
}

fn copyright(tree: &Tree) -> Result<Vec<u8>> {
    let mut text = tree.read("share/doc/beads/LICENSE")?.to_vec();
    text.extend_from_slice(
        b"\nThe licences of the libraries in the programs are in THIRD-PARTY-LICENCES.txt.\n",
    );
    Ok(text)
}

/// Appends a member to an ar archive.
fn member(archive: &mut Vec<u8>, name: &str, epoch: u64, bytes: &[u8]) {
    let size = bytes.len();
    archive.extend_from_slice(format!("{name:<16}{epoch:<12}0     0     100644  {size:<10}`\n").as_bytes());
    archive.extend_from_slice(bytes);
    if size % 2 == 1 {
        archive.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::{Architecture, file_name, version};

    #[test]
    fn only_the_version_inside_has_a_tilde() {
        assert_eq!(version("1.0.0-rc.1"), "1.0.0~rc.1");
        assert_eq!(file_name("1.0.0-rc.1", Architecture::X86_64), "beads_1.0.0.rc.1_amd64.deb");
        assert_eq!(file_name("1.0.0", Architecture::Aarch64), "beads_1.0.0_arm64.deb");
    }
}

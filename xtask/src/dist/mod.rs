//! Builds what a release consists of: an archive with the static binaries, manual pages, completions and
//! licences; a Debian package, a Python wheel and an npm package made from the same files; an SBOM; and the
//! SHA-256 sums of all. Everything but the binaries is written here, byte for byte, so nothing depends on the
//! tools of the machine (docs/adr/0065).

mod binaries;
mod c_libraries;
mod deb;
mod licences;
mod metadata;
mod npm;
mod sbom;
mod tar;
mod tree;
mod wheel;
mod zip;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::arguments::{Arguments, Result};
use binaries::Binaries;
use metadata::Metadata;
use tree::Tree;

/// The version of all packages.
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn run(arguments: &Arguments) -> Result<()> {
    let out: PathBuf = arguments.or("out", "target/dist-out".into())?;
    let epoch = source_date_epoch()?;
    let binaries = match arguments.or("build", true)? {
        true => Binaries::build(epoch)?,
        false => Binaries::at(&arguments.or::<PathBuf>("binaries", "target/release".into())?),
    };
    if arguments.or("prove", false)? {
        binaries.prove(epoch)?;
    }
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    fs::create_dir_all(&out)?;
    let metadata = Metadata::read()?;
    let tree = Tree::collect(&binaries, licences::text(&metadata)?)?;
    write(&out, &format!("beads-{VERSION}-x86_64-linux.tar.gz"), &tree.archive(epoch)?)?;
    write(&out, &format!("beads_{}_amd64.deb", deb::version(VERSION)), &deb::package(&tree, epoch)?)?;
    write(&out, &wheel::file_name(VERSION), &wheel::package(&tree)?)?;
    match npm::package(&tree, epoch)? {
        Some(package) => write(&out, &format!("beads-rs-{VERSION}.tgz"), &package)?,
        None => {
            println!("npm package: skipped, because clients/typescript/lib was not built (npm run build)");
        }
    }
    write(&out, &format!("beads-{VERSION}.cdx.json"), sbom::cyclonedx(&metadata, epoch)?.as_bytes())?;
    write(&out, "install.sh", install_script(&arguments.or("url", String::new())?)?.as_bytes())?;
    write_sums(&out)?;
    println!("aarch64: not built; {}", what_aarch64_lacks());
    Ok(())
}

/// Says what this machine lacks for a build for aarch64. The build script links other targets than its own
/// dynamically, so a static one is made on a machine of that kind.
fn what_aarch64_lacks() -> String {
    let answers = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).output().is_ok_and(|said| said.status.success())
    };
    let target = "aarch64-unknown-linux-gnu";
    let has_target = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .output()
        .is_ok_and(|said| Path::new(String::from_utf8_lossy(&said.stdout).trim()).exists());
    let lacks: Vec<String> = [
        (has_target, format!("the Rust target {target}")),
        (answers("aarch64-linux-gnu-gcc", &["--version"]), "aarch64-linux-gnu-gcc".to_owned()),
    ]
    .into_iter()
    .filter_map(|(is_here, name)| (!is_here).then_some(name))
    .collect();
    match lacks.is_empty() {
        true => "a static one is built on an aarch64 machine".to_owned(),
        false => format!("this machine lacks {}", lacks.join(" and ")),
    }
}

/// Returns `install.sh` with the address of the releases and this version filled in, if there is an address.
fn install_script(url: &str) -> Result<String> {
    let script = fs::read_to_string("install.sh")?;
    if url.is_empty() {
        return Ok(script);
    }
    if url.contains('\'') {
        return Err("--url must not contain quotes".into());
    }
    let fill = |text: &str, name: &str, value: &str| {
        text.replacen(&format!("\n{name}=\n"), &format!("\n{name}='{value}'\n"), 1)
    };
    Ok(fill(&fill(&script, "release_url", url), "release_version", VERSION))
}

fn write(directory: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    fs::write(directory.join(name), bytes)?;
    println!("{:>11}  {name}", bytes.len());
    Ok(())
}

/// Returns the SHA-256 of bytes in hexadecimal digits.
fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes `SHA256SUMS`, in the format of sha256sum.
fn write_sums(directory: &Path) -> Result<()> {
    let mut names: Vec<_> =
        fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name())).collect::<Result<_>>()?;
    names.sort();
    let mut lines = String::new();
    for name in names {
        let sum = sha256(&fs::read(directory.join(&name))?);
        lines.push_str(&format!("{sum}  {}\n", name.to_string_lossy()));
    }
    write(directory, "SHA256SUMS", lines.as_bytes())
}

/// Returns the time that all files carry: `SOURCE_DATE_EPOCH`, else the time of the commit.
fn source_date_epoch() -> Result<u64> {
    if let Ok(given) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(given.parse()?);
    }
    Ok(git(&["log", "-1", "--format=%ct"])?.parse()?)
}

/// Returns the output of a git command.
fn git(arguments: &[&str]) -> Result<String> {
    let done = Command::new("git").args(arguments).output()?;
    if !done.status.success() {
        return Err(format!("git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr)).into());
    }
    Ok(String::from_utf8(done.stdout)?.trim().to_owned())
}

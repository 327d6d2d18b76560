//! Builds what a release consists of, for each processor that this machine can link for: an archive with the static
//! binaries, manual pages, completions and licences; a Debian package, a Python wheel and an npm package made from the
//! same files; an SBOM. For all of them together: the npm package with the client, `install.sh`, and the SHA-256 sums. Everything but the binaries is written here, byte for byte, so nothing depends on the
//! tools of the machine (docs/adr/0065).

mod architecture;
mod binaries;
mod c_libraries;
mod deb;
mod elf;
mod licences;
mod metadata;
mod npm;
mod sbom;
mod standard_library;
mod tar;
mod tree;
mod wheel;
mod zip;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::arguments::{Arguments, Result};
use architecture::Architecture;
use binaries::Binaries;
use metadata::Metadata;
use tree::Tree;

/// The version of all packages.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The file with the SHA-256 of all others.
const SUMS: &str = "SHA256SUMS";

pub fn run(arguments: &Arguments) -> Result<()> {
    let out: PathBuf = arguments.or("out", "target/dist-out".into())?;
    check_replaceable(&out)?;
    let epoch = source_date_epoch()?;
    let host = Architecture::host()?;
    let is_built = arguments.or("build", true)?;
    let (others, refusals) = match is_built && arguments.or("cross", true)? {
        true => others()?,
        false => Default::default(),
    };
    let built = match is_built {
        true => Binaries::build_all(&[vec![host], others].concat(), epoch)?,
        false => given(arguments)?,
    };
    if arguments.or("prove", false)? {
        Binaries::prove(&built, epoch)?;
    }
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    fs::create_dir_all(&out)?;
    let native = built.first().ok_or("nothing was built")?;
    for binaries in &built {
        write_packages(&out, binaries, native, epoch)?;
    }
    let architectures: Vec<Architecture> = built.iter().map(|binaries| binaries.architecture).collect();
    match npm::main_package(&architectures, epoch)? {
        Some(package) => write(&out, &format!("{}-{VERSION}.tgz", npm::NAME), &package)?,
        None => {
            println!("npm package: skipped, because clients/typescript/lib was not built (npm run build)");
        }
    }
    write(&out, "install.sh", install_script(&arguments.or("url", String::new())?)?.as_bytes())?;
    write_sums(&out)?;
    for refusal in refusals {
        println!("{refusal}");
    }
    Ok(())
}

/// Refuses a directory that is neither empty nor the output of an earlier run, because it would be deleted.
fn check_replaceable(out: &Path) -> Result<()> {
    if !out.exists() || out.join(SUMS).is_file() || fs::read_dir(out)?.next().is_none() {
        return Ok(());
    }
    Err(format!(
        "{} has other files and no {SUMS}; nothing was changed. Remove it, or choose another --out",
        out.display()
    )
    .into())
}

/// Returns programs that are already built: for this machine, and for another processor if `--cross-binaries` names them.
fn given(arguments: &Arguments) -> Result<Vec<Binaries>> {
    let native: PathBuf = arguments.or("binaries", "target/release".into())?;
    let cross: PathBuf = arguments.or("cross-binaries", PathBuf::new())?;
    let mut built = vec![Binaries::at(Architecture::host()?, &native)];
    if !cross.as_os_str().is_empty() {
        built.extend(Architecture::others()?.into_iter().map(|other| Binaries::at(other, &cross)));
    }
    Ok(built)
}

/// Writes the packages for one processor.
fn write_packages(out: &Path, binaries: &Binaries, native: &Binaries, epoch: u64) -> Result<()> {
    let architecture = binaries.architecture;
    let system = format!("{}-linux", architecture.name());
    let metadata = Metadata::read(&architecture.target())?;
    let tree = Tree::collect(binaries, native, licences::text(&metadata)?)?;
    write(out, &format!("beads-{VERSION}-{system}.tar.gz"), &tree.archive(epoch)?)?;
    write(out, &deb::file_name(VERSION, architecture), &deb::package(&tree, architecture, epoch)?)?;
    write(out, &wheel::file_name(VERSION, architecture), &wheel::package(&tree, architecture)?)?;
    let npm = format!("{}-{VERSION}.tgz", npm::platform_name(architecture));
    write(out, &npm, &npm::platform_package(&tree, architecture, epoch)?)?;
    let bill = sbom::cyclonedx(&metadata, architecture, epoch)?;
    write(out, &format!("beads-{VERSION}-{system}.cdx.json"), bill.as_bytes())
}

/// Returns the other processors that this machine can link programs for, and for the rest what it lacks.
fn others() -> Result<(Vec<Architecture>, Vec<String>)> {
    let mut linked = Vec::new();
    let mut refusals = Vec::new();
    for architecture in Architecture::others()? {
        let lacks = architecture.lacks()?;
        match lacks.is_empty() {
            true => linked.push(architecture),
            false => refusals.push(format!(
                "{}: not built; this machine lacks {}",
                architecture.name(),
                lacks.join(" and ")
            )),
        }
    }
    Ok((linked, refusals))
}

/// Returns `install.sh` with this version and the address of the releases filled in. The address may be empty.
fn install_script(url: &str) -> Result<String> {
    let mut script = fs::read_to_string("install.sh")?;
    if url.contains('\'') {
        return Err("--url must not contain quotes".into());
    }
    for (name, value) in [("release_url", url), ("release_version", VERSION)] {
        let empty = format!("\n{name}=\n");
        if !script.contains(&empty) {
            return Err(format!("install.sh has no line {name}=").into());
        }
        script = script.replacen(&empty, &format!("\n{name}='{value}'\n"), 1);
    }
    Ok(script)
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
    write(directory, SUMS, lines.as_bytes())
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

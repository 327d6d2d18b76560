//! How the binaries are linked on Linux (docs/adr/0011): at a fixed address, and with everything in them. A command is a
//! process, and finding, mapping and binding shared libraries takes longer than all the rest of it.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(folds_identical_functions)");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    let out = env::var("OUT_DIR").expect("cargo says where to write");
    // Not for tests, which link often and are not shipped.
    let is_release = env::var("PROFILE").as_deref() == Ok("release");
    if is_release && links_with(FOLD_IDENTICAL_FUNCTIONS, Path::new(&out)) {
        println!("cargo::rustc-cfg=folds_identical_functions");
        println!("cargo::rustc-link-arg-bins={FOLD_IDENTICAL_FUNCTIONS}");
    }
    // Decided by the build script of beads-engine, whose code depends on it.
    if env::var_os("DEP_BEADS_ENGINE_LINKED_STATICALLY").is_some() {
        stand_in_for_shared_libraries(Path::new(&out))
            .expect("the directory cargo made for us can be written to");
        println!("cargo::rustc-link-arg-bins=-static");
        if reads_linker_scripts() {
            println!("cargo::rerun-if-changed=start.ld");
            let directory = env::var("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
            println!("cargo::rustc-link-arg-bins=-Wl,-T,{directory}/start.ld");
        }
        println!("cargo::rustc-link-arg-bins=-L{out}");
    } else {
        // Then at least each function is looked up when it is first called: a command needs a tenth of them.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,lazy");
    }
}

/// Generic code has the same instructions for many types. lld and mold keep one copy (docs/adr/0100).
const FOLD_IDENTICAL_FUNCTIONS: &str = "-Wl,--icf=safe";

/// Returns whether the linker that cargo will use takes this argument, by linking an empty program with it.
fn links_with(argument: &str, directory: &Path) -> bool {
    let source = directory.join("empty.rs");
    let given = |name| env::var(name).unwrap_or_default();
    let mut rustc = Command::new(given("RUSTC"));
    rustc.args(given("CARGO_ENCODED_RUSTFLAGS").split('\x1f').filter(|flag| !flag.is_empty()));
    if given("TARGET") != given("HOST") {
        rustc.args(["--target", &given("TARGET")]);
    }
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        rustc.arg("-C").arg([OsStr::new("linker="), &linker].into_iter().collect::<OsString>());
    }
    rustc
        .args(["--crate-name", "empty", "-C", &format!("link-arg={argument}"), "-o"])
        .arg(directory.join("empty"));
    fs::write(&source, "fn main() {}").is_ok()
        && rustc.arg(&source).output().is_ok_and(|linked| linked.status.success())
}

/// Returns whether the linker takes `start.ld`. The usual ones do, GNU ld and lld; mold and gold do not.
fn reads_linker_scripts() -> bool {
    let chosen = ["CARGO_ENCODED_RUSTFLAGS", "RUSTC_LINKER"].map(|name| env::var(name).unwrap_or_default());
    !["fuse-ld", "mold", "gold", "wild"]
        .iter()
        .any(|other| chosen.iter().any(|chosen| chosen.contains(other)))
}

/// The compiler of Rust asks for the shared ones by name, wherever `-static` stands. (Its own `+crt-static` cannot be given to
/// some binaries alone: without `--target` it also meets the macros' libraries, which cannot be built with it.)
fn stand_in_for_shared_libraries(directory: &Path) -> io::Result<()> {
    fs::write(directory.join("libgcc_s.so"), "INPUT(libgcc_eh.a)\n")?;
    fs::write(directory.join("libc.so"), "GROUP(libc.a libgcc_eh.a libgcc.a)\n")?;
    fs::write(directory.join("libm.so"), "INPUT(libm.a)\n")
}

//! Decides whether the binaries are linked statically (docs/adr/0011): name lookups depend on it, and the build script of
//! `beads`, which links them, reads the decision from here.

use std::env;
use std::ffi::OsString;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=BD_LINK_DYNAMIC");
    println!("cargo::rustc-check-cfg=cfg(linked_statically)");
    if static_libraries_are_here() && env::var_os("BD_LINK_DYNAMIC").is_none() {
        println!("cargo::rustc-cfg=linked_statically");
        println!("cargo::metadata=linked_statically=1");
    }
}

/// The compiler answers with the bare name when it has no such file.
fn static_libraries_are_here() -> bool {
    env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux")
        && env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu")
        && compiler_that_links().is_some_and(|compiler| {
            ["libc.a", "libm.a", "libgcc_eh.a"].iter().all(|library| {
                let asked = Command::new(&compiler).arg(format!("-print-file-name={library}")).output();
                asked.is_ok_and(|said| said.stdout.contains(&b'/'))
            })
        })
}

/// Returns the compiler that cargo links with. For another target it must be configured; `cc` has only the libraries of
/// this machine.
fn compiler_that_links() -> Option<OsString> {
    let is_native = env::var("TARGET") == env::var("HOST");
    env::var_os("RUSTC_LINKER").or_else(|| is_native.then(|| OsString::from("cc")))
}

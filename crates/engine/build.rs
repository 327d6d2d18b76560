//! Decides whether the binaries are linked statically (docs/adr/0011): name lookups depend on it, and the build script of
//! `beads`, which links them, reads the decision from here.

use std::env;
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
        && env::var("TARGET") == env::var("HOST")
        && ["libc.a", "libm.a", "libgcc_eh.a"].iter().all(|library| {
            let asked = Command::new("cc").arg(format!("-print-file-name={library}")).output();
            asked.is_ok_and(|said| said.stdout.contains(&b'/'))
        })
}

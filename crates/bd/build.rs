//! How the binaries are linked on Linux (docs/adr/0011): at a fixed address, and with everything in them. A command is a
//! process, and finding, mapping and binding shared libraries takes longer than all the rest of it.

use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=BD_LINK_DYNAMIC");
    println!("cargo::rustc-check-cfg=cfg(linked_statically)");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    let out = env::var("OUT_DIR").expect("cargo says where to write");
    if static_libraries_are_here() && env::var_os("BD_LINK_DYNAMIC").is_none() {
        stand_in_for_shared_libraries(Path::new(&out))
            .expect("the directory cargo made for us can be written to");
        println!("cargo::rustc-cfg=linked_statically");
        println!("cargo::rustc-link-arg-bins=-static");
        println!("cargo::rustc-link-arg-bins=-L{out}");
    } else {
        // Then at least each function is looked up when it is first called: a command needs a tenth of them.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,lazy");
    }
}

/// The compiler answers with the bare name when it has no such file.
fn static_libraries_are_here() -> bool {
    env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu")
        && env::var("TARGET") == env::var("HOST")
        && ["libc.a", "libm.a", "libgcc_eh.a"].iter().all(|library| {
            let asked = Command::new("cc").arg(format!("-print-file-name={library}")).output();
            asked.is_ok_and(|said| said.stdout.contains(&b'/'))
        })
}

/// The compiler of Rust asks for the shared ones by name, wherever `-static` stands. (Its own `+crt-static` cannot be given to
/// some binaries alone: without `--target` it also meets the macros' libraries, which cannot be built with it.)
fn stand_in_for_shared_libraries(directory: &Path) -> io::Result<()> {
    fs::write(directory.join("libgcc_s.so"), "INPUT(libgcc_eh.a)\n")?;
    fs::write(directory.join("libc.so"), "GROUP(libc.a libgcc_eh.a libgcc.a)\n")?;
    fs::write(directory.join("libm.so"), "INPUT(libm.a)\n")
}

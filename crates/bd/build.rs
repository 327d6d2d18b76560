//! Links the binaries at a fixed address on Linux. A position-independent `bd` starts by fixing some 30,000 addresses,
//! most of them in OpenSSL's tables, which costs more than all the rest of a command (docs/adr/0011).

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}

//! How the binaries are linked on Linux (docs/adr/0011). At a fixed address: a position-independent `bd` starts by fixing
//! some 30,000 addresses, most of them in OpenSSL's tables, which costs more than all the rest of a command. And each
//! function of the C library is looked up when it is first called: a command needs a tenth of them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        println!("cargo::rustc-link-arg-bins=-Wl,-z,lazy");
    }
}

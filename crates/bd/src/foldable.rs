//! Lets the linker keep one copy of functions with the same instructions (docs/adr/0100).
//!
//! It folds only the code of object files that list the functions whose address matters. The compiler of Rust writes no such list;
//! this one is empty, and with link-time optimisation it stands for all Rust code, which compares no addresses of functions. The
//! object files of C have no list, so nothing of theirs is folded.
#![allow(unsafe_code, reason = "the directive adds no code and changes none")]

core::arch::global_asm!(".addrsig");

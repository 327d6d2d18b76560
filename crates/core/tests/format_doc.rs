#![allow(clippy::unwrap_used)]
mod support;
#[test]
fn dump() {
    println!("{}", support::show(&support::example::example().encode()));
}

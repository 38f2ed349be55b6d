//! Links the program at a fixed address where the linker resolves its 75,000 pointers to constants once and for all.
//!
//! A position-independent program lets the dynamic linker write all of them at each start: 1 ms of processor time, more
//! than all else that a start takes, of a helper that one suite starts 9,000 times.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = |part: &str| std::env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}

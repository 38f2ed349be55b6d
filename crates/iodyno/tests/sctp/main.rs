//! SCTP between iodyno and the original iperf3, in a guest whose kernel has it: this machine's has not, as a rule.
//!
//! Only `cargo xtask against sctp` boots one: it brings a kernel of Debian's, and says where in a variable. The guest has no
//! disk and no network but its own loopback, and its console is our pipe.

#[cfg(target_os = "linux")]
mod archive;
#[cfg(target_os = "linux")]
mod boot;
#[cfg(target_os = "linux")]
mod guest;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    testbed::run(guest::cases())
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}

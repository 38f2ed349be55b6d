//! Arrays of the kernel's md beside the simulated ones: how many requests and bytes each write and read costs the members.
//!
//! Only `cargo xtask against raid` boots a guest whose kernel has md: this machine's has not, as a rule. It brings a kernel of Debian's
//! and mdadm, and says where in a variable. The members are loop devices over files in the guest's memory.

#[cfg(target_os = "linux")]
#[path = "../sctp/archive.rs"]
mod archive;
#[cfg(target_os = "linux")]
mod arrays;
#[cfg(target_os = "linux")]
#[path = "../sctp/boot.rs"]
mod boot;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    testbed::run(arrays::cases())
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}

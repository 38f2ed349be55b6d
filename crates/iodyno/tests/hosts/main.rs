//! Several hosts, for real: the site's own launcher and the user's own ssh between machines that share nothing but a
//! directory.
//!
//! The hosts are namespaces with an address, a host name, a `/tmp`, an init and an sshd each. A launcher that is not
//! installed, or namespaces that cannot be had, are skips. It asserts no speed.
//! The program lies at one path on every host, so that the clone may lie anywhere.

#[cfg(target_os = "linux")]
mod going;
#[cfg(target_os = "linux")]
mod streams;
#[cfg(target_os = "linux")]
mod working;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    testbed::run_waiting([going::cases(), working::cases(), streams::cases()].into_iter().flatten().collect())
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}

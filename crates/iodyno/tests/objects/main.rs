//! Stores whose client libraries are opened at run time: Ceph's objects, Hadoop's files; and the card of stores, beside one
//! in this process.
//!
//! Against stand-ins of the libraries, which write down what they are told and fail where they are told to; and, by
//! `cargo xtask against objects`, against the stores themselves, beside fio where it has the engine.

#[cfg(target_os = "linux")]
mod card;
#[cfg(target_os = "linux")]
mod ceph;
#[cfg(target_os = "linux")]
mod gateway;
#[cfg(target_os = "linux")]
mod hadoop;
#[cfg(target_os = "linux")]
mod hdfs;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod rados;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    testbed::run(
        [card::cases(), rados::cases(), ceph::cases(), hdfs::cases(), hadoop::cases(), gateway::cases()]
            .into_iter()
            .flatten()
            .collect(),
    )
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}

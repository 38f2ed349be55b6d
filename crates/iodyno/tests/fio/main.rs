//! The proof that our fio is a fio: the same job files, command lines and scripts, with Debian's fio and with ours.
//!
//! `cargo test -p iodyno --test fio` judges ours; with `IODYNO_FIO_CANDIDATE=/usr/bin/fio` the original is held against
//! itself, which must pass too, or the comparison is not fair. Where fio is not installed, every comparison is counted
//! as skipped. `cargo xtask against fio` runs the same and prints a line a job.

#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod clients;
#[cfg(target_os = "linux")]
mod compare;
#[cfg(target_os = "linux")]
mod devices;
#[cfg(target_os = "linux")]
mod differences;
#[cfg(target_os = "linux")]
mod job;
#[cfg(target_os = "linux")]
mod layout;
#[cfg(target_os = "linux")]
mod mask;
#[cfg(target_os = "linux")]
mod odd;
#[cfg(target_os = "linux")]
mod output;
#[cfg(target_os = "linux")]
mod pairs;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod reading;
#[cfg(target_os = "linux")]
mod servers;
#[cfg(target_os = "linux")]
mod statistics;
#[cfg(target_os = "linux")]
mod trace;
#[cfg(target_os = "linux")]
mod wrappers;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let own = [
        output::checks(),
        mask::checks(),
        layout::checks(),
        trace::checks(),
        statistics::checks(),
        differences::checks(),
        compare::checks(),
        reading::checks(),
    ];
    let own = own.into_iter().flatten().map(|(name, check)| {
        testbed::Case::new(name, &[], move || {
            check();
            Ok(())
        })
        .computes()
    });
    let others = [devices::cases(), odd::cases(), wrappers::cases(), clients::cases(), servers::cases()];
    let cases = own.chain(pairs::cases()).chain(others.into_iter().flatten()).collect();
    // A fio job mostly sleeps.
    testbed::run_waiting(cases)
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: fio: its dialect is held against Linux's fio");
}

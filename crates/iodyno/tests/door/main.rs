//! The whole program as a new user meets it: good places, bad places, interruptions, refusals.
//!
//! Every case starts the built binary and looks at its exit status, its report (stdout), its talk (stderr) and at what
//! it left behind. It asserts no speed and looks at no clock; a run that hangs is a failure.

// Signals, and what happens between fork and exec.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod accelerators;
#[cfg(target_os = "linux")]
mod aging;
#[cfg(target_os = "linux")]
mod calibration;
#[cfg(target_os = "linux")]
mod checkpoint;
#[cfg(target_os = "linux")]
mod crash;
#[cfg(target_os = "linux")]
mod crowd;
#[cfg(target_os = "linux")]
mod datasets;
#[cfg(target_os = "linux")]
mod devices;
#[cfg(target_os = "linux")]
mod dlio;
#[cfg(target_os = "linux")]
mod drop_in;
#[cfg(target_os = "linux")]
mod exports;
#[cfg(target_os = "linux")]
mod findings;
#[cfg(target_os = "linux")]
mod iostat;
#[cfg(target_os = "linux")]
mod kv_cache;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod load_curve;
#[cfg(target_os = "linux")]
mod measure;
#[cfg(target_os = "linux")]
mod neighbours;
#[cfg(target_os = "linux")]
mod plans;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod pts;
#[cfg(target_os = "linux")]
mod record;
#[cfg(target_os = "linux")]
mod replay;
#[cfg(target_os = "linux")]
mod store_tools;
#[cfg(target_os = "linux")]
mod stores;
#[cfg(target_os = "linux")]
mod studio;
#[cfg(target_os = "linux")]
mod substitution;
#[cfg(target_os = "linux")]
mod traces;
#[cfg(target_os = "linux")]
mod tune;
#[cfg(target_os = "linux")]
mod understand;
#[cfg(target_os = "linux")]
mod vdbench;
#[cfg(target_os = "linux")]
mod watch;
mod whatif;
#[cfg(target_os = "linux")]
mod words;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    testbed::run(
        [
            aging::cases(),
            calibration::cases(),
            measure::cases(),
            neighbours::cases(),
            watch::cases(),
            plans::cases(),
            devices::cases(),
            crash::cases(),
            crowd::cases(),
            words::cases(),
            whatif::cases(),
            dlio::cases(),
            drop_in::cases(),
            exports::cases(),
            findings::cases(),
            iostat::cases(),
            limits::cases(),
            load_curve::cases(),
            accelerators::cases(),
            kv_cache::cases(),
            checkpoint::cases(),
            datasets::cases(),
            pts::cases(),
            record::cases(),
            replay::cases(),
            store_tools::cases(),
            stores::cases(),
            studio::cases(),
            substitution::cases(),
            traces::cases(),
            tune::cases(),
            understand::cases(),
            vdbench::cases(),
        ]
        .into_iter()
        .flatten()
        .collect(),
    )
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}

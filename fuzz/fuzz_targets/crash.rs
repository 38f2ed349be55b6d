//! Feeds the files of workloads of crash tests.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("crash", input));

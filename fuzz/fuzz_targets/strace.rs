//! Feeds the importer of traces `strace`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("strace", input));

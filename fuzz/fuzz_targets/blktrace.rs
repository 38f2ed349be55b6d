//! Feeds the importer of traces `blktrace`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("blktrace", input));

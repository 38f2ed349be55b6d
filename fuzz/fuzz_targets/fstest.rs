//! Feeds the dialect `fstest`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("fstest", input));

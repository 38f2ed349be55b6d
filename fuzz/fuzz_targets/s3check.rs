//! Feeds the dialect `s3check`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("s3check", input));

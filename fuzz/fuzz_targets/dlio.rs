//! Feeds the dialect `dlio`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("dlio", input));

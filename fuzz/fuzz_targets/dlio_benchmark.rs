//! Feeds the dialect `dlio_benchmark`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("dlio_benchmark", input));

//! Feeds the dialect `dbench`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("dbench", input));

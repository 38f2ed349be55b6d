//! Feeds the dialect `smallfile`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("smallfile", input));

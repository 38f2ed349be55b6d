//! Feeds the dialect `diskspd`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("diskspd", input));

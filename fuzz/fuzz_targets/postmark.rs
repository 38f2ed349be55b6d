//! Feeds the dialect `postmark`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("postmark", input));

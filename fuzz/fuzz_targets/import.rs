//! Feeds results of ours and of other tools.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("import", input));

//! Feeds the audit of pasted results.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("audit", input));

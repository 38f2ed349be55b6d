//! Feeds the dialect `md-workbench`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("md-workbench", input));

//! Feeds the importer of traces `packed`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("packed", input));

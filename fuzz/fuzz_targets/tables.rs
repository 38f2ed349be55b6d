//! Feeds the importer of traces `tables`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("tables", input));

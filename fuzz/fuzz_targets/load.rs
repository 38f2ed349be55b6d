//! Feeds the importer of load files of dbench.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("load", input));

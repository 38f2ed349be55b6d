//! Feeds the importer of traces `dxt`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("dxt", input));

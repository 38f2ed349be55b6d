//! Feeds the importer of traces `iolog`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("iolog", input));

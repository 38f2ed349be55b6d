//! Feeds the importer of traces `nbw`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("nbw", input));

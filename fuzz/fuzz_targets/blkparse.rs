//! Feeds the importer of traces `blkparse`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("blkparse", input));

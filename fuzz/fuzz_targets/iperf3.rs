//! Feeds the dialect `iperf3`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| iodyno_fuzz::feed("iperf3", input));

//! One file for each tool, and one for what goes wrong.

mod fio;
mod iperf;
mod iperf3;
mod lost;
mod netperf;

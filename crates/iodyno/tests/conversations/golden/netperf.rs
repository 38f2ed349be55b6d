//! netperf and netserver of ours.

use iodyno_engine::peer::simulated::Link;

use crate::stage::{SECOND_NS, Scene};

fn scene(options: &str) -> Scene {
    Scene::of("netserver -D", &format!("netperf -H 10.0.0.1 {options}"))
}

#[test]
fn tcp_stream() {
    let [served, asked] = scene("-l 2").golden("netperf-tcp-stream");
    assert!(asked.job(0, 0).2 >= 2 * SECOND_NS);
    assert_eq!(served.job(0, 0).0, asked.job(0, 0).0);
}

#[test]
fn tcp_from_netserver() {
    scene("-t TCP_MAERTS -l 2").golden("netperf-tcp-maerts");
}

#[test]
fn requests_and_responses() {
    let [_, asked] = scene("-t TCP_RR -l 2").golden("netperf-tcp-rr");
    // A byte in 8 ns, and a tenth of a millisecond, each way.
    assert_eq!(asked.job(0, 0).1, 2 * SECOND_NS / 200_016);
    scene("-t TCP_RR -l 2 -- -r 64,1024 -b 7").golden("netperf-tcp-rr-burst");
}

#[test]
fn datagrams() {
    scene("-t UDP_STREAM -l 1 -- -m 1400").golden("netperf-udp-stream");
    let link = Link { loss: 0.01, seed: 4, ..Link::default() };
    let [_, asked] = scene("-t UDP_RR -l 2").over(link).golden("netperf-udp-rr-loss");
    assert!(asked.fact(0, 0, "lost") > 0);
}

#[test]
fn figures_by_name() {
    scene(
        "-t OMNI -l 2 -- -T TCP -d RR -o THROUGHPUT,THROUGHPUT_UNITS,MEAN_LATENCY,P99_LATENCY,ELAPSED_TIME",
    )
    .golden("netperf-omni");
}

//! What goes wrong: nobody there, peers that go, links that are cut, versions that are refused.

use iodyno_engine::peer::simulated::Link;

use crate::stage::{SECOND_NS, Scene};

const HALF_NS: u64 = SECOND_NS / 2;

fn iperf3(options: &str) -> Scene {
    Scene::of("iperf3 -s -1", &format!("iperf3 -c 10.0.0.1 {options}"))
}

#[test]
fn nobody_is_there() {
    let [_, asked] = iperf3("-p 9 -t 1").golden("lost-iperf3-refused");
    assert_eq!(asked.status, Some(1));
    Scene::of("netserver -D", "netperf -H 10.0.0.1 -p 9").golden("lost-netperf-refused");
    Scene::of("iperf -s", "iperf -c 10.0.0.1 -p 9 -t 1").golden("lost-iperf-refused");
}

#[test]
fn nobody_answers() {
    let never = Link { cut_ns: Some((0, u64::MAX)), ..Link::default() };
    Scene::of("iperf3 -s", "iperf3 -c 10.0.0.1 --connect-timeout 3000")
        .over(never)
        .golden("lost-iperf3-timeout");
}

#[test]
fn the_server_is_killed() {
    iperf3("-t 3").server_killed(SECOND_NS + HALF_NS).golden("lost-iperf3-server");
    iperf3("-t 3 -J").server_killed(SECOND_NS + HALF_NS).golden("lost-iperf3-server-json");
    Scene::of("netserver -D", "netperf -H 10.0.0.1 -l 3")
        .server_killed(SECOND_NS + HALF_NS)
        .golden("lost-netperf-server");
}

#[test]
fn the_client_is_killed() {
    iperf3("-t 3").client_killed(SECOND_NS + HALF_NS).golden("lost-iperf3-client");
}

#[test]
fn the_client_is_interrupted() {
    let [_, asked] =
        iperf3("-t 10").client_gets(2, 2 * SECOND_NS + HALF_NS).golden("lost-iperf3-interrupted");
    assert_eq!(asked.records[0].stopped_by, Some(2));
}

#[test]
fn the_link_is_cut() {
    let cut =
        |from_s: u64, until_ns: u64| Link { cut_ns: Some((from_s * SECOND_NS, until_ns)), ..Link::default() };
    // For two seconds: what a stream has sent comes afterwards.
    iperf3("-t 5").over(cut(1, 3 * SECOND_NS)).golden("lost-iperf3-cut");
    let for_ever = "iperf3 -c 10.0.0.1 -t 5 -R --rcv-timeout 4000";
    Scene::of("iperf3 -s", for_ever).over(cut(1, u64::MAX)).golden("lost-iperf3-silent");
}

#[test]
fn strangers_are_told_from_servers() {
    // One that is busy, one that tells an error of its own, and no iperf3 at all.
    let answers = [("busy", "ff"), ("error", "fe0000000800000000"), ("web", "485454502f312e312034303020")];
    for (name, says) in answers {
        let scene = Scene::of(&format!("stranger 5201 {says}"), "iperf3 -c 10.0.0.1 -t 1");
        let [_, asked] = scene.golden(&format!("stranger-iperf3-{name}"));
        assert_eq!(asked.status, Some(1), "{name}");
    }
    let scene = Scene::of("stranger 12865 485454502f312e31", "netperf -H 10.0.0.1 -l 1");
    let [_, asked] = scene.golden("stranger-netperf");
    assert_ne!(asked.status, Some(0));
}

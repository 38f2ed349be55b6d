//! iperf 2 with itself.

use iodyno_engine::peer::simulated::Link;

use crate::stage::Scene;

fn scene(server: &str, client: &str) -> Scene {
    Scene::of(format!("iperf -s {server}").trim_end(), &format!("iperf -c 10.0.0.1 {client}"))
}

#[test]
fn tcp() {
    let [served, asked] = scene("-i 1", "-t 3 -i 1").golden("iperf-tcp");
    assert_eq!(served.job(0, 0).0 / 131_072, asked.job(0, 0).0 / 131_072);
}

#[test]
fn an_amount() {
    scene("", "-n 50M").golden("iperf-bytes");
}

#[test]
fn udp() {
    scene("-u -i 1", "-u -b 10m -t 3 -i 1").golden("iperf-udp");
}

#[test]
fn udp_with_loss() {
    let link = Link { loss: 0.02, seed: 9, jitter_ns: 300_000, ..Link::default() };
    scene("-u", "-u -b 10m -t 3").over(link).golden("iperf-udp-loss");
}

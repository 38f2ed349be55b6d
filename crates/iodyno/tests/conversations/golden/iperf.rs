//! iperf 2 with itself.

use iodyno_engine::peer::simulated::Link;

use crate::stage::Scene;

fn scene(server: &str, client: &str) -> Scene {
    Scene::of(format!("iperf -s {server}").trim_end(), &format!("iperf -c 10.0.0.1 {client}"))
}

#[test]
fn tcp() {
    let [served, asked] = scene("-i 1", "-t 3 -i 1").golden("iperf-tcp");
    // What comes before there is a run is counted without one.
    assert_eq!((served.job(0, 0).0 + 16_384) / 131_072, asked.job(0, 0).0 / 131_072);
}

#[test]
fn an_amount() {
    scene("", "-n 50M").golden("iperf-bytes");
}

#[test]
fn a_paced_sender_lasts_its_time() {
    // A block at the beginning, and one each 1.049 s: two in two seconds, at every end.
    let [served, asked] = scene("", "-b 1M -t 2").golden("iperf-paced");
    // The first 16 KiB are counted before there is a run.
    assert_eq!((served.job(0, 0).0 + 16_384, asked.job(0, 0).0 + 131_072), (262_144, 2 * 131_072 + 131_072));
    [served, asked].iter().for_each(|said| assert!(said.text.contains("1.05 Mbits/sec"), "{}", said.text));
    // A datagram each 98 ms: 21 in two seconds, of each of eight streams.
    let [_, asked] = scene("-u", "-u -b 120K -t 2 -P 8").golden("iperf-paced-udp");
    assert!(asked.text.contains("0.0000-2.0000 sec  30.1 KBytes   123 Kbits/sec"), "{}", asked.text);
    assert!(asked.text.contains("[SUM] 0.0000-2.0000 sec   241 KBytes   988 Kbits/sec"), "{}", asked.text);
}

#[test]
fn a_stream_lasts_until_its_peer_has_read_it() {
    // What was handed over in two seconds arrives a tenth of a second later, and that it was read is known after another.
    let link = Link { latency_ns: 100_000_000, bits_per_second: 100_000_000, ..Link::default() };
    let [_, asked] = scene("", "-t 2 -P 2").over(link).golden("iperf-tcp-far");
    let (bytes, _, ended_ns) = asked.job(0, 0);
    let row = asked.text.lines().find(|line| line.starts_with("[  1] 0.0000-")).expect("a total");
    let seconds: f64 = row[13..19].parse().expect("seconds");
    assert!(seconds >= (ended_ns + 200_000_000) as f64 / 1e9 - 0.001, "{row}");
    // Two streams share the link: each has at most half of what it carries.
    assert!(bytes as f64 * 8.0 / seconds < 50e6, "{bytes} in {seconds}");
}

#[test]
fn udp() {
    scene("-u -i 1", "-u -b 10m -t 3 -i 1").golden("iperf-udp");
}

#[test]
fn a_slow_test_is_one_test() {
    // A block each 105 s: between two of them the server has no run, and counts every byte all the same.
    let [served, asked] = scene("", "-b 10K -t 400").play();
    assert_eq!([rows(&asked.text), rows(&served.text)], [["512 KBytes"]; 2], "{}", served.text);
    // Whether intervals are told or not, a test of datagrams ends when its sender does.
    let [served, asked] = scene("-u", "-u -t 25").play();
    assert!(asked.text.contains(" 0/2231 (0%)"), "{}", asked.text);
    assert_eq!(rows(&served.text), ["3.13 MBytes"], "{}", served.text);
    // Datagrams that come each 23.5 s by their own rate.
    let [served, _] = scene("-u", "-u -b 500 -t 100").play();
    assert!(served.text.contains(" 0/6 (0%)"), "{}", served.text);
}

/// What each row moved.
fn rows(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.split_once(" sec ")?.1.trim().get(..11).map(str::trim)).collect()
}

#[test]
fn an_address_that_proves_nothing_gets_its_share() {
    let [served, asked] = scene("-u", "-u -R -b 200m -t 10").golden("iperf-udp-unproven");
    assert!(served.text.contains("! iperf: 10.0.0.2 asks for more datagrams"), "{}", served.text);
    let sent = asked.fact(0, 0, "datagrams") * 1470;
    assert!((15 << 20..=(16 << 20) + 2 * 1470).contains(&sent), "{sent}");
    // The usual test is as ever.
    let [served, asked] = scene("-u", "-u -R").play();
    assert!(
        !served.text.contains("! ") && asked.text.contains("1.05 Mbits/sec"),
        "{}{}",
        served.text,
        asked.text
    );
}

#[test]
fn udp_with_loss() {
    let link = Link { loss: 0.02, seed: 9, jitter_ns: 300_000, ..Link::default() };
    scene("-u", "-u -b 10m -t 3").over(link).golden("iperf-udp-loss");
}

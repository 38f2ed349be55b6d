//! iperf3 with itself.

use iodyno_engine::peer::simulated::Link;

use serde_json::Value;

use crate::stage::{SECOND_NS, Said, Scene};

const SERVER: &str = "iperf3 -s -1";

fn scene(options: &str) -> Scene {
    Scene::of(SERVER, &format!("iperf3 -c 10.0.0.1 {options}"))
}

/// 128 KiB in 1,048,576 ns: what a gigabit carries.
const BLOCK_NS: u64 = 1_048_576;

#[test]
fn tcp() {
    let [served, asked] = scene("-t 3").golden("iperf3-tcp");
    let (bytes, operations, ended_ns) = asked.job(0, 0);
    // The block that was begun before three seconds were over is the last.
    let blocks = (3 * SECOND_NS).div_ceil(BLOCK_NS);
    assert_eq!((bytes, operations, ended_ns), (blocks * 131_072, blocks, blocks * BLOCK_NS));
    assert_eq!(served.job(0, 0).0, bytes);
}

#[test]
fn tcp_reverse() {
    let [served, asked] = scene("-t 2 -R").golden("iperf3-reverse");
    // What was under way when the client had seen enough was sent, and not received.
    let (sent, received) = (served.job(0, 0).0, asked.job(0, 0).0);
    assert!(received <= sent && sent - received <= 8 * 131_072, "{sent} {received}");
}

#[test]
fn tcp_both_ways() {
    let [served, asked] = scene("-t 2 --bidir").golden("iperf3-bidir");
    assert_eq!(asked.records[0].phases[0].jobs.len(), 2);
    assert_eq!(served.job(0, 0).0, asked.job(0, 0).0);
}

#[test]
fn four_streams_share_alike() {
    let [_, asked] = scene("-t 2 -P 4").golden("iperf3-parallel");
    let bytes: Vec<u64> = (0..4).map(|job| asked.job(0, job).0).collect();
    let (least, most) = (bytes.iter().min(), bytes.iter().max());
    assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 131_072), "{bytes:?}");
}

#[test]
fn amounts() {
    let [served, asked] = scene("-n 100M").golden("iperf3-bytes");
    assert_eq!((asked.job(0, 0).0, served.job(0, 0).0), (100 << 20, 100 << 20));
    let [served, asked] = scene("-k 300").golden("iperf3-blocks");
    assert_eq!((asked.job(0, 0).1, served.job(0, 0).0), (300, 300 * 131_072));
}

#[test]
fn what_is_omitted_is_not_counted() {
    let [_, asked] = scene("-t 2 -O 1").golden("iperf3-omit");
    let (bytes, _, ended_ns) = asked.job(0, 0);
    assert!(ended_ns >= 3 * SECOND_NS);
    // The block that crosses the end of what is omitted belongs to it.
    assert_eq!(bytes + asked.fact(0, 0, "ramp_bytes"), asked.fact(0, 0, "bytes"));
}

/// The document of one side.
fn document(said: &Said) -> Value {
    serde_json::from_str(&said.text).unwrap_or_else(|why| panic!("{why}: {}", said.text))
}

/// Bytes of the sums of all intervals that count.
fn of_intervals(document: &Value, name: &str) -> u64 {
    let intervals = document["intervals"].as_array().expect("intervals").iter();
    let counts = intervals.filter(|interval| interval[name]["omitted"] == false);
    counts.map(|interval| interval[name]["bytes"].as_u64().expect("bytes")).sum()
}

#[test]
fn intervals_come_to_the_totals_where_something_is_omitted() {
    // Paced blocks, blocks under way when counting begins, short intervals, both directions, datagrams.
    for options in
        ["-b 3M", "-l 1M", "-l 1M -i 0.1", "-b 3M -R", "-l 1M -R -P 2", "-u -b 200K -i 0.5", "-u -R"]
    {
        let client = format!("iperf3 -c 10.0.0.1 -t 3 -O 1 -J {options}");
        for (said, sends) in Scene::of("iperf3 -s -J -1", &client)
            .play()
            .iter()
            .zip([options.contains("-R"), !options.contains("-R")])
        {
            let document = document(said);
            let total = &document["end"][if sends { "sum_sent" } else { "sum_received" }]["bytes"];
            assert_eq!(
                Some(of_intervals(&document, "sum")),
                total.as_u64(),
                "{options}, {sends}: {}",
                said.text
            );
        }
    }
    // Blocks at 0, 1.5 and 3 s less a little: the first is omitted, and the others count at both ends.
    for said in scene("-t 2 -O 1 -b 700K").golden("iperf3-omit-paced") {
        assert!(said.text.contains("0.00-2.00   sec   256 KBytes  1.05 Mbits/sec"), "{}", said.text);
    }
}

#[test]
fn each_side_names_directions_alike_and_tells_what_it_knows() {
    let [served, asked] = Scene::of("iperf3 -s -J -1", "iperf3 -c 10.0.0.1 -t 1 --bidir -J").play();
    for (said, server) in [(served, true), (asked, false)] {
        let document = document(&said);
        let (interval, end) = (&document["intervals"][0], &document["end"]);
        // `sum` is from the client on both sides, `sum_bidir_reverse` from the server.
        for (name, own, tail) in [("sum", !server, ""), ("sum_bidir_reverse", server, "_bidir_reverse")] {
            assert_eq!(interval[name]["sender"], own, "{name} at the server: {server}");
            assert_eq!(end[format!("sum_sent{tail}")]["sender"], own);
            let total = end[format!("sum_{}{tail}", if own { "sent" } else { "received" })]["bytes"].as_u64();
            assert_eq!(Some(of_intervals(&document, name)), total, "{name}");
        }
        for stream in end["streams"].as_array().expect("streams") {
            let (sender, own) = (&stream["sender"], stream["sender"]["sender"] == true);
            let figures = ["max_snd_cwnd", "max_rtt", "min_rtt", "mean_rtt"];
            // A receiving server has no such figures; a receiving client writes zeros, as the original does.
            figures
                .iter()
                .for_each(|name| assert_eq!(sender.get(name).is_some(), own || !server, "{name}: {sender}"));
            assert!(!own || sender["max_rtt"] == 200, "{sender}");
        }
    }
}

#[test]
fn udp_with_a_pace() {
    let [served, asked] = scene("-u -b 10M -t 2").golden("iperf3-udp");
    // 1448 bytes at ten megabits: 863.26 a second.
    let sent = asked.fact(0, 0, "datagrams");
    assert_eq!(sent, (2.0f64 * 1_250_000.0 / 1448.0).ceil() as u64);
    assert_eq!((served.fact(0, 0, "datagrams"), served.fact(0, 0, "lost")), (sent, 0));
}

#[test]
fn a_paced_sender_lasts_its_time() {
    // One block of 128 KiB in two seconds, as the original sends it.
    for (options, name) in [("", "iperf3-paced"), (" -R", "iperf3-paced-reverse")] {
        let [served, asked] = scene(&format!("-b 500K -t 2{options}")).golden(name);
        for said in [served, asked] {
            assert!(said.text.contains("0.00-2.00   sec   128 KBytes   524 Kbits/sec"), "{}", said.text);
        }
    }
    let [_, asked] = scene("-u -b 100K -t 2 -P 4").golden("iperf3-paced-udp");
    assert!(asked.text.contains("[SUM]   0.00-2.00   sec   102 KBytes   417 Kbits/sec"), "{}", asked.text);
}

#[test]
fn udp_with_loss() {
    let link = Link { loss: 0.02, seed: 5, jitter_ns: 200_000, ..Link::default() };
    let [served, asked] = scene("-u -b 10M -t 4").over(link).golden("iperf3-udp-loss");
    let (sent, came) = (asked.fact(0, 0, "datagrams"), served.fact(0, 0, "datagrams"));
    let (lost, highest) = (served.fact(0, 0, "lost"), served.fact(0, 0, "highest"));
    assert_eq!(came + lost, highest);
    assert!(highest <= sent && (sent / 100..sent / 25).contains(&lost), "{lost} of {sent}");
}

#[test]
fn a_stream_with_loss_sends_again() {
    let link = Link { loss: 0.001, seed: 2, latency_ns: 5_000_000, ..Link::default() };
    let [served, asked] = scene("-t 2").over(link).golden("iperf3-tcp-loss");
    assert!(asked.fact(0, 0, "retransmits") > 0);
    assert_eq!(served.job(0, 0).0, asked.job(0, 0).0);
}

#[test]
fn a_window_bounds_what_is_under_way() {
    // 1 MiB in a round trip of 100 ms.
    let link = Link { latency_ns: 50_000_000, window_bytes: 1 << 20, ..Link::default() };
    let [_, asked] = scene("-t 4").over(link).golden("iperf3-window");
    let rate = asked.job(0, 0).0 as f64 / 4.0;
    assert!(rate < 1.0e7 * 1.1 && rate > 0.9e7, "{rate} bytes a second");
}

#[test]
fn json() {
    scene("-t 2 -J").golden("iperf3-json");
    scene("-t 2 -J -u -b 10M --bidir").golden("iperf3-json-udp");
    scene("-t 1 --json-stream").golden("iperf3-json-stream");
}

#[test]
fn wordy() {
    scene("-t 2 -V -i 0.5 --get-server-output").golden("iperf3-verbose");
}

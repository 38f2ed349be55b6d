//! iperf 2's options, each exactly once, with what we do about it. Names are those of 2.1.8's own help.

use super::command::{self, EarlyExit, Parsing, bytes};
use super::frames::{Bins, Frames};
use super::header::Amount;
use crate::option::{Entry, Kind, Setter, SetterGroup, Spelling, Table, count, entries, grouped, switch};

const BOTH: &str = "Client and server";
const SERVER: &str = "Server";
const CLIENT: &str = "Client";
const REPORT: &str = "Report";

const MULTICAST: &str = "nothing here joins a group of receivers";
const MULTICAST_HINT: &str = "use iperf itself for multicast";
const SPREAD: &str = "all streams go to one address and port";
const SPREAD_HINT: &str = "start one client for each address";
const KEY: &str = "the key would travel in clear text";
const KEY_HINT: &str = "use `iodyno iperf3 --rsa-public-key-path`";

/// Every option with what it sets.
pub const SETTERS: &[Setter<Parsing, ()>] = &grouped::<_, { count(GROUPS) }>(GROUPS);

const GROUPS: &[SetterGroup<Parsing, ()>] = &[
    (
        BOTH,
        &[
            Entry::new(
                "b",
                Kind::Decimal,
                "N[kmgKMG]|Npps",
                "rate of each stream: bit/s, or writes each second; UDP: 1M",
            )
            .also(&["bandwidth"])
            .parsed(|r, value| command::rate(value).map(|rate| r.command.rate = Some(rate))),
            Entry::new("l", Kind::Bytes, "BYTES", "bytes of a write or read; UDP: of a datagram")
                .also(&["len"])
                .or("128K; UDP 1470, over IPv6 1450")
                .parsed(|r, value| {
                    bytes(value, 1..=1 << 30).map(|bytes| r.command.block_bytes = Some(bytes))
                }),
            Entry::new("p", Kind::Whole(1, 65_535), "PORT", "the server's port")
                .also(&["port"])
                .or("5001")
                .whole("port", |r, port| r.command.port = port as u16),
            Entry::new("permit-key", Kind::Text, "KEY", "a password").refused(KEY, KEY_HINT).inert(),
            switch("u", "UDP").also(&["udp"]).on(|r| r.command.udp = true),
            Entry::new("w", Kind::Bytes, "BYTES", "size of the socket's buffers").also(&["window"]).parsed(
                |r, value| bytes(value, 0..=u64::MAX).map(|bytes| r.command.window_bytes = Some(bytes)),
            ),
            switch("z", "a priority above everybody else's")
                .also(&["realtime"])
                .refused("it would stop the machine that is measured", "start it with chrt")
                .inert(),
            Entry::new("B", Kind::Text, "HOST[:PORT][%DEVICE]", "our own address, port and interface")
                .also(&["bind"])
                .text(|r, host| r.command.bind = Some(host.into())),
            Entry::new("M", Kind::Whole(1, 65535), "BYTES", "largest segment of TCP")
                .also(&["mss"])
                .parsed(|r, value| bytes(value, 1..=65_535).map(|bytes| r.command.mss = Some(bytes))),
            switch("N", "send small segments at once").also(&["nodelay"]).on(|r| {
                r.command.nodelay = true;
                r.socket_option("nodelay", "on");
            }),
            Entry::new("S", Kind::Text, "TOS", "type of service: a number or a name (ef, af11, lowdelay)")
                .also(&["tos"])
                .parsed(|r, value| command::tos(value).map(|tos| r.command.tos = tos).ok_or(())),
            Entry::new("Z", Kind::Text, "NAME", "congestion control")
                .also(&["tcp-congestion", "linux-congestion"])
                .text(|r, name| r.socket_option("congestion", name)),
            Entry::new(
                "t",
                Kind::Time,
                "SECONDS",
                "how long to send; of a server: how long it waits and receives",
            )
            .also(&["time"])
            .or("10")
            .parsed(|r, value| command::seconds(value).map(|ns| r.command.amount = Some(Amount::Time(ns)))),
            switch("V", "IPv6").also(&["ipv6_domain", "IPv6Version"]).on(|r| r.command.ipv6 = true),
        ],
    ),
    (
        REPORT,
        &[
            switch("e", "more columns").also(&["enhanced"]).on(|r| r.command.enhanced = true),
            Entry::new("f", Kind::Text, "b|k|m|g|t|K|M|G|T|a|A", "unit of rates: bits (lower case) or bytes")
                .also(&["format"])
                .parsed(|r, value| command::unit(value).map(|unit| r.command.format = unit)),
            switch("hide-ips", "no addresses in reports")
                .refused("addresses are what tells flows apart", "remove them from the report with sed")
                .inert(),
            Entry::new("i", Kind::Time, "SECONDS", "a report each so many seconds")
                .also(&["interval"])
                .parsed(|r, value| {
                    r.has_interval = true;
                    command::interval(value).map(|ns| r.command.interval_ns = ns)
                }),
            switch("m", "the largest segment of TCP").also(&["print_mss"]).inert(),
            Entry::new("o", Kind::Path, "FILE", "the report goes to this file")
                .also(&["output"])
                .text(|r, path| r.command.output = Some(path.into())),
            switch("sum-only", "only the sums of parallel streams").on(|r| r.command.sum_only = true),
            Entry::new(
                "x",
                Kind::Text,
                "CDMSV",
                "leave out: C connections, D data, S settings, V the server's report",
            )
            .also(&["reportexclude"])
            .parsed(|r, value| command::excluded(value).map(|letters| r.command.excluded = letters)),
            Entry::new("y", Kind::Text, "C", "comma-separated values")
                .also(&["reportstyle"])
                .parsed(|r, value| command::is_csv(value).map(|()| r.command.csv = true)),
        ],
    ),
    (
        CLIENT,
        &[
            switch("C", "no header beyond that of old versions")
                .also(&["compatibility"])
                .on(|r| r.command.compatible = true),
            Entry::new(
                "bounceback",
                Kind::Whole(1, i64::MAX),
                "[N]",
                "N messages in each period come back from the server",
            )
            .or("10")
            .parsed(|r, value| command::bounces(value).map(|count| r.command.bounces = Some(count))),
            Entry::new(
                "bounceback-congest",
                Kind::Text,
                "[up|down|bidir][,N]",
                "N streams beside the messages: to the server, from it, or both ways",
            )
            .also(&["working-load"])
            .or("bidir,1")
            .parsed(|r, value| command::congestion(value).map(|load| r.command.load = Some(load))),
            Entry::new("bounceback-hold", Kind::Decimal, "MS", "between a message and its return")
                .or("0")
                .parsed(|r, value| command::hold(value).map(|us| r.command.bounce_hold_us = us)),
            Entry::new(
                "bounceback-period",
                Kind::Time,
                "[SECONDS]",
                "between bursts of messages; 0: one after the other",
            )
            .or("1")
            .parsed(|r, value| {
                let value = if value.is_empty() { "1" } else { value };
                command::seconds(value).map(|ns| r.command.bounce_period_ns = ns)
            }),
            switch("bounceback-no-quickack", "the server need not acknowledge at once")
                .on(|r| r.command.no_quickack = true),
            Entry::new("bounceback-txdelay", Kind::Time, "SECONDS", "messages begin so long after the load")
                .refused("messages and load begin together", "leave it out")
                .inert(),
            Entry::new("c", Kind::Text, "HOST", "be the client of this server")
                .also(&["client"])
                .text(|r, host| r.command.host = Some(host.into())),
            switch("connect-only", "connect, and send nothing")
                .refused(
                    "connecting is measured with its distribution elsewhere",
                    "use `iodyno netperf -t TCP_CC`",
                )
                .inert(),
            Entry::new("connect-retries", Kind::Whole(0, u32::MAX as i64), "N", "try again to connect")
                .whole("tries", |r, tries| r.command.retries = tries as u32),
            switch("d", "send and receive at a time, over two connections")
                .also(&["dualtest"])
                .on(|r| r.command.dual = true),
            Entry::new("fq-rate", Kind::Decimal, "N[kmgKMG]", "the kernel's own pace for the socket, bit/s")
                .parsed(|r, value| {
                    command::bytes_per_second(value).map(|rate| r.socket_option("pacing_bps", &rate))
                }),
            switch("full-duplex", "both ways over one connection").on(|r| r.command.full_duplex = true),
            Entry::new("ipg", Kind::Decimal, "MS", "time between datagrams of a frame")
                .refused("the datagrams of a frame go out together", "leave it out, or use -b with pps")
                .inert(),
            Entry::new(
                "isochronous",
                Kind::List,
                "[FPS[:MEAN[,STDDEV]]]",
                "frames, as of video: so many a second, of log-normal sizes with this mean and deviation in bit/s (20m), byte/s \
                 (20M) or datagrams each (25p)",
            )
            .or("60:20m,0")
            .parsed(|r, value| Frames::parse(value).map(|frames| r.command.frames = Some(frames))),
            switch("incr-dstip", "a server's address for each stream").refused(SPREAD, SPREAD_HINT).inert(),
            switch("incr-dstport", "a server's port for each stream").refused(SPREAD, SPREAD_HINT).inert(),
            switch("incr-srcip", "an address of ours for each stream").refused(SPREAD, SPREAD_HINT).inert(),
            switch("incr-srcport", "a port of ours for each stream").refused(SPREAD, SPREAD_HINT).inert(),
            switch("local-only", "through no router")
                .refused("the routing table decides", "bind to the interface: -B HOST%DEVICE")
                .inert(),
            Entry::new("near-congestion", Kind::Decimal, "WEIGHT", "writes delayed by the round trip's time")
                .refused("an experiment of the original's", "use -b")
                .inert(),
            switch("no-connect-sync", "parallel streams begin without waiting for each other")
                .ignored("they begin together, so that their sum is of one time")
                .inert(),
            switch("no-udp-fin", "the server reports nothing").on(|r| r.command.no_final = true),
            Entry::new("n", Kind::Bytes, "BYTES", "how much to send, rather than how long")
                .also(&["num"])
                .parsed(|r, value| {
                    bytes(value, 0..=u64::MAX).map(|bytes| r.command.amount = Some(Amount::Bytes(bytes)))
                }),
            switch("r", "send, then receive, over two connections")
                .also(&["tradeoff"])
                .on(|r| r.command.trade = true),
            switch("tcp-quickack", "acknowledge at once")
                .refused("the kernel takes it back at will", "leave it out")
                .inert(),
            Entry::new("tcp-write-prefetch", Kind::Bytes, "BYTES", "unsent bytes that the kernel may hold")
                .refused("what waits in the kernel is the send buffer's size", "use -w")
                .inert(),
            switch("tcp-write-times", "times of writes")
                .ignored("they are always measured: `--also html=FILE` shows them")
                .inert(),
            switch("trip-times", "one-way times, of datagrams (-u) or of blocks; both clocks must agree")
                .on(|r| r.command.trip_times = true),
            Entry::new("txdelay-time", Kind::Time, "SECONDS", "wait after connecting")
                .refused("what is waited for is no traffic", "use sleep")
                .inert(),
            Entry::new("txstart-time", Kind::Time, "EPOCH", "begin at this time")
                .refused("it begins when it is started", "use at or sleep")
                .inert(),
            Entry::new("F", Kind::Path, "FILE", "what is sent")
                .also(&["fileinput"])
                .text(|r, path| r.command.file = Some(path.into())),
            switch("I", "what is sent comes from standard input")
                .also(&["stdin"])
                .refused("a pipe would be measured beside the network", "write it to a file, and use -F")
                .inert(),
            Entry::new("L", Kind::Whole(0, 65_535), "PORT", "our port for -d and -r")
                .also(&["listenport"])
                .whole("port", |r, port| r.command.listen_port = Some(port as u16)),
            Entry::new("P", Kind::Whole(1, 128), "N", "parallel streams; of a server: clients, then it ends")
                .also(&["parallel"])
                .or("1")
                .whole("streams", |r, streams| r.command.streams = streams as u32),
            switch("R", "the server sends, over the client's connection")
                .also(&["reverse"])
                .on(|r| r.command.reverse = true),
            Entry::new("T", Kind::Whole(0, 255), "N", "time to live")
                .also(&["ttl"])
                .whole("hops", |r, hops| r.socket_option("ttl", &hops.to_string())),
            switch("X", "the peer's version")
                .also(&["peer-detect"])
                .ignored("nothing here depends on it")
                .inert(),
        ],
    ),
    (
        SERVER,
        &[
            switch("s", "be the server").also(&["server"]).on(|r| r.is_server = true),
            switch("1", "serve one client, then end").also(&["singleclient"]).on(|r| r.command.single = true),
            Entry::new(
                "histograms",
                Kind::List,
                "[WIDTH[u|m][,BINS[,LOW,HIGH]]]",
                "how one-way times of datagrams, blocks or frames are spread, of clients with --trip-times: bins so wide (ms, u: \
                 µs), how many, and percentiles",
            )
            .also(&["udp-histogram"])
            .or("100u,10000,5,95")
            .parsed(|r, value| Bins::parse(value).map(|bins| r.command.bins = Some(bins))),
            Entry::new("permit-key-timeout", Kind::Time, "SECONDS", "how long the key is good")
                .refused(KEY, KEY_HINT)
                .inert(),
            Entry::new("tcp-rx-window-clamp", Kind::Bytes, "BYTES", "upper limit of the window")
                .refused("the buffer's size limits the window", "use -w")
                .inert(),
            Entry::new("tap-dev", Kind::Text, "DEVICE", "receive from a tap device")
                .refused("only sockets are read", "leave it out")
                .inert(),
            switch("U", "one thread for all datagrams")
                .also(&["single_udp"])
                .ignored("datagrams of a peer come on a socket of their own")
                .inert(),
            switch("sum-dstip", "sums by our address rather than the peer's")
                .refused("sums are of the streams of one peer", "leave it out")
                .inert(),
            switch("D", "go on in the background").also(&["daemon"]).on(|r| r.command.daemon = true),
            Entry::new("H", Kind::Text, "HOST", "source of a group")
                .also(&["ssm-host"])
                .refused(MULTICAST, MULTICAST_HINT)
                .inert(),
        ],
    ),
    (
        "",
        &[
            switch("h", "print this and end").also(&["help"]).on(|r| r.stop = Some(EarlyExit::Help)),
            switch("v", "print the version and end")
                .also(&["version"])
                .on(|r| r.stop = Some(EarlyExit::Version)),
        ],
    ),
];

pub const TABLE: Table =
    Table { tool: "iperf", spelling: Spelling::Dashed, entries: &entries::<_, { SETTERS.len() }>(SETTERS) };

/// What `-h` prints, in our words.
pub fn help() -> String {
    format!(
        "Usage: iperf [-s|-c HOST] [options]\n\niperf (iodyno): the throughput of TCP and UDP between two hosts, with iperf \
         2's peers and in its words.\n\nOptions:{}",
        TABLE.help()
    )
}

/// The page `docs/iperf.md`, generated.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_once() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
        assert!(help().contains("--reportexclude") || help().contains("-x "));
    }
}

//! iperf 2's options, each exactly once, with what we do about it. Names are those of 2.1.8's own help.

use crate::option::{Entry, Kind, Spelling, Table};

const BOTH: &str = "Client and server";
const SERVER: &str = "Server";
const CLIENT: &str = "Client";
const REPORT: &str = "Report";

const ROUND_TRIP: &str = "round trips are measured by request and response";
const ROUND_TRIP_HINT: &str = "use `iodyno netperf -t TCP_RR`, or `iodyno net latency`";
const ONE_WAY: &str = "times of two machines tell nothing without clocks that agree";
const ONE_WAY_HINT: &str = "measure round trips: `iodyno net latency`";
const MULTICAST: &str = "nothing here joins a group of receivers";
const MULTICAST_HINT: &str = "use iperf itself for multicast";
const SPREAD: &str = "all streams go to one address and port";
const SPREAD_HINT: &str = "start one client for each address";
const FULL_DUPLEX: &str = "a stream here goes one way";
const FULL_DUPLEX_HINT: &str = "use -d, or `iodyno iperf3 --bidir`";
const KEY: &str = "the key would travel in clear text";
const KEY_HINT: &str = "use `iodyno iperf3 --rsa-public-key-path`";

const fn switch(name: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Switch, "", help)
}

const fn number(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Whole(0, i64::MAX), value, help)
}

/// The table.
pub const TABLE: Table = Table {
    tool: "iperf",
    spelling: Spelling::Dashed,
    entries: &[
        Entry::new(
            "b",
            Kind::Decimal,
            "N[kmgKMG]|Npps",
            "rate of each stream: bit/s, or writes each second; UDP: 1M",
        )
        .also(&["bandwidth"])
        .under(BOTH),
        switch("e", "more columns").also(&["enhanced"]).under(REPORT),
        Entry::new("f", Kind::Text, "b|k|m|g|t|K|M|G|T|a|A", "unit of rates: bits (lower case) or bytes")
            .also(&["format"])
            .under(REPORT),
        switch("hide-ips", "no addresses in reports")
            .under(REPORT)
            .refused("addresses are what tells flows apart", "remove them from the report with sed"),
        Entry::new("i", Kind::Time, "SECONDS", "a report each so many seconds")
            .also(&["interval"])
            .under(REPORT),
        Entry::new("l", Kind::Bytes, "BYTES", "bytes of a write or read; UDP: of a datagram")
            .also(&["len"])
            .or("128K; UDP 1470, over IPv6 1450")
            .under(BOTH),
        switch("m", "the largest segment of TCP").also(&["print_mss"]).under(REPORT),
        Entry::new("o", Kind::Path, "FILE", "the report goes to this file").also(&["output"]).under(REPORT),
        number("p", "PORT", "the server's port").also(&["port"]).or("5001").under(BOTH),
        Entry::new("permit-key", Kind::Text, "KEY", "a password").under(BOTH).refused(KEY, KEY_HINT),
        switch("sum-only", "only the sums of parallel streams").under(REPORT),
        switch("u", "UDP").also(&["udp"]).under(BOTH),
        Entry::new("w", Kind::Bytes, "BYTES", "size of the socket's buffers").also(&["window"]).under(BOTH),
        switch("z", "a priority above everybody else's")
            .also(&["realtime"])
            .under(BOTH)
            .refused("it would stop the machine that is measured", "start it with chrt"),
        Entry::new("B", Kind::Text, "HOST[:PORT][%DEVICE]", "our own address, port and interface")
            .also(&["bind"])
            .under(BOTH),
        switch("C", "no header beyond that of old versions").also(&["compatibility"]).under(CLIENT),
        Entry::new("M", Kind::Whole(1, 65535), "BYTES", "largest segment of TCP").also(&["mss"]).under(BOTH),
        switch("N", "send small segments at once").also(&["nodelay"]).under(BOTH),
        Entry::new("S", Kind::Text, "TOS", "type of service: a number or a name (ef, af11, lowdelay)")
            .also(&["tos"])
            .under(BOTH),
        Entry::new("Z", Kind::Text, "NAME", "congestion control")
            .also(&["tcp-congestion", "linux-congestion"])
            .under(BOTH),
        switch("s", "be the server").also(&["server"]).under(SERVER),
        switch("1", "serve one client, then end").also(&["singleclient"]).under(SERVER),
        switch("histograms", "latencies of datagrams").under(SERVER).refused(ONE_WAY, ONE_WAY_HINT),
        Entry::new("permit-key-timeout", Kind::Time, "SECONDS", "how long the key is good")
            .under(SERVER)
            .refused(KEY, KEY_HINT),
        Entry::new("tcp-rx-window-clamp", Kind::Bytes, "BYTES", "upper limit of the window")
            .under(SERVER)
            .refused("the buffer's size limits the window", "use -w"),
        Entry::new("tap-dev", Kind::Text, "DEVICE", "receive from a tap device")
            .under(SERVER)
            .refused("only sockets are read", "leave it out"),
        Entry::new("udp-histogram", Kind::List, "WIDTH,BINS", "latencies of datagrams")
            .under(SERVER)
            .refused(ONE_WAY, ONE_WAY_HINT),
        switch("U", "one thread for all datagrams")
            .also(&["single_udp"])
            .under(SERVER)
            .ignored("datagrams of a peer come on a socket of their own"),
        switch("sum-dstip", "sums by our address rather than the peer's")
            .under(SERVER)
            .refused("sums are of the streams of one peer", "leave it out"),
        switch("D", "go on in the background").also(&["daemon"]).under(SERVER),
        Entry::new(
            "t",
            Kind::Time,
            "SECONDS",
            "how long to send; of a server: how long it waits and receives",
        )
        .also(&["time"])
        .or("10")
        .under(BOTH),
        switch("V", "IPv6").also(&["ipv6_domain", "IPv6Version"]).under(BOTH),
        switch("bounceback", "round trips").under(CLIENT).refused(ROUND_TRIP, ROUND_TRIP_HINT),
        switch("bounceback-congest", "round trips under load")
            .under(CLIENT)
            .refused(ROUND_TRIP, ROUND_TRIP_HINT),
        number("bounceback-hold", "MS", "think time of the server")
            .under(CLIENT)
            .refused(ROUND_TRIP, ROUND_TRIP_HINT),
        number("bounceback-period", "MS", "time between round trips")
            .under(CLIENT)
            .refused(ROUND_TRIP, ROUND_TRIP_HINT),
        switch("bounceback-no-quickack", "late acknowledgements")
            .under(CLIENT)
            .refused(ROUND_TRIP, ROUND_TRIP_HINT),
        Entry::new("c", Kind::Text, "HOST", "be the client of this server").also(&["client"]).under(CLIENT),
        switch("connect-only", "connect, and send nothing").under(CLIENT).refused(
            "connecting is measured with its distribution elsewhere",
            "use `iodyno netperf -t TCP_CC`",
        ),
        number("connect-retries", "N", "try again to connect").under(CLIENT),
        switch("d", "send and receive at a time, over two connections").also(&["dualtest"]).under(CLIENT),
        Entry::new("fq-rate", Kind::Decimal, "N[kmgKMG]", "the kernel's own pace for the socket, bit/s")
            .under(CLIENT),
        switch("full-duplex", "both ways over one connection")
            .under(CLIENT)
            .refused(FULL_DUPLEX, FULL_DUPLEX_HINT),
        number("ipg", "MS", "time between datagrams of a frame")
            .under(CLIENT)
            .refused("a rate is told with -b", "use -b with pps"),
        Entry::new("isochronous", Kind::List, "FPS:MEAN,STDEV", "bursts, as of video")
            .under(CLIENT)
            .refused("traffic here is even", "use -b"),
        switch("incr-dstip", "a server's address for each stream").under(CLIENT).refused(SPREAD, SPREAD_HINT),
        switch("incr-dstport", "a server's port for each stream").under(CLIENT).refused(SPREAD, SPREAD_HINT),
        switch("incr-srcip", "an address of ours for each stream").under(CLIENT).refused(SPREAD, SPREAD_HINT),
        switch("incr-srcport", "a port of ours for each stream").under(CLIENT).refused(SPREAD, SPREAD_HINT),
        switch("local-only", "through no router")
            .under(CLIENT)
            .refused("the routing table decides", "bind to the interface: -B HOST%DEVICE"),
        Entry::new("near-congestion", Kind::Decimal, "WEIGHT", "writes delayed by the round trip's time")
            .under(CLIENT)
            .refused("an experiment of the original's", "use -b"),
        switch("no-connect-sync", "parallel streams begin without waiting for each other")
            .under(CLIENT)
            .ignored("they begin together, so that their sum is of one time"),
        switch("no-udp-fin", "the server reports nothing").under(CLIENT),
        Entry::new("n", Kind::Bytes, "BYTES", "how much to send, rather than how long")
            .also(&["num"])
            .under(CLIENT),
        switch("r", "send, then receive, over two connections").also(&["tradeoff"]).under(CLIENT),
        switch("tcp-quickack", "acknowledge at once")
            .under(CLIENT)
            .refused("the kernel takes it back at will", "leave it out"),
        Entry::new("tcp-write-prefetch", Kind::Bytes, "BYTES", "unsent bytes that the kernel may hold")
            .under(CLIENT)
            .refused("what waits in the kernel is the send buffer's size", "use -w"),
        switch("tcp-write-times", "times of writes")
            .under(CLIENT)
            .ignored("they are always measured: `--also html=FILE` shows them"),
        switch("trip-times", "one-way times").under(CLIENT).refused(ONE_WAY, ONE_WAY_HINT),
        Entry::new("txdelay-time", Kind::Time, "SECONDS", "wait after connecting")
            .under(CLIENT)
            .refused("what is waited for is no traffic", "use sleep"),
        Entry::new("txstart-time", Kind::Time, "EPOCH", "begin at this time")
            .under(CLIENT)
            .refused("it begins when it is started", "use at or sleep"),
        Entry::new("F", Kind::Path, "FILE", "what is sent").also(&["fileinput"]).under(CLIENT),
        Entry::new("H", Kind::Text, "HOST", "source of a group")
            .also(&["ssm-host"])
            .under(SERVER)
            .refused(MULTICAST, MULTICAST_HINT),
        switch("I", "what is sent comes from standard input")
            .also(&["stdin"])
            .under(CLIENT)
            .refused("a pipe would be measured beside the network", "write it to a file, and use -F"),
        number("L", "PORT", "our port for -d and -r").also(&["listenport"]).under(CLIENT),
        Entry::new("P", Kind::Whole(1, 128), "N", "parallel streams; of a server: clients, then it ends")
            .also(&["parallel"])
            .or("1")
            .under(CLIENT),
        switch("R", "the server sends, over the client's connection").also(&["reverse"]).under(CLIENT),
        Entry::new("T", Kind::Whole(1, 255), "N", "time to live").also(&["ttl"]).under(CLIENT),
        switch("X", "the peer's version")
            .also(&["peer-detect"])
            .under(CLIENT)
            .ignored("nothing here depends on it"),
        Entry::new(
            "x",
            Kind::Text,
            "CDMSV",
            "leave out: C connections, D data, S settings, V the server's report",
        )
        .also(&["reportexclude"])
        .under(REPORT),
        Entry::new("y", Kind::Text, "C", "comma-separated values").also(&["reportstyle"]).under(REPORT),
        switch("h", "print this and end").also(&["help"]),
        switch("v", "print the version and end").also(&["version"]),
    ],
};

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
    format!(
        "# iperf\n\n`iodyno iperf -s` and `iodyno iperf -c HOST` measure the throughput of TCP and UDP with iperf 2's peers,\n\
         in both roles, and print what 2.1.8 prints: `iperf -s -u -p 5002`, `iperf -c HOST -u -p 5002 -e -i 1`,\n\
         `iperf -c HOST -P 4 -t 10 -y C`. iperf 3 is another program with another protocol: `iodyno iperf3`.\n\n\
         What differs on purpose:\n\n\
         - a test that fails ends with status 1; the original says 0 when nobody listens;\n\
         - `-n` is exact; with `-R` it is refused from 2 GiB on, where the original sends 1 GiB and says nothing;\n\
         - one-way latency is not printed (`-/-/-/-`): it would need clocks that agree;\n\
         - intervals are as long as they really were, and the last line of the columns `Reads=Dist` counts reads only;\n\
         - dates in comma-separated values are dates (2.1.8 prints 1970 in sums and on servers);\n\
         - a server serves at most 1024 connections at a time, 128 of one address, 896 of the machine itself, and sends at most\n  \
         for a day at a peer's wish; to a peer that reads nothing, for two minutes;\n\
         - a connection that says nothing, or has fallen silent, costs no thread, and gives way to a new one where places are\n  \
         short; else it stays, as the original's, and a paused client goes on where it was;\n\
         - where datagrams found a server's buffer full, it says so on standard error, and a client of ours hears of it\n  \
         (finding 27);\n\
         - a client's total over UDP is of the test's datagrams; the one that says it was the last counts at the server alone;\n\
         - a stream's total is told once the peer has read everything, as the original's; `-n` counts to the byte;\n\
         - nothing in this protocol proves the sender's address of a datagram: what a server sends over UDP at somebody's wish\n  \
         (`-u -R`, `-u -d`, `-u -r`) is at most 16 MiB in a minute to one address, 256 MiB to all, and it says so. The machine's\n  \
         own addresses are free; `--also peers=10.0.0.0/8+192.0.2.7` frees others, also of the limit of connections.\n\n\
         A server listens at all addresses, as the original's does, unless `-B` names one: anybody who reaches it can\n\
         make it send (`-R`, `-d`, `-r`).\n\n{}",
        TABLE.markdown()
    )
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

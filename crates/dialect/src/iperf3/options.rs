//! iperf3's options, each exactly once, and what is printed of them.

use super::command::{self, Command, EarlyExit, size};
use super::strftime;
use crate::option::{Entry, Kind, Setter, SetterGroup, Spelling, Table, count, entries, grouped, switch};

const fn text(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Text, value, help)
}

const fn whole(name: &'static str, value: &'static str, help: &'static str, ends: (i64, i64)) -> Entry {
    Entry::new(name, Kind::Whole(ends.0, ends.1), value, help)
}

const fn bytes(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Bytes, value, help)
}

pub const TABLE: Table = Table { tool: "iperf3", spelling: Spelling::Dashed, entries: ENTRIES };

const BOTH: &str = "Server or client";
const SERVER: &str = "Server";
const CLIENT: &str = "Client";

/// Every option with what it sets.
pub const SETTERS: &[Setter<Command, EarlyExit>] = &grouped::<_, { count(GROUPS) }>(GROUPS);

const GROUPS: &[SetterGroup<Command, EarlyExit>] = &[
    (
        BOTH,
        &[
            whole("port", "N", "the port to listen at or to connect to", (1, 65535))
                .also(&["p"])
                .or("5201")
                .whole("port", |c, port| c.port = port as u16),
            text("format", "kmgtKMGT", "the unit of rates: bits, or bytes with a capital letter")
                .also(&["f"])
                .parsed(|c, value| command::unit_of(value).map(|letter| c.format = letter)),
            Entry::new("interval", Kind::Decimal, "SECONDS", "seconds between reports, 0.1 to 60; 0: none")
                .also(&["i"])
                .or("1")
                .parsed(|c, value| command::interval(value).map(|seconds| c.interval_s = seconds)),
            Entry::new("pidfile", Kind::Path, "FILE", "write the process's number there")
                .also(&["I"])
                .text(|c, path| c.pid_file = Some(path.into())),
            Entry::new("file", Kind::Path, "NAME", "send that file, or write what comes to it")
                .also(&["F"])
                .text(|c, path| c.file = Some(path.into())),
            text("affinity", "N[,M]", "run on processor N, and the server on M")
                .also(&["A"])
                .parsed(|c, value| command::affinity(value).map(|both| c.affinity = Some(both))),
            text("bind", "HOST[%DEVICE]", "the near end's address").also(&["B"]).text(|c, value| {
                let (address, device) = command::behind_percent(value);
                c.bind = Some(address);
                c.device = device.or(c.device.take());
            }),
            text("bind-dev", "DEVICE", "the network interface (SO_BINDTODEVICE)")
                .text(|c, device| c.device = Some(device.into())),
            switch("verbose", "more detail").also(&["V"]).on(|c| c.verbose = true),
            switch("json", "one JSON document").also(&["J"]).on(|c| c.json = true),
            switch("json-stream", "one JSON object a line, as things happen")
                .on(|c| (c.json, c.json_stream) = (true, true)),
            switch("json-stream-full-output", "with --json-stream: the whole document after it")
                .on(|c| c.json_full = true),
            Entry::new("logfile", Kind::Path, "FILE", "write the report there")
                .text(|c, path| c.log_file = Some(path.into())),
            switch("forceflush", "each line at once").ignored("every line is written at once anyway").inert(),
            text("timestamps", "[FORMAT]", "the time before each line (strftime)")
                .or("%c ")
                .text(|c, value| c.timestamps = Some(unless_empty(value, strftime::DEFAULT))),
            whole("rcv-timeout", "MS", "give up when nothing came for so long", (100, 86_400_000))
                .or("120000")
                .whole("receive timeout in ms", |c, ms| c.receive_timeout_ms = ms),
            whole("snd-timeout", "MS", "give up when nothing was acknowledged for so long", (0, 86_400_000))
                .whole("send timeout in ms", |c, ms| c.send_timeout_ms = ms),
            text("cntl-ka", "[IDLE/INTERVAL/COUNT]", "keep-alive of the control connection")
                .text(|c, value| c.keepalive = Some(unless_empty(value, "on"))),
            switch("mptcp", "multipath TCP").also(&["m"]).on(|c| (c.mptcp, c.test.mptcp) = (true, true)),
            text("debug", "[LEVEL]", "say what is said to the peer, on the report's own stream")
                .also(&["d"])
                .on(|c| c.debug = true),
            switch("version", "print the version and end")
                .also(&["v"])
                .parsed(|_, _| Err(EarlyExit::Version)),
            switch("help", "print this and end").also(&["h"]).parsed(|_, _| Err(EarlyExit::Help)),
            switch("use-pkcs1-padding", "tokens are padded as iperf3 did before 3.17; both sides may say so")
                .on(|c| c.pkcs1 = true),
            switch("version4", "IPv4 only").also(&["4"]).on(|c| c.family = Some(4)),
            switch("version6", "IPv6 only").also(&["6"]).on(|c| c.family = Some(6)),
        ],
    ),
    (
        SERVER,
        &[
            switch("server", "wait for clients").also(&["s"]).on(|c| c.server = true),
            switch("daemon", "go on in the background").also(&["D"]).on(|c| c.daemon = true),
            switch("one-off", "serve one client, then end").also(&["1"]).on(|c| c.one_off = true),
            text(
                "server-bitrate-limit",
                "RATE[/SECONDS]",
                "end tests that take more bits per second in all, on average",
            )
            .parsed(|c, value| command::limit(value).map(|limit| c.rate_limit = limit)),
            whole("idle-timeout", "SECONDS", "listen anew after so long without a client", (1, 86_400))
                .whole("idle timeout in seconds", |c, s| c.idle_timeout_s = Some(s)),
            whole("server-max-duration", "SECONDS", "refuse longer tests", (1, 86_400))
                .whole("duration in seconds", |c, s| c.most_time_s = Some(s)),
            Entry::new("rsa-private-key-path", Kind::Path, "FILE", "the key that tokens are decrypted with")
                .text(|c, path| c.private_key = Some(path.into())),
            Entry::new(
                "authorized-users-path",
                Kind::Path,
                "FILE",
                "who may: lines `user,sha256 of {user}password`",
            )
            .text(|c, path| c.users = Some(path.into())),
            whole("time-skew-threshold", "SECONDS", "how far the client's clock may be off", (1, 86_400))
                .or("10")
                .whole("time skew in seconds", |c, s| c.skew_s = s),
        ],
    ),
    (
        CLIENT,
        &[
            text("client", "HOST[%DEVICE]", "connect to that host").also(&["c"]).text(|c, value| {
                let (host, device) = command::behind_percent(value);
                c.host = Some(host);
                c.device = device.or(c.device.take());
            }),
            switch("sctp", "SCTP rather than TCP, where both kernels have it").on(|c| c.test.sctp = true),
            text("xbind", "ADDRESS", "an address of an SCTP association's near end; several: once for each")
                .also(&["X"])
                .parsed(|c, value| command::near_address(value).map(|address| c.sctp_near.push(address))),
            whole("nstreams", "N", "streams that an SCTP association asks for", (1, 65535))
                .whole("number of SCTP streams", |c, count: u64| c.sctp_streams = Some(count as u16)),
            switch("udp", "UDP rather than TCP").also(&["u"]).on(|c| c.test.udp = true),
            whole("connect-timeout", "MS", "how long connecting may take", (0, 86_400_000))
                .whole("connect timeout in ms", |c, ms| c.connect_timeout_ms = ms),
            bytes(
                "bitrate",
                "RATE[/BURST]",
                "bits per second of each stream; 0: as fast as it goes (UDP: 1M)",
            )
            .also(&["b", "bandwidth"])
            .parsed(|c, value| {
                (c.test.rate, c.test.burst) = command::rate_and_burst(value)?;
                c.rate_given = true;
                Ok(())
            }),
            bytes("pacing-timer", "US", "told to the server; ours keeps pace by the clock")
                .or("1000")
                .parsed(|c, value| size(value, "a number of µs").map(|us| c.test.pacing_timer = us)),
            bytes("fq-rate", "RATE", "the kernel's pace, bits per second (SO_MAX_PACING_RATE)")
                .parsed(|c, value| command::rate(value, "fq-rate").map(|rate| c.test.fq_rate = rate)),
            switch("no-fq-socket-pacing", "no pace of the kernel's")
                .ignored("it is off unless --fq-rate is given")
                .inert(),
            whole("time", "SECONDS", "how long", (0, 86_400))
                .also(&["t"])
                .or("10")
                .whole("test duration in seconds", |c, s| c.test.time_s = s),
            bytes("bytes", "N", "exactly so many bytes instead, over all streams")
                .also(&["n"])
                .parsed(|c, value| size(value, "a number of bytes").map(|bytes| c.test.bytes = bytes)),
            bytes("blockcount", "N", "exactly so many blocks or datagrams instead")
                .also(&["k"])
                .parsed(|c, value| size(value, "a number of blocks").map(|blocks| c.test.blocks = blocks)),
            bytes("length", "N", "bytes of a block (128K) or datagram")
                .also(&["l"])
                .parsed(|c, value| size(value, "a block size").map(|bytes| c.test.block_bytes = bytes)),
            whole("cport", "PORT", "the near end's port; each further stream takes the next", (1, 65535))
                .whole("client port", |c, port| c.near_port = port as u16),
            whole("parallel", "N", "streams", (1, 128))
                .also(&["P"])
                .or("1")
                .parsed(|c, value| command::parallel(value).map(|streams| c.test.parallel = streams)),
            switch("reverse", "the server sends").also(&["R"]).on(|c| c.test.reverse = true),
            switch("bidir", "both send").on(|c| c.test.bidir = true),
            bytes("window", "N", "both buffers of the sockets")
                .also(&["w"])
                .parsed(|c, value| command::window(value).map(|bytes| c.test.window = bytes)),
            text("congestion", "NAME", "congestion control")
                .also(&["C", "linux-congestion"])
                .text(|c, name| c.test.congestion = name.into()),
            whole("set-mss", "N", "largest TCP segment", (1, 32_767))
                .also(&["M"])
                .whole("TCP MSS", |c, bytes| c.test.mss = bytes as u32),
            switch("no-delay", "small segments at once").also(&["N"]).on(|c| c.test.nodelay = true),
            text("tos", "N", "traffic class byte: decimal, 0x hexadecimal, 0 octal")
                .also(&["S"])
                .parsed(|c, value| command::tos(value).map(|tos| c.test.tos = tos)),
            text("dscp", "N|NAME", "the same by DSCP: 0 to 63, or ef, af11, cs1, …")
                .parsed(|c, value| command::class(value).map(|tos| c.test.tos = tos)),
            text("flowlabel", "N", "IPv6 flow label")
                .also(&["L"])
                .parsed(|c, value| command::flow_label(value).map(|label| c.test.flow_label = label)),
            switch("zerocopy", "send without copying").also(&["Z"]).on(|c| c.test.zerocopy = true),
            switch("skip-rx-copy", "receive without copying (MSG_TRUNC)").on(|c| c.test.skip_rx_copy = true),
            whole("omit", "SECONDS", "run so long before counting begins", (0, 600))
                .also(&["O"])
                .whole("omit time in seconds", |c, s| c.test.omit_s = s),
            text("title", "TEXT", "a word before every line")
                .also(&["T"])
                .text(|c, title| (c.title, c.test.title) = (Some(title.into()), Some(title.into()))),
            text("extra-data", "TEXT", "a text that goes into both sides' JSON")
                .text(|c, text| c.test.extra_data = Some(text.into())),
            switch("get-server-output", "print the server's report too")
                .on(|c| c.test.get_server_output = true),
            switch("udp-counters-64bit", "packet numbers of 64 bits").on(|c| c.test.counters_64bit = true),
            switch("gsro", "UDP in batches of the kernel's; the default here, where it helps")
                .on(|c| c.test.gsro = true),
            switch("repeating-payload", "digits instead of random bytes")
                .on(|c| c.test.repeating_payload = true),
            switch("dont-fragment", "packets are not to be cut on the way (IPv4)")
                .on(|c| c.test.dont_fragment = true),
            text("username", "NAME", "who it is; the password is in IPERF3_PASSWORD")
                .text(|c, name| c.user = Some(name.into())),
            Entry::new("rsa-public-key-path", Kind::Path, "FILE", "the key that tokens are encrypted with")
                .text(|c, path| c.public_key = Some(path.into())),
        ],
    ),
];

const ENTRIES: &[Entry] = &entries::<_, { SETTERS.len() }>(SETTERS);

fn unless_empty(value: &str, otherwise: &str) -> String {
    if value.is_empty() { otherwise } else { value }.into()
}

/// Options that only a server has, by their names here.
pub fn is_server_only(name: &str) -> bool {
    name != "server" && TABLE.find(name).is_some_and(|entry| entry.category == SERVER)
}

/// Options that only a client has, by their names here.
pub fn is_client_only(name: &str) -> bool {
    TABLE.find(name).is_some_and(|entry| entry.category == CLIENT)
}

/// The help, in our words.
pub fn help() -> String {
    format!(
        "Usage: iperf3 -s [options]\n       iperf3 -c HOST [options]\n       iperf3 -h | -v\n\niperf3 (iodyno): throughput of \
         TCP and UDP between two hosts.\n{}\nAmounts take K, M, G or T: of 1024 for sizes, of 1000 for rates.\n",
        TABLE.help()
    )
}

/// The page `docs/iperf3.md`, generated.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_once() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
        // Nothing of it is refused.
        assert!(help().contains("--get-server-output") && !document().contains("**no**"));
        assert!(is_server_only("daemon") && !is_server_only("server") && !is_server_only("json"));
        assert!(is_client_only("bidir") && !is_client_only("json"));
    }
}

//! The options of netperf, of its tests (behind `--`), and of netserver, each exactly once.

use super::command::{
    Command, EarlyExit, InvalidValue, ServerCommand, byte, class, host, interval, nonsense, port, protocol,
    seconds, signed, size, socket_type, two, two_given, two_words, units, unknown_test, whole, whom,
};
use super::test::{NetperfTest, Protocol};
use crate::option::{Entry, Kind, Setter, Spelling, Table, entries, switch};

const fn pair(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::List, value, help)
}
const fn text(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Text, value, help)
}

const PLACES: &str = "buffers lie where the engine room's memory does, aligned to a page";
const WHOLE: Kind = Kind::Whole(0, i64::MAX);

/// The options of netperf, with what each sets.
type Options = &'static [Setter<Command, InvalidValue>];

const IPV4: Setter<Command, InvalidValue> = switch("4", "IPv4").on(|c| c.family = 4);
const IPV6: Setter<Command, InvalidValue> = switch("6", "IPv6").on(|c| c.family = 6);

/// netperf's own, before `--`.
pub(super) const GLOBAL_SETTERS: Options = &[
    text("H", "HOST,FAMILY", "where netserver is")
        .or("localhost")
        .parsed(|c, v| host(v, &mut c.family).map(|host| c.host = host)),
    pair("p", "PORT,LOCAL", "netserver's port, and ours").or("12865").parsed(|c, v| {
        two(v, port).map(|(port, local)| {
            c.port = port.unwrap_or(c.port);
            c.local_port = local.filter(|_| v.contains(','));
        })
    }),
    text("L", "HOST,FAMILY", "our own address")
        .parsed(|c, v| host(v, &mut c.family).map(|host| c.local = Some(host))),
    IPV4,
    IPV6,
    text("t", "TEST", "what is done")
        .or("TCP_STREAM")
        .parsed(|c, v| NetperfTest::named(v).ok_or_else(|| unknown_test(v)).map(|test| c.test = test)),
    pair("l", "N", "seconds; negative: bytes, or transactions")
        .or("10")
        .parsed(|c, v| signed(v).map(|length| c.length = length)),
    text("D", "SECONDS,UNITS", "an interim result so often; negative: the same").parsed(|c, v| {
        let first = v.split(',').next().unwrap_or_default();
        seconds(first).map(|seconds| c.demo_s = Some(seconds.abs().max(0.01)))
    }),
    text("f", "LETTER", "units of throughput: G M K bytes, g m k bits, x transactions")
        .parsed(|c, v| units(v).map(|units| c.units = Some(units))),
    Entry::new("P", Kind::Whole(0, 1), "0|1", "whether there are headings")
        .or("1")
        .text(|c, v| c.bare = v == "0"),
    Entry::new("v", Kind::Whole(0, 9), "N", "0: the number alone; 2: more")
        .or("1")
        .parsed(|c, v| whole(v).map(|verbosity| c.verbosity = verbosity as u32)),
    text("B", "TEXT", "a word that a result without headings ends with").text(|c, v| c.brand = v.into()),
    switch("j", "keep latencies; they always are").inert(),
    switch("c", "use of our processors, with its rate as an optional word").on(|c| c.cpu.0 = true),
    switch("C", "use of netserver's processors, likewise").on(|c| c.cpu.1 = true),
    pair("i", "MOST,LEAST", "repeat, at least and at most so often").parsed(|c, v| {
        two(v, whole).map(|(most, least)| {
            let bounded = |runs: Option<u64>, usual| (runs.unwrap_or(usual) as u32).clamp(3, 30);
            c.repeat = Some((bounded(least, 3), bounded(most, 15)));
        })
    }),
    pair("I", "LEVEL,WIDTH", "until the interval of that level, 95 or 99, is so narrow, percent").parsed(
        |c, v| {
            let (level, width) = two(v, whole)?;
            let level = level.unwrap_or(99) as u32;
            if !matches!(level, 95 | 99) {
                return Err(nonsense(v, "the level is 95 or 99", "-I 95,5 is an interval 5 % wide"));
            }
            c.level = Some((level, width.unwrap_or(5) as f64));
            Ok(())
        },
    ),
    switch("r", "the interval of the result alone decides").on(|c| c.result_only = true),
    Entry::new("s", Kind::Decimal, "SECONDS", "wait between set-up and start")
        .parsed(|c, v| seconds(v).map(|seconds| c.wait_s = seconds.clamp(0.0, 3600.0))),
    switch("S", "ask an idle peer whether it is there").on(|c| c.keepalive = true),
    pair("T", "OURS,THEIRS", "the processor that each end runs on")
        .parsed(|c, v| two_given(v, |cpu| whole(cpu).map(|cpu| cpu as u32)).map(|cpus| c.processors = cpus)),
    pair("y", "OURS,THEIRS", "priority of the sockets, SO_PRIORITY (Linux)")
        .parsed(|c, v| two(v, byte).map(|priority| c.priority = priority)),
    pair("Y", "OURS,THEIRS", "class of traffic, IP_TOS").parsed(|c, v| two(v, class).map(|tos| c.tos = tos)),
    text("Z", "WORD", "the word that netserver expects; it travels in clear")
        .text(|c, v| c.word = Some(v.into())),
    switch("N", "no netserver: only send, to the port that -P behind -- names").on(|c| c.alone = true),
    Entry::new("b", WHOLE, "N", "operations in a burst, with -w").or("1").parsed(|c, v| {
        let burst = whole(v)?.clamp(1, u64::from(u32::MAX)) as u32;
        c.pace.get_or_insert((1, 0)).0 = burst;
        Ok(())
    }),
    text("w", "TIME", "time between bursts: ms, or with u, m, s behind it")
        .parsed(|c, v| interval(v).map(|ns| c.pace.get_or_insert((1, 0)).1 = ns)),
    text("F", "FILE,THEIRS", "what is sent; netserver's file is not asked for").inert(),
    pair("n", "N", "how many processors there are").ignored("they are counted").inert(),
    pair("a", "SEND,RECV", "alignment of our buffers").ignored(PLACES).inert(),
    pair("A", "SEND,RECV", "alignment of netserver's buffers")
        .parsed(|c, v| two(v, signed).map(|align| c.align = align)),
    pair("o", "SEND,RECV", "offset of our buffers").ignored(PLACES).inert(),
    pair("O", "SEND,RECV", "offset of netserver's buffers")
        .parsed(|c, v| two(v, signed).map(|offset| c.offset = offset)),
    pair("W", "SEND,RECV", "how many of our buffers hold what -F names, one after the other")
        .or("2")
        .parsed(|c, v| two(v, whole).map(|(send, _)| c.width = send.map(|width| width.clamp(1, 4096)))),
    pair("k", "SEND,RECV", "bytes made dirty").ignored("buffers are not touched between calls").inert(),
    pair("K", "OURS,THEIRS", "congestion control, for every test").text(|c, v| c.congestion = two_words(v)),
    switch("d", "debug").ignored("messages say what went wrong").inert(),
    switch("V", "print the version and end")
        .parsed(|_, _| Err(InvalidValue::Early(EarlyExit::Print(super::version("Netperf"), 0)))),
    switch("h", "print this and end").parsed(|_, _| Err(InvalidValue::Early(EarlyExit::Print(help(), 0)))),
];

/// Those of a test, behind `--`.
pub(super) const TEST_SETTERS: Options = &[
    Entry::new("b", WHOLE, "N", "requests that are under way besides the first")
        .or("0")
        .parsed(|c, v| whole(v).map(|burst| c.burst = burst.min(65_535) as u32)),
    pair("r", "REQUEST,RESPONSE", "bytes of each")
        .or("1,1")
        .parsed(|c, v| two(v, size).map(|bytes| c.request = bytes)),
    pair("m", "OURS,THEIRS", "bytes of a send").parsed(|c, v| two(v, size).map(|bytes| c.send = bytes)),
    pair("M", "OURS,THEIRS", "bytes of a receive").parsed(|c, v| two(v, size).map(|bytes| c.receive = bytes)),
    pair("s", "SEND,RECV", "our socket's buffers")
        .parsed(|c, v| two(v, size).map(|bytes| c.our_buffers = bytes)),
    pair("S", "SEND,RECV", "netserver's socket's buffers")
        .parsed(|c, v| two(v, size).map(|bytes| c.their_buffers = bytes)),
    switch("D", "no waiting for full segments; L, R or both may follow").text(|c, v| c.nodelay = whom(v)),
    switch("C", "hold back segments that are not full").on(|c| c.cork = true),
    switch("c", "each transaction has its own connection").on(|c| c.test.connects = true),
    text("d", "DIRECTION", "send, recv, rr, or a sum of 2 and 4").parsed(|c, v| {
        let hint = "send, recv, rr, or a sum of 2 (send) and 4 (receive)";
        c.test.set_direction(v).ok_or_else(|| nonsense(v, "no direction", hint))
    }),
    text("H", "HOST,FAMILY", "where data goes")
        .parsed(|c, v| host(v, &mut c.family).map(|host| c.data_host = Some(host))),
    text("L", "HOST,FAMILY", "where data comes from")
        .parsed(|c, v| host(v, &mut c.family).map(|host| c.data_local = Some(host))),
    IPV4,
    IPV6,
    pair("P", "OURS,THEIRS", "ports of the data connection")
        .parsed(|c, v| two_given(v, port).map(|ports| c.data_ports = ports)),
    pair("p", "LEAST,MOST", "our ports, for tests that connect again and again")
        .ignored("the system picks ports, of which it has more")
        .inert(),
    text("T", "PROTOCOL", "tcp, udp or sctp")
        .parsed(|c, v| protocol(v).map(|protocol| c.test.protocol = Some(protocol))),
    text("t", "TYPE", "stream or dgram").parsed(|c, v| {
        let kind = socket_type(v)?;
        // A stream of messages is one, too.
        let is_sctp = kind == Protocol::Tcp && c.test.protocol == Some(Protocol::Sctp);
        c.test.protocol = if is_sctp { c.test.protocol } else { Some(kind) };
        Ok(())
    }),
    pair("K", "OURS,THEIRS", "congestion control").text(|c, v| c.congestion = two_words(v)),
    switch("n", "our datagram socket is bound to the peer; it always is").inert(),
    switch("N", "netserver's is bound to ours").on(|c| c.bound = true),
    Entry::new("R", Kind::Whole(0, 1), "0|1", "whether packets may be routed")
        .ignored("they always may")
        .inert(),
    switch("f", "datagrams are not to be cut on the way").on(|c| c.dont_fragment = true),
    switch("F", "data with the first segment").on(|c| c.fastopen = true),
    text("k", "SELECTORS", "NAME=value; a file, a list, `all`, or ? for what there is")
        .text(|c, v| c.selectors = Some(('k', v.into()))),
    text("o", "SELECTORS", "commas").text(|c, v| c.selectors = Some(('o', v.into()))),
    text("O", "SELECTORS", "columns").text(|c, v| c.selectors = Some(('O', v.into()))),
    text("u", "UUID", "the run's own name").text(|c, v| c.uuid = Some(v.into())),
    Entry::new("e", Kind::Decimal, "SECONDS", "when a datagram without an answer is given up for lost")
        .or("1")
        .parsed(|c, v| seconds(v).map(|s| c.patience_ms = Some((s.clamp(0.001, 3600.0) * 1000.0) as u64))),
    switch("h", "print this and end")
        .parsed(|_, _| Err(InvalidValue::Early(EarlyExit::Print(test_help(), 0)))),
];

/// netserver's.
pub(super) const SERVER_SETTERS: &[Setter<ServerCommand, InvalidValue>] = &[
    Entry::new("p", Kind::Whole(1, 65535), "PORT", "where it listens")
        .or("12865")
        .parsed(|c, v| port(v).map(|port| c.port = port)),
    text("L", "HOST,FAMILY", "the address at which it listens").or("all of them").parsed(|c, v| {
        let mut family = 0;
        c.host = Some(host(v, &mut family)?);
        c.family = if family == 0 { c.family } else { family };
        Ok(())
    }),
    switch("4", "IPv4 alone").on(|c| c.family = 4),
    switch("6", "IPv6 alone").on(|c| c.family = 6),
    switch("D", "stay in the foreground").on(|c| c.foreground = true),
    switch("1", "serve one client, then end (ours)").on(|c| c.once = true),
    switch("f", "one client after the other")
        .ignored("clients are served side by side, without processes")
        .inert(),
    switch("N", "write no debugging file").ignored("none is ever written").inert(),
    text("Z", "WORD", "the word that a client has to send; it travels in clear")
        .text(|c, v| c.word = Some(v.into())),
    switch("d", "debug").ignored("messages say what went wrong").inert(),
    Entry::new("v", Kind::Whole(0, 9), "N", "how much is said")
        .ignored("netserver says what it refuses")
        .inert(),
    switch("V", "print the version and end")
        .parsed(|_, _| Err(InvalidValue::Early(EarlyExit::Print(super::version("Netserver"), 0)))),
    switch("h", "print this and end")
        .parsed(|_, _| Err(InvalidValue::Early(EarlyExit::Print(server_help(), 0)))),
];

const fn table(tool: &'static str, entries: &'static [Entry]) -> Table {
    Table { tool, spelling: Spelling::SingleDash, entries }
}

/// The table of netperf's own.
pub const GLOBAL: Table = table("netperf", &entries::<_, { GLOBAL_SETTERS.len() }>(GLOBAL_SETTERS));
/// That of a test's.
pub const TEST: Table = table("netperf", &entries::<_, { TEST_SETTERS.len() }>(TEST_SETTERS));
/// That of netserver's.
pub const SERVER: Table = table("netserver", &entries::<_, { SERVER_SETTERS.len() }>(SERVER_SETTERS));

/// The text of `netperf -h`, in our words.
pub fn help() -> String {
    format!(
        "netperf (iodyno): throughput and response times between two hosts, as netperf measures them.\n\n\
         Usage:  netperf [options] -- [options of the test]\n\nOptions:\n{}\n{}",
        GLOBAL.help(),
        test_help()
    )
}

/// The text of `netperf -- -h`.
pub fn test_help() -> String {
    format!(
        "Tests: TCP_STREAM TCP_MAERTS TCP_SENDFILE TCP_RR TCP_CRR TCP_CC UDP_STREAM UDP_RR omni TCP_MSS UUID LOC_CPU \
         REM_CPU\n\nOptions of a test:\n{}\nOf two values with a comma either may be left out; one alone is both.\n",
        TEST.help()
    )
}

/// The text of `netserver -h`.
pub fn server_help() -> String {
    format!(
        "netserver (iodyno): the server of netperf. It listens at every address unless -L names one.\n\n\
         Usage:  netserver [options]\n\nOptions:\n{}",
        SERVER.help()
    )
}

/// The page `docs/netperf.md`, generated.
pub fn document() -> String {
    let (introduction, options) = (include_str!("introduction.md"), GLOBAL.markdown());
    let (tests, server) = (sub(&TEST), sub(&SERVER));
    format!("{introduction}\n{options}\n## Tests' options\n\n{tests}\n## netserver\n\n{server}")
}

fn sub(table: &Table) -> String {
    table.markdown().replacen("## Options\n\n", "", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_once() {
        for table in [&GLOBAL, &TEST, &SERVER] {
            assert_eq!(table.defects(), Vec::<String>::new());
        }
        assert!(help().contains("TCP_CRR") && server_help().contains("-Z"));
        assert!(document().contains("SO_PRIORITY"));
    }
}

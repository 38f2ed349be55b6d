//! The options of netperf, of its tests (behind `--`), and of netserver, each exactly once.

use crate::option::{Entry, Kind, Spelling, Table, switch};

const fn pair(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::List, value, help)
}
const fn text(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Text, value, help)
}

const PLACES: &str = "buffers lie where the engine room's memory does, aligned to a page";
const WHOLE: Kind = Kind::Whole(0, i64::MAX);

/// netperf's own, before `--`.
pub const GLOBAL: Table = Table {
    tool: "netperf",
    spelling: Spelling::SingleDash,
    entries: &[
        text("H", "HOST,FAMILY", "where netserver is").or("localhost"),
        pair("p", "PORT,LOCAL", "netserver's port, and ours").or("12865"),
        text("L", "HOST,FAMILY", "our own address"),
        switch("4", "IPv4"),
        switch("6", "IPv6"),
        text("t", "TEST", "what is done").or("TCP_STREAM"),
        pair("l", "N", "seconds; negative: bytes, or transactions").or("10"),
        text("D", "SECONDS,UNITS", "an interim result so often; negative: the same"),
        text("f", "LETTER", "units of throughput: G M K bytes, g m k bits, x transactions"),
        Entry::new("P", Kind::Whole(0, 1), "0|1", "whether there are headings").or("1"),
        Entry::new("v", Kind::Whole(0, 9), "N", "0: the number alone; 2: more").or("1"),
        text("B", "TEXT", "a word that a result without headings ends with"),
        switch("j", "keep latencies; they always are"),
        switch("c", "use of our processors, with its rate as an optional word"),
        switch("C", "use of netserver's processors, likewise"),
        pair("i", "MOST,LEAST", "repeat, at least and at most so often"),
        pair("I", "LEVEL,WIDTH", "until the interval of that level, 95 or 99, is so narrow, percent"),
        switch("r", "the interval of the result alone decides"),
        Entry::new("s", Kind::Decimal, "SECONDS", "wait between set-up and start"),
        switch("S", "ask an idle peer whether it is there"),
        pair("T", "OURS,THEIRS", "the processor that each end runs on"),
        pair("y", "OURS,THEIRS", "priority of the sockets, SO_PRIORITY (Linux)"),
        pair("Y", "OURS,THEIRS", "class of traffic, IP_TOS"),
        text("Z", "WORD", "the word that netserver expects; it travels in clear"),
        switch("N", "no netserver: only send, to the port that -P behind -- names"),
        Entry::new("b", WHOLE, "N", "operations in a burst, with -w").or("1"),
        text("w", "TIME", "time between bursts: ms, or with u, m, s behind it"),
        text("F", "FILE,THEIRS", "what is sent; netserver's file is not asked for"),
        pair("n", "N", "how many processors there are").ignored("they are counted"),
        pair("a", "SEND,RECV", "alignment of our buffers").ignored(PLACES),
        pair("A", "SEND,RECV", "alignment of netserver's buffers"),
        pair("o", "SEND,RECV", "offset of our buffers").ignored(PLACES),
        pair("O", "SEND,RECV", "offset of netserver's buffers"),
        pair("W", "SEND,RECV", "how many of our buffers hold what -F names, one after the other").or("2"),
        pair("k", "SEND,RECV", "bytes made dirty").ignored("buffers are not touched between calls"),
        pair("K", "OURS,THEIRS", "congestion control, for every test"),
        switch("d", "debug").ignored("messages say what went wrong"),
        switch("V", "print the version and end"),
        switch("h", "print this and end"),
    ],
};

/// Those of a test, behind `--`.
pub const TEST: Table = Table {
    tool: "netperf",
    spelling: Spelling::SingleDash,
    entries: &[
        Entry::new("b", WHOLE, "N", "requests that are under way besides the first").or("0"),
        pair("r", "REQUEST,RESPONSE", "bytes of each").or("1,1"),
        pair("m", "OURS,THEIRS", "bytes of a send"),
        pair("M", "OURS,THEIRS", "bytes of a receive"),
        pair("s", "SEND,RECV", "our socket's buffers"),
        pair("S", "SEND,RECV", "netserver's socket's buffers"),
        switch("D", "no waiting for full segments; L, R or both may follow"),
        switch("C", "hold back segments that are not full"),
        switch("c", "each transaction has its own connection"),
        text("d", "DIRECTION", "send, recv, rr, or a sum of 2 and 4"),
        text("H", "HOST,FAMILY", "where data goes"),
        text("L", "HOST,FAMILY", "where data comes from"),
        switch("4", "IPv4"),
        switch("6", "IPv6"),
        pair("P", "OURS,THEIRS", "ports of the data connection"),
        pair("p", "LEAST,MOST", "our ports, for tests that connect again and again")
            .ignored("the system picks ports, of which it has more"),
        text("T", "PROTOCOL", "tcp or udp"),
        text("t", "TYPE", "stream or dgram"),
        pair("K", "OURS,THEIRS", "congestion control"),
        switch("n", "our datagram socket is bound to the peer; it always is"),
        switch("N", "netserver's is bound to ours"),
        Entry::new("R", Kind::Whole(0, 1), "0|1", "whether packets may be routed").ignored("they always may"),
        switch("f", "datagrams are not to be cut on the way"),
        switch("F", "data with the first segment"),
        text("k", "SELECTORS", "NAME=value; a file, a list, `all`, or ? for what there is"),
        text("o", "SELECTORS", "commas"),
        text("O", "SELECTORS", "columns"),
        text("u", "UUID", "the run's own name"),
        Entry::new("e", Kind::Decimal, "SECONDS", "when a datagram without an answer is given up for lost")
            .or("1"),
        switch("h", "print this and end"),
    ],
};

/// netserver's.
pub const SERVER: Table = Table {
    tool: "netserver",
    spelling: Spelling::SingleDash,
    entries: &[
        Entry::new("p", Kind::Whole(1, 65535), "PORT", "where it listens").or("12865"),
        text("L", "HOST,FAMILY", "the address at which it listens").or("all of them"),
        switch("4", "IPv4 alone"),
        switch("6", "IPv6 alone"),
        switch("D", "stay in the foreground"),
        switch("1", "serve one client, then end (ours)"),
        switch("f", "one client after the other")
            .ignored("clients are served side by side, without processes"),
        switch("N", "write no debugging file").ignored("none is ever written"),
        text("Z", "WORD", "the word that a client has to send; it travels in clear"),
        switch("d", "debug").ignored("messages say what went wrong"),
        Entry::new("v", Kind::Whole(0, 9), "N", "how much is said").ignored("netserver says what it refuses"),
        switch("V", "print the version and end"),
        switch("h", "print this and end"),
    ],
};

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
        "netserver (iodyno): the other end of netperf. It listens at every address unless -L names one.\n\n\
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

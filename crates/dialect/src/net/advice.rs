//! Findings about flows in the options of the tools that move them: iperf, iperf3 and netperf.
//!
//! They print rates, and where netperf prints latencies it is asked for them; what spoils a percentile that nobody sees is
//! no matter. It refuses to judge: what was found stays as it was found.

use iodyno_model::Finding;

use crate::advice::{self, Said};

/// For iperf 2's options.
const IPERF: &[Said] = &[
    (7, "", "run longer (-t), and see who else uses the network"),
    (8, "", "run longer (-t), so that the fast part no longer matters, and tell both rates"),
    (10, "", "use more streams (-P), or larger writes (-l)"),
    (
        14,
        "look at each worker",
        "see each stream's row (-i), and what its path has that the others' have not",
    ),
    (23, "", "run longer (-t)"),
    (26, "", "read the rows (-i) beside the total"),
    (27, "", "raise the server's buffer (its -w, and net.core.rmem_max), or send slower (-b)"),
    (28, "", "use more streams (-P), or larger writes (-l)"),
    (29, "", "send slower (-b), or larger datagrams (-l)"),
    (30, "tcp_rmem", "raise the server's window (its -w, or net.ipv4.tcp_rmem), or use more streams (-P)"),
    (30, "tcp_wmem", "raise the client's window (-w, or net.ipv4.tcp_wmem), or use more streams (-P)"),
];

/// For iperf3's options.
const IPERF3: &[Said] = &[
    (7, "", "run longer (-t), leave the start out (-O), and see who else uses the network"),
    (8, "", "leave the start out (-O), run longer (-t), and tell both rates"),
    (10, "", "use more streams (-P), or send without copying (-Z)"),
    (
        14,
        "look at each worker",
        "see each stream's row (-i), and what its path has that the others' have not",
    ),
    (23, "", "run longer (-t)"),
    (26, "", "read the rows (-i) beside the total"),
    (27, "", "raise the buffers (-w, and net.core.rmem_max of the receiver), or send slower (-b)"),
    (28, "", "use more streams (-P), send without copying (-Z), or bind the processes to processors (-A)"),
    (29, "", "send slower (-b), or larger datagrams (-l); --pacing-timer and --fq-rate make bursts smaller"),
    (
        30,
        "tcp_rmem",
        "raise the windows (-w, or net.ipv4.tcp_rmem of the receiver), or use more streams (-P)",
    ),
    (30, "tcp_wmem", "raise the windows (-w, or net.ipv4.tcp_wmem of the sender), or use more streams (-P)"),
];

/// For netperf's options.
const NETPERF: &[Said] = &[
    (
        7,
        "",
        "run longer (-l), ask for a confidence interval (-I 99,5 -i 10), and see who else uses the network",
    ),
    (8, "", "run longer (-l), so that the fast part no longer matters, and tell both rates"),
    (10, "", "run several netperf at a time, or send more at once (-- -m)"),
    (23, "", "run longer (-l)"),
    (26, "", "read MAX_LATENCY and P99_LATENCY (-- -k) beside the mean"),
    (27, "", "raise the remote's buffer (-- -S, and net.core.rmem_max of its kernel), or send less (-b, -w)"),
    (28, "", "run several netperf at a time, bind them to processors (-T), or use TCP_SENDFILE"),
    (29, "", "send less in a burst (-b), or more often (-w)"),
    (
        30,
        "tcp_rmem",
        "raise the remote's window (-- -S, or net.ipv4.tcp_rmem), or run several netperf at a time",
    ),
    (
        30,
        "tcp_wmem",
        "raise the local window (-- -s, or net.ipv4.tcp_wmem), or run several netperf at a time",
    ),
];

/// What concerns no figure of a tool that prints rates only.
const RATES: &[u8] = &[6, 9, 13, 15, 24];

/// A finding in iperf 2's options.
pub fn iperf(finding: Finding) -> Option<Finding> {
    of_rates(finding, IPERF)
}

/// A finding in iperf3's options.
pub fn iperf3(finding: Finding) -> Option<Finding> {
    of_rates(finding, IPERF3)
}

/// A finding in netperf's options.
pub fn netperf(finding: Finding) -> Option<Finding> {
    advice::of(finding, NETPERF)
}

fn of_rates(finding: Finding, words: &[Said]) -> Option<Finding> {
    if RATES.contains(&finding.code) { None } else { advice::of(finding, words) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::translated;

    #[test]
    fn each_tool_is_told_its_own_options() {
        let receiver = "raise the receiver's buffer (`window_bytes`, `net.ipv4.tcp_rmem`)";
        assert!(translated(30, receiver, iperf).unwrap().contains("its -w"));
        assert!(translated(28, "", iperf3).unwrap().contains("-Z"));
        assert!(translated(27, "", netperf).unwrap().contains("-S"));
        assert!(translated(6, "", iperf).is_none() && translated(6, "", netperf).is_some());
    }
}

//! Findings about flows in the options of the tools that move them: iperf, iperf3 and netperf.
//!
//! They print rates, and where netperf prints latencies it is asked for them; what spoils a percentile that nobody sees is
//! no matter. It refuses to judge: what was found stays as it was found.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding in iperf 2's options.
    iperf {
        R::SettleFirst | R::RepeatMoreOften => "run longer (-t), and see who else uses the network",
        R::OutlastBurst => "run longer (-t), so that the fast part no longer matters, and tell both rates",
        R::PrepareData | R::CheapenData | R::AddWorkers | R::MatchProcessors | R::AddFlows =>
            "use more streams (-P), or larger writes (-l)",
        R::CompareWorkers => "see each stream's row (-i), and what its path has that the others' have not",
        R::RunLonger => "run longer (-t)",
        R::ReadTail => "read the rows (-i) beside the total",
        R::RaiseReceiveBuffer =>
            "raise the server's buffer (its -w, and net.core.rmem_max), or send slower (-b)",
        R::SmoothBursts => "send slower (-b), or larger datagrams (-l)",
        R::RaiseReceiveWindow =>
            "raise the server's window (its -w, or net.ipv4.tcp_rmem), or use more streams (-P)",
        R::RaiseSendWindow =>
            "raise the client's window (-w, or net.ipv4.tcp_wmem), or use more streams (-P)",
    }
    general { remedies!(everywhere errors requests storage) | R::ReserveProcessors | R::EndTogether }
    unprinted { remedies!(clocks depth percentiles schedules peaks stores accelerators) | R::TimeBatches }
}

wording! {
    /// A finding in iperf3's options.
    iperf3 {
        R::SettleFirst | R::RepeatMoreOften =>
            "run longer (-t), leave the start out (-O), and see who else uses the network",
        R::OutlastBurst => "leave the start out (-O), run longer (-t), and tell both rates",
        R::PrepareData | R::CheapenData | R::AddWorkers | R::MatchProcessors =>
            "use more streams (-P), or send without copying (-Z)",
        R::CompareWorkers => "see each stream's row (-i), and what its path has that the others' have not",
        R::RunLonger => "run longer (-t)",
        R::ReadTail => "read the rows (-i) beside the total",
        R::RaiseReceiveBuffer =>
            "raise the buffers (-w, and net.core.rmem_max of the receiver), or send slower (-b)",
        R::AddFlows =>
            "use more streams (-P), send without copying (-Z), or bind the processes to processors (-A)",
        R::SmoothBursts =>
            "send slower (-b), or larger datagrams (-l); --pacing-timer and --fq-rate make bursts smaller",
        R::RaiseReceiveWindow =>
            "raise the windows (-w, or net.ipv4.tcp_rmem of the receiver), or use more streams (-P)",
        R::RaiseSendWindow =>
            "raise the windows (-w, or net.ipv4.tcp_wmem of the sender), or use more streams (-P)",
    }
    general { remedies!(everywhere errors requests storage) | R::ReserveProcessors | R::EndTogether }
    unprinted { remedies!(clocks depth percentiles schedules peaks stores accelerators) | R::TimeBatches }
}

wording! {
    /// A finding in netperf's options.
    netperf {
        R::SettleFirst | R::RepeatMoreOften =>
            "run longer (-l), ask for a confidence interval (-I 99,5 -i 10), and see who else uses the network",
        R::OutlastBurst => "run longer (-l), so that the fast part no longer matters, and tell both rates",
        R::PrepareData | R::CheapenData | R::AddWorkers | R::MatchProcessors =>
            "run several netperf at a time, or send more at once (-- -m)",
        R::RunLonger => "run longer (-l)",
        R::ReadTail => "read MAX_LATENCY and P99_LATENCY (-- -k) beside the mean",
        R::RaiseReceiveBuffer =>
            "raise the remote's buffer (-- -S, and net.core.rmem_max of its kernel), or send less (-b, -w)",
        R::AddFlows => "run several netperf at a time, bind them to processors (-T), or use TCP_SENDFILE",
        R::SmoothBursts => "send less in a burst (-b), or more often (-w)",
        R::RaiseReceiveWindow =>
            "raise the remote's window (-- -S, or net.ipv4.tcp_rmem), or run several netperf at a time",
        R::RaiseSendWindow =>
            "raise the local window (-- -s, or net.ipv4.tcp_wmem), or run several netperf at a time",
    }
    general { remedies!(everywhere clocks errors depth percentiles schedules requests peaks storage)
        | R::ReserveProcessors | R::CompareWorkers | R::EndTogether | R::TimeBatches }
    unprinted { remedies!(stores accelerators) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::translated;

    #[test]
    fn each_tool_is_told_its_own_options() {
        assert!(translated(R::RaiseReceiveWindow, iperf).unwrap().contains("its -w"));
        assert!(translated(R::AddFlows, iperf3).unwrap().contains("-Z"));
        assert!(translated(R::RaiseReceiveBuffer, netperf).unwrap().contains("-S"));
        assert!(translated(R::ReadMedian, iperf).is_none() && translated(R::ReadMedian, netperf).is_some());
    }
}

//! netperf's output format: the title, the tables of each test, interim results, and what `-v 2` adds.

pub(super) mod rounds;
pub(super) mod selectors;

use iodyno_model::Histogram;

use super::command::{Command, Output};
use super::figures::{EndFigures, ReportFigures, units};
use super::test::TestShape;

/// The line that a report opens with; empty without headings.
pub(super) fn title(command: &Command, six: bool) -> String {
    if command.bare {
        return String::new();
    }
    let (any, family) = if six { ("::0 (::)", "AF_INET6") } else { ("0.0.0.0 (0.0.0.0)", "AF_INET") };
    let from = match command.data_local.as_ref().or(command.local.as_ref()) {
        Some(local) => format!("{local} ()"),
        None => any.into(),
    };
    let to = command.data_host.as_ref().unwrap_or(&command.host);
    let mut line = format!("{} from {from} port 0 {family} to {to} () port 0 {family}", command.test.title());
    if let Some((level, width)) = command.confidence() {
        line += &format!(" : +/-{:.3}% @ {level}% conf. ", width / 2.0);
    }
    if command.nodelay.0 || command.nodelay.1 {
        line += " : nodelay";
    }
    line += " : histogram";
    if command.pace.is_some() {
        line += " : interval";
    }
    line += " : demo";
    if command.test.shape() == TestShape::Transactions && !command.test.connects && !command.test.omni {
        line += &format!(" : first burst {}", command.burst);
    }
    line + "\n"
}

/// An interim result: what was reached in an interval that ended at a time, s since 1970.
pub(super) fn interim(
    output: &Output,
    number: u64,
    rate: f64,
    unit: &str,
    over_s: f64,
    ends_s: f64,
) -> String {
    match output {
        Output::Names(_) => format!(
            "NETPERF_INTERIM_RESULT[{number}]={rate:.2}\nNETPERF_UNITS[{number}]={unit}/s\n\
             NETPERF_INTERVAL[{number}]={over_s:.3}\nNETPERF_ENDING[{number}]={ends_s:.3}\n"
        ),
        Output::Commas(_) => format!("{rate:.2},{unit}/s,{over_s:.3},{ends_s:.3}\n"),
        _ => format!("Interim result: {rate:7.2} {unit}/s over {over_s:.3} seconds ending at {ends_s:.3}\n"),
    }
}

/// The largest segment of a connection, where nothing else was asked for.
pub(super) fn segment(command: &Command, mss: u64) -> String {
    match (command.verbosity, command.bare) {
        (0, _) | (_, true) => format!("{mss:5} \n"),
        _ => format!("Maximum\nSegment\nSize (bytes)\n\n{mss:5} \n"),
    }
}

/// Everything behind the title and the interim results.
pub(super) fn report(command: &Command, figures: &ReportFigures) -> String {
    let mut text = unsure(figures);
    text += &match &command.output {
        Output::Names(list) => selectors::names(list, figures),
        Output::Commas(list) => selectors::commas(list, figures, command.bare),
        Output::Columns(lists) => selectors::columns(lists, figures, command.bare),
        Output::Table => return text + &table(command, figures),
    };
    text
}

/// The warning that the intervals are wider than was asked for.
fn unsure(figures: &ReportFigures) -> String {
    if figures.confidence.attained {
        return String::new();
    }
    let width = |index: usize| figures.confidence.widths[index].max(0.0);
    format!(
        "!!! WARNING\n!!! Desired confidence was not achieved within the specified iterations.\n\
         !!! This implies that there was variability in the test environment that\n\
         !!! must be investigated before going further.\n\
         !!! Confidence intervals: Throughput      : {:.3}%\n\
         !!!                       Local CPU util  : {:.3}%\n\
         !!!                       Remote CPU util : {:.3}%\n\n",
        width(0),
        width(1),
        width(2)
    )
}

fn table(command: &Command, figures: &ReportFigures) -> String {
    let cpu = command.cpu.0 || command.cpu.1;
    if command.verbosity == 0 {
        return alone(command, figures, cpu);
    }
    let mut text = if command.bare { String::new() } else { headings(command, figures, cpu) };
    text += &match (command.test.shape(), figures.udp) {
        (TestShape::Transactions, _) => transactions(figures, cpu),
        (_, true) => datagrams(figures, cpu),
        _ => stream(command, figures, cpu),
    };
    if !command.brand.is_empty() && command.bare {
        text = branded(&text, &command.brand);
    }
    if command.verbosity > 1 {
        text += &more(command, figures);
    }
    text
}

/// The brand at the end of the first line.
fn branded(text: &str, brand: &str) -> String {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    format!("{first}{brand}\n{rest}")
}

/// The one number of `-v 0`: the result, or the service demand where processors were measured.
fn alone(command: &Command, figures: &ReportFigures, cpu: bool) -> String {
    let side = if command.cpu.0 { &figures.local } else { &figures.remote };
    match (cpu, figures.udp && command.test.shape() != TestShape::Transactions) {
        (true, true) => format!("{:6.2} {}\n", side.demand, side.method()),
        (true, false) => format!("{:6.3} {} \n", side.demand, side.method()),
        (false, true) => format!("{:7.2}\n", figures.throughput),
        (false, false) => format!("{:7.2} \n", figures.throughput),
    }
}

fn headings(command: &Command, figures: &ReportFigures, cpu: bool) -> String {
    let unit = units(command.units.filter(|letter| *letter != 'x').unwrap_or('m'));
    let (ours, theirs) = (figures.local.method(), figures.remote.method());
    let ends = if command.test.shape() == TestShape::Sends { ["Send", "Recv"] } else { ["Recv", "Send"] };
    let [near, far] = ends;
    // netperf calls what has a connection each transactions, whatever its unit.
    let counts = command.letter() == 'x' || command.test.connects;
    match (command.test.shape(), figures.udp, cpu) {
        (TestShape::Transactions, _, false) if !counts => format!(
            "Local /Remote\n\
             Socket Size   Request  Resp.   Elapsed  \n\
             Send   Recv   Size     Size    Time     Throughput \n\
             bytes  Bytes  bytes    bytes   secs.    {unit}/sec   \n\n"
        ),
        (TestShape::Transactions, _, true) if !counts => format!(
            "Local /Remote\n\
             Socket Size   Request Resp.  Elapsed Tput     CPU    CPU    S.dem   S.dem\n\
             Send   Recv   Size    Size   Time    {unit:8} local  remote local   remote\n\
             bytes  bytes  bytes   bytes  secs.   per sec  % {ours}    % {theirs}    us/KB   us/KB\n\n"
        ),
        (TestShape::Transactions, _, false) => "Local /Remote\n\
             Socket Size   Request  Resp.   Elapsed  Trans.\n\
             Send   Recv   Size     Size    Time     Rate         \n\
             bytes  Bytes  bytes    bytes   secs.    per sec   \n\n"
            .into(),
        (TestShape::Transactions, _, true) => format!(
            "Local /Remote\n\
             Socket Size   Request Resp.  Elapsed Trans.   CPU    CPU    S.dem   S.dem\n\
             Send   Recv   Size    Size   Time    Rate     local  remote local   remote\n\
             bytes  bytes  bytes   bytes  secs.   per sec  % {ours}    % {theirs}    us/Tr   us/Tr\n\n"
        ),
        (_, true, false) => format!(
            "Socket  Message  Elapsed      Messages                \n\
             Size    Size     Time         Okay Errors   Throughput\n\
             bytes   bytes    secs            #      #   {unit}/sec\n\n"
        ),
        (_, true, true) => format!(
            "Socket  Message  Elapsed      Messages                   CPU      Service\n\
             Size    Size     Time         Okay Errors   Throughput   Util     Demand\n\
             bytes   bytes    secs            #      #   {unit}/sec % {ours}{theirs}     us/KB\n\n"
        ),
        (_, false, false) => format!(
            "Recv   Send    Send                          \n\
             Socket Socket  Message  Elapsed              \n\
             Size   Size    Size     Time     Throughput  \n\
             bytes  bytes   bytes    secs.    {unit}/sec  \n\n"
        ),
        (_, false, true) => format!(
            "Recv   Send    Send                          Utilization       Service Demand\n\
             Socket Socket  Message  Elapsed              {near}     {far}     {near}    {far}\n\
             Size   Size    Size     Time     Throughput  local    remote   local   remote\n\
             bytes  bytes   bytes    secs.    {:10}  % {ours}      % {theirs}      us/KB   us/KB\n\n",
            format!("{unit}/s")
        ),
    }
}

/// The end that sends a stream and the one that receives it.
fn ends<'a>(command: &Command, figures: &'a ReportFigures) -> (&'a EndFigures, &'a EndFigures) {
    match command.test.shape() {
        TestShape::Receives => (&figures.remote, &figures.local),
        _ => (&figures.local, &figures.remote),
    }
}

fn used(side: &EndFigures) -> f64 {
    side.cpu.as_ref().map_or(-1.0, |cpu| cpu.used_percent)
}

fn stream(command: &Command, figures: &ReportFigures, cpu: bool) -> String {
    let (sender, receiver) = ends(command, figures);
    let (to, from, size) = (receiver.receive_buffer.1, sender.send_buffer.1, sender.send_size);
    let (elapsed, rate) = (figures.elapsed_s, figures.throughput);
    if !cpu {
        return format!("{to:5}  {from:5} {size:6}    {elapsed:<6.2}   {rate:7.2}   \n");
    }
    let (near, far) = (&figures.local, &figures.remote);
    format!(
        "{to:5}  {from:5} {size:6}    {elapsed:<6.2}     {rate:7.2}   {:<6.2}   {:<6.2}   {:<6.3}  {:<6.3} \n",
        used(near),
        used(far),
        near.demand,
        far.demand
    )
}

fn datagrams(figures: &ReportFigures, cpu: bool) -> String {
    let (near, far) = (&figures.local, &figures.remote);
    let (sent, came) = figures.throughput_of(near.sent.max(far.sent), near.received.max(far.received));
    let calls = near.send_calls.max(far.send_calls);
    let got = near.receive_calls.max(far.receive_calls);
    let failed = near.failed.max(far.failed);
    let size = near.send_size.max(far.send_size);
    let (first, second, elapsed) = (near.send_buffer.1, far.receive_buffer.1, figures.elapsed_s);
    if !cpu {
        return format!(
            "{first:6}   {size:5}   {elapsed:<7.2}   {calls:7} {failed:6}    {sent:7.2}\n\
             {second:6}           {elapsed:<7.2}   {got:7}           {came:7.2}\n\n"
        );
    }
    format!(
        "{first:6}   {size:5}   {elapsed:<7.2}   {calls:7} {failed:6}    {sent:7.1}     {:<6.2}   {:<6.3}\n\
         {second:6}           {elapsed:<7.2}   {got:7}           {came:7.1}     {:<6.2}   {:<6.3}\n\n",
        used(near),
        near.demand,
        used(far),
        far.demand
    )
}

fn transactions(figures: &ReportFigures, cpu: bool) -> String {
    let (near, far) = (&figures.local, &figures.remote);
    // A test of connections alone has the usual sizes in its table.
    let (request, response, elapsed) = (figures.request.max(1), figures.response.max(1), figures.elapsed_s);
    let (send, receive, rate) = (near.send_buffer.1, near.receive_buffer.1, figures.throughput);
    let second = format!("{:<6} {:<6}\n", far.send_buffer.1, far.receive_buffer.1);
    if !cpu {
        return format!(
            "{send:<6} {receive:<6} {request:<6}   {response:<6}  {elapsed:<6.2}   {rate:7.2}   \n{second}"
        );
    }
    format!(
        "{send:<6} {receive:<6} {request:<6}  {response:<6} {elapsed:<6.2}  {rate:<6.2}  {:<6.2} {:<6.2} {:<6.3}  {:<6.3} \n\
         {second}",
        used(near),
        used(far),
        near.demand,
        far.demand
    )
}

/// What `-v 2` adds: how buffers lay, calls, the largest segment, and the latencies.
fn more(command: &Command, figures: &ReportFigures) -> String {
    let (near, far) = (&figures.local, &figures.remote);
    let per = |bytes: u64, calls: u64| if calls == 0 { 0.0 } else { bytes as f64 / calls as f64 };
    let mut text = String::new();
    match command.test.shape() {
        TestShape::Transactions if !command.test.connects => {
            let (out, back) = figures.throughput_of(near.sent, near.received);
            text += &format!(
                "Alignment      Offset         RoundTrip  Trans    Throughput\n\
                 Local  Remote  Local  Remote  Latency    Rate     {}/s\n\
                 Send   Recv    Send   Recv    usec/Tran  per sec  Outbound   Inbound\n\
                 {:5}  {:5}   {:5}  {:5}   {:<6.3}   {:<6.3} {out:<6.3}     {back:<6.3}\n",
                units(command.units.filter(|letter| *letter != 'x').unwrap_or('m')),
                near.align.0,
                far.align.1,
                near.offset.0,
                far.offset.1,
                figures.round_trip_us(),
                figures.transaction_rate()
            );
        }
        TestShape::Transactions => {}
        shape => {
            let sends = shape == TestShape::Sends;
            let (words, ours, theirs) = if sends {
                (["Send", "Recv"], (near.sent, near.send_calls), (far.received, far.receive_calls))
            } else {
                (["Recv", "Send"], (near.received, near.receive_calls), (far.sent, far.send_calls))
            };
            let [first, second] = words;
            text += &format!(
                "\nAlignment      Offset         Bytes    Bytes       {first}s   Bytes    {second}s\n\
                 Local  Remote  Local  Remote  Xfered   Per                 Per\n\
                 {first}   {second}    {first}   {second}             {first} (avg)          {second} (avg)\n\
                 {:5}   {:5}   {:5}  {:5} {:6}  {:6.2}    {:6}   {:6.2} {:6}\n",
                near.align.0,
                far.align.1,
                near.offset.0,
                far.offset.1,
                ours.0,
                per(ours.0, ours.1),
                ours.1,
                per(theirs.0, theirs.1),
                theirs.1
            );
            if !figures.udp {
                text += &format!("\nMaximum\nSegment\nSize (bytes)\n{:6}\n\n", figures.mss);
            }
        }
    }
    text + &histogram(command, &figures.latency)
}

/// The latencies in netperf's rows: ten buckets to a decade, of µs.
fn histogram(command: &Command, latency: &Histogram) -> String {
    const ROWS: [&str; 8] = [
        "UNIT_USEC",
        "TEN_USEC",
        "HUNDRED_USEC",
        "UNIT_MSEC",
        "TEN_MSEC",
        "HUNDRED_MSEC",
        "UNIT_SEC",
        "TEN_SEC",
    ];
    let mut counts = [[0u64; 10]; 8];
    let mut beyond = 0;
    for (bucket, count) in latency.buckets() {
        let us = iodyno_model::histogram::middle(*bucket as usize) / 1000;
        let row = if us < 10 { 0 } else { us.ilog10() as usize };
        match counts.get_mut(row) {
            Some(row_counts) => row_counts[(us / 10u64.pow(row as u32)) as usize] += count,
            None => beyond += count,
        }
    }
    let title = match command.test.shape() {
        TestShape::Sends => "Histogram of time spent in send() call.",
        TestShape::Receives => "Histogram of time spent in recv() call.",
        TestShape::Transactions => "Histogram of request/response times",
    };
    let mut text = format!("\n{title}\n");
    for (name, row) in ROWS.iter().zip(counts) {
        let cells: Vec<String> = row.iter().map(|count| format!("{count:5}")).collect();
        text += &format!("{name:14}:{}\n", cells.join(":"));
    }
    text + &format!(">100_SECS: {beyond}\nHIST_TOTAL:      {}\n", latency.count())
}

#[cfg(test)]
mod tests {
    use super::super::figures::{Confidence, Cpu};
    use super::super::test::NetperfTest;
    use super::*;

    fn command(test: &str) -> Command {
        Command {
            test: NetperfTest::named(test).unwrap(),
            host: "127.0.0.1".into(),
            verbosity: 1,
            ..Command::default()
        }
    }

    fn side(send: i64, receive: i64) -> EndFigures {
        EndFigures {
            send_buffer: (-1, send, send),
            receive_buffer: (-1, receive, receive),
            demand: -1.0,
            ..EndFigures::default()
        }
    }

    /// The numbers of the samples.
    fn sample(command: &Command) -> ReportFigures {
        ReportFigures {
            udp: command.test.is_udp(),
            sctp: false,
            direction: command.test.direction(),
            local: EndFigures { send_size: 16384, ..side(16384, 131_072) },
            remote: EndFigures { send_size: 16384, ..side(16384, 131_072) },
            elapsed_s: 1.0,
            request: 1,
            response: 1,
            ..ReportFigures::default()
        }
    }

    #[test]
    fn streams_are_told_as_the_samples_have_it() {
        let command = command("TCP_STREAM");
        let figures = ReportFigures { throughput: 35228.17, ..sample(&command) };
        let expected = "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET : \
                        histogram : demo\n\
                        Recv   Send    Send                          \n\
                        Socket Socket  Message  Elapsed              \n\
                        Size   Size    Size     Time     Throughput  \n\
                        bytes  bytes   bytes    secs.    10^6bits/sec  \n\
                        \n\
                        131072  16384  16384    1.00     35228.17   \n";
        assert_eq!(title(&command, false) + &report(&command, &figures), expected);
        let bare = Command { bare: true, verbosity: 0, ..command };
        assert_eq!(title(&bare, false) + &report(&bare, &figures), "35228.17 \n");
    }

    #[test]
    fn processors_are_told_as_the_samples_have_it() {
        let command = Command { cpu: (true, true), ..command("TCP_STREAM") };
        let mut figures = ReportFigures { throughput: 32941.54, ..sample(&command) };
        for side in [&mut figures.local, &mut figures.remote] {
            side.cpu = Some(Cpu { used_percent: 100.0, ..Cpu::default() });
            side.demand = 0.497;
        }
        let expected = "Recv   Send    Send                          Utilization       Service Demand\n\
                        Socket Socket  Message  Elapsed              Send     Recv     Send    Recv\n\
                        Size   Size    Size     Time     Throughput  local    remote   local   remote\n\
                        bytes  bytes   bytes    secs.    10^6bits/s  % S      % S      us/KB   us/KB\n\
                        \n\
                        131072  16384  16384    1.00       32941.54   100.00   100.00   0.497   0.497  \n";
        assert_eq!(report(&command, &figures), expected);
        let command = Command { test: NetperfTest::named("TCP_RR").unwrap(), ..command };
        figures.throughput = 91957.64;
        (figures.local.demand, figures.remote.demand) = (21.749, 21.749);
        let text = report(&command, &figures);
        let line =
            "16384  131072 1       1      1.00    91957.64  100.00 100.00 21.749  21.749 \n16384  131072\n";
        assert!(
            text.ends_with(line)
                && text
                    .contains("bytes  bytes  bytes   bytes  secs.   per sec  % S    % S    us/Tr   us/Tr\n"),
            "{text}"
        );
    }

    #[test]
    fn transactions_and_datagrams_are_told_as_the_samples_have_it() {
        let rr = command("TCP_RR");
        let figures = ReportFigures { throughput: 111_056.17, ..sample(&rr) };
        let text = title(&rr, false) + &report(&rr, &figures);
        let opening = " : first burst 0\nLocal /Remote\nSocket Size   Request  Resp.   Elapsed  Trans.\n";
        assert!(text.contains(opening), "{text}");
        assert!(
            text.ends_with("16384  131072 1        1       1.00     111056.17   \n16384  131072\n"),
            "{text}"
        );
        let udp = command("UDP_STREAM");
        let mut figures = sample(&udp);
        figures.local = EndFigures { send_size: 65507, send_calls: 210_309, ..side(212_992, 212_992) };
        figures.local.sent = 210_309 * 65507;
        figures.remote =
            EndFigures { receive_calls: 31_169, received: 31_169 * 65507, ..side(212_992, 212_992) };
        let text = report(&udp, &figures);
        let expected = "212992   65507   1.00       210309      0    110213.69\n\
                        212992           1.00        31169           16334.30\n\n";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn transactions_have_a_unit_where_one_is_asked_for() {
        let rr = Command { units: Some('m'), ..command("TCP_RR") };
        let text = report(&rr, &ReportFigures { throughput: 1.93, ..sample(&rr) });
        let expected = "Local /Remote\n\
                        Socket Size   Request  Resp.   Elapsed  \n\
                        Send   Recv   Size     Size    Time     Throughput \n\
                        bytes  Bytes  bytes    bytes   secs.    10^6bits/sec   \n\
                        \n\
                        16384  131072 1        1       1.00        1.93   \n\
                        16384  131072\n";
        assert_eq!(text, expected);
        let both = Command { units: Some('K'), cpu: (true, true), ..rr };
        let text = report(&both, &ReportFigures { throughput: 160.72, ..sample(&both) });
        let expected = "Socket Size   Request Resp.  Elapsed Tput     CPU    CPU    S.dem   S.dem\n\
                        Send   Recv   Size    Size   Time    KBytes   local  remote local   remote\n\
                        bytes  bytes  bytes   bytes  secs.   per sec  % U    % U    us/KB   us/KB\n";
        assert!(text.contains(expected), "{text}");
        // With a connection each the headings stay, whatever the unit.
        let connects = Command { units: Some('m'), ..command("TCP_CRR") };
        assert!(report(&connects, &sample(&connects)).contains("Trans.\n"));
    }

    #[test]
    fn columns_are_as_wide_as_the_samples() {
        let command = Command {
            output: Output::Columns(vec![
                selectors::list("throughput,throughput_units,mean_latency,p99_latency").unwrap(),
            ]),
            ..command("TCP_RR")
        };
        let mut figures = ReportFigures { throughput: 37361.16, units: "Trans/s".into(), ..sample(&command) };
        figures.latency.add(26_670);
        let expected = "Throughput Throughput Mean         99th         \n\
                        \u{20}          Units      Latency      Percentile   \n\
                        \u{20}                     Microseconds Latency      \n\
                        \u{20}                                  Microseconds \n\
                        37361.16   Trans/s    26.67        26           \n";
        assert_eq!(report(&command, &figures), expected);
        let wide = Command {
            output: Output::Columns(vec![selectors::list("throughput").unwrap()]),
            bare: true,
            ..command
        };
        let figures = ReportFigures { throughput: 2_805_792.39, ..figures };
        assert_eq!(report(&wide, &figures), "2805792.39  \n");
    }

    #[test]
    fn what_is_not_sure_is_said() {
        let command = command("TCP_RR");
        let confidence =
            Confidence { attained: false, widths: [221.635, -1.0, -1.0], ..Confidence::default() };
        let figures = ReportFigures { confidence, ..sample(&command) };
        let text = report(&command, &figures);
        assert!(text.starts_with("!!! WARNING\n") && text.contains("Throughput      : 221.635%\n"));
        assert!(text.contains("Remote CPU util : 0.000%\n\nLocal /Remote"));
    }

    #[test]
    fn latencies_fall_into_decades() {
        let mut latency = Histogram::default();
        [6_500, 12_000, 250_000, 3_000_000].into_iter().for_each(|ns| latency.add(ns));
        let text = histogram(&command("TCP_RR"), &latency);
        assert!(
            text.contains("UNIT_USEC     :    0:    0:    0:    0:    0:    0:    1:    0:    0:    0\n"),
            "{text}"
        );
        assert!(
            text.contains("TEN_USEC      :    0:    1:")
                && text.contains("UNIT_MSEC     :    0:    0:    0:    1:")
        );
        assert!(text.ends_with("HIST_TOTAL:      4\n"));
    }

    #[test]
    fn interim_results_have_the_form_of_the_output() {
        let text = |output: Output| interim(&output, 2, 34627.78, "10^6bits", 0.663, 1_795_287_555.399);
        assert_eq!(
            text(Output::Table),
            "Interim result: 34627.78 10^6bits/s over 0.663 seconds ending at 1795287555.399\n"
        );
        assert!(
            text(Output::Names(vec![]))
                .contains("NETPERF_INTERVAL[2]=0.663\nNETPERF_ENDING[2]=1795287555.399\n")
        );
        assert_eq!(text(Output::Commas(vec![])), "34627.78,10^6bits/s,0.663,1795287555.399\n");
    }
}

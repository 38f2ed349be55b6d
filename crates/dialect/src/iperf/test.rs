//! Conversations as they were seen between 2.1.8's own ends, played to ours; and peers that lie, stall and mangle.

use iodyno_model::conversation::{
    Action, Connection, Conversation, Ends, FIRST_ACCEPTED, Happening, Input, RunNumber,
};
use iodyno_model::{
    Event, JobRecord, Limit, PhaseRecord, Plan, Rate, Record, TargetKind, Verb, WorkerRecord, Workload,
};

use super::command;
use super::header::{self, Amount, Back, TestHeader};
use super::session::{IperfConversation, PLACE};
use super::silence::FLOWS_FROM_BYTES;

const SECOND: u64 = 1_000_000_000;

/// One side of a test, played by hand.
struct Play {
    session: IperfConversation,
    at_ns: u64,
    printed: String,
    complained: String,
    ended: Option<u8>,
}

impl Play {
    fn of(line: &str) -> Self {
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        let command = command::parse(&words).expect("a good command line");
        let session = IperfConversation::new(command, 0, None);
        Play { session, at_ns: 0, printed: String::new(), complained: String::new(), ended: None }
    }

    /// What is to be done, but for what was said.
    fn handle(&mut self, input: Input) -> Vec<Action> {
        let happening = Happening { at_ns: self.at_ns, unix_ns: 1_795_358_218 * SECOND + self.at_ns, input };
        let mut left = Vec::new();
        for action in self.session.step(happening) {
            match action {
                Action::Print(text) => self.printed += &text,
                Action::Complain(text) => self.complained += &text,
                Action::End(status) => self.ended = Some(status),
                Action::Wake(_) => {}
                other => left.push(other),
            }
        }
        left
    }
}

fn ends(local: &str, peer: &str) -> Ends {
    let mut ends = Ends { local: local.into(), peer: peer.into(), ..Ends::default() };
    ends.socket.send_buffer_bytes = 16_384;
    ends.socket.receive_buffer_bytes = 131_072;
    ends
}

fn worker(elapsed_ns: u64, bytes: u64, facts: &[(&str, u64)]) -> WorkerRecord {
    let facts = facts.iter().map(|(name, value)| (name.to_string(), *value)).collect();
    WorkerRecord { bytes, ended_ns: elapsed_ns, facts, ..WorkerRecord::default() }
}

fn phase(elapsed_ns: u64, workers: Vec<WorkerRecord>) -> PhaseRecord {
    let job = |worker| JobRecord { workers: vec![worker], ..JobRecord::default() };
    PhaseRecord { elapsed_ns, jobs: workers.into_iter().map(job).collect(), ..PhaseRecord::default() }
}

fn record(phase: PhaseRecord) -> Box<Record> {
    Box::new(Record { phases: vec![phase], ..Record::default() })
}

fn run(actions: &[Action]) -> (RunNumber, &Plan) {
    let found = actions.iter().find_map(|action| match action {
        Action::Run { run, plan, .. } => Some((*run, &**plan)),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no run: {actions:?}"))
}

fn sent(actions: &[Action]) -> Option<(Connection, &[u8])> {
    actions.iter().find_map(|action| match action {
        Action::Send(connection, bytes) => Some((*connection, &bytes[..])),
        _ => None,
    })
}

fn opened(actions: &[Action]) -> Vec<Connection> {
    let number = |action: &Action| match action {
        Action::Connect { connection, .. } | Action::Answer { connection, .. } => Some(*connection),
        _ => None,
    };
    actions.iter().filter_map(number).collect()
}

fn verb(plan: &Plan, job: usize) -> (Verb, &Limit, String) {
    let job = &plan.phases[0].jobs[job];
    let Workload::Pattern(pattern) = &job.workload else { panic!("a pattern") };
    let TargetKind::Endpoint { transport, address, .. } = &plan.targets[job.targets[0]].kind else {
        panic!("a connection")
    };
    assert_eq!(transport, "connection");
    (pattern.mix.shares[0].verb, &job.limit, address.clone())
}

/// Enough comes over a connection for a run.
fn flows(play: &mut Play, connection: Connection) -> Vec<Action> {
    play.handle(Input::Bytes(connection, vec![b'0'; FLOWS_FROM_BYTES]))
}

#[test]
fn a_client_of_two_streams() {
    let mut play = Play::of("-c 10.0.0.2 -t 1 -P 2 -i 0.5");
    let numbers = opened(&play.handle(Input::Began));
    assert_eq!(numbers.len(), 2);
    let server = "10.0.0.2:5001";
    assert!(play.handle(Input::Ready(numbers[0], ends("10.0.0.1:1000", server))).is_empty());
    let actions = play.handle(Input::Ready(numbers[1], ends("10.0.0.1:1001", server)));
    let (number, plan) = run(&actions);
    let (_, first) = sent(&actions).unwrap();
    assert_eq!(first[..8], [0x40, 1, 0, 0x78, 0, 0, 0, 2]);
    let (verb, limit, address) = verb(plan, 1);
    assert_eq!((verb, limit.time_ns, address), (Verb::Send, Some(SECOND), numbers[1].to_string()));
    let half = phase(SECOND / 2, vec![worker(0, (465 << 20) - 60, &[]), worker(0, (413 << 20) - 60, &[])]);
    play.handle(Input::Told(number, Box::new(Event::Interim(Box::new(half)))));
    let whole = phase(SECOND, vec![worker(SECOND, 947 << 20, &[]), worker(SECOND, 875 << 20, &[])]);
    let actions = play.handle(Input::Ended(number, record(whole)));
    assert!(actions.iter().filter(|action| matches!(action, Action::Shut(_))).count() == 2);
    numbers.iter().for_each(|number| {
        play.handle(Input::Closed(*number));
    });
    assert_eq!(play.ended, Some(0));
    let rows = "[ ID] Interval       Transfer     Bandwidth\n\
                [  1] 0.0000-0.5000 sec   465 MBytes  7.80 Gbits/sec\n\
                [  2] 0.0000-0.5000 sec   413 MBytes  6.93 Gbits/sec\n\
                [SUM] 0.0000-0.5000 sec   878 MBytes  14.7 Gbits/sec\n\
                [  1] 0.5000-1.0000 sec   482 MBytes  8.09 Gbits/sec\n\
                [  2] 0.5000-1.0000 sec   462 MBytes  7.75 Gbits/sec\n\
                [SUM] 0.5000-1.0000 sec   944 MBytes  15.8 Gbits/sec\n\
                [  1] 0.0000-1.0000 sec   947 MBytes  7.94 Gbits/sec\n\
                [  2] 0.0000-1.0000 sec   875 MBytes  7.34 Gbits/sec\n\
                [SUM] 0.0000-1.0000 sec  1.78 GBytes  15.3 Gbits/sec\n";
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(String::from).collect();
        lines.sort();
        lines
    };
    let at = play.printed.find("[ ID]").unwrap();
    assert_eq!(sorted(&play.printed[at..]), sorted(rows), "{}", play.printed);
    assert!(
        play.printed
            .contains("Client connecting to 10.0.0.2, TCP port 5001\nTCP window size: 16.0 KByte (default)")
    );
    assert!(play.printed.contains("[  2] local 10.0.0.1 port 1001 connected with 10.0.0.2 port 5001\n"));
}

#[test]
fn exact_bytes_count_the_header() {
    let mut play = Play::of("-c h -n 10M -l 8K -b 100m");
    let number = opened(&play.handle(Input::Began))[0];
    let actions = play.handle(Input::Ready(number, ends("a:1", "b:5001")));
    let (_, plan) = run(&actions);
    assert_eq!(verb(plan, 0).1.bytes, Some((10 << 20) - 60));
    assert_eq!(plan.phases[0].jobs[0].pace.rate_all, Rate::Bytes(12_500_000));
}

#[test]
fn a_server_takes_a_header_apart_from_data_however_it_comes() {
    let test = TestHeader {
        streams: 1,
        port: 5001,
        block_bytes: 0,
        amount: Amount::Time(SECOND),
        back: None,
        reverse: false,
        rate_bits: 0,
        full_duplex: false,
        trip_times: false,
        period_us: None,
        quick: false,
        extended: true,
        version: None,
    };
    let mut play = Play::of("-s");
    play.handle(Input::Began);
    play.handle(Input::Ready(PLACE, ends("0.0.0.0:5001", "")));
    let connection = FIRST_ACCEPTED;
    let peer = ends("10.0.0.2:5001", "10.0.0.1:4000");
    play.handle(Input::Accepted { at: PLACE, connection, ends: peer });
    let bytes = header::tcp(&test, 0);
    assert!(sent(&play.handle(Input::Bytes(connection, bytes[..10].to_vec()))).is_none());
    let actions = play.handle(Input::Bytes(connection, [&bytes[10..], &[b'0'; 1000]].concat()));
    let seen = [0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 0, 0, 2, 0, 1, 0, 8, 0, 3];
    assert_eq!(sent(&actions).unwrap().1[..20], seen);
    let actions = flows(&mut play, connection);
    let (number, plan) = run(&actions);
    assert_eq!(verb(plan, 0).0, Verb::Recv);
    let bytes = (134 << 10) - 1060 - FLOWS_FROM_BYTES as u64;
    play.handle(Input::Ended(number, record(phase(SECOND, vec![worker(SECOND, bytes, &[])]))));
    assert!(
        play.printed.ends_with("[  1] 0.0000-1.0000 sec   134 KBytes  1.10 Mbits/sec\n"),
        "{}",
        play.printed
    );
    assert_eq!(play.ended, None);
}

/// A test of one second, whose way back goes to port 6020.
fn wants(back: Back) -> TestHeader {
    TestHeader {
        streams: 1,
        port: 6020,
        block_bytes: 0,
        amount: Amount::Time(SECOND),
        back: Some(back),
        reverse: false,
        rate_bits: 0,
        full_duplex: false,
        trip_times: false,
        period_us: None,
        quick: false,
        extended: true,
        version: None,
    }
}

#[test]
fn a_server_sends_where_it_is_asked_to() {
    for back in [Back::Now, Back::Later] {
        let mut play = Play::of("-s -1");
        play.handle(Input::Began);
        let connection = FIRST_ACCEPTED;
        play.handle(Input::Accepted { at: PLACE, connection, ends: ends("h:5001", "10.0.0.1:4000") });
        let test = wants(back);
        let actions = play.handle(Input::Bytes(connection, header::tcp(&test, 0)));
        let number = run(&flows(&mut play, connection)).0;
        let whole = || record(phase(SECOND, vec![worker(SECOND, 1 << 20, &[])]));
        let ended = if back == Back::Now {
            play.handle(Input::Ended(number, whole()));
            actions
        } else {
            assert!(opened(&actions).is_empty());
            play.handle(Input::Ended(number, whole()))
        };
        let way = opened(&ended);
        assert_eq!(way.len(), 1);
        let to = ended.iter().find_map(|action| match action {
            Action::Connect { address, .. } => Some(address.as_str()),
            _ => None,
        });
        assert_eq!(to, Some("10.0.0.1:6020"));
        let actions = play.handle(Input::Ready(way[0], ends("h:7000", "10.0.0.1:6020")));
        let (number, plan) = run(&actions);
        assert_eq!((verb(plan, 0).0, verb(plan, 0).1.time_ns), (Verb::Send, Some(SECOND)));
        play.handle(Input::Ended(number, whole()));
        play.handle(Input::Closed(way[0]));
        assert!(
            play.printed.contains("[ *2] local h port 7000 connected with 10.0.0.1 port 6020 (reverse)\n")
        );
        assert_eq!(play.ended, Some(0), "{back:?}");
    }
}

/// A server's plan for one datagram from a host that asks for so much to be sent back.
fn sent_back(host: &str, amount: Amount, known: &str) -> (Limit, String) {
    let mut play = Play::of("-s -u");
    play.session = play.session.knowing(super::quota::Range::of(known).into_iter().collect());
    play.handle(Input::Began);
    let from = format!("{host}:4000");
    let test = TestHeader { amount, reverse: true, back: None, rate_bits: 200_000_000, ..wants(Back::Now) };
    let bytes = header::udp(&test, 1, 0);
    let connection = opened(&play.handle(Input::Datagram { at: PLACE, from: from.clone(), bytes }))[0];
    let actions = play.handle(Input::Ready(connection, ends("10.0.0.2:5001", &from)));
    (verb(run(&actions).1, 0).1.clone(), play.complained)
}

#[test]
fn one_forgeable_datagram_does_not_make_a_server_send_for_long() {
    let day = Amount::Time(86_400 * SECOND);
    let (limit, said) = sent_back("192.0.2.1", day, "");
    assert_eq!((limit.time_ns, limit.bytes), (Some(60 * SECOND), Some(16 << 20)));
    assert!(
        said.contains("192.0.2.1")
            && said.contains("16.0 MByte in a minute")
            && said.contains("--also peers=192.0.2.1"),
        "{said}"
    );
    // What is asked for in bytes has the same end; whoever is known, and the machine itself, gets what it asks for.
    assert_eq!(sent_back("192.0.2.1", Amount::Bytes(1 << 40), "").0.bytes.map(|bytes| bytes >> 20), Some(16));
    for (host, known) in [("192.0.2.1", "192.0.2.0/24"), ("127.0.0.1", "")] {
        let (limit, said) = sent_back(host, day, known);
        assert_eq!((limit.time_ns, limit.bytes, said.as_str()), (Some(86_400 * SECOND), None, ""));
    }
    // The usual test is within it, and nothing is said.
    let mut test = sent_back("192.0.2.1", Amount::Time(SECOND / 2), "");
    test.0.bytes = test.0.bytes.filter(|bytes| *bytes < 12_500_000);
    assert_eq!((test.0.bytes, test.1.as_str()), (None, ""));
}

#[test]
fn one_address_has_its_share_of_connections() {
    let mut play = Play::of("-s");
    play.handle(Input::Began);
    let mut accept = |number: u32, host: &str| {
        let ends = ends("10.0.0.2:5001", &format!("{host}:{}", 4000 + number));
        let actions = play.handle(Input::Accepted { at: PLACE, connection: FIRST_ACCEPTED + number, ends });
        actions.iter().any(|action| matches!(action, Action::Close(_)))
    };
    assert!(!(0..128).any(|number| accept(number, "192.0.2.1")));
    assert!(accept(128, "192.0.2.1") && !accept(129, "192.0.2.2"));
    assert!(!(130..300).any(|number| accept(number, "127.0.0.1")));
    assert!(play.complained.contains("192.0.2.1 is turned away"), "{}", play.complained);
}

#[test]
fn datagrams_end_with_a_report() {
    let mut play = Play::of("-c h -u -t 1");
    let number = opened(&play.handle(Input::Began))[0];
    let actions = play.handle(Input::Ready(number, ends("a:1", "b:5001")));
    let (run_number, plan) = run(&actions);
    let job = &plan.phases[0].jobs[0];
    let value = |name: &str| job.settings.iter().find(|setting| setting.name == name).unwrap().value.clone();
    assert_eq!((value("datagram_bytes"), value("stamp")), ("1470".into(), "number_seconds_micros".into()));
    let facts = [("bytes", 93 * 1470), ("datagrams", 93), ("blocks", 93)];
    let whole = phase(1_020_700_000, vec![worker(1_020_700_000, 93 * 1470, &facts)]);
    let actions = play.handle(Input::Ended(run_number, record(whole)));
    let (_, last) = sent(&actions).unwrap();
    assert_eq!((header::number(last), last.len()), (Some(-94), 1470));
    play.at_ns += SECOND;
    assert_eq!(header::number(sent(&play.handle(Input::Tick)).unwrap().1), Some(-94));
    let report = header::Report {
        bytes: 93 * 1470,
        time_ns: 1_020_700_000,
        datagrams: 93,
        jitter_ns: 19_000,
        one_way: Default::default(),
        lost: 0,
        late: 0,
        overflow: 0,
    };
    play.handle(Input::Bytes(number, header::report(&report)));
    assert_eq!(play.ended, Some(0));
    let end = "[  1] 0.0000-1.0207 sec   134 KBytes  1.07 Mbits/sec\n[  1] Sent 94 datagrams\n[  1] Server Report:\n\
               [ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams\n\
               [  1] 0.0000-1.0207 sec   134 KBytes  1.07 Mbits/sec   0.019 ms 0/93 (0%)\n";
    assert!(play.printed.ends_with(end), "{}", play.printed);
    assert!(play.printed.contains("Sending 1470 byte datagrams, IPG target: 11215.21 us (kalman adjust)\n"));
}

#[test]
fn a_silent_receiver_of_datagrams_is_given_up() {
    let mut play = Play::of("-c h -u -t 1");
    let number = opened(&play.handle(Input::Began))[0];
    let run_number = run(&play.handle(Input::Ready(number, ends("a:1", "b:5001")))).0;
    play.handle(Input::Ended(
        run_number,
        record(phase(SECOND, vec![worker(SECOND, 1470, &[("datagrams", 1)])])),
    ));
    for _ in 0..12 {
        play.at_ns += SECOND / 4;
        play.handle(Input::Tick);
    }
    assert!(play.complained.contains("did not receive ack of last datagram after 10 tries"));
    assert_eq!(play.ended, Some(0));
}

#[test]
fn a_server_of_datagrams_counts_what_came_before_its_run() {
    let mut play = Play::of("-s -u");
    play.handle(Input::Began);
    let from = "10.0.0.1:4000".to_string();
    let datagram = |play: &mut Play, number: i64| {
        let mut bytes = header::numbered(number, 0);
        bytes.resize(1470, b'0');
        play.handle(Input::Datagram { at: PLACE, from: from.clone(), bytes })
    };
    let connection = opened(&datagram(&mut play, 1))[0];
    assert!(opened(&datagram(&mut play, 2)).is_empty());
    let number = run(&play.handle(Input::Ready(connection, ends("10.0.0.2:5001", "10.0.0.1:4000")))).0;
    // Numbers 3 to 93 of which 5 did not come.
    let facts = [("bytes", 90 * 1470), ("datagrams", 90), ("highest", 93), ("jitter_ns", 5000)];
    let actions =
        play.handle(Input::Ended(number, record(phase(SECOND, vec![worker(SECOND, 90 * 1470, &facts)]))));
    let report = header::reported(sent(&actions).unwrap().1).unwrap();
    assert_eq!((report.bytes, report.lost, report.datagrams), (92 * 1470, 1, 93));
    assert!(play.printed.ends_with("0.005 ms 1/93 (1.1%)\n"), "{}", play.printed);
    // The end comes again: so does the answer.
    let again = play.handle(Input::Bytes(connection, header::numbered(-93, 0)));
    assert!(header::reported(sent(&again).unwrap().1).is_some());
}

#[test]
fn nobody_listens() {
    let mut play = Play::of("-c h");
    let number = opened(&play.handle(Input::Began))[0];
    play.handle(Input::Failed(number, 111, "connect".into()));
    assert_eq!((play.ended, play.complained.as_str()), (Some(1), "tcp connect failed: Connection refused\n"));
    let mut play = Play::of("-s");
    play.handle(Input::Began);
    play.handle(Input::Failed(PLACE, 98, "bind".into()));
    assert_eq!(
        (play.ended, play.complained.as_str()),
        (Some(1), "listener bind failed: Address already in use\n")
    );
}

#[test]
fn a_way_back_that_is_early_is_tried_again() {
    let mut play = Play::of("-s");
    play.handle(Input::Began);
    let test = header::tcp(&wants(Back::Now), 0);
    let peer = ends("10.0.0.2:5001", "10.0.0.1:4000");
    play.handle(Input::Accepted { at: PLACE, connection: FIRST_ACCEPTED, ends: peer });
    let back = opened(&play.handle(Input::Bytes(FIRST_ACCEPTED, test)))[0];
    for _ in 0..100 {
        assert!(opened(&play.handle(Input::Failed(back, 111, "connect".into()))).is_empty());
        assert!(opened(&play.handle(Input::Tick)).is_empty());
        play.at_ns += SECOND / 50;
        assert_eq!(opened(&play.handle(Input::Tick)), [back]);
    }
    assert_eq!(play.complained, "");
    play.handle(Input::Failed(back, 111, "connect".into()));
    assert_eq!(play.complained, "tcp connect failed: Connection refused\n");
}

#[test]
fn a_way_back_that_is_barred_is_tried_once() {
    let mut play = Play::of("-s");
    play.handle(Input::Began);
    let peer = ends("10.0.0.2:5001", "10.0.0.1:4000");
    play.handle(Input::Accepted { at: PLACE, connection: FIRST_ACCEPTED, ends: peer });
    let back = opened(&play.handle(Input::Bytes(FIRST_ACCEPTED, header::tcp(&wants(Back::Now), 0))))[0];
    play.handle(Input::Failed(back, 110, "connect".into()));
    assert_eq!(play.complained, "tcp connect failed: Connection timed out\n");
}

#[test]
fn peers_that_stall_or_flood_are_given_up() {
    let mut play = Play::of("-s");
    play.handle(Input::Began);
    for number in 0..2000 {
        play.handle(Input::Accepted {
            at: PLACE,
            connection: FIRST_ACCEPTED + number,
            ends: ends("h:1", &format!("p{}:2", number / 100)),
        });
    }
    assert_eq!(play.session.flows.len(), 1024);
    play.at_ns += 11 * SECOND;
    let closed = play.handle(Input::Tick).iter().filter(|action| matches!(action, Action::Close(_))).count();
    assert_eq!((closed, play.session.flows.len()), (1024, 0));
}

/// A server with a client that has said what it wants.
fn served(line: &str, peer: &str) -> Play {
    let mut play = Play::of(line);
    play.handle(Input::Began);
    play.handle(Input::Accepted { at: PLACE, connection: FIRST_ACCEPTED, ends: ends("10.0.0.2:5001", peer) });
    let test = TestHeader { back: None, ..wants(Back::Now) };
    assert_eq!(verb_of(&play.handle(Input::Bytes(FIRST_ACCEPTED, header::tcp(&test, 0)))), None);
    play
}

fn verb_of(actions: &[Action]) -> Option<RunNumber> {
    actions.iter().find_map(|action| if let Action::Run { run, .. } = action { Some(*run) } else { None })
}

fn stopped(actions: &[Action]) -> Option<RunNumber> {
    actions.iter().find_map(|action| if let Action::Stop(run) = action { Some(*run) } else { None })
}

/// A second of a stream passes in which its run has moved so much in all.
fn second(play: &mut Play, run: RunNumber, elapsed_ns: u64, bytes: u64) -> Vec<Action> {
    play.at_ns += SECOND;
    let found = phase(elapsed_ns, vec![worker(0, bytes, &[])]);
    let mut actions = play.handle(Input::Told(run, Box::new(Event::Interim(Box::new(found)))));
    actions.extend(play.handle(Input::Tick));
    actions
}

#[test]
fn a_connection_that_says_a_few_words_costs_no_run() {
    let mut play = served("-s -i 1", "10.0.0.1:4000");
    assert_eq!(verb_of(&play.handle(Input::Bytes(FIRST_ACCEPTED, vec![b'0'; 100]))), None);
    for _ in 0..3 {
        play.at_ns += SECOND;
        play.handle(Input::Tick);
    }
    play.at_ns += SECOND / 2;
    play.handle(Input::Closed(FIRST_ACCEPTED));
    let rows = "[  1] 0.0000-1.0000 sec   160 Byte  1.28 Kbits/sec\n\
                [  1] 1.0000-2.0000 sec  0.00 Byte  0.00 bits/sec\n\
                [  1] 2.0000-3.0000 sec  0.00 Byte  0.00 bits/sec\n\
                [  1] 3.0000-3.5000 sec  0.00 Byte  0.00 bits/sec\n\
                [  1] 0.0000-3.5000 sec   160 Byte   366 bits/sec\n";
    assert!(play.printed.ends_with(&rows.replace("Byte ", "Bytes ")), "{}", play.printed);
}

#[test]
fn a_paused_client_keeps_its_place_without_a_run_and_nothing_of_it_is_lost() {
    let mut play = served("-s", "10.0.0.1:4000");
    let first = verb_of(&flows(&mut play, FIRST_ACCEPTED)).expect("a run");
    let enough = FLOWS_FROM_BYTES as u64 + header::TEST_BYTES as u64;
    let moved = (1 << 20) - enough;
    let mut seconds = 0;
    let stop = loop {
        seconds += 1;
        if let Some(run) = stopped(&second(&mut play, first, seconds * SECOND, moved)) {
            break run;
        }
        assert!(seconds < 20, "its run goes on");
    };
    assert_eq!((stop, seconds), (first, 7));
    play.handle(Input::Ended(first, record(phase(7 * SECOND, vec![worker(7 * SECOND, moved, &[])]))));
    // An hour later it goes on: for as long as it sends it has a run.
    play.at_ns += 3593 * SECOND;
    play.handle(Input::Tick);
    assert!(!play.printed.contains("sec  "), "{}", play.printed);
    let again = verb_of(&flows(&mut play, FIRST_ACCEPTED)).expect("a run");
    let (name, coordinates) = ("iperf".into(), Vec::new());
    let started = Event::PhaseStarted { index: 0, count: 1, name, repetition: 0, coordinates };
    play.handle(Input::Told(again, Box::new(started)));
    for count in 1..=20 {
        assert_eq!(stopped(&second(&mut play, again, count * SECOND, count << 20)), None);
    }
    let more = (2 << 20) - FLOWS_FROM_BYTES as u64;
    play.handle(Input::Ended(again, record(phase(20 * SECOND, vec![worker(20 * SECOND, more, &[])]))));
    assert!(
        play.printed.ends_with("[  1] 0.0000-3620.0000 sec  3.00 MBytes  6.95 Kbits/sec\n"),
        "{}",
        play.printed
    );
}

#[test]
fn who_says_nothing_gives_way() {
    let mut play = Play::of("-s");
    play.handle(Input::Began);
    let accept = |play: &mut Play, number: u32, host: &str| {
        let ends = ends("10.0.0.2:5001", &format!("{host}:{}", 4000 + number));
        let actions = play.handle(Input::Accepted { at: PLACE, connection: FIRST_ACCEPTED + number, ends });
        let closed = |action: &Action| if let Action::Close(closed) = action { Some(*closed) } else { None };
        actions.iter().filter_map(closed).map(|closed| closed - FIRST_ACCEPTED).collect::<Vec<_>>()
    };
    // One address has its share. What opens at a time belongs together, and what was silent before gives way.
    (0..128).for_each(|number| assert!(accept(&mut play, number, "10.0.0.1").is_empty()));
    assert_eq!(accept(&mut play, 128, "10.0.0.1"), [128]);
    play.at_ns += 3 * SECOND;
    assert_eq!(accept(&mut play, 129, "10.0.0.1"), [0]);
    // One that has said something tells what came of it.
    play.handle(Input::Bytes(FIRST_ACCEPTED + 1, vec![b'0'; 60]));
    (130..257).for_each(|number| assert!(!accept(&mut play, number, "10.0.0.1").is_empty()));
    play.at_ns += 3 * SECOND;
    let silent: Vec<u32> = (257..385).flat_map(|number| accept(&mut play, number, "10.0.0.1")).collect();
    assert!(silent.contains(&1), "{silent:?}");
    assert!(
        play.complained.contains("nothing came for 3 s: its place goes to another"),
        "{}",
        play.complained
    );
    assert!(play.printed.contains("sec  60.0 Bytes "), "{}", play.printed);
    // The machine's own connections leave room for one other, and give way where all places are taken.
    (400..2000).for_each(|number| drop(accept(&mut play, number, "127.0.0.1")));
    assert_eq!((play.session.open_flows(), accept(&mut play, 2000, "10.0.0.3")), (1024, vec![2000]));
    assert!(play.complained.contains("127.0.0.1 is turned away: 896 connections"), "{}", play.complained);
    play.at_ns += 3 * SECOND;
    (2001..2060).for_each(|number| assert_eq!(accept(&mut play, number, "10.0.0.4"), [number - 1601]));
}

#[test]
fn a_peer_that_reads_nothing_is_not_sent_to_for_a_day() {
    let mut play = Play::of("-s");
    play.handle(Input::Began);
    let peer = ends("10.0.0.2:5001", "10.0.0.1:4000");
    play.handle(Input::Accepted { at: PLACE, connection: FIRST_ACCEPTED, ends: peer });
    let test =
        TestHeader { amount: Amount::Time(86_400 * SECOND), back: None, reverse: true, ..wants(Back::Now) };
    let run = verb_of(&play.handle(Input::Bytes(FIRST_ACCEPTED, header::tcp(&test, 0)))).expect("a run");
    for count in 1..=60 {
        assert_eq!(stopped(&second(&mut play, run, count * SECOND, count << 20)), None);
    }
    let stop = (61..200).find_map(|count| stopped(&second(&mut play, run, count * SECOND, 60 << 20)));
    assert_eq!(stop, Some(run));
    assert!(play.complained.contains("the peer has read nothing for 121 s"), "{}", play.complained);
}

#[test]
fn a_test_of_datagrams_lasts_as_long_as_its_datagrams_come() {
    // No rows are told, and so only the counts tell that something comes.
    let mut play = Play::of("-s -u");
    play.handle(Input::Began);
    let from = "10.0.0.1:4000".to_string();
    let datagram = |test: &TestHeader, number| {
        let mut bytes = header::udp(test, number, 0);
        bytes.resize(1470, b'0');
        bytes
    };
    let test = TestHeader { rate_bits: 500, back: None, ..wants(Back::Now) };
    let bytes = datagram(&test, 1);
    let connection = opened(&play.handle(Input::Datagram { at: PLACE, from: from.clone(), bytes }))[0];
    let number = run(&play.handle(Input::Ready(connection, ends("10.0.0.2:5001", &from)))).0;
    let second = |play: &mut Play, count: u64, datagrams: u64| {
        play.at_ns += SECOND;
        let facts = [("bytes", datagrams * 1470), ("datagrams", datagrams), ("highest", datagrams + 1)];
        let found = phase(count * SECOND, vec![worker(0, 1470 * datagrams, &facts)]);
        play.handle(Input::Told(number, Box::new(Event::Interim(Box::new(found)))));
        stopped(&play.handle(Input::Tick))
    };
    (1..40).for_each(|count| assert_eq!(second(&mut play, count, count), None, "after {count} s"));
    // At 500 bit/s a datagram comes each 23.52 s: three of them are waited for.
    (40..110).for_each(|count| assert_eq!(second(&mut play, count, 39), None, "after {count} s"));
    assert_eq!(second(&mut play, 110, 39), Some(number));
}

#[test]
fn mangled_peers_harm_nobody() {
    let mut state = 7_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for line in ["-s", "-s -u", "-s -1 -i 1 -e", "-s -u -y C"] {
        let mut play = Play::of(line);
        play.handle(Input::Began);
        for round in 0..3000 {
            let connection = FIRST_ACCEPTED + (next() % 8) as u32;
            let bytes: Vec<u8> = (0..next() % 200).map(|_| (next() >> 7) as u8).collect();
            let peer = format!("p:{}", next() % 8);
            play.at_ns += next() % SECOND;
            let actions = play.handle(match next() % 7 {
                0 => Input::Accepted {
                    at: PLACE,
                    connection: FIRST_ACCEPTED + 100 + round,
                    ends: ends("h:1", &peer),
                },
                1 => Input::Bytes(connection, bytes),
                2 | 3 => Input::Datagram { at: PLACE, from: peer, bytes },
                4 => Input::Closed(connection),
                5 => Input::Failed((next() % 64) as u32, 1, "gone".into()),
                _ => Input::Tick,
            });
            for number in opened(&actions) {
                play.handle(Input::Ready(number, ends("h:1", "p:2")));
            }
        }
        assert!(play.session.flows.len() <= 1024);
    }
}

/// A message of `--bounceback`.
fn message() -> Vec<u8> {
    super::bounceback::Bounce { bytes: 100, hold_us: 5000, quick: true }.message(1_795_358_218 * SECOND)
}

fn settings(plan: &Plan, job: usize) -> Vec<(String, String)> {
    let settings = plan.phases[0].jobs[job].settings.iter();
    settings.map(|setting| (setting.name.clone(), setting.value.to_string())).collect()
}

#[test]
fn a_server_sends_messages_back() {
    let mut play = Play::of("-s -e");
    play.handle(Input::Began);
    let connection = FIRST_ACCEPTED;
    let ends = ends("10.0.0.2:5001", "10.0.0.1:1000");
    play.handle(Input::Accepted { at: PLACE, connection, ends });
    let message = message();
    // What comes in pieces is one message, and is held as long as the client wants.
    let actions = play.handle(Input::Bytes(connection, message[..60].to_vec()));
    assert!(matches!(actions[..], [Action::Read { most: Some(40), .. }]), "{actions:?}");
    assert!(play.handle(Input::Bytes(connection, message[60..].to_vec())).is_empty());
    play.at_ns = 4_999_999;
    assert!(play.handle(Input::Tick).is_empty());
    play.at_ns = 5_000_000;
    let actions = play.handle(Input::Tick);
    let (to, back) = sent(&actions).unwrap();
    assert_eq!((to, back.len(), &back[..28], &back[44..]), (connection, 100, &message[..28], &message[44..]));
    assert_eq!(back[40..44], 5000_u32.to_be_bytes(), "when it went, in µs");
    let (number, plan) = run(&actions);
    let job = &plan.phases[0].jobs[0];
    let Workload::Pattern(pattern) = &job.workload else { panic!("a pattern") };
    assert_eq!(pattern.mix.shares[0].verb, Verb::Exchange);
    let expected = ["answers on", "echo 28", "hold_us 5000", "request_bytes 100", "response_bytes 100"];
    let mut found: Vec<String> =
        settings(plan, 0).iter().map(|(name, value)| format!("{name} {value}")).collect();
    found.sort();
    assert_eq!(found, expected);
    play.at_ns = 2 * SECOND;
    let whole = phase(2 * SECOND - 5_000_000, vec![worker(2 * SECOND - 5_000_000, 4000, &[])]);
    play.handle(Input::Ended(number, record(whole)));
    // Both ways count, and there is nothing more to say of them here, -e or not.
    let rows =
        "[ ID] Interval       Transfer     Bandwidth\n[  1] 0.0000-1.9950 sec  4.10 KBytes  16.8 Kbits/sec\n";
    assert!(play.printed.ends_with(rows), "{}", play.printed);
    assert!(
        play.printed.contains("port 1000 (bb w/quickack len/hold=100/5000) (sock=0)"),
        "{}",
        play.printed
    );
}

#[test]
fn a_client_of_messages_that_come_back() {
    let mut play = Play::of("-c h --bounceback -t 2");
    let connection = opened(&play.handle(Input::Began))[0];
    play.at_ns = 1_130_000;
    let actions = play.handle(Input::Ready(connection, ends("10.0.0.1:1000", "10.0.0.2:5001")));
    assert_eq!(sent(&actions), None, "each message is its own header");
    let (number, plan) = run(&actions);
    let job = &plan.phases[0].jobs[0];
    assert_eq!((job.pace.rate_all, job.pace.burst), (Rate::Operations(10.0), 10));
    assert_eq!(job.limit.time_ns, Some(2 * SECOND));
    let found = |elapsed_ns: u64, trips_us: &[u64]| {
        let mut found = phase(elapsed_ns, vec![worker(elapsed_ns, trips_us.len() as u64 * 200, &[])]);
        let mut line = iodyno_model::Line::empty("", Verb::Exchange);
        trips_us.iter().for_each(|us| line.latency.add(us * 1000));
        found.jobs[0].tally.lines = vec![line];
        found
    };
    let first = found(SECOND, &[100, 300]);
    play.handle(Input::Told(number, Box::new(Event::Interim(Box::new(first)))));
    play.at_ns = 2 * SECOND;
    play.handle(Input::Ended(number, record(found(2 * SECOND, &[100, 300, 50, 50]))));
    play.handle(Input::Closed(connection));
    assert_eq!(play.ended, Some(0));
    let expected = "\
Write buffer size:  100 Byte
Bursting:  100 Byte writes 10 times every 1.00 second(s)
Bounce-back test (size= 100 Byte) (server hold req=0 usecs & tcp_quickack)
TOS set to 0x0 and nodelay (Nagle off)
";
    assert!(play.printed.contains(expected), "{}", play.printed);
    assert!(
        play.printed.contains("(bb w/quickack len/hold=100/0) (sock=0) (ct=1.13 ms) on "),
        "{}",
        play.printed
    );
    let rows = "\
[ ID] Interval            Transfer    Bandwidth         BB cnt=avg/min/max/stdev         Rtry  Cwnd/RTT    RPS
[  1] 0.0000-1.0000 sec   400 Bytes  3.20 Kbits/sec    2=0.200/0.100/0.300/0.100 ms    0    0K/0 us    5000 rps
[  1] 1.0000-2.0000 sec   400 Bytes  3.20 Kbits/sec    2=0.050/0.050/0.050/0.000 ms    0    0K/0 us    20000 rps
[  1] 0.0000-2.0000 sec   800 Bytes  3.20 Kbits/sec    4=0.125/0.050/0.300/0.103 ms    0    0K/0 us    8000 rps
[  1] 0.0000-2.0000 sec BB8(f)-PDF: bin(w=100us):cnt(4)=1:2,2:1,4:1 (5.00/95.00/99.7%=1/4/4,obl/obu=0/0)
";
    assert!(play.printed.ends_with(rows), "{}", play.printed);
}

#[test]
fn both_ways_over_one_connection() {
    let mut play = Play::of("-c h --full-duplex -t 2 -e");
    let connection = opened(&play.handle(Input::Began))[0];
    let actions = play.handle(Input::Ready(connection, ends("10.0.0.1:1000", "10.0.0.2:5001")));
    assert_eq!(sent(&actions).unwrap().1[32..36], [8, 0, 0, 0]);
    let (number, plan) = run(&actions);
    let place = connection.to_string();
    assert_eq!(
        verb(plan, 0),
        (Verb::Send, &Limit { time_ns: Some(2 * SECOND), ..Limit::default() }, place.clone())
    );
    assert_eq!(verb(plan, 1), (Verb::Recv, &Limit::default(), place));
    assert!(settings(plan, 0).contains(&("shut".into(), "on".into())), "the server reads an end");
    let reads = [("reads_1", 3), ("reads_8", 5)];
    let whole = phase(
        2 * SECOND,
        vec![worker(2 * SECOND, (641 << 20) - 60, &[]), worker(2 * SECOND, 372 << 20, &reads)],
    );
    let actions = play.handle(Input::Ended(number, record(whole)));
    assert!(actions.iter().any(|action| matches!(action, Action::Close(number) if *number == connection)));
    assert_eq!(play.ended, Some(0));
    let rows = "\
[ ID] Interval            Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr
[  1] 0.0000-2.0000 sec   641 MBytes  2.69 Gbits/sec  0/0          0        0K/0(0) us  0
[ ID] Interval            Transfer    Bandwidth       Reads=Dist
[ *1] 0.0000-2.0000 sec   372 MBytes  1.56 Gbits/sec  8=3:0:0:0:0:0:0:5
[ ID] Interval       Transfer     Bandwidth
[FD1] 0.0000-2.0000 sec  1013 MBytes  4.25 Gbits/sec
";
    assert!(play.printed.ends_with(rows), "{}", play.printed);

    let mut play = Play::of("-s");
    play.handle(Input::Began);
    let connection = FIRST_ACCEPTED;
    play.handle(Input::Accepted { at: PLACE, connection, ends: ends("10.0.0.2:5001", "10.0.0.1:1000") });
    let test =
        TestHeader { full_duplex: true, back: None, amount: Amount::Time(2 * SECOND), ..wants(Back::Now) };
    let actions = play.handle(Input::Bytes(connection, header::tcp(&test, 0)));
    assert_eq!(sent(&actions), None, "as the original, it does not answer");
    let (number, plan) = run(&actions);
    assert_eq!((verb(plan, 0).0, verb(plan, 1).0), (Verb::Recv, Verb::Send));
    assert_eq!(verb(plan, 1).1.time_ns, Some(2 * SECOND));
    let whole = phase(
        2 * SECOND,
        vec![worker(2 * SECOND, (919 << 20) - 60, &[]), worker(2 * SECOND, 1790 << 20, &[])],
    );
    play.handle(Input::Ended(number, record(whole)));
    let rows = "\
[  1] 0.0000-2.0000 sec   919 MBytes  3.85 Gbits/sec
[ *1] 0.0000-2.0000 sec  1.75 GBytes  7.51 Gbits/sec
[ ID] Interval       Transfer     Bandwidth
[SUM] 0.0000-2.0000 sec  2.65 GBytes  11.4 Gbits/sec
";
    assert!(
        play.printed.ends_with(&rows.replace("[ ID] Interval       Transfer     Bandwidth\n", "")),
        "{}",
        play.printed
    );
}

#[test]
fn datagrams_go_both_ways_over_one_socket() {
    let mut play = Play::of("-c h -u --full-duplex -t 2 -b 1m");
    let connection = opened(&play.handle(Input::Began))[0];
    let actions = play.handle(Input::Ready(connection, ends("10.0.0.1:1000", "10.0.0.2:5001")));
    assert_eq!(sent(&actions), None, "the test's header is in its data");
    let (number, plan) = run(&actions);
    assert_eq!((verb(plan, 0).0, verb(plan, 1).0), (Verb::Send, Verb::Recv));
    assert!(settings(plan, 0).contains(&("shut".into(), "on".into())), "the server is told of the end");
    let sent_facts = [("datagrams", 173), ("blocks", 173)];
    let came_facts = [("datagrams", 173), ("highest", 173), ("jitter_ns", 5000)];
    let whole = phase(
        2 * SECOND,
        vec![worker(2 * SECOND, 173 * 1470, &sent_facts), worker(2 * SECOND, 173 * 1470, &came_facts)],
    );
    let actions = play.handle(Input::Ended(number, record(whole)));
    assert!(actions.iter().any(|action| matches!(action, Action::Close(number) if *number == connection)));
    assert_eq!(play.ended, Some(0));
    let rows = "\
[  1] local 10.0.0.1 port 1000 connected with 10.0.0.2 port 5001 (full-duplex) (no-udp-fin)
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-2.0000 sec   248 KBytes  1.02 Mbits/sec
[  1] Sent 174 datagrams
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[ *1] 0.0000-2.0000 sec   248 KBytes  1.02 Mbits/sec   0.005 ms 0/173 (0%)
[ ID] Interval       Transfer     Bandwidth    Datagrams   PPS
[SUM] 0.0000-2.0000 sec   497 KBytes  2.03 Mbits/sec 347     173 pps
[SUM-2] Sent 347 datagrams
";
    assert!(play.printed.ends_with(rows), "{}", play.printed);

    let mut play = Play::of("-s -u");
    play.handle(Input::Began);
    let from = "10.0.0.1:4000".to_string();
    let test =
        TestHeader { full_duplex: true, amount: Amount::Time(2 * SECOND), back: None, ..wants(Back::Now) };
    let mut bytes = header::udp(&test, 1, 0);
    bytes.resize(1470, b'0');
    let connection = opened(&play.handle(Input::Datagram { at: PLACE, from: from.clone(), bytes }))[0];
    let actions = play.handle(Input::Ready(connection, ends("10.0.0.2:5001", &from)));
    let (number, plan) = run(&actions);
    assert_eq!((verb(plan, 0).0, verb(plan, 1).0), (Verb::Recv, Verb::Send));
    assert_eq!(verb(plan, 1).1.time_ns, Some(2 * SECOND));
    let whole = phase(
        2 * SECOND,
        vec![worker(2 * SECOND, 172 * 1470, &came_facts), worker(2 * SECOND, 172 * 1470, &sent_facts)],
    );
    let actions = play.handle(Input::Ended(number, record(whole)));
    assert_eq!(sent(&actions), None, "nobody reports");
    let total = "[ ID] Interval       Transfer     Bandwidth    Datagrams   PPS\n[SUM] 0.0000-2.0000 sec";
    assert!(play.printed.contains(total) && play.printed.contains(" pps\n"), "{}", play.printed);
    assert_eq!(play.complained, "");
}

/// Times of a worker, by their length.
fn spread(found: &mut PhaseRecord, name: &str, times_us: &[u64]) {
    let mut times = iodyno_model::Histogram::default();
    times_us.iter().for_each(|us| times.add(us * 1000));
    found.jobs[0].workers[0].spreads.push((name.into(), times));
}

#[test]
fn a_client_of_frames() {
    let mut play = Play::of("-c h -u --isochronous=30:4m,0 -t 2 --trip-times");
    let connection = opened(&play.handle(Input::Began))[0];
    let actions = play.handle(Input::Ready(connection, ends("10.0.0.1:1000", "10.0.0.2:5001")));
    let (number, plan) = run(&actions);
    let job = &plan.phases[0].jobs[0];
    assert_eq!(job.pace.rate_all, Rate::Operations(1e6 / 33_333.0));
    let Workload::Pattern(pattern) = &job.workload else { panic!("a pattern") };
    assert_eq!(pattern.size.write, iodyno_model::Size::Fixed(16_666));
    assert!(settings(plan, 0).contains(&("bursts".into(), "76".into())));
    let facts = [("datagrams", 708), ("blocks", 59)];
    let mut whole = phase(2 * SECOND, vec![worker(2 * SECOND, 59 * 16_666, &facts)]);
    // One frame was complete two periods after it was due.
    let mut line = iodyno_model::Line::empty("", Verb::Send);
    (0..58).for_each(|_| line.latency.add(100_000));
    line.latency.add(70_000_000);
    whole.jobs[0].tally.lines = vec![line];
    play.handle(Input::Ended(number, record(whole)));
    let heading =
        "Isochronous: 30.00 frames/sec mean=4.00 Mbit/s, stddev=0.000 bit/s, Period/IPG=33.33/0.000 ms\n";
    assert!(
        play.printed.contains(heading) && play.printed.contains(" (isoch) (trip-times) "),
        "{}",
        play.printed
    );
    let rows = "\
[ ID] Interval            Transfer     Bandwidth      Write/Err  PPS  isoch:tx/miss/slip
[  1] 0.0000-2.0000 sec   960 KBytes  3.93 Mbits/sec  708/0      354 pps   59/1/1
[  1] Sent 709 datagrams
";
    assert!(play.printed.ends_with(rows), "{}", play.printed);
}

#[test]
fn a_server_of_bursts_and_their_distribution() {
    let mut play = Play::of("-s --histograms");
    play.handle(Input::Began);
    let connection = FIRST_ACCEPTED;
    play.handle(Input::Accepted { at: PLACE, connection, ends: ends("10.0.0.2:5001", "10.0.0.1:1000") });
    let test = TestHeader { trip_times: true, back: None, ..wants(Back::Now) };
    let header = header::tcp(&test, 0);
    let actions = play.handle(Input::Bytes(connection, header[..60].to_vec()));
    assert!(matches!(actions[..], [Action::Read { most: Some(20), .. }]), "{actions:?}");
    // The run sees the first burst: it begins before anything of it is read.
    let actions = play.handle(Input::Bytes(connection, header[60..].to_vec()));
    let (number, plan) = run(&actions);
    assert!(settings(plan, 0).contains(&("bursts".into(), "on".into())));
    let facts = [("bursts", 3), ("slowest_unix_us", 1_795_650_513_371_809), ("reads_8", 3)];
    let mut whole = phase(SECOND, vec![worker(SECOND, 3 << 17, &facts)]);
    spread(&mut whole, "burst", &[100, 200, 600]);
    play.handle(Input::Ended(number, record(whole)));
    let rows = "\
[ ID] Interval            Transfer    Bandwidth    Burst Latency avg/min/max/stdev (cnt/size) inP NetPwr  Reads=Dist
[  1] 0.0000-1.0000 sec   384 KBytes  3.15 Mbits/sec  0.300/0.100/0.600/0.216 ms (3/131098)  117 Byte 1311  4=1:0:0:0:0:0:0:3
[  1] 0.0000-1.0000 sec F8(f)-PDF: bin(w=100us):cnt(3)=2:1,3:1,7:1 (5.00/95.00/99.7%=2/7/7,obl/obu=0/0) (0.600 ms/1795650513.371809)
";
    assert!(play.printed.ends_with(rows), "{}", play.printed);
}

#[test]
fn a_load_beside_round_trips() {
    let mut play = Play::of("-c h --bounceback --bounceback-congest=up,2 -t 2");
    let opening = opened(&play.handle(Input::Began));
    assert_eq!(opening.len(), 3);
    let mut actions = Vec::new();
    for (index, connection) in opening.iter().enumerate() {
        let near = format!("10.0.0.1:{}", 1000 + index);
        actions = play.handle(Input::Ready(*connection, ends(&near, "10.0.0.2:5001")));
    }
    assert_eq!(sent(&actions).unwrap().1[32..36], [0x80, 0, 0, 0]);
    let plan = run(&actions).1;
    let sizes: Vec<(Verb, Option<u64>)> = plan.phases[0]
        .jobs
        .iter()
        .map(|job| match &job.workload {
            Workload::Pattern(pattern) => (pattern.mix.shares[0].verb, pattern.size.write.most_bytes()),
            _ => panic!("a pattern"),
        })
        .collect();
    assert_eq!(
        sizes,
        [(Verb::Exchange, Some(100)), (Verb::Send, Some(128 << 10)), (Verb::Send, Some(128 << 10))]
    );
    assert_eq!(play.printed.matches(" (qack)").count(), 2, "{}", play.printed);
}

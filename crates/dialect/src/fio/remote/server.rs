//! `--server`: runs the jobs that clients send, each client's by themselves, and sends the results back.
//!
//! Job files may name any file and hold shell commands, and the protocol has no password: without an address it listens on
//! this machine alone. The logs of a job go to the client; what it records of its operations (`write_iolog`) stays here, as
//! with the original.

use std::collections::BTreeMap;

use iodyno_model::conversation::{Action, Connection, Conversation, Happening, Input, RunNumber};
use iodyno_model::{Diagnostic, Event, Live, Plan, Record, VerifyLayout, WorkerState};
use iodyno_report::{FilesInMemory, Output, Reporter};

use super::frame::{Message, MessageReader, Opcode};
use super::pdu::{Packer, Unpacker};
use super::{PORT, UNKNOWN_S, states, statistics};
use crate::Loader;
use crate::address::joined;
use crate::conversation::{connection_of, end_by, run_of};
use crate::fio::command::EarlyExit;
use crate::fio::lower::{self, Context};
use crate::fio::report::eta::{ProgressCounts, counted, files, left_s, states};
use crate::fio::report::{Report, banner};
use crate::fio::view::{Format, JobView, ReportContext, ReportStyle};
use crate::fio::{cli, log, section, show};
use crate::strerror::of_system;

const PLACE: Connection = 1;
/// Clients at once.
const CLIENTS_MOST: usize = 64;
/// The text of all job files of a client, bytes.
const TEXT_MOST: usize = 16 << 20;
/// Levels of texts.
const INFO: u32 = 2;
pub(super) const ERROR: u32 = 3;
/// The unit "bytes per second" as fio numbers it.
const BYTES_PER_SECOND: u32 = 4;
/// How long a client may take to send the states that its jobs load, ns: as long as fio's.
const STATES_NS: u64 = 10_000_000_000;

/// Where a server is: the transport, and the address in the engine's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    pub transport: &'static str,
    pub address: String,
}

impl ServerAddress {
    /// What follows `--server=` or `--client=`: `HOST`, `HOST,PORT`, `,PORT`, `ip:…`, `ip4:…`, `ip6:…`, `sock:PATH`. Without a
    /// host it is this machine.
    ///
    /// # Errors
    /// A port that is none.
    pub fn of(text: &str) -> Result<ServerAddress, String> {
        if let Some(path) = text.strip_prefix("sock:") {
            return Ok(ServerAddress { transport: "unix", address: path.into() });
        }
        let kinds = [("ip6:", "tcp6"), ("ip4:", "tcp4"), ("ip:", "tcp4")];
        let kind = kinds.iter().find_map(|(name, transport)| Some((text.strip_prefix(name)?, *transport)));
        let (rest, transport) = kind.unwrap_or((text, "tcp"));
        let (host, port) = match rest.rsplit_once(',') {
            Some((host, port)) => (host, port),
            // A number alone is a port.
            None if !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()) => ("", rest),
            None => (rest, ""),
        };
        let port = match port {
            "" => PORT,
            text => {
                text.parse().ok().filter(|port| *port > 0).ok_or_else(|| format!("`{text}` is no port"))?
            }
        };
        let host = match (host, transport) {
            ("", "tcp6") => "::1",
            ("", _) => "127.0.0.1",
            (host, _) => host,
        };
        Ok(ServerAddress { transport, address: joined(host, port) })
    }
}

/// The whole of it.
pub struct Server {
    loader: Box<dyn Loader + Send>,
    address: ServerAddress,
    sessions: BTreeMap<Connection, Session>,
    next_run: RunNumber,
    /// The signal that asked for the end.
    signal: Option<i32>,
}

/// What is known when something happens.
struct Moment {
    connection: Connection,
    unix_ns: u64,
    at_ns: u64,
}

/// One client.
struct Session {
    reader: MessageReader,
    /// What it calls this server.
    name: String,
    /// Its command line.
    arguments: Vec<String>,
    /// The job files it sent.
    texts: Vec<String>,
    /// What of them was understood.
    ready: Option<(Plan, ReportContext)>,
    /// Nothing is to run: `--parse-only`, `--showcmd`.
    only_reads: bool,
    /// How many jobs and how many results the client knows of.
    announced: (usize, u32),
    /// The states that it is to send before its jobs run.
    awaited: Option<AwaitedStates>,
    run: Option<(RunNumber, ClientRun)>,
    /// What the client's trigger runs, once the jobs have ended.
    trigger: Option<String>,
    /// Everything was said.
    is_over: bool,
}

/// The states that jobs load, which lie where the client is.
struct AwaitedStates {
    /// When the client is given up, ns since the conversation began.
    due_ns: u64,
    /// None: it has come. The index is the tag of its request.
    wanted: Vec<Option<states::WantedState>>,
}

/// A client's jobs under way.
struct ClientRun {
    report: Report,
    view: ReportContext,
    plan: Plan,
    files: FilesInMemory,
    began_ns: u64,
    live: Live,
    counted: ProgressCounts,
}

impl Server {
    pub fn new(address: ServerAddress, loader: Box<dyn Loader + Send>) -> Self {
        Server { loader, address, sessions: BTreeMap::new(), next_run: 1, signal: None }
    }

    fn accepted(&mut self, connection: Connection) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.sessions.len() >= CLIENTS_MOST {
            // Who runs nothing holds no place that somebody wants.
            let idle =
                self.sessions.iter().find(|(_, session)| session.run.is_none()).map(|(number, _)| *number);
            let Some(idle) = idle else {
                let said = "fio: too many clients at once: one is turned away\n".into();
                return vec![Action::Complain(said), Action::Close(connection)];
            };
            actions.extend(self.left(idle));
        }
        let session = Session {
            reader: MessageReader::new(TEXT_MOST + (1 << 16)),
            name: String::new(),
            arguments: Vec::new(),
            texts: Vec::new(),
            ready: None,
            only_reads: false,
            announced: (0, 0),
            awaited: None,
            run: None,
            trigger: None,
            is_over: false,
        };
        self.sessions.insert(connection, session);
        actions
    }

    fn bytes(&mut self, moment: &Moment, bytes: &[u8]) -> Vec<Action> {
        let Some(session) = self.sessions.get_mut(&moment.connection) else { return Vec::new() };
        let messages = match session.reader.take(bytes) {
            Ok(messages) => messages,
            Err(wrong) => {
                let mut actions = vec![Action::Complain(format!("fio: {wrong}\n"))];
                actions.extend(self.left(moment.connection));
                return actions;
            }
        };
        let mut actions = Vec::new();
        for message in messages {
            let Some(session) = self.sessions.get_mut(&moment.connection) else { break };
            let loader = self.loader.as_mut();
            actions.extend(session.message(message, moment, &mut self.next_run, loader));
        }
        actions.extend(self.wake());
        actions
    }

    /// When a client is given up that has not sent its states.
    fn wake(&self) -> Option<Action> {
        let due = self.sessions.values().filter_map(|session| session.awaited.as_ref());
        due.map(|awaited| awaited.due_ns).min().map(Action::Wake)
    }

    fn ticked(&mut self, at_ns: u64, unix_ns: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        for (connection, session) in &mut self.sessions {
            if session.awaited.take_if(|awaited| awaited.due_ns <= at_ns).is_some() {
                let moment = Moment { connection: *connection, unix_ns, at_ns };
                actions.extend(session.refuse("fio: timed out waiting for reply\n", &moment));
            }
        }
        actions.extend(self.wake());
        actions
    }

    /// A client is gone: what it asked for ends.
    fn left(&mut self, connection: Connection) -> Vec<Action> {
        let Some(session) = self.sessions.remove(&connection) else { return Vec::new() };
        let mut actions = vec![Action::Close(connection)];
        actions.extend(session.run.map(|(run, _)| Action::Stop(run)));
        actions.extend(self.end_if_asked());
        actions
    }

    fn end_if_asked(&self) -> Option<Action> {
        let signal = self.signal.filter(|_| self.sessions.values().all(|session| session.run.is_none()))?;
        Some(end_by(signal))
    }

    fn interrupted(&mut self, signal: i32) -> Vec<Action> {
        let again = self.signal.replace(signal).is_some();
        let mut actions = vec![Action::Print(format!("\nfio: terminating on signal {signal}\n"))];
        let running = self.sessions.values().filter_map(|session| session.run.as_ref());
        actions.extend(running.map(|(run, _)| Action::Stop(*run)));
        actions.extend(self.end_if_asked().or_else(|| again.then(|| end_by(signal))));
        actions
    }

    fn of_its_run(&mut self, run: RunNumber, at_ns: u64, unix_ns: u64, input: Input) -> Vec<Action> {
        let signal = self.signal;
        let mine = |session: &Session| session.run.as_ref().is_some_and(|(number, _)| *number == run);
        let Some((connection, session)) = self.sessions.iter_mut().find(|(_, session)| mine(session)) else {
            return self.end_if_asked().into_iter().collect();
        };
        let moment = Moment { connection: *connection, unix_ns, at_ns };
        let mut actions = match input {
            Input::Told(_, event) => session.told(&event, &moment),
            Input::Ended(_, record) => session.ended(&record, signal, &moment, self.loader.as_mut()),
            _ => Vec::new(),
        };
        actions.extend(self.end_if_asked());
        actions
    }
}

impl Conversation for Server {
    fn step(&mut self, Happening { at_ns, unix_ns, input }: Happening) -> Vec<Action> {
        if let Some(run) = run_of(&input) {
            return self.of_its_run(run, at_ns, unix_ns, input);
        }
        match input {
            Input::Began => {
                let ServerAddress { transport, address } = self.address.clone();
                let transport = transport.into();
                vec![Action::Listen { place: PLACE, transport, address, socket_options: Vec::new() }]
            }
            Input::Ready(PLACE, ends) => {
                let address = if ends.local.is_empty() { &self.address.address } else { &ends.local };
                vec![Action::Print(format!("fio: server listening on {}\n", address.replacen("]:", "],", 1)))]
            }
            Input::Failed(PLACE, errno, why) => {
                let address = &self.address.address;
                let reason = if errno > 0 { format!(": {}", of_system(errno)) } else { String::new() };
                vec![Action::Complain(format!("fio: {why} {address}{reason}\n")), Action::End(1)]
            }
            Input::Accepted { connection, .. } => self.accepted(connection),
            Input::Bytes(connection, bytes) => self.bytes(&Moment { connection, unix_ns, at_ns }, &bytes),
            Input::Closed(_) | Input::Failed(..) => {
                connection_of(&input).map(|connection| self.left(connection)).unwrap_or_default()
            }
            Input::Interrupted(signal) => self.interrupted(signal),
            Input::Tick => self.ticked(at_ns, unix_ns),
            _ => Vec::new(),
        }
    }
}

impl Moment {
    fn send(&self, message: &Message) -> Action {
        Action::Send(self.connection, message.frames())
    }

    /// A text, as one of our lines.
    fn text(&self, level: u32, text: &str) -> Vec<Action> {
        let pack = |line: &str| {
            let (s, us) = (self.unix_ns / 1_000_000_000, self.unix_ns / 1000 % 1_000_000);
            let mut packer = Packer::default();
            packer.u32(level).u32(line.len() as u32).u64(s).u64(us).0.extend_from_slice(line.as_bytes());
            self.send(&Message::new(Opcode::Text, packer.done()))
        };
        text.split_inclusive('\n').map(pack).collect()
    }

    /// The last words: how it ended.
    fn end(&self, error: u32, signal: u32) -> Vec<Action> {
        let stop = Packer::default().u32(error).u32(signal).done();
        vec![
            self.send(&Message::new(Opcode::Stop, stop)),
            self.send(&Message::new(Opcode::Quit, Vec::new())),
            Action::Shut(self.connection),
        ]
    }
}

impl Session {
    fn message(
        &mut self,
        message: Message,
        moment: &Moment,
        next_run: &mut RunNumber,
        loader: &mut dyn Loader,
    ) -> Vec<Action> {
        match message.opcode {
            Opcode::Probe => {
                let mut unpacker = Unpacker::new(&message.content);
                let _ = unpacker.u64();
                self.name = unpacker.text(128);
                vec![moment.send(&probe(&message, loader))]
            }
            Opcode::JobLine => {
                self.arguments = command_line(&message.content);
                self.understand(moment, loader)
            }
            Opcode::Job => self.job_file(&message.content, moment, loader),
            Opcode::LoadFile => self.own_file(&message.content, moment, loader),
            Opcode::Run if self.is_over || self.run.is_some() || self.awaited.is_some() => Vec::new(),
            Opcode::Run if self.only_reads => {
                self.is_over = true;
                moment.end(0, 0)
            }
            Opcode::Run => self.ask_for_states(moment, next_run),
            Opcode::SendFile => self.take_state(&message, moment, next_run),
            Opcode::SendEta => {
                let content =
                    self.run.as_mut().map_or_else(nothing_yet, |(_, running)| running.eta(moment.at_ns));
                vec![moment.send(&Message { opcode: Opcode::Eta, tag: message.tag, content })]
            }
            Opcode::Trigger => self.pull(&message.content),
            Opcode::Quit | Opcode::Exit => match &self.run {
                Some((run, _)) => vec![Action::Stop(*run)],
                None => {
                    self.awaited = None;
                    vec![Action::Shut(moment.connection)]
                }
            },
            other => moment.text(ERROR, &format!("fio: the server does not do {other:?}\n")),
        }
    }

    /// The client's trigger has fired: the jobs end, and their states go to the client before the command runs.
    fn pull(&mut self, content: &[u8]) -> Vec<Action> {
        let mut unpacker = Unpacker::new(content);
        let length = unpacker.u16();
        let command = unpacker.text(usize::from(length) + 1);
        match &self.run {
            Some((run, _)) => {
                self.trigger = Some(command);
                vec![Action::Stop(*run)]
            }
            None => commanded(command).into_iter().collect(),
        }
    }

    fn refuse(&mut self, text: &str, moment: &Moment) -> Vec<Action> {
        self.is_over = true;
        let mut actions = moment.text(ERROR, text);
        actions.extend(moment.end(1, 0));
        actions
    }

    fn job_file(&mut self, content: &[u8], moment: &Moment, loader: &mut dyn Loader) -> Vec<Action> {
        let mut unpacker = Unpacker::new(content);
        let (_, _) = (unpacker.u32(), unpacker.u32());
        // What follows the text is whatever lay in the client's memory.
        let text = unpacker.text(usize::MAX / 2);
        let length: usize = self.texts.iter().map(String::len).sum();
        if length + text.len() > TEXT_MOST {
            return self.refuse("fio: the job files are too long\n", moment);
        }
        self.texts.push(text);
        self.understand(moment, loader)
    }

    /// `--remote-config`: a job file that lies here.
    fn own_file(&mut self, content: &[u8], moment: &Moment, loader: &mut dyn Loader) -> Vec<Action> {
        let mut unpacker = Unpacker::new(content);
        let _ = (unpacker.u16(), unpacker.u16());
        let path = unpacker.text(usize::MAX / 2);
        match loader.read(&path) {
            Ok(bytes) => {
                self.texts.push(String::from_utf8_lossy(&bytes).into_owned());
                self.understand(moment, loader)
            }
            Err(why) => self.refuse(&format!("fio: unable to open '{path}' job file: {why}\n"), moment),
        }
    }

    /// Lowers what was sent so far, and tells the client of the jobs that are new.
    fn understand(&mut self, moment: &Moment, loader: &mut dyn Loader) -> Vec<Action> {
        if self.is_over || self.run.is_some() {
            return Vec::new();
        }
        let (plan, view) = match lowered(&self.arguments, &self.texts, loader) {
            Ok(Understood::Jobs(jobs)) => *jobs,
            Ok(Understood::Text(text)) => {
                self.only_reads = true;
                let mut actions = moment.text(INFO, &text);
                let none = Packer::default().u32(0).u32(0).done();
                actions.push(moment.send(&Message::new(Opcode::Start, none)));
                return actions;
            }
            Err(text) => return self.refuse(&text, moment),
        };
        let (jobs, results) = self.announced;
        let fresh = ReportContext { jobs: view.jobs[jobs.min(view.jobs.len())..].to_vec(), ..view.clone() };
        let mut actions = moment.text(ERROR, &banner::warnings(&fresh));
        actions.extend(moment.text(INFO, &banner::jobs(&fresh)));
        let workers = view.jobs.iter().map(|job| job.clones).sum();
        let reported = Report::new(view.clone()).summary().jobs.len() as u32;
        let start = Packer::default().u32(workers).u32(reported.saturating_sub(results)).done();
        actions.push(moment.send(&Message::new(Opcode::Start, start)));
        self.announced = (view.jobs.len(), reported);
        self.ready = Some((plan, view));
        actions
    }

    /// Asks for the states that the jobs load, and starts where there are none.
    fn ask_for_states(&mut self, moment: &Moment, next_run: &mut RunNumber) -> Vec<Action> {
        let wanted =
            self.ready.as_ref().map(|(plan, _)| states::wanted(plan, &self.name)).unwrap_or_default();
        if wanted.is_empty() {
            return self.start(moment, next_run);
        }
        let ask = |(state, tag): (&states::WantedState, u64)| moment.send(&state.request(tag));
        let actions = wanted.iter().zip(0..).map(ask).collect();
        let wanted = wanted.into_iter().map(Some).collect();
        self.awaited = Some(AwaitedStates { due_ns: moment.at_ns + STATES_NS, wanted });
        actions
    }

    /// A state has come, or why it has not. The jobs start after the last of them.
    fn take_state(&mut self, message: &Message, moment: &Moment, next_run: &mut RunNumber) -> Vec<Action> {
        let Some(awaited) = &mut self.awaited else { return Vec::new() };
        let of_tag = usize::try_from(message.tag).ok().and_then(|tag| awaited.wanted.get_mut(tag));
        let Some(state) = of_tag.and_then(Option::take) else { return Vec::new() };
        let is_last = awaited.wanted.iter().all(Option::is_none);
        match (states::answered(&message.content), &mut self.ready) {
            (Ok(bytes), Some((plan, _))) => state.give(plan, bytes),
            (Err(errno), _) => {
                self.awaited = None;
                let reason = of_system(errno.try_into().unwrap_or_default());
                let said = format!("fio: failure on receiving state file {}: {reason}\n", state.name);
                return self.refuse(&said, moment);
            }
            (Ok(_), None) => {}
        }
        if !is_last {
            return Vec::new();
        }
        self.awaited = None;
        self.start(moment, next_run)
    }

    fn start(&mut self, moment: &Moment, next_run: &mut RunNumber) -> Vec<Action> {
        let ready = self.ready.take().filter(|(plan, _)| !plan.phases.is_empty());
        let Some((plan, view)) = ready else { return self.refuse("fio: no jobs were sent\n", moment) };
        let mut actions = moment.text(INFO, &banner::start(&view));
        let report = Report::new(view.clone());
        let run = *next_run;
        *next_run += 1;
        actions.push(Action::Run { run, plan: Box::new(plan.clone()), interim_ns: 0 });
        let running = ClientRun {
            report,
            view,
            plan,
            files: FilesInMemory::default(),
            began_ns: moment.at_ns,
            live: Live::default(),
            counted: ProgressCounts::default(),
        };
        self.run = Some((run, running));
        actions
    }

    fn told(&mut self, event: &Event, moment: &Moment) -> Vec<Action> {
        let Some((_, running)) = &mut self.run else { return Vec::new() };
        if let Event::Live(live) = event {
            running.live = (**live).clone();
            return Vec::new();
        }
        let (out, err) = running.heard(event);
        let mut actions = moment.text(ERROR, &err);
        match event {
            // The banner was sent before.
            Event::Started(_) => {}
            Event::PhaseStarted { index, .. } => {
                let here = running.view.jobs.iter().filter(|job| job.phase == *index);
                let workers: u32 = here.map(|job| job.clones).sum();
                let started = Message::new(Opcode::ServerStart, Vec::new());
                actions.extend((0..workers).map(|_| moment.send(&started)));
            }
            _ => actions.extend(moment.text(INFO, &out)),
        }
        actions
    }

    fn ended(
        &mut self,
        record: &Record,
        signal: Option<i32>,
        moment: &Moment,
        loader: &mut dyn Loader,
    ) -> Vec<Action> {
        let Some((_, mut running)) = self.run.take() else { return Vec::new() };
        self.is_over = true;
        if record.phases.is_empty() {
            let text: String = record
                .errors
                .iter()
                .map(|wrong| section::problem_text(std::slice::from_ref(wrong)))
                .collect();
            return self.refuse(&text, moment);
        }
        running.report.take_phases(record);
        let mut actions = running.recordings();
        if let Some(command) = self.trigger.take() {
            actions.push(moment.send(&states::reply(&running.plan, loader)));
            actions.extend(commanded(command));
        }
        actions.extend(running.results().iter().map(|message| moment.send(message)));
        actions.extend(moment.text(INFO, "\n"));
        let failed = crate::fio::status_of(&running.plan)(record) & !crate::fio::SIGNALLED;
        actions.extend(moment.end(failed.into(), signal.unwrap_or(0) as u32));
        actions
    }
}

impl ClientRun {
    /// What our report says of an event, on both streams.
    fn heard(&mut self, event: &Event) -> (String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut output = Output { out: &mut out, err: &mut err, files: &mut self.files };
        // Into memory nothing fails.
        let _ = self.report.event(event, &mut output);
        [out, err].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).into()
    }

    /// Logs, then each job with its options, each group, each disk.
    fn results(&self) -> Vec<Message> {
        let summary = self.report.summary();
        let mut messages = self.logs();
        let groups: Vec<Vec<u8>> =
            summary.groups.iter().zip(0..).map(|(group, number)| statistics::group(group, number)).collect();
        let of_group = |number: u32| groups.get(number as usize).map_or(&[][..], Vec::as_slice);
        for (index, (job, number)) in summary.jobs.iter().zip(1..).enumerate() {
            if index == 0 {
                messages.extend(self.view.global.iter().map(|option| job_option(option, true, 0)));
            }
            let options = job.view.options.iter();
            messages.extend(options.map(|option| job_option(option, false, index as u32)));
            let steady = self.report.steady(job);
            let content = statistics::job(job, number, of_group(job.view.group), steady.as_ref());
            messages.push(Message::new(Opcode::ThreadStatistics, content));
        }
        messages.extend(groups.into_iter().map(|group| Message::new(Opcode::GroupStatistics, group)));
        let disks = summary.disks.iter();
        messages.extend(disks.map(|disk| Message::new(Opcode::Disk, statistics::disk(disk))));
        messages
    }

    fn logs(&self) -> Vec<Message> {
        let logs = self.files.0.iter().filter(|(path, _)| !self.is_recording(path));
        logs.filter_map(|(path, bytes)| log_of(path, bytes)).collect()
    }

    /// What stays on this machine: the records of operations, where the jobs name them.
    fn recordings(&self) -> Vec<Action> {
        let recordings = self.files.0.iter().filter(|(path, _)| self.is_recording(path));
        recordings.map(|(path, bytes)| Action::Write { path: path.clone(), bytes: bytes.clone() }).collect()
    }

    fn is_recording(&self, path: &str) -> bool {
        self.view.jobs.iter().any(|job| job.logs.iolog.as_deref() == Some(path))
    }

    /// How far it is.
    fn eta(&mut self, at_ns: u64) -> Vec<u8> {
        let (view, live) = (&self.view, &self.live);
        let elapsed_ns = at_ns.saturating_sub(self.began_ns);
        let now = counted(live, elapsed_ns);
        let passed_ns = elapsed_ns.saturating_sub(self.counted.at_ns).max(1);
        let rates = |now: [u64; 3], before: [u64; 3], unit: u128| {
            [0, 1, 2].map(|index| {
                let more = u128::from(now[index].saturating_sub(before[index]));
                (more * 1_000_000_000 / u128::from(passed_ns) / unit) as u64
            })
        };
        let kib = rates(now.bytes, self.counted.bytes, 1024);
        let operations = rates(now.operations, self.counted.operations, 1);
        self.counted = now;
        let of_state = |wanted: fn(WorkerState) -> bool| -> u32 {
            let states = live.jobs.iter().flat_map(|job| &job.states);
            states.filter(|(state, _)| wanted(*state)).map(|(_, count)| count).sum()
        };
        let running: u32 = live.jobs.iter().map(|job| job.running).sum();
        let all: u32 = view.jobs.iter().map(|job| job.clones).sum();
        let here = || view.jobs.iter().filter(|job| job.phase == live.phase);
        let aims = |rate: fn(&(u64, u64)) -> u64| {
            let of = |job: &JobView| {
                [&job.rate.read, &job.rate.write, &job.rate.trim]
                    .map(rate)
                    .map(|rate| rate * u64::from(job.clones))
            };
            here()
                .map(of)
                .fold([0; 3], |sum: [u64; 3], one| [sum[0] + one[0], sum[1] + one[1], sum[2] + one[2]])
        };
        let mut packer = Packer::default();
        packer.u32(running).u32(of_state(|state| state == WorkerState::Ramping));
        packer.u32(all.saturating_sub(running)).u32(of_state(|state| state == WorkerState::Starting));
        packer.zeros(3 * 8).u64s(aims(|rate| rate.0)).u64s(kib);
        packer.zeros(3 * 4);
        for rate in aims(|rate| rate.1).into_iter().chain(operations) {
            packer.u32(rate as u32);
        }
        packer.u32(0).u64(elapsed_ns.div_ceil(1_000_000_000)).u64(left_s(live, view).unwrap_or(UNKNOWN_S));
        let figures = view.jobs.first().map(|job| &job.figures);
        let digits = figures.map_or(4, |figures| figures.significant_figures);
        packer
            .u32(figures.is_none_or(|figures| figures.kb_base == 1024).into())
            .u32(BYTES_PER_SECOND)
            .u32(digits);
        packer.u32(files(live, &self.plan)).u32(all).u32(0);
        let states = states(live, view);
        packer.text(&states, states.len() + 1).done()
    }
}

/// An answer where nothing runs.
fn nothing_yet() -> Vec<u8> {
    Packer::default().zeros(136).u64(UNKNOWN_S).u32(1).u32(BYTES_PER_SECOND).u32(4).zeros(13).done()
}

fn probe(asked: &Message, loader: &dyn Loader) -> Message {
    let machine = loader.machine();
    let architecture = match () {
        () if cfg!(target_arch = "x86_64") => 1,
        () if cfg!(target_arch = "aarch64") => 10,
        () => 11,
    };
    let mut packer = Packer::default();
    packer.text(&machine.host, 64).0.push(u8::from(cfg!(target_endian = "big")));
    packer.text(crate::fio::VERSION, 32).0.extend([1, architecture, (usize::BITS / 8) as u8]);
    // Logs are compressed.
    packer.u32(machine.cpus).u64(1);
    Message { opcode: Opcode::Probe, tag: asked.tag, content: packer.done() }
}

/// The words behind the program's name.
fn command_line(content: &[u8]) -> Vec<String> {
    let mut unpacker = Unpacker::new(content);
    let (count, _) = (unpacker.u16(), unpacker.u16());
    let words = (0..count).map(|_| {
        let length = unpacker.u16();
        unpacker.text(length.into())
    });
    words.skip(1).collect()
}

/// What a command line and job files ask for.
enum Understood {
    Jobs(Box<(Plan, ReportContext)>),
    /// What is printed instead of a run.
    Text(String),
}

fn lowered(arguments: &[String], texts: &[String], loader: &mut dyn Loader) -> Result<Understood, String> {
    let told = |problems: Vec<Diagnostic>| section::problem_text(&problems);
    let parsed = cli::parse_with(arguments, texts, loader).map_err(told)?;
    match &parsed.command.instead {
        Some(EarlyExit::ParseOnly(text)) => return Ok(Understood::Text(text.clone())),
        // The file that came last; the command line's own jobs are not shown, as with fio.
        Some(EarlyExit::Commands(files)) => {
            let last = files.last().filter(|_| !texts.is_empty());
            return Ok(Understood::Text(
                last.map_or_else(String::new, |file| show::commands(std::slice::from_ref(file))),
            ));
        }
        _ => {}
    }
    if parsed.jobs.is_empty() {
        return Ok(Understood::Jobs(Box::default()));
    }
    let context = Context {
        name: parsed.name,
        style: ReportStyle {
            formats: vec![Format::Normal],
            debug: parsed.command.style.debug,
            ..ReportStyle::default()
        },
        global: parsed.global,
        readonly: parsed.command.readonly,
        ranks: 1,
    };
    let mut lowered = lower::plan(&parsed.jobs, context, loader).map_err(told)?;
    // As they go over the wire.
    lowered.view.jobs.iter_mut().for_each(|job| job.logs.compressed = true);
    let jobs = lowered.plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs);
    // A client of this protocol reads the states of its version.
    jobs.filter_map(|job| job.payload.verify.as_mut())
        .for_each(|verify| verify.layout = VerifyLayout::Unversioned);
    Ok(Understood::Jobs(Box::new((lowered.plan, lowered.view))))
}

fn job_option((name, value): &(String, String), is_global: bool, job: u32) -> Message {
    let mut packer = Packer::default();
    packer.u16(is_global.into()).u16(u16::from(value.len() > 127)).u32(job);
    Message::new(Opcode::JobOption, packer.text(name, 64).text(value, 128).done())
}

/// The class of a log of histograms.
pub(super) const HISTOGRAMS: u32 = 6;

/// A command that a client asked for, unless it asked for none.
fn commanded(command: String) -> Option<Action> {
    (!command.is_empty()).then_some(Action::Command(command))
}

/// A log: how many samples, whose, of what, and the samples as one compressed stream.
fn log_of(path: &str, bytes: &[u8]) -> Option<Message> {
    let name = path.strip_suffix(".fz").unwrap_or(path);
    let stem = name.strip_suffix(".log")?;
    let (stem, number) = match stem.rsplit_once('.') {
        Some((stem, number)) if number.parse::<u32>().is_ok() => (stem, number.parse().unwrap_or(1)),
        _ => (stem, 1),
    };
    let class = match stem.rsplit('_').next() {
        Some("bw") => 4,
        Some("iops") => 5,
        Some("hist") => HISTOGRAMS,
        _ => 1,
    };
    let (count, coarseness, samples) = match class {
        HISTOGRAMS => {
            let (count, coarseness, rows) = log::distribution::packed(&String::from_utf8_lossy(bytes));
            (count, coarseness, log::packed(&rows))
        }
        _ => log::samples_in(bytes).map(|(count, samples)| (count, 0, samples)).ok()?,
    };
    let mut packer = Packer::default();
    packer
        .u64(count)
        .u32(number)
        .u32(class)
        .u32(1)
        .zeros(8)
        .u32(coarseness)
        .text(name, 256)
        .0
        .extend(samples);
    Some(Message::new(Opcode::Log, packer.done()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::testing::Shelf;
    use iodyno_model::conversation::{Ends, FIRST_ACCEPTED};

    const CLIENT: Connection = FIRST_ACCEPTED;

    /// A server with one client.
    fn server() -> Server {
        let mut server = Server::new(ServerAddress::of("").unwrap(), Box::new(Shelf::of(&[])));
        server.step(happening(Input::Accepted { at: PLACE, connection: CLIENT, ends: Ends::default() }));
        server
    }

    fn happening(input: Input) -> Happening {
        Happening { at_ns: 0, unix_ns: 0, input }
    }

    fn job_file(text: &str) -> Message {
        let mut packer = Packer::default();
        packer.u32(text.len() as u32 + 1).u32(1).text(text, text.len() + 1);
        // As fio's client does it.
        packer.0.extend_from_slice(b"whatever lay there");
        Message::new(Opcode::Job, packer.done())
    }

    /// What comes of messages: those that are sent back, and what is done besides.
    fn answered(server: &mut Server, messages: &[Message]) -> (Vec<Message>, Vec<Action>) {
        let bytes = messages.iter().flat_map(Message::frames).collect();
        let actions = server.step(happening(Input::Bytes(CLIENT, bytes)));
        let (mut reader, mut sent, mut others) = (MessageReader::new(1 << 24), Vec::new(), Vec::new());
        for action in actions {
            match action {
                Action::Send(CLIENT, bytes) => sent.extend(reader.take(&bytes).unwrap()),
                other => others.push(other),
            }
        }
        (sent, others)
    }

    fn texts(messages: &[Message]) -> String {
        let texts = messages.iter().filter(|message| message.opcode == Opcode::Text);
        texts.map(|message| String::from_utf8_lossy(&message.content[24..]).into_owned()).collect()
    }

    #[test]
    fn jobs_are_told_when_they_come_and_run_when_they_shall() {
        let mut server = server();
        let job = "[a]\nioengine=null\nsize=4k\nnumjobs=3\ngroup_reporting\n";
        let (sent, others) = answered(&mut server, &[job_file(job)]);
        assert!(texts(&sent).starts_with("a: (g=0): rw=read, bs=(R) 4096B-4096B"), "{sent:?}");
        let start = sent.last().unwrap();
        // Three workers, one result.
        assert_eq!((start.opcode, &start.content[..]), (Opcode::Start, &[3, 0, 0, 0, 1, 0, 0, 0][..]));
        assert!(others.is_empty());
        let (sent, others) = answered(&mut server, &[Message::new(Opcode::Run, Vec::new())]);
        assert_eq!(texts(&sent), "Starting 3 processes\n");
        assert!(matches!(&others[..], [Action::Run { run: 1, .. }]));
        let (sent, _) =
            answered(&mut server, &[Message { opcode: Opcode::SendEta, tag: 99, content: Vec::new() }]);
        assert_eq!((sent[0].opcode, sent[0].tag), (Opcode::Eta, 99));
        let (_, others) = answered(&mut server, &[Message::new(Opcode::Quit, Vec::new())]);
        assert!(matches!(others[..], [Action::Stop(1)]));
        // A client that goes away takes its jobs with it.
        let gone = server.step(happening(Input::Closed(CLIENT)));
        assert!(matches!(gone[..], [Action::Close(CLIENT), Action::Stop(1)]));
    }

    #[test]
    fn a_wrong_job_is_told_and_is_the_end() {
        for (job, word) in
            [("[a]\nrw=raed\n", "raed"), ("[a]\nsize=4k\nioengine=null\nzonemode=zbd\n", "zonemode")]
        {
            let (sent, others) =
                answered(&mut server(), &[job_file(job), Message::new(Opcode::Run, Vec::new())]);
            assert!(texts(&sent).contains(word), "{sent:?}");
            let [.., stop, quit] = &sent[..] else { panic!("{sent:?}") };
            assert_eq!((stop.opcode, stop.content[0], quit.opcode), (Opcode::Stop, 1, Opcode::Quit));
            assert!(matches!(others[..], [Action::Shut(CLIENT)]));
        }
        let (sent, _) = answered(&mut server(), &[Message::new(Opcode::Run, Vec::new())]);
        assert_eq!(texts(&sent), "fio: no jobs were sent\n");
    }

    /// The jobs end first, then their states go out, and only then the command runs: it may cut the power.
    #[test]
    fn a_trigger_ends_the_jobs_and_runs_its_command_after_their_states_are_sent() {
        let mut server = server();
        let trigger = Message::new(Opcode::Trigger, Packer::default().u16(4).text("halt", 4 + 1).done());
        let (_, others) = answered(&mut server, std::slice::from_ref(&trigger));
        assert!(
            matches!(&others[..], [Action::Command(command)] if command == "halt"),
            "without jobs at once"
        );
        let job = "[a]\nioengine=null\nsize=4k\n";
        answered(&mut server, &[job_file(job), Message::new(Opcode::Run, Vec::new())]);
        let (_, others) = answered(&mut server, &[trigger]);
        assert!(matches!(others[..], [Action::Stop(1)]));
        let record = Record { phases: vec![iodyno_model::PhaseRecord::default()], ..Record::default() };
        let actions = server.step(happening(Input::Ended(1, Box::new(record))));
        let [Action::Send(CLIENT, states), Action::Command(command), ..] = &actions[..] else {
            panic!("{actions:?}")
        };
        let states = MessageReader::new(1 << 16).take(states).unwrap();
        assert_eq!((states[0].opcode, &states[0].content[..]), (Opcode::Trigger, &[0; 8][..]));
        assert_eq!(command, "halt");
    }

    #[test]
    fn what_speaks_otherwise_is_left() {
        let said =
            server().step(happening(Input::Bytes(CLIENT, b"GET / HTTP/1.1\r\nHost: localhost\r\n".to_vec())));
        let [Action::Complain(text), Action::Close(CLIENT)] = &said[..] else { panic!("{said:?}") };
        assert!(text.starts_with("fio: bad server cmd version "), "{text}");
        // Who has a place and does nothing gives way.
        let mut server = server();
        for number in 1..=CLIENTS_MOST as u32 {
            let input = Input::Accepted { at: PLACE, connection: CLIENT + number, ends: Ends::default() };
            let done = server.step(happening(input));
            assert_eq!(done.len(), usize::from(number == CLIENTS_MOST as u32));
        }
    }

    #[test]
    fn addresses_without_a_host_are_this_machine() {
        let of = |text: &str| {
            let found = ServerAddress::of(text).unwrap();
            format!("{} {}", found.transport, found.address)
        };
        assert_eq!(of(""), "tcp 127.0.0.1:8765");
        assert_eq!(of(",4444"), "tcp 127.0.0.1:4444");
        assert_eq!(of("4444"), "tcp 127.0.0.1:4444");
        assert_eq!(of("h1"), "tcp h1:8765");
        assert_eq!(of("ip:0.0.0.0,9"), "tcp4 0.0.0.0:9");
        assert_eq!(of("ip6:::1,9"), "tcp6 [::1]:9");
        assert_eq!(of("ip6:"), "tcp6 [::1]:8765");
        assert_eq!(of("sock:/tmp/x"), "unix /tmp/x");
        assert_eq!(ServerAddress::of("h,x").unwrap_err(), "`x` is no port");
        assert_eq!(ServerAddress::of("h,0").unwrap_err(), "`0` is no port");
    }
}

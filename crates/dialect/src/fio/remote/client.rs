//! `--client` where a server listens: sends it the command line and the job files, and reports what comes back.
//!
//! Every server is sent its jobs once all of them have answered, so that they start together. What a server says is printed
//! under its name; the statistics are reported at the end, each server's and the sum.

use std::collections::BTreeMap;

use iodyno_model::Record;
use iodyno_model::conversation::{Action, Connection, Conversation, Happening, Input};

use super::UNKNOWN_S;
use super::frame::{Message, MessageReader, Opcode};
use super::pdu::{Packer, Unpacker};
use super::server::{HISTOGRAMS, ServerAddress};
use super::states;
use super::statistics::{self, ReceivedGroup, ReceivedJob};
use crate::conversation::{connection_of, end_by};
use crate::fio::log;
use crate::fio::report::clients::{HostReport, report};
use crate::fio::report::disks::Disk;
use crate::fio::report::normal::ReportTime;
use crate::fio::report::summary::{ReportedJob, Summary};
use crate::fio::view::{Eta, Format, ReportContext, ReportStyle};
use crate::strerror::of_system;
use crate::{Loader, Trigger};

/// A server, and what it is to run.
#[derive(Clone, Debug)]
pub struct ServerJobs {
    /// As the user named it.
    pub host: String,
    pub address: ServerAddress,
    /// The texts of its job files.
    pub texts: Vec<String>,
    /// Job files that lie there.
    pub remote_files: Vec<String>,
}

/// The whole of it.
pub struct Client {
    style: ReportStyle,
    /// `--output`: what was in it is lost.
    output: Option<String>,
    /// The command line without what only concerns the client.
    arguments: Vec<String>,
    servers: BTreeMap<Connection, Remote>,
    /// Whether the jobs were sent.
    started: bool,
    /// Whether they were told to run.
    has_run: bool,
    interrupted: bool,
    status: u8,
    width: usize,
    trigger: Option<RemoteTrigger>,
    /// Reads the states that servers ask for, and looks for the file of the trigger.
    loader: Option<Box<dyn Loader + Send>>,
    /// When the live line is due.
    progress_at_ns: u64,
}

/// What ends the jobs of all servers, once a file is there on this machine or a time is up.
pub struct RemoteTrigger {
    pub when: Trigger,
    /// What the servers run then.
    pub command: String,
}

/// One server.
struct Remote {
    jobs: ServerJobs,
    reader: MessageReader,
    /// The machine's own name, once it has answered.
    name: Option<String>,
    global: Vec<(String, String)>,
    /// Options of the job whose statistics come next.
    options: Vec<(String, String)>,
    received: Vec<ReceivedJob>,
    groups: Vec<ReceivedGroup>,
    disks: Vec<Disk>,
    eta: Option<Progress>,
    /// Whether it has said how its jobs ended.
    has_stopped: bool,
    /// Whether the last of its texts did not end its line.
    is_mid_line: bool,
    /// How many times it has still to say that it understood something it was sent.
    awaited: usize,
    is_over: bool,
}

/// How far a server is.
#[derive(Clone, Debug, Default)]
struct Progress {
    running: u32,
    files: u32,
    /// KiB per second, and operations per second.
    kib: [u64; 3],
    operations: [u64; 3],
    elapsed_s: u64,
    left_s: u64,
    states: String,
}

const FIRST: Connection = 1;
/// The longest message of a server, bytes: a log may be long.
const MESSAGE_MOST: usize = 256 << 20;
/// How often the file of a trigger is looked for, ns.
const TRIGGER_NS: u64 = 100_000_000;
/// How long a server may take to answer at first, ns.
const CONNECT_NS: u64 = 10_000_000_000;

impl Client {
    pub fn new(
        style: ReportStyle,
        output: Option<String>,
        arguments: Vec<String>,
        servers: Vec<ServerJobs>,
    ) -> Self {
        let remote = |jobs| Remote {
            jobs,
            reader: MessageReader::new(MESSAGE_MOST),
            name: None,
            global: Vec::new(),
            options: Vec::new(),
            received: Vec::new(),
            groups: Vec::new(),
            disks: Vec::new(),
            eta: None,
            has_stopped: false,
            is_mid_line: false,
            awaited: 0,
            is_over: false,
        };
        let servers = (FIRST..).zip(servers.into_iter().map(remote)).collect();
        Client {
            style,
            output,
            arguments,
            servers,
            started: false,
            has_run: false,
            interrupted: false,
            status: 0,
            width: 0,
            trigger: None,
            loader: None,
            progress_at_ns: 0,
        }
    }

    pub fn with_trigger(self, trigger: Option<RemoteTrigger>) -> Self {
        Client { trigger, ..self }
    }

    pub fn with_files(self, loader: Option<Box<dyn Loader + Send>>) -> Self {
        Client { loader, ..self }
    }

    fn connect(&self) -> Vec<Action> {
        let connect = |(number, remote): (&Connection, &Remote)| Action::Connect {
            connection: *number,
            transport: remote.jobs.address.transport.into(),
            address: remote.jobs.address.address.clone(),
            socket_options: Vec::new(),
            timeout_ns: CONNECT_NS,
        };
        let emptied = self.output.iter().map(|path| Action::Write { path: path.clone(), bytes: Vec::new() });
        emptied.chain(self.servers.iter().map(connect)).collect()
    }

    /// Introduces itself, and sends the command line.
    fn greet(&mut self, number: Connection) -> Vec<Action> {
        let Some(remote) = self.servers.get_mut(&number) else { return Vec::new() };
        let probe = Packer::default().u64(1).text(&remote.jobs.host, 128).done();
        let mut messages = vec![Message { opcode: Opcode::Probe, tag: number.into(), content: probe }];
        if !self.arguments.is_empty() {
            let mut packer = Packer::default();
            packer.u16(self.arguments.len() as u16 + 1).u16(1);
            for word in std::iter::once("fio").chain(self.arguments.iter().map(String::as_str)) {
                packer.u16(word.len() as u16 + 1).text(word, word.len() + 1);
            }
            messages.push(Message::new(Opcode::JobLine, packer.done()));
            remote.awaited += 1;
        }
        messages.iter().map(|message| Action::Send(number, message.frames())).collect()
    }

    /// Sends everybody the jobs, once everybody has answered.
    fn start(&mut self, now_ns: u64) -> Vec<Action> {
        if self.started || self.servers.values().any(|remote| remote.name.is_none() && !remote.is_over) {
            return Vec::new();
        }
        self.started = true;
        let mut actions = Vec::new();
        for (number, remote) in self.servers.iter_mut().filter(|(_, remote)| !remote.is_over) {
            let (sent, lying_there) = (remote.jobs.texts.len(), remote.jobs.remote_files.len());
            remote.awaited += sent + lying_there;
            let files = remote.jobs.texts.iter().map(|text| {
                let mut packer = Packer::default();
                packer.u32(text.len() as u32 + 1).u32(1).text(text, text.len() + 1);
                Message::new(Opcode::Job, packer.done())
            });
            let remote_files = remote.jobs.remote_files.iter().map(|path| {
                let mut packer = Packer::default();
                packer.u16(path.len() as u16).u16(1).text(path, path.len() + 1);
                Message::new(Opcode::LoadFile, packer.done())
            });
            actions.extend(files.chain(remote_files).map(|message| Action::Send(*number, message.frames())));
        }
        actions.extend(self.run());
        self.progress_at_ns = now_ns + self.style.eta_interval_ns;
        actions.extend(self.wake(now_ns));
        actions
    }

    /// When something is to be looked at again.
    fn wake(&self, now_ns: u64) -> Option<Action> {
        let trigger = self.trigger.as_ref().map(|_| now_ns + TRIGGER_NS);
        let progress = self.shows_progress().then_some(self.progress_at_ns);
        trigger.into_iter().chain(progress).min().map(Action::Wake)
    }

    /// Looks whether the trigger fires, and asks for the live line where it is due.
    fn tick(&mut self, now_ns: u64) -> Vec<Action> {
        let mut actions = self.pull(now_ns);
        if self.shows_progress() && now_ns >= self.progress_at_ns {
            self.progress_at_ns = now_ns + self.style.eta_interval_ns;
            actions.extend(self.ask());
        }
        actions.extend(self.wake(now_ns));
        actions
    }

    /// Sends the trigger to every server, if it fires.
    fn pull(&mut self, now_ns: u64) -> Vec<Action> {
        let loader = self.loader.as_ref();
        let look = |path: &String| loader.is_some_and(|loader| loader.look(path).is_some());
        let fires = |trigger: &mut RemoteTrigger| {
            let is_there = trigger.when.file.as_ref().filter(|path| look(path));
            is_there.is_some() || trigger.when.after_ns.is_some_and(|after_ns| now_ns >= after_ns)
        };
        let Some(trigger) = self.trigger.take_if(|trigger| self.has_run && fires(trigger)) else {
            return Vec::new();
        };
        let command = &trigger.command;
        let content = Packer::default().u16(command.len() as u16).text(command, command.len() + 1).done();
        // As the original sends it: without a zero at the end.
        let message = Message::new(Opcode::Trigger, content[..content.len() - 1].to_vec()).frames();
        let running = self.servers.iter().filter(|(_, remote)| !remote.is_over);
        let mut actions: Vec<Action> =
            running.map(|(number, _)| Action::Send(*number, message.clone())).collect();
        actions.extend(trigger.when.file.map(Action::Remove));
        actions
    }

    /// Lets the jobs run, once every server has understood all of them: one that refuses a job closes the connection, and
    /// what it still had to say is lost where something more was sent to it.
    fn run(&mut self) -> Vec<Action> {
        if !self.started
            || self.has_run
            || self.servers.values().any(|remote| !remote.is_over && remote.awaited > 0)
        {
            return Vec::new();
        }
        self.has_run = true;
        let run = Message::new(Opcode::Run, Vec::new()).frames();
        let ready = self.servers.iter().filter(|(_, remote)| !remote.is_over);
        ready.map(|(number, _)| Action::Send(*number, run.clone())).collect()
    }

    fn speaks(&self) -> bool {
        self.style.formats.contains(&Format::Normal)
    }

    fn shows_progress(&self) -> bool {
        let speaks = self.speaks() || self.style.to_file;
        speaks && (self.style.eta == Eta::Always || (self.style.eta == Eta::Auto && self.style.terminal))
    }

    fn bytes(&mut self, number: Connection, bytes: &[u8], now: (u64, u64)) -> Vec<Action> {
        let Some(remote) = self.servers.get_mut(&number) else { return Vec::new() };
        let messages = match remote.reader.take(bytes) {
            Ok(messages) => messages,
            Err(wrong) => return self.lost(number, &wrong, now),
        };
        let mut actions = Vec::new();
        for message in messages {
            actions.extend(self.message(number, &message, now));
        }
        actions
    }

    fn message(&mut self, number: Connection, message: &Message, now: (u64, u64)) -> Vec<Action> {
        let speaks = self.speaks();
        let Some(remote) = self.servers.get_mut(&number) else { return Vec::new() };
        let content = &message.content;
        match message.opcode {
            Opcode::Probe => {
                let text = remote.introduced(content);
                let mut actions: Vec<Action> = speaks.then_some(Action::Print(text)).into_iter().collect();
                actions.extend(self.start(now.0));
                actions
            }
            Opcode::Start => {
                remote.awaited = remote.awaited.saturating_sub(1);
                self.run()
            }
            Opcode::Text => remote.text(content, speaks).into_iter().collect(),
            Opcode::JobOption => remote.option(content),
            Opcode::ThreadStatistics => {
                let options = std::mem::take(&mut remote.options);
                remote.received.push(statistics::read_job(content, options));
                Vec::new()
            }
            Opcode::GroupStatistics => {
                remote.groups.push(statistics::read_group(content));
                Vec::new()
            }
            Opcode::Disk => {
                remote.disks.push(statistics::read_disk(content));
                Vec::new()
            }
            Opcode::Eta => {
                remote.eta = Some(Progress::of(content));
                self.progress().into_iter().collect()
            }
            Opcode::Trigger => {
                let files = states::files(content, &remote.jobs.host);
                files.into_iter().map(|(path, bytes)| Action::Write { path, bytes }).collect()
            }
            Opcode::SendFile => {
                let Some(loader) = &mut self.loader else { return Vec::new() };
                let reply = states::answer(message, &remote.jobs.host, loader.as_mut());
                vec![Action::Send(number, reply.frames())]
            }
            Opcode::Log => remote.log(content, &self.arguments).into_iter().collect(),
            Opcode::Stop => {
                remote.has_stopped = true;
                let mut unpacker = Unpacker::new(content);
                let what = match (unpacker.u32(), unpacker.u32()) {
                    (0, 0) => return Vec::new(),
                    (0, signal) => format!("signal {signal}"),
                    (error, _) => format!("error {error}"),
                };
                self.status = self.status.max(1);
                vec![Action::Complain(format!("client <{}>: exited with {what}\n", remote.jobs.host))]
            }
            Opcode::Quit => {
                // A server of fio's that refuses the jobs says why, and leaves.
                self.status = self.status.max(u8::from(!remote.has_stopped));
                self.over(number, now)
            }
            _ => Vec::new(),
        }
    }

    /// A server is not to be had, or went away.
    fn lost(&mut self, number: Connection, why: &str, now: (u64, u64)) -> Vec<Action> {
        let Some(remote) = self.servers.get(&number).filter(|remote| !remote.is_over) else {
            return Vec::new();
        };
        self.status = 1;
        let address = &remote.jobs.address.address;
        let told = match remote.name {
            None => format!("fio: {why}\nfio: failed to connect to {address}\n"),
            Some(_) => format!("fio: client {}: {why}\n", remote.jobs.host),
        };
        let mut actions = vec![Action::Complain(told)];
        actions.extend(self.over(number, now));
        // A run on fewer machines is another run.
        if !self.started {
            actions.push(Action::End(1));
        }
        actions
    }

    fn over(&mut self, number: Connection, now: (u64, u64)) -> Vec<Action> {
        if let Some(remote) = self.servers.get_mut(&number) {
            remote.is_over = true;
        }
        let mut actions = vec![Action::Close(number)];
        actions.extend(self.run());
        if self.started && self.servers.values().all(|remote| remote.is_over) {
            actions.push(Action::Print(self.report(now.1)));
            actions.push(Action::End(self.status));
        }
        actions
    }

    fn report(&self, unix_ns: u64) -> String {
        let hosts: Vec<HostReport<'_>> =
            self.servers.values().filter_map(|remote| remote.report(&self.style, unix_ns)).collect();
        report(&hosts, &self.style, &Record::default())
    }

    fn interrupted(&mut self, signal: i32) -> Vec<Action> {
        if std::mem::replace(&mut self.interrupted, true) || !self.started {
            return vec![end_by(signal)];
        }
        self.status = self.status.max((128 + signal).clamp(1, 255) as u8);
        let running = self.servers.iter().filter(|(_, remote)| !remote.is_over);
        let quit = Message::new(Opcode::Quit, Vec::new()).frames();
        running.map(|(number, _)| Action::Send(*number, quit.clone())).collect()
    }

    fn ask(&self) -> Vec<Action> {
        let running = self.servers.iter().filter(|(_, remote)| !remote.is_over);
        let ask = Message::new(Opcode::SendEta, Vec::new()).frames();
        running.map(|(number, _)| Action::Send(*number, ask.clone())).collect()
    }

    /// The live line, once every server has answered.
    fn progress(&mut self) -> Option<Action> {
        let running = self.servers.values().filter(|remote| !remote.is_over);
        if running.clone().any(|remote| remote.eta.is_none()) {
            return None;
        }
        let all = running.filter_map(|remote| remote.eta.clone()).fold(Progress::default(), Progress::joined);
        self.servers.values_mut().for_each(|remote| remote.eta = None);
        let line = all.line();
        let padding = " ".repeat(self.width.saturating_sub(line.len()));
        self.width = line.len();
        let text = format!("{line}{padding}\r");
        Some(if self.style.to_file { Action::Complain(text) } else { Action::Print(text) })
    }
}

impl Conversation for Client {
    fn step(&mut self, Happening { at_ns, unix_ns, input }: Happening) -> Vec<Action> {
        let now = (at_ns, unix_ns);
        match input {
            Input::Began => self.connect(),
            Input::Ready(number, _) => self.greet(number),
            Input::Bytes(number, bytes) => self.bytes(number, &bytes, now),
            Input::Failed(number, errno, why) => {
                let why = if errno > 0 { format!("{why}: {}", of_system(errno)) } else { why };
                self.lost(number, &why, now)
            }
            Input::Closed(_) => connection_of(&input)
                .map(|number| self.lost(number, "the server has closed the connection", now))
                .unwrap_or_default(),
            Input::Interrupted(signal) => self.interrupted(signal),
            Input::Tick => self.tick(at_ns),
            _ => Vec::new(),
        }
    }
}

impl Remote {
    fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.jobs.host)
    }

    /// What the server says of itself, in a line.
    fn introduced(&mut self, content: &[u8]) -> String {
        let mut unpacker = Unpacker::new(content);
        let name = unpacker.text(64);
        let (big, version, os, architecture, bytes) =
            (unpacker.u8(), unpacker.text(32), unpacker.u8(), unpacker.u8(), unpacker.u8());
        let (_, flags) = (unpacker.u32(), unpacker.u64());
        let os = if os == 1 { "Linux" } else { "Unknown" };
        let architecture = match architecture {
            1 => "x86-64",
            10 => "aarch64",
            _ => "generic",
        };
        let bits = u32::from(bytes) * 8;
        let text = format!(
            "hostname={name}, be={big}, {bits}-bit, os={os}, arch={architecture}, fio={version}, flags={flags}\n"
        );
        self.name = Some(name);
        text
    }

    /// A text of the server, its lines under its name; errors where only a program reads the report.
    fn text(&mut self, content: &[u8], speaks: bool) -> Option<Action> {
        let mut unpacker = Unpacker::new(content);
        let (level, _, _, _) = (unpacker.u32(), unpacker.u32(), unpacker.u64(), unpacker.u64());
        let line = String::from_utf8_lossy(unpacker.rest()).into_owned();
        let line = if self.is_mid_line { line } else { format!("<{}> {line}", self.label()) };
        self.is_mid_line = !line.ends_with('\n');
        match (speaks, level) {
            (true, _) => Some(Action::Print(line)),
            (false, super::server::ERROR) => Some(Action::Complain(line)),
            _ => None,
        }
    }

    fn option(&mut self, content: &[u8]) -> Vec<Action> {
        let mut unpacker = Unpacker::new(content);
        let (is_global, _, _) = (unpacker.u16() != 0, unpacker.u16(), unpacker.u32());
        let option = (unpacker.text(64), unpacker.text(128));
        if is_global {
            self.global.push(option)
        } else {
            self.options.push(option)
        }
        Vec::new()
    }

    /// Whether a log may have that name: one in this directory, or one that the jobs name. A server must not choose.
    fn may_write(&self, path: &str, arguments: &[String]) -> bool {
        let prefix = path.rsplit_once("_clat_hist").or_else(|| path.rsplit_once('_'));
        let prefix = prefix.map_or(path, |(prefix, _)| prefix);
        let mut said = self.jobs.texts.iter().chain(arguments);
        path.ends_with(".log") && (!path.contains('/') || said.any(|text| text.contains(prefix)))
    }

    /// A log, which is written here under the server's name.
    fn log(&self, content: &[u8], arguments: &[String]) -> Option<Action> {
        let mut unpacker = Unpacker::new(content);
        let (_, _, class, is_packed) = (unpacker.u64(), unpacker.u32(), unpacker.u32(), unpacker.u32() != 0);
        let (_, _, coarseness) = (unpacker.u32(), unpacker.u32(), unpacker.u32());
        let path = unpacker.text(256);
        if !self.may_write(&path, arguments) {
            return Some(Action::Complain(format!(
                "fio: the server sent a log that no job asked for: {path}\n"
            )));
        }
        let path = format!("{path}.{}", self.jobs.host);
        let samples = unpacker.rest();
        let samples = if is_packed { log::unpacked(samples) } else { Ok(samples.to_vec()) };
        let text = samples.map(|samples| match class {
            HISTOGRAMS => log::distribution::printed(&samples, coarseness),
            _ => log::printed(&samples),
        });
        Some(match text {
            Ok(text) => Action::Write { path, bytes: text.into_bytes() },
            Err(wrong) => Action::Complain(format!("fio: the log {path}: {wrong}\n")),
        })
    }

    fn report(&self, style: &ReportStyle, unix_ns: u64) -> Option<HostReport<'_>> {
        let first = self.received.first()?;
        let jobs = self.received.iter().map(ReceivedJob::reported).collect();
        let groups = self.groups.iter().map(|group| group.summary(&first.view)).collect();
        let summary = Summary { jobs, groups, disks: self.disks.clone() };
        let view =
            ReportContext { global: self.global.clone(), style: style.clone(), ..ReportContext::default() };
        let moment = ReportTime { unix_ns, east_s: style.local.0 };
        let port = Some(crate::address::port_of(&self.jobs.address.address).unwrap_or(0));
        let asked: Vec<_> =
            self.received.iter().map(|job| (std::ptr::from_ref(&job.view), job.steady)).collect();
        let steady = move |job: &ReportedJob<'_>| {
            asked.iter().find(|(view, _)| std::ptr::eq(*view, job.view)).and_then(|(_, steady)| *steady)
        };
        let steady = Box::new(steady);
        Some(HostReport { host: &self.jobs.host, label: self.label(), port, view, summary, steady, moment })
    }
}

impl Progress {
    fn of(content: &[u8]) -> Progress {
        let mut unpacker = Unpacker::new(content);
        let running = unpacker.few();
        let _ = (unpacker.u32(), unpacker.u32(), unpacker.u32());
        let mut three = |_: &str| unpacker.counts::<3>();
        let (_, _, kib) = (three("least"), three("most"), three("now"));
        let mut three = |_: &str| [unpacker.u32(), unpacker.u32(), unpacker.u32()].map(u64::from);
        let (_, _, operations) = (three("least"), three("most"), three("now"));
        let _ = unpacker.u32();
        let (elapsed_s, left_s) = (unpacker.count(), unpacker.count());
        let _ = (unpacker.u32(), unpacker.u32(), unpacker.u32());
        let files = unpacker.few();
        let _ = (unpacker.u32(), unpacker.u32());
        Progress { running, files, kib, operations, elapsed_s, left_s, states: unpacker.text(1 << 16) }
    }

    fn joined(self, other: Progress) -> Progress {
        let join = if self.states.is_empty() || other.states.is_empty() { "" } else { "," };
        Progress {
            running: self.running + other.running,
            files: self.files + other.files,
            kib: [0, 1, 2].map(|index| self.kib[index] + other.kib[index]),
            operations: [0, 1, 2].map(|index| self.operations[index] + other.operations[index]),
            elapsed_s: self.elapsed_s.max(other.elapsed_s),
            left_s: self.left_s.max(other.left_s),
            states: format!("{}{join}{}", self.states, other.states),
        }
    }

    fn line(&self) -> String {
        let start = format!("Jobs: {} (f={})", self.running, self.files);
        if self.left_s == UNKNOWN_S || self.running == 0 {
            return start;
        }
        let percent = self.elapsed_s as f64 * 100.0 / (self.elapsed_s + self.left_s).max(1) as f64;
        let rates = crate::fio::report::eta::rates_of(self.kib.map(|kib| kib << 10), self.operations);
        let left = crate::fio::report::eta::duration(self.left_s);
        format!("{start}: [{}][{percent:3.1}%]{rates}[eta {left}]", self.states)
    }
}

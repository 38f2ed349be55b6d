//! A script is carried out: variables are set, definitions kept, and each `run` becomes a phase of the plan.
//!
//! Definitions are looked up when they run, so a variable that is set after them counts. Refuses to run anything: what
//! comes out is a plan, what the report says, and everything that is wrong.

use std::collections::BTreeMap;

use iodyno_model::{Diagnostic, Errand, Limit, Origin, Phase, Plan, SharedKind, SharedObject, Stop, When};

use super::clients::{ClientPlan, ClientRank, MultiClient};
use super::filesets::Fileset;
use super::flowop_compiler::Composite;
use super::running::{RunCompiler, layout_lines};
use crate::Loader;
use crate::filebench::flowops::FLOWOPS;
use crate::filebench::parser;
use crate::filebench::reader::AttributeReader;
use crate::filebench::script::{Attributes, Definition, Directive, Expression, Statement, Thread};
use crate::filebench::value::{ScriptValue, Variables, word};
use crate::filebench::view::{Dump, ReportContext, RunReport};

/// How long a run without a time takes, s: the original's own default.
const RUN_S: f64 = 60.0;
/// Files inside files, at most.
const INCLUDES_MOST: usize = 16;
/// How long the queue of events is, s.
const QUEUE_S: f64 = 5.0;

/// A process as it was defined.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its name, instances and priority.
    pub attributes: Attributes,
    pub threads: Vec<Thread>,
    /// Where it was defined.
    pub origin: Origin,
}

/// A script under way.
pub struct FilebenchSession<'a> {
    loader: &'a mut dyn Loader,
    client: ClientRank,
    named: Option<MultiClient>,
    points: Vec<(usize, u64, Origin)>,
    /// Whether all clients wait for each other before the next command.
    meets: bool,
    pub variables: Variables,
    filesets: Vec<(bool, Attributes, Origin)>,
    processes: Vec<Process>,
    composites: BTreeMap<String, Composite>,
    quit: String,
    rate: f64,
    pub(super) warmup_s: f64,
    pause_s: f64,
    /// Seed of trees.
    pub seed: u64,
    pub(super) errands: Vec<Errand>,
    /// Whether `create files` was said since the last run.
    created: bool,
    /// Processes that were created by themselves, and what was asked of them since.
    pub(super) live: Option<LiveProcesses>,
    /// Where files of `stats` lie.
    pub(super) folder: Option<String>,
    no_read_ahead: bool,
    /// Whether a personality of ours is being loaded, and what it would run.
    loading: bool,
    pending: Option<(Directive, Origin)>,
    printed: Vec<String>,
    /// Lines of `usage`.
    pub usage: Vec<String>,
    /// What it comes to.
    pub plan: Plan,
    /// What the report needs.
    pub view: ReportContext,
    /// Everything wrong.
    pub wrong: Vec<Diagnostic>,
    /// What is worth telling.
    pub notes: Vec<Diagnostic>,
    depth: usize,
    ended: bool,
}

/// Processes that run until they are shut down.
#[derive(Clone, Debug, Default)]
pub(super) struct LiveProcesses {
    /// Where they were created.
    pub origin: Origin,
    /// Slept before the counts were cleared, s.
    pub warm_s: f64,
    /// Slept since, s.
    pub slept_s: f64,
    /// When reports are due, s.
    pub snaps: Vec<f64>,
    /// Reports that go into a file: which snap's.
    pub dumps: Vec<Dump>,
}

impl<'a> FilebenchSession<'a> {
    /// A session of one client, without anything said yet.
    pub fn new(loader: &'a mut dyn Loader, client: ClientRank) -> Self {
        let mut variables = Variables::default();
        variables.reserve("clientid", ScriptValue::Number(f64::from(client.number)));
        variables.reserve("nclients", ScriptValue::Number(f64::from(client.all)));
        variables.reserve("clienthost", ScriptValue::Text(client.host.clone()));
        FilebenchSession {
            loader,
            client,
            named: None,
            points: Vec::new(),
            meets: false,
            variables,
            filesets: Vec::new(),
            processes: Vec::new(),
            composites: BTreeMap::new(),
            quit: "timeout".into(),
            rate: 0.0,
            warmup_s: 0.0,
            pause_s: 0.0,
            seed: 1,
            errands: Vec::new(),
            created: false,
            live: None,
            folder: None,
            no_read_ahead: false,
            loading: false,
            pending: None,
            printed: Vec::new(),
            usage: Vec::new(),
            plan: Plan::default(),
            view: ReportContext::default(),
            wrong: Vec::new(),
            notes: Vec::new(),
            depth: 0,
            ended: false,
        }
    }

    fn complain(&mut self, origin: &Origin, message: impl Into<String>, hint: impl Into<String>) {
        self.wrong.push(Diagnostic::error(origin, message).hint(hint));
    }

    /// Carries out a script's text.
    pub fn text(&mut self, path: &str, text: &str) {
        self.surround(text);
        let (commands, wrong) = parser::parse(path, text);
        self.wrong.extend(wrong);
        self.commands(&commands);
    }

    /// Asks the environment for names in braces that the script may mean.
    fn surround(&mut self, text: &str) {
        for part in text.split('$').skip(1) {
            let inner = part.strip_prefix(['{', '(']).and_then(|part| part.split(['}', ')']).next());
            let name = inner.unwrap_or("");
            if let Some(value) = self.loader.variable(name).filter(|_| !name.is_empty()) {
                self.variables.surround(name, value);
            }
        }
    }

    /// What is still to be run at the end: a script without `run` runs all the same.
    pub fn finish(&mut self, path: &str) {
        self.stop();
        if let Some((order, origin)) = self.pending.take().filter(|_| self.plan.phases.is_empty()) {
            self.order(&order, &origin);
        }
        // What says `quit` before anything was run wants nothing run.
        if self.plan.phases.is_empty() && self.ended && self.wrong.is_empty() {
            return;
        }
        if self.plan.phases.is_empty() && !self.wrong.is_empty() {
            // Definitions are looked at when something is run: what is wrong with them is told all the same.
            return self.run(RUN_S, 0.0, &Origin::file(path, 1));
        }
        if self.plan.phases.is_empty() {
            if self.processes.is_empty() {
                let origin = Origin::file(path, 1);
                let hint = "define process name=… { thread name=… { flowop … } }";
                self.complain(&origin, "a script without a process", hint);
                return;
            }
            let note = Diagnostic::note(&Origin::file(path, 1), format!("no run command: it runs {RUN_S} s"));
            self.notes.push(note.hint("add `run 60`"));
            self.run(RUN_S, 0.0, &Origin::file(path, 1));
        }
        self.view.last = std::mem::take(&mut self.printed);
        let errands = std::mem::take(&mut self.errands).into_iter();
        if let Some(phase) = self.plan.phases.last_mut() {
            phase.errands.extend(errands.map(|errand| Errand { when: When::AfterEnd, ..errand }));
        }
    }

    fn commands(&mut self, commands: &[Statement]) {
        for command in commands {
            if !self.ended {
                self.order(&command.order, &command.origin);
            }
        }
    }

    /// What an expression is worth; what is wrong with it is told.
    fn worth(&mut self, expression: &Expression, origin: &Origin) -> Option<ScriptValue> {
        match self.variables.worth(expression) {
            Ok(value) => Some(value),
            Err((message, hint)) => {
                self.complain(origin, message, hint);
                None
            }
        }
    }

    fn seconds(&mut self, expression: Option<&Expression>, default: f64, origin: &Origin) -> f64 {
        let Some(expression) = expression else { return default };
        match self.worth(expression, origin) {
            Some(ScriptValue::Number(number)) => number,
            Some(other) => {
                let message = format!("`{}`: seconds are expected", other.text());
                self.complain(origin, message, "run 60");
                default
            }
            None => default,
        }
    }

    pub(super) fn say(&mut self, expression: &Expression, origin: &Origin) -> Option<String> {
        self.worth(expression, origin).map(|value| value.text())
    }

    fn order(&mut self, order: &Directive, origin: &Origin) {
        match order {
            Directive::Define(definition) => self.define(definition, origin),
            Directive::Set(name, expression) => {
                if let Some(value) = self.worth(expression, origin) {
                    self.variables.set(name, value);
                }
            }
            Directive::Quit(word) => self.quit.clone_from(word),
            Directive::Rate(rate) => self.rate = self.seconds(Some(rate), 0.0, origin),
            // A personality that is loaded is run by what loads it, or at the end.
            Directive::Run(_) | Directive::Periodic(..) if self.loading => {
                self.pending = Some((order.clone(), origin.clone()));
            }
            Directive::Run(time) => {
                self.stop();
                let time_s = self.seconds(time.as_ref(), RUN_S, origin);
                self.run(time_s, 0.0, origin);
            }
            Directive::Periodic(period, time) => {
                self.stop();
                let period_s = self.seconds(period.as_ref(), 10.0, origin);
                let time_s = self.seconds(time.as_ref(), RUN_S, origin);
                self.run(time_s, period_s, origin);
            }
            Directive::Warmup(time) => self.warmup_s = self.seconds(Some(time), 0.0, origin),
            Directive::Sleep(time) => {
                let time_s = self.seconds(Some(time), 0.0, origin);
                match &mut self.live {
                    Some(live) => live.slept_s += time_s,
                    None => self.pause_s += time_s,
                }
            }
            Directive::Echo(text) => {
                let said = self.say(text, origin);
                self.printed.extend(said);
            }
            Directive::Usage(text) => {
                let said = self.say(text, origin);
                self.usage.extend(said);
            }
            Directive::System(text) => {
                let when = match (&self.live, self.created) {
                    (Some(live), _) if live.slept_s > 0.0 => When::AfterEnd,
                    (None, false) => When::BeforeLayout,
                    _ => When::BeforeStart,
                };
                if let Some(command) = self.say(text, origin) {
                    let meets = std::mem::take(&mut self.meets);
                    self.errands.push(Errand { when, command, rank: None, meets, origin: origin.clone() });
                }
            }
            Directive::Include(path) => self.include(path, origin),
            Directive::Each(name, values, commands) => {
                for value in values {
                    if let Some(value) = self.worth(value, origin) {
                        self.variables.set(name, value);
                        self.commands(commands);
                    }
                }
            }
            other => self.minor(other, origin),
        }
    }

    /// Commands that change or say little.
    fn minor(&mut self, order: &Directive, origin: &Origin) {
        match order {
            Directive::Latencies => {
                self.view.latencies = true;
                self.printed.push("Latency histogram enabled".into());
            }
            Directive::Multi(attributes) => self.multi(attributes, origin),
            Directive::Meet(attributes) => self.meet(attributes, origin),
            Directive::List(what) => self.list(what),
            Directive::Version => self.printed.push(format!("iodyno {}", env!("CARGO_PKG_VERSION"))),
            Directive::End => self.ended = true,
            Directive::Laid => self.created = true,
            Directive::Begin => {
                self.stop();
                self.live = Some(LiveProcesses { origin: origin.clone(), ..LiveProcesses::default() });
            }
            Directive::Shutdown => self.stop(),
            Directive::Stats(stats) => self.stats(stats, origin),
            Directive::NoReadAhead => self.no_read_ahead = true,
            Directive::Nothing(word, hint) => {
                let note = Diagnostic::note(origin, format!("`{word}` has no effect here"));
                self.notes.push(note.hint(*hint));
            }
            _ => {}
        }
    }

    /// `enable multi`: who leads, and what this client is called.
    fn multi(&mut self, attributes: &Attributes, origin: &Origin) {
        let mut reader = AttributeReader { variables: &mut self.variables, wrong: &mut self.wrong };
        reader.known(attributes, "master client", "enable multi");
        let mut said = |name: &str| {
            let missing = attributes.get(&[name]).is_none_or(|given| given.value.is_none());
            if missing {
                let message = format!("enable multi without {name}=");
                reader.complain(origin, message, "enable multi master=HOST,client=NAME");
            }
            reader.text(attributes, &[name])
        };
        let (Some(master), Some(client)) = (said("master"), said("client")) else { return };
        if self.client.all == 1 {
            self.printed.push(format!("Client {client} of master {master}: it is the only one here"));
            self.alone("enable multi", origin);
        }
        self.named = Some(MultiClient { master, client, origin: origin.clone() });
    }

    /// `domultisync`: a point at which all clients wait for each other.
    fn meet(&mut self, attributes: &Attributes, origin: &Origin) {
        let mut reader = AttributeReader { variables: &mut self.variables, wrong: &mut self.wrong };
        reader.known(attributes, "value", "domultisync");
        if attributes.get(&["value"]).is_none_or(|given| given.value.is_none()) {
            return reader.complain(origin, "domultisync without value=", "domultisync value=1");
        }
        let Some(number) = reader.number(attributes, &["value"]) else { return };
        let who = match self.client.all {
            1 => "no other client".into(),
            all => format!("all {all} clients wait for each other"),
        };
        self.printed.push(format!("Sync point {}: {who}", number as u64));
        self.points.push((self.plan.phases.len(), number as u64, origin.clone()));
        self.meets = true;
        if self.client.all == 1 {
            self.alone("domultisync", origin);
        }
    }

    /// Tells, once, that there is nobody to wait for.
    fn alone(&mut self, word: &str, origin: &Origin) {
        const ALONE: &str = "this is the only client, and it waits for nobody";
        if self.notes.iter().any(|note| note.message.ends_with(ALONE)) {
            return;
        }
        let note = Diagnostic::note(origin, format!("`{word}`: {ALONE}"));
        let hint = "several are ranks: mpirun -n 3 iodyno filebench -f FILE.f, or --also hosts=h1,h2,h3";
        self.notes.push(note.hint(hint));
    }

    /// What a script says that has nothing run; none where something is.
    pub fn only_says(&self) -> Option<String> {
        let nothing = self.plan.phases.is_empty() && self.wrong.is_empty();
        nothing.then(|| self.printed.iter().map(|line| format!("0.000: {line}\n")).collect())
    }

    /// What this client makes of the script, and what is wrong with it.
    pub fn ended(self) -> (ClientPlan, Vec<Diagnostic>) {
        let FilebenchSession { plan, view, notes, points, named, wrong, .. } = self;
        (ClientPlan { plan, view, notes, points, named }, wrong)
    }

    fn list(&mut self, what: &str) {
        match what {
            "variables" => {
                let all = self.variables.all().into_iter();
                let lines: Vec<_> = all.map(|(name, value)| format!("${name} = {}", value.text())).collect();
                self.printed.extend(lines);
            }
            "flowop" | "flowops" => {
                let names: Vec<_> = FLOWOPS.iter().map(|entry| entry.name).collect();
                self.printed.push(format!("flowops: {}", names.join(" ")));
            }
            _ => {
                let names = self.filesets.iter().filter_map(|(_, attributes, _)| {
                    let name = attributes.get(&["name"])?.value.as_ref()?;
                    self.variables.worth(name).ok().map(|value| value.text())
                });
                let line = format!("filesets: {}", names.collect::<Vec<_>>().join(" "));
                self.printed.push(line);
            }
        }
    }

    fn include(&mut self, path: &Expression, origin: &Origin) {
        let Some(path) = self.say(path, origin) else { return };
        if self.depth == INCLUDES_MOST {
            self.complain(origin, "files that include each other without end", "16 levels are read");
            return;
        }
        match source(&path, self.loader) {
            Ok((text, ours)) => {
                self.depth += 1;
                let outer = std::mem::replace(&mut self.loading, ours);
                self.text(&path, &text);
                self.loading = outer;
                self.depth -= 1;
            }
            Err(message) => {
                self.complain(origin, format!("{path}: {message}"), crate::filebench::library::hint(&path));
            }
        }
    }

    fn define(&mut self, definition: &Definition, origin: &Origin) {
        match definition {
            Definition::Fileset { single, attributes } => {
                self.filesets.push((*single, attributes.clone(), origin.clone()));
            }
            Definition::Process { attributes, threads } => self.processes.push(Process {
                attributes: attributes.clone(),
                threads: threads.clone(),
                origin: origin.clone(),
            }),
            Definition::Composite { attributes, locals, flowops } => {
                let mut reader = AttributeReader { variables: &mut self.variables, wrong: &mut self.wrong };
                let Some(name) = reader.text(attributes, &["name"]) else {
                    return reader.complain(origin, "a composite without name=", "define flowop name=…");
                };
                reader.known(attributes, "name iters", "a composite");
                let (attributes, locals) = (attributes.clone(), locals.clone());
                self.composites.insert(name, Composite { attributes, locals, flowops: flowops.clone() });
            }
        }
    }

    /// A run becomes a phase.
    pub(super) fn run(&mut self, time_s: f64, period_s: f64, origin: &Origin) {
        if !(0.0..=1e9).contains(&time_s) {
            return self.complain(origin, format!("a run of {time_s} s"), "run 60");
        }
        let mut reader = AttributeReader { variables: &mut self.variables, wrong: &mut self.wrong };
        let mut places: Vec<Fileset> = Vec::new();
        for (single, attributes, origin) in &self.filesets {
            let Some(place) = Fileset::new(*single, attributes, origin, &mut reader) else { continue };
            if places.iter().any(|known| known.name == place.name) {
                reader.complain(origin, format!("`{}` is defined twice", place.name), "names are unique");
            }
            places.push(place);
        }
        let mut run = RunCompiler {
            reader: &mut reader,
            places,
            composites: &self.composites,
            events: self.rate > 0.0,
            ends: self.quit != "timeout",
            shared: BTreeMap::new(),
            part: RunReport {
                lines: std::mem::take(&mut self.printed),
                period_s,
                time_s,
                ramp_s: self.warmup_s,
                ..RunReport::default()
            },
            limit: Limit {
                time_ns: Some(nanoseconds(time_s)),
                ramp_ns: nanoseconds(self.warmup_s),
                ..Limit::default()
            },
            waits: Vec::new(),
            everywhere: Vec::new(),
            targets: &mut self.plan,
            seed: self.seed,
        };
        run.places.iter_mut().for_each(|place| place.access.random |= self.no_read_ahead);
        let jobs = run.jobs(&self.processes);
        let RunCompiler { shared, mut part, places, .. } = run;
        part.lines.extend(layout_lines(&places));
        let mut shared: Vec<SharedObject> =
            shared.into_iter().map(|(name, kind)| SharedObject::new(&name, kind)).collect();
        if self.rate > 0.0 {
            let kind = SharedKind::Tokens { per_second: self.rate, queue_s: QUEUE_S };
            shared.insert(0, SharedObject::new("events", kind));
        }
        self.view.parts.push(part);
        let phase = Phase {
            name: format!("run {}", self.plan.phases.len() + 1),
            jobs,
            shared,
            stop: if self.quit == "firstdone" { Stop::FirstDone } else { Stop::Each },
            pause_ns: nanoseconds(std::mem::take(&mut self.pause_s)),
            errands: std::mem::take(&mut self.errands),
            ..Phase::default()
        };
        (self.created, self.meets) = (false, false);
        self.plan.phases.push(phase);
    }
}

/// The text of a script: of a file, or of a personality where there is no such file, and whether it is one.
///
/// # Errors
/// The system's reason, as a lower-case fragment.
pub fn source(path: &str, loader: &mut dyn Loader) -> Result<(String, bool), String> {
    match loader.read(path) {
        Ok(bytes) => Ok((crate::text_file::text(&bytes)?, false)),
        Err(reason) => {
            crate::filebench::library::find(path).map(|text| (text.to_string(), true)).ok_or(reason)
        }
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9) as u64
}

/// A variable of the command line: `name=value`.
pub fn setting(text: &str) -> Option<(&str, ScriptValue)> {
    let (name, value) = text.split_once('=')?;
    let name = name.trim().trim_start_matches('$');
    (!name.is_empty()).then(|| (name, word(value)))
}

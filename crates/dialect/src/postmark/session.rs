//! A session: lines of files and of standard input in their order, with what each prints and runs.

use iodyno_model::{Diagnostic, Origin, Plan, Target, TargetKind};

use super::advice;
use super::command::{self, LineRequest};
use super::report::{Report, VERSION};
use super::settings::Settings;
use super::view::{PostmarkPhase, ReportContext, ReportedRun, SessionPart};
use super::{lower, options};
use crate::{CommandPrompt, Loader, PathKind, ReportFile, Request, Run, Written, status};

/// What stands before each line of standard input.
const PROMPT: &str = "pm>";
/// The name of standard input in messages.
const STANDARD_INPUT: &str = "standard input";
/// Files of commands that load each other, at most.
const DEPTH_MOST: usize = 16;

/// A session as far as it was read.
pub struct CommandSession {
    settings: Settings,
    parts: Vec<SessionPart>,
    plan: Plan,
    phases: Vec<PostmarkPhase>,
    here: String,
    pid: u32,
    /// How many files are being read, one by the other.
    depth: usize,
    is_over: bool,
}

impl CommandSession {
    pub fn new(loader: &dyn Loader) -> CommandSession {
        CommandSession {
            settings: Settings::default(),
            parts: vec![SessionPart::Text(format!("PostMark {VERSION}\n"), None)],
            plan: empty_plan(),
            phases: Vec::new(),
            here: loader.variable("PWD").unwrap_or_else(|| ".".into()),
            pid: loader.pid(),
            depth: 0,
            is_over: false,
        }
    }

    /// Whether it was told to quit.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Takes the lines of a file.
    ///
    /// # Errors
    /// It cannot be read; everything that is wrong with its lines.
    pub fn file(&mut self, path: &str, by: &Origin, loader: &mut dyn Loader) -> Result<(), Vec<Diagnostic>> {
        if self.depth == DEPTH_MOST {
            let wrong = Diagnostic::error(by, format!("{path}: files load each other without end"));
            return Err(vec![wrong.hint("leave the line out by which a file loads itself")]);
        }
        let bytes = loader.read(path).map_err(|why| {
            // An argument's place is its name.
            let what = if matches!(by, Origin::Argument(_)) { why } else { format!("{path}: {why}") };
            vec![Diagnostic::error(by, what).hint("name a file of commands; `show` prints what is set")]
        })?;
        self.say(&format!("Reading configuration from file '{path}'\n"));
        self.depth += 1;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let taken = self.lines(path, &text, "", loader);
        self.depth -= 1;
        taken
    }

    /// Takes the lines of standard input, each behind the prompt.
    ///
    /// # Errors
    /// As of a file.
    pub fn standard_input(&mut self, loader: &mut dyn Loader) -> Result<(), Vec<Diagnostic>> {
        let bytes = loader
            .standard_input()
            .map_err(|why| vec![Diagnostic::error(&Origin::argument(STANDARD_INPUT), why)])?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        self.lines(STANDARD_INPUT, &text, PROMPT, loader)?;
        if !self.is_over {
            self.say(PROMPT);
        }
        Ok(())
    }

    fn lines(
        &mut self,
        name: &str,
        text: &str,
        prompt: &str,
        loader: &mut dyn Loader,
    ) -> Result<(), Vec<Diagnostic>> {
        let mut wrong = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if self.is_over {
                break;
            }
            self.say(prompt);
            if let Err(more) = self.line(line, &Origin::file(name, number), loader) {
                wrong.extend(more);
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    /// Takes a line.
    ///
    /// # Errors
    /// What is wrong with it, or with a file that it loads.
    pub fn line(
        &mut self,
        line: &str,
        origin: &Origin,
        loader: &mut dyn Loader,
    ) -> Result<(), Vec<Diagnostic>> {
        match command::take(line, &mut self.settings, origin).map_err(|wrong| vec![wrong])? {
            LineRequest::Nothing => {}
            LineRequest::Unknown => self.say("Eh?\n"),
            LineRequest::Run(file) => self.run(file, origin, loader)?,
            LineRequest::Load(path) => self.file(&path, origin, loader)?,
            LineRequest::Show(file) => {
                let text = self.settings.shown(&self.here);
                self.parts.push(SessionPart::Text(text, file));
            }
            LineRequest::Help(beginning) => self.say(&options::listed(&beginning)),
            LineRequest::Quit => self.is_over = true,
        }
        Ok(())
    }

    fn say(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(SessionPart::Text(said, None)) => said.push_str(text),
            _ if text.is_empty() => {}
            _ => self.parts.push(SessionPart::Text(text.into(), None)),
        }
    }

    /// A run with what is set now.
    fn run(
        &mut self,
        file: Option<String>,
        origin: &Origin,
        loader: &dyn Loader,
    ) -> Result<(), Vec<Diagnostic>> {
        for directory in self.settings.directories() {
            let is_there = loader.look(directory).is_some_and(|facts| facts.kind == PathKind::Directory);
            if !is_there {
                let wrong = Diagnostic::error(origin, format!("{directory} is no directory"));
                return Err(vec![wrong.hint("make it first, or name another one: set location DIRECTORY")]);
            }
        }
        let course = lower::add(&mut self.plan, &mut self.phases, &self.settings, self.pid);
        self.parts.push(SessionPart::Run(Box::new(ReportedRun {
            settings: self.settings.clone(),
            counts: course.counts,
            incomplete: course.incomplete,
            points: course.points,
            file,
        })));
        Ok(())
    }

    /// What was read since this was asked last.
    pub fn request(&mut self) -> Request {
        let files = self.files();
        let (parts, phases) = (std::mem::take(&mut self.parts), std::mem::take(&mut self.phases));
        let plan = std::mem::replace(&mut self.plan, empty_plan());
        if phases.is_empty() {
            return printed(parts);
        }
        let root = |target: &Target| match &target.kind {
            TargetKind::FileSet { root, .. } => root.clone(),
            _ => target.name.clone(),
        };
        let roots = plan.targets.iter().map(root).collect();
        let view = ReportContext { roots, session: parts, phases };
        Request::Run(Box::new(Run {
            files,
            own_voice: true,
            dies_of_signals: true,
            translate: advice::translate,
            status: Some(Box::new(status::usual)),
            ..Run::of(plan, Box::new(Report::new(view)))
        }))
    }

    /// The files that reports and settings are written to, each once.
    fn files(&self) -> Vec<ReportFile> {
        let mut files = Vec::new();
        for part in &self.parts {
            let path = match part {
                SessionPart::Text(_, path) => path,
                SessionPart::Run(run) => &run.file,
            };
            if let Some(path) = path.as_deref().map(ReportFile::own).filter(|file| !files.contains(file)) {
                files.push(path);
            }
        }
        files
    }
}

impl CommandPrompt for CommandSession {
    fn begin(&mut self) -> Request {
        self.request()
    }

    fn prompt(&self) -> &'static str {
        PROMPT
    }

    fn answer(&mut self, line: &str, loader: &mut dyn Loader) -> Option<Result<Request, Vec<Diagnostic>>> {
        let taken = self.line(line, &Origin::argument(line), loader);
        if self.is_over {
            return None;
        }
        Some(taken.map(|()| self.request()).inspect_err(|_| _ = self.request()))
    }
}

fn empty_plan() -> Plan {
    Plan { name: "postmark".into(), ..Plan::default() }
}

/// What a session prints that runs nothing.
fn printed(parts: Vec<SessionPart>) -> Request {
    let (mut out, mut files) = (String::new(), Vec::<Written>::new());
    for part in parts {
        let SessionPart::Text(text, path) = part else { continue };
        let Some(path) = path else {
            out.push_str(&text);
            continue;
        };
        match files.iter_mut().find(|known| known.path == path) {
            Some(known) => known.bytes.extend(text.into_bytes()),
            None => files.push(Written { path, bytes: text.into(), program: false }),
        }
    }
    match files.is_empty() {
        true => Request::Print { out, status: 0 },
        false => Request::Write { files, out, status: 0 },
    }
}

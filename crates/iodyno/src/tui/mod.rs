//! `iodyno tui`: plans, the history and comparisons in the full screen, by keys alone.
//!
//! Everything that it does is a command of this program, started as a user would have typed it: what a command refuses is
//! refused here. A run has the terminal for itself, with its own live screen, until it ends. Refuses to start where there is no
//! terminal that moves its cursor.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Parser;
use iodyno_engine::signal;
use iodyno_history::{Filter, PartFilter};
use iodyno_model::{Diagnostic, Origin};
use iodyno_report::history::RunSummary;
use iodyno_report::tui::{Purpose, Tui, TuiRequest};

use crate::archive;
use crate::command::EXPERIMENTS;
use crate::loader::plain;
use crate::runs::{self, parsed};
use crate::session::say;
use crate::terminal;

mod keys;
mod offers;
mod raw_terminal;

use keys::Keys;
use raw_terminal::RawTerminal;

#[derive(Parser)]
#[command(name = "iodyno tui", about = "Plans, history and comparisons in the full screen of a terminal",
    disable_version_flag = true, after_help = AFTER)]
pub struct TuiArgs {
    /// The directory to work in
    #[arg(default_value = ".", value_name = "DIR")]
    directory: PathBuf,
}

const AFTER: &str = "Keys: 1 to 4 are the pages, ? lists all keys, q leaves. What it runs are commands of iodyno, with what they \
refuse. Nothing runs before Enter is pressed.";

/// Commands whose reports have their findings in them: they are shown in the screen. What others print stays on the
/// terminal as in a shell.
const REPORTS: [&str; 3] = ["measure", "run", "rerun"];

/// Runs that are listed at most.
const LISTED: u32 = 500;

/// Does `iodyno tui ARGUMENTS…`; the exit status.
pub fn answer(arguments: &[String]) -> u8 {
    let words = match parsed::<TuiArgs>("iodyno tui", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    match open(&words) {
        Ok(()) => {
            let (interruptions, last) = signal::interruptions();
            if interruptions > 0 { 128 + last as u8 } else { 0 }
        }
        Err(wrong) => {
            say(wrong);
            2
        }
    }
}

fn open(words: &TuiArgs) -> Result<(), Diagnostic> {
    let here = Origin::argument("tui");
    if !terminal::is_conversed() {
        return Err(Diagnostic::error(
            &here,
            "standard input and output are not a terminal that moves its cursor",
        )
        .hint("`iodyno runs`, `iodyno plan` and `iodyno compare` do the same step by step"));
    }
    std::env::set_current_dir(&words.directory).map_err(|error| {
        let place = Origin::argument(&words.directory.display().to_string());
        Diagnostic::error(&place, plain(&error)).hint("name a directory to work in")
    })?;
    let program = std::env::current_exe().map_err(|error| {
        Diagnostic::error(&here, format!("this program cannot be found: {}", plain(&error)))
    })?;
    // Before the terminal changes: whatever ends this program from now on gives it back.
    signal::install();
    let screen = RawTerminal::open().map_err(|error| {
        Diagnostic::error(&here, format!("the terminal cannot be used: {}", plain(&error)))
    })?;
    let tui = Tui::new(offers::here(), screen.size(), terminal::out_paint());
    Driver { tui, screen, program, keys: Keys::default() }
        .run()
        .map_err(|error| Diagnostic::error(&here, format!("the terminal is gone: {}", plain(&error))))
}

struct Driver {
    tui: Tui,
    screen: RawTerminal,
    program: PathBuf,
    keys: Keys,
}

impl Driver {
    fn run(&mut self) -> io::Result<()> {
        loop {
            self.tui.resize(self.screen.size());
            self.draw()?;
            // What the page lacks comes after what it has: it may take a moment.
            let wanted = self.tui.wants();
            if wanted != TuiRequest::Nothing {
                self.fulfil(wanted)?;
                self.draw()?;
            }
            let Some(key) = self.keys.next(&self.screen)? else {
                if signal::interruptions().0 > 0 {
                    return Ok(());
                }
                continue;
            };
            let wish = self.tui.key(key);
            if wish == TuiRequest::Leave {
                return Ok(());
            }
            self.fulfil(wish)?;
        }
    }

    fn draw(&self) -> io::Result<()> {
        self.screen.write(&self.tui.frame())
    }

    fn fulfil(&mut self, wish: TuiRequest) -> io::Result<()> {
        match wish {
            TuiRequest::Nothing | TuiRequest::Leave => {}
            TuiRequest::Read(purpose, words) => {
                let text = self.text_of(purpose, &words);
                self.tui.told(purpose, &format!("iodyno {}", words.join(" ")), &text);
            }
            TuiRequest::Change(words) => {
                let text = self.text_of(Purpose::Report, &words);
                self.tui.notice(text.lines().next().unwrap_or_default());
                self.tui.changed();
            }
            TuiRequest::List(text) => match listed(&text) {
                Ok(runs) => self.tui.listed(runs),
                Err(wrong) => {
                    self.tui.listed(Vec::new());
                    self.tui.notice(&wrong.to_string());
                }
            },
            TuiRequest::Run(words) => self.perform(&words)?,
        }
        Ok(())
    }

    /// What a command prints on both of its streams.
    fn text_of(&self, purpose: Purpose, words: &[String]) -> String {
        let mut command = Command::new(&self.program);
        command.args(words).stdin(Stdio::null()).env("COLUMNS", self.tui.columns().to_string());
        match command.output() {
            Ok(output) => {
                let (out, err) =
                    (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
                let text = if err.is_empty() { out.into_owned() } else { format!("{err}\n{out}") };
                if purpose == Purpose::Explanation { words_first(&text) } else { text }
            }
            Err(error) => format!("error: {}: {}", self.program.display(), plain(&error)),
        }
    }

    /// Lets a command have the terminal until it ends.
    fn perform(&mut self, words: &[String]) -> io::Result<()> {
        let before = signal::interruptions().0;
        self.screen.leave()?;
        let line = format!("\n$ iodyno {}\n", iodyno_report::tui::command_line(words));
        self.screen.write(line.as_bytes())?;
        let reports = words
            .first()
            .is_some_and(|word| REPORTS.contains(&word.as_str()) || EXPERIMENTS.contains(&word.as_str()));
        let mut command = Command::new(&self.program);
        command.args(words).env("COLUMNS", self.tui.columns().to_string());
        if reports {
            command.stdout(Stdio::piped());
        }
        let ended = command.spawn().and_then(std::process::Child::wait_with_output);
        self.tui.changed();
        let (text, good) = match &ended {
            Ok(output) => (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.success()),
            Err(error) => {
                say(format_args!("error: {}: {}", self.program.display(), plain(error)));
                (String::new(), false)
            }
        };
        if let Ok(output) = &ended
            && !good
        {
            say(format_args!("iodyno tui: it ended with {}", output.status));
        }
        // Ctrl-C was for the run, which the terminal told at the same time.
        signal::forget_interrupts(before);
        if !reports || !good || text.is_empty() {
            io::stdout().write_all(text.as_bytes())?;
            self.screen.write("\nEnter: back to the screen ".as_bytes())?;
            self.screen.listen()?;
            self.keys.wait_for_enter(&self.screen)?;
        }
        self.screen.enter()?;
        if reports && !text.is_empty() {
            self.tui.told(Purpose::Report, &format!("iodyno {}", words.join(" ")), &text);
        }
        Ok(())
    }
}

/// The explanation in words, and below it the plan.
fn words_first(text: &str) -> String {
    match text.find("\nWhat it does") {
        Some(at) => format!("{}\n{}", &text[at + 1..], &text[..at]),
        None => text.to_string(),
    }
}

/// The newest first: it stands beside the cursor when the page is turned to.
fn listed(text: &str) -> Result<Vec<RunSummary>, Diagnostic> {
    let filter = Filter {
        most: LISTED,
        text: Some(text.to_string()).filter(|text| !text.is_empty()),
        parts: PartFilter::First,
        ..Filter::default()
    };
    Ok(archive::open()?.list(&filter)?.iter().rev().map(runs::row).collect())
}

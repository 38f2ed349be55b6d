//! `iodyno runs`: what is kept, found, shown, named and deleted. `iodyno import`: what others measured.
//!
//! A run is named by its number, by a tag, as `last`, or with `~N` as the one so many before.

use std::io;

use clap::{Args, Parser, Subcommand};
use iodyno_dialect::{dashes, date, native};
use iodyno_engine::clock;
use iodyno_history::{Entry, Filter, History, PartFilter, State, StoredRun, import};
use iodyno_model::{Diagnostic, Origin, units};
use iodyno_report::csv::Csv;
use iodyno_report::history::{RunSummary, disclosure, list};
use iodyno_report::json::Json;
use iodyno_report::native::Native;
use iodyno_report::paint::Paint;
use iodyno_report::{NoFiles, Output, Reporter, plan};

use crate::archive;
use crate::crash;
use crate::loader::plain;
use crate::session::{self, say};
use crate::terminal;

/// What is wrong with a command; nothing was done.
type Refusal = Vec<Diagnostic>;

#[derive(Parser)]
#[command(name = "iodyno runs", about = "List and manage kept runs", disable_version_flag = true,
    args_conflicts_with_subcommands = true, after_help = AFTER)]
pub struct RunsArgs {
    #[command(subcommand)]
    command: Option<RunsCommand>,
    #[command(flatten)]
    wanted: RunFilter,
}

const AFTER: &str = "A run is named by its number, by a tag (the newest with it), or as `last`; last~1 is the one before. \
They lie in $XDG_DATA_HOME/iodyno/history.sqlite; IODYNO_HISTORY=FILE says otherwise, IODYNO_HISTORY=off keeps none.";

#[derive(Subcommand)]
enum RunsCommand {
    /// List them
    List(RunFilter),
    /// Report a run again
    Show(Show),
    /// Add tags to a run
    Tag {
        run: String,
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// Remove tags from a run
    Untag {
        run: String,
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// Note something about a run; without a text, print the note; an empty text removes it
    Note { run: String, text: Option<String> },
    /// Delete runs
    Delete {
        #[arg(required = true)]
        runs: Vec<String>,
    },
    /// Print the path of the history
    Path,
}

#[derive(Args, Default)]
struct RunFilter {
    /// Number of newest runs; 0: all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    last: u32,
    /// Only those with this tag
    #[arg(long, value_name = "NAME")]
    tag: Option<String>,
    /// Only those of this command: measure, run, fio, ior, …
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only those on this host
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Only those that are running, complete, stopped, killed or imported
    #[arg(long, value_name = "STATE", value_parser = state)]
    state: Option<State>,
    /// Only those since this long ago, e.g. 2h or 7d
    #[arg(long, value_name = "TIME", value_parser = age)]
    since: Option<u64>,
    /// Only those with this text in the plan's name, the command line or the note
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Show {
    /// Which one
    #[arg(default_value = "last")]
    run: String,
    /// As JSON, all of it (docs/json.md)
    #[arg(long, conflicts_with_all = ["csv", "plan"])]
    json: bool,
    /// The figures as CSV
    #[arg(long, conflicts_with = "plan")]
    csv: bool,
    /// The plan alone
    #[arg(long)]
    plan: bool,
    /// Print explained findings in full
    #[arg(long, conflicts_with_all = ["json", "csv", "plan"])]
    details: bool,
}

fn state(name: &str) -> Result<State, String> {
    State::of(name).ok_or_else(|| "expected running, complete, stopped, killed or imported".into())
}

fn age(text: &str) -> Result<u64, String> {
    units::parse_ns(text)
}

/// Does `iodyno runs ARGUMENTS…`; the exit status.
pub fn answer(arguments: &[String]) -> u8 {
    let words = match parsed::<RunsArgs>("iodyno runs", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let done = match words.command.unwrap_or(RunsCommand::List(words.wanted)) {
        RunsCommand::List(wanted) => archive::open().map_err(one).and_then(|history| told(&history, &wanted)),
        RunsCommand::Show(show) => archive::open().map_err(one).and_then(|history| shown(&history, &show)),
        RunsCommand::Tag { run, names } => named(&run, &names),
        RunsCommand::Untag { run, names } => unnamed(&run, &names),
        RunsCommand::Note { run, text } => noted(&run, text.as_deref()),
        RunsCommand::Delete { runs } => deleted(&runs),
        RunsCommand::Path => located(),
    };
    ended(done)
}

/// A command's words; or the exit status, once its help or what is wrong with it was said.
pub fn parsed<T: Parser>(name: &str, arguments: &[String]) -> Result<T, u8> {
    let words = std::iter::once(name.to_string()).chain(dashes(arguments));
    T::try_parse_from(words).map_err(|error| match error.exit_code() {
        0 => print(&error.to_string()),
        _ => {
            say(native::refusal(name, &error));
            2
        }
    })
}

/// The exit status of what was done, or was refused.
pub fn ended(done: Result<u8, Refusal>) -> u8 {
    done.unwrap_or_else(|wrong| {
        wrong.iter().for_each(say);
        2
    })
}

/// One thing that is wrong.
pub fn one(wrong: Diagnostic) -> Refusal {
    vec![wrong]
}

/// Prints; the exit status.
pub fn print(text: &str) -> u8 {
    session::print(text.as_bytes())
}

/// How the report goes to standard output.
pub fn paint() -> Paint {
    terminal::out_paint()
}

fn told(history: &History, wanted: &RunFilter) -> Result<u8, Refusal> {
    let filter = Filter {
        most: wanted.last,
        tag: wanted.tag.clone(),
        tool: wanted.tool.clone(),
        host: wanted.host.clone(),
        state: wanted.state,
        text: wanted.text.clone(),
        since_unix_ns: wanted.since.map_or(0, |age| clock::unix_ns().saturating_sub(age)),
        parts: PartFilter::First,
    };
    let entries = history.list(&filter).map_err(one)?;
    if wanted.json {
        let text = serde_json::to_string_pretty(&entries).unwrap_or_default();
        return Ok(print(&(text + "\n")));
    }
    if entries.is_empty() {
        say("no runs: measurements and plans are kept when they are run, tools with --also save");
        return Ok(0);
    }
    Ok(print(&list(&entries.iter().map(row).collect::<Vec<_>>(), paint())))
}

/// A kept run as a list shows it.
pub fn row(entry: &Entry) -> RunSummary {
    let result = match (entry.state, entry.headline.as_str()) {
        (State::Complete | State::Imported, headline) => headline.to_string(),
        (state, "") => state.name().into(),
        (state, headline) => format!("{}: {headline}", state.name()),
    };
    let doubts = if entry.findings > 0 { format!(" ({} doubtful)", entry.findings) } else { String::new() };
    let errors = if entry.errors > 0 { " (errors)" } else { "" };
    let parts = match entry.parts {
        0 => String::new(),
        1 => " (+1 run)".into(),
        parts => format!(" (+{parts} runs)"),
    };
    RunSummary {
        id: entry.id,
        when: date::stamp(entry.began_unix_ns, 0),
        command: entry.words.join(" "),
        host: entry.host.clone(),
        result: format!("{result}{doubts}{errors}{parts}"),
        tags: entry.tags.clone(),
    }
}

fn shown(history: &History, show: &Show) -> Result<u8, Refusal> {
    let kept = history.load(&show.run).map_err(one)?;
    if show.plan {
        return Ok(print(&plan::print(&kept.plan)));
    }
    if show.json {
        return Ok(replay(&kept, &mut Json::new()));
    }
    if show.csv {
        return Ok(replay(&kept, &mut Csv::new()));
    }
    print(&heading(&kept.entry, paint()));
    print(&disclosure(&kept.started, paint()));
    let test = (format!("run {}", kept.entry.id), &kept.started, &kept.record);
    if let Some(report) = crash::history::side_by_side(&[test]) {
        return Ok(print(&report.text(paint())));
    }
    let status = replay(&kept, &mut Native::new(paint()).details(show.details));
    if kept.entry.parts > 0 {
        let parts = PartFilter::Of(kept.entry.id);
        let parts = history.list(&Filter { parts, ..Filter::default() }).map_err(one)?;
        let rows: Vec<RunSummary> = parts.iter().map(row).collect();
        print(&format!(
            "\n{}\n{}",
            paint().heading("further runs of the same command"),
            list(&rows, paint())
        ));
    }
    Ok(status)
}

fn heading(entry: &Entry, paint: Paint) -> String {
    let mut text = paint.heading(&format!("run {} · {}", entry.id, entry.name));
    text.push_str(&format!("\n  {} UTC · {}", date::stamp(entry.began_unix_ns, 0), entry.state.name()));
    if !entry.tags.is_empty() {
        text.push_str(&format!(" · {}", entry.tags.join(" ")));
    }
    if let Some(first) = entry.part_of {
        text.push_str(&format!(" · part of run {first}"));
    }
    text.push_str(&format!("\n  iodyno {}\n", entry.words.join(" ")));
    if !entry.folder.is_empty() {
        text.push_str(&format!("  in {}\n", entry.folder));
    }
    for line in entry.note.iter().flat_map(|note| note.lines()) {
        text.push_str(&format!("  note: {line}\n"));
    }
    text
}

/// Lets a reporter see a run that is over.
fn replay(kept: &StoredRun, reporter: &mut dyn Reporter) -> u8 {
    let mut out = Vec::new();
    for event in kept.events() {
        let mut output = Output { out: &mut out, err: &mut io::sink(), files: &mut NoFiles };
        if let Err(error) = reporter.event(&event, &mut output) {
            say(Diagnostic::error(
                &Origin::Default,
                format!("the report could not be written: {}", plain(&error)),
            ));
            return 1;
        }
    }
    session::print(&out)
}

fn named(run: &str, names: &[String]) -> Result<u8, Refusal> {
    let history = archive::open().map_err(one)?;
    let id = history.find(run).map_err(one)?;
    names.iter().try_for_each(|name| iodyno_history::check_tag(name)).map_err(one)?;
    names.iter().try_for_each(|name| history.tag(id, name)).map_err(one)?;
    Ok(0)
}

fn unnamed(run: &str, names: &[String]) -> Result<u8, Refusal> {
    let history = archive::open().map_err(one)?;
    let id = history.find(run).map_err(one)?;
    let mut status = 0;
    for name in names {
        if !history.untag(id, name).map_err(one)? {
            say(Diagnostic::warning(&Origin::argument(name), format!("run {id} has no such tag")));
            status = 1;
        }
    }
    Ok(status)
}

fn noted(run: &str, text: Option<&str>) -> Result<u8, Refusal> {
    let history = archive::open().map_err(one)?;
    let entry = history.entry(run).map_err(one)?;
    match text {
        Some(text) => history.note(entry.id, text).map(|()| 0).map_err(one),
        None => Ok(entry.note.map_or(0, |note| print(&format!("{note}\n")))),
    }
}

/// All of them, or none.
fn deleted(runs: &[String]) -> Result<u8, Refusal> {
    let history = archive::open().map_err(one)?;
    let mut entries = Vec::new();
    for run in runs {
        let entry = history.entry(run).map_err(one)?;
        if entry.state == State::Running {
            return Err(one(Diagnostic::error(&Origin::argument(run), "it is still running")
                .hint("stop it first: what it found by then is kept")));
        }
        entries.push(entry);
    }
    entries.iter().try_for_each(|entry| history.delete(entry.id)).map_err(one)?;
    Ok(0)
}

fn located() -> Result<u8, Refusal> {
    let place = archive::place().map_err(one)?;
    Ok(print(&place.map_or("off\n".into(), |path| format!("{}\n", path.display()))))
}

#[derive(Parser)]
#[command(
    name = "iodyno import",
    about = "Import JSON results of fio, IOR, iperf3 or iodyno into the history",
    disable_version_flag = true
)]
pub struct ImportArgs {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Tag the runs; repeatable
    #[arg(long, value_name = "NAME")]
    tag: Vec<String>,
}

/// Does `iodyno import ARGUMENTS…`; the exit status.
pub fn import(arguments: &[String]) -> u8 {
    match parsed::<ImportArgs>("iodyno import", arguments) {
        Ok(words) => ended(imported(&words)),
        Err(status) => status,
    }
}

/// The runs in a file of another tool, or of another machine.
///
/// # Errors
/// What is wrong with the file.
pub fn foreign(path: &str) -> Result<Vec<import::Imported>, Diagnostic> {
    let bytes = std::fs::read(path).map_err(|error| {
        Diagnostic::error(&Origin::argument(path), format!("cannot be read: {}", plain(&error)))
            .hint("name a file that fio, IOR, iperf3 or iodyno wrote as JSON")
    })?;
    import::read(path, &bytes, iodyno_dialect::import::READERS)
}

/// All files, or none.
fn imported(words: &ImportArgs) -> Result<u8, Refusal> {
    words.tag.iter().try_for_each(|tag| iodyno_history::check_tag(tag)).map_err(one)?;
    let (mut runs, mut wrong) = (Vec::new(), Vec::new());
    for path in &words.files {
        match foreign(path) {
            Ok(found) => runs.extend(found),
            Err(error) => wrong.push(error),
        }
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let history = archive::open().map_err(one)?;
    for (mut opening, started, record) in runs {
        opening.tags.clone_from(&words.tag);
        opening.folder = archive::folder();
        let id = history.put(&opening, &started, &record, State::Imported).map_err(one)?;
        let entry = history.entry(&id.to_string()).map_err(one)?;
        print(&format!("run {id}: {} {}\n", opening.tool, entry.headline));
    }
    Ok(0)
}

//! Where the history lies, and whether a run goes into it.
//!
//! `IODYNO_HISTORY` names the file, or is `off`; else it lies among the user's data, as the XDG directories say. A run
//! that nobody asked to keep goes on without it when the history cannot be had, and says so; one that was to be kept is
//! not begun. What a debug build measures is worth nothing later: it keeps a run only where it is told to.

use std::cell::Cell;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::rc::Rc;

use iodyno_dialect::Run;
use iodyno_engine::witness;
use iodyno_history::{History, Keeping, Opening, State, check_tag};
use iodyno_model::{Diagnostic, Origin, Plan, Record, RunStart};

use crate::session::say;

/// The variable that says where the history lies.
pub const VARIABLE: &str = "IODYNO_HISTORY";
/// Its value where nothing is kept.
const OFF: &str = "off";

/// What was typed, for whoever looks at it later.
#[derive(Clone, Debug, Default)]
pub struct TypedCommand {
    /// The dialect or command.
    pub tool: String,
    /// The command line, without the program's name.
    pub words: Vec<String>,
    /// Whether runs of this command are kept without being asked for.
    pub native: bool,
    /// Where the command makes several runs: the first one that is kept, once there is one. The others are its parts.
    pub first: Option<Rc<Cell<Option<i64>>>>,
}

impl TypedCommand {
    /// A command with its arguments.
    pub fn new(tool: &str, arguments: &[String], native: bool) -> Self {
        let words = std::iter::once(tool).chain(arguments.iter().map(String::as_str)).map(String::from);
        TypedCommand { tool: tool.into(), words: unfollowed(words), native, first: None }
    }
}

/// The words without `--progress FILE`: it is only for whoever followed the run.
fn unfollowed(words: impl Iterator<Item = String>) -> Vec<String> {
    const OPTION: &str = "--progress";
    let mut after = false;
    let is_kept = |word: &String| {
        let was_after = std::mem::replace(&mut after, word == OPTION);
        !(was_after || word == OPTION || word.strip_prefix(OPTION).is_some_and(|rest| rest.starts_with('=')))
    };
    words.filter(is_kept).collect()
}

/// The file of the history; `None`: nothing is kept.
///
/// # Errors
/// When there is no place for it.
pub fn place() -> Result<Option<PathBuf>, Diagnostic> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(named) = set(VARIABLE) {
        return Ok((named != OFF).then(|| named.into()));
    }
    // A relative path there is to be ignored, says the XDG Base Directory Specification.
    let data = set("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let data = data.or_else(|| Some(PathBuf::from(set("HOME")?).join(".local/share")));
    let nowhere = || {
        Diagnostic::error(&Origin::argument(VARIABLE), "there is no home directory to keep runs in")
            .hint("IODYNO_HISTORY=FILE says where, IODYNO_HISTORY=off keeps none")
    };
    Ok(Some(data.ok_or_else(nowhere)?.join("iodyno/history.sqlite")))
}

/// The history, for commands that read it.
///
/// # Errors
/// When it is turned off or cannot be had.
pub fn open() -> Result<History, Diagnostic> {
    let off = || {
        Diagnostic::error(&Origin::argument(VARIABLE), "it says `off`: there is no history")
            .hint("unset it, or name the file in which runs are kept")
    };
    History::open(&place()?.ok_or_else(off)?)
}

/// What a debug build measures is worth nothing later, unless the file is named.
fn is_worth_it() -> bool {
    !cfg!(debug_assertions) || std::env::var_os(VARIABLE).is_some()
}

/// The history for points that a command keeps without being asked; `None`: it is turned off, or this build's figures are worth
/// nothing.
///
/// # Errors
/// It cannot be had.
pub fn for_points() -> Result<Option<History>, Diagnostic> {
    match place()? {
        Some(place) if is_worth_it() => History::open(&place).map(Some),
        _ => Ok(None),
    }
}

/// Who keeps a run; `None`: nobody.
///
/// # Errors
/// When it was asked for by name and cannot be done.
pub fn keeping(run: &Run, asked: &TypedCommand) -> Result<Option<Keeping>, Diagnostic> {
    // A server runs what its clients want, and keeps nothing of it: there is no run of its own to tell of.
    if run.plan.phases.is_empty() && run.keep.wanted.is_none() {
        return Ok(None);
    }
    if !run.keep.wanted.unwrap_or(asked.native && is_worth_it()) {
        return Ok(None);
    }
    run.keep.tags.iter().try_for_each(|tag| check_tag(tag))?;
    let must = run.keep.wanted == Some(true);
    if !must && matches!(place(), Ok(None)) {
        return Ok(None);
    }
    match open() {
        Ok(history) => Ok(Some(Keeping::new(history, opening(run, asked)))),
        Err(wrong) if must => Err(wrong),
        Err(wrong) => {
            say(Diagnostic { message: format!("{}; this run is not kept", wrong.message), ..note(wrong) });
            Ok(None)
        }
    }
}

/// Keeps what a command without a plan's run has judged, and says so at a terminal. `arguments`: behind the tool's name.
pub fn keep_judged(tool: &str, arguments: &[String], plan: Plan, record: &Record, at_unix_ns: u64) {
    if !is_worth_it() || matches!(place(), Ok(None)) {
        return;
    }
    let started =
        RunStart { plan: plan.clone(), machine: witness::machine(), at_unix_ns, ..RunStart::default() };
    let TypedCommand { tool, words, .. } = TypedCommand::new(tool, arguments, true);
    let opening = Opening { tool, words, folder: folder(), plan, tags: Vec::new(), part_of: None };
    match open().and_then(|history| history.put(&opening, &started, record, State::Complete)) {
        Ok(id) if std::io::stderr().is_terminal() => {
            say(format_args!("kept as run {id}: iodyno runs show {id}"));
        }
        Ok(_) => {}
        Err(wrong) => say(note(wrong)),
    }
}

/// The same as something worth knowing.
pub fn note(wrong: Diagnostic) -> Diagnostic {
    Diagnostic { level: iodyno_model::Level::Note, ..wrong }
}

/// Where the command was typed.
pub fn folder() -> String {
    std::env::current_dir().map_or_else(|_| "/".into(), |path| path.to_string_lossy().into_owned())
}

fn opening(run: &Run, asked: &TypedCommand) -> Opening {
    Opening {
        tool: asked.tool.clone(),
        words: asked.words.clone(),
        folder: folder(),
        plan: run.plan.clone(),
        tags: run.keep.tags.clone(),
        part_of: asked.first.as_ref().and_then(|first| first.get()),
    }
}

/// Says where a run was kept, or why not; whether all is well: nobody may have asked for it.
pub fn kept(keeping: Keeping, run: &Run, asked: &TypedCommand, original: bool) -> bool {
    let (id, must) = (keeping.id(), run.keep.wanted == Some(true));
    if let Some(first) = asked.first.as_ref().filter(|first| first.get().is_none()) {
        first.set(id);
    }
    match (keeping.close(), id) {
        (Ok(()), Some(id)) => {
            // Whoever follows the run by its lines is told, too.
            let is_followed = run.files.iter().any(|file| file.format == crate::sink::PROGRESS);
            if is_followed || !original && std::io::stderr().is_terminal() {
                say(format_args!("kept as run {id}: iodyno runs show {id}"));
            }
            true
        }
        (Ok(()), None) => true,
        (Err(wrong), _) => {
            say(if must { wrong } else { note(wrong) });
            !must
        }
    }
}

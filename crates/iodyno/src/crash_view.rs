//! `iodyno crash --view DIR -- COMMAND`: a program over a directory whose unsynced data vanishes on command; `iodyno crash
//! drop DIR` gives it.
//!
//! Exit status: the command's; 2 it could not begin.

use std::path::Path;

use clap::Parser;
use iodyno_model::{Diagnostic, Origin, units};
use iodyno_recorder::view::{self, UnsyncedBytes, ViewTerms};
use iodyno_trace::TraceError;

use crate::runs::{ended, one, parsed, print};
use crate::session::say;

/// Of unsynced data in memory, where nobody says otherwise.
const MOST_BYTES: &str = "256MiB";

#[derive(Parser)]
#[command(name = "iodyno crash --view", about = "Run a program over a directory that loses what is unsynced",
    disable_version_flag = true, override_usage = "iodyno crash --view DIR [OPTIONS] -- COMMAND…", after_help = AFTER)]
pub struct ViewArgs {
    /// The directory, which only the command sees covered
    #[arg(long, value_name = "DIR", required = true)]
    view: String,
    /// Names that were made or removed and not synced vanish, too
    #[arg(long)]
    names: bool,
    /// Unsynced data in memory, at most; what is beyond is written to the files as a kernel does, and is not lost
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes, default_value = MOST_BYTES)]
    memory: u64,
    /// The program and its arguments, after --
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

const AFTER: &str = "While it runs: iodyno crash drop DIR loses what is unsynced, as a crash does; files that are open then are dead \
(EIO). iodyno crash unsynced DIR lists it. docs/powerfail.md says what is held back.";

/// The exit status, where the words are of a view.
pub fn answer(arguments: &[String]) -> Option<u8> {
    let own = arguments.iter().take_while(|word| *word != "--");
    let is_view = own.into_iter().any(|word| word == "--view" || word.starts_with("--view="));
    is_view.then(|| match parsed::<ViewArgs>("iodyno crash --view", arguments) {
        Ok(words) => ended(viewed(&words).map_err(one)),
        Err(status) => status,
    })
}

fn wrong(directory: &str, error: &TraceError) -> Diagnostic {
    Diagnostic {
        hint: error.hint.clone(),
        ..Diagnostic::error(&Origin::argument(directory), error.to_string())
    }
}

/// Says a word to the view of a directory, and prints its answer.
///
/// # Errors
/// There is no view of it.
pub fn order(directory: &str, word: &str) -> Result<u8, Diagnostic> {
    let files = view::ask(Path::new(directory), word).map_err(|error| wrong(directory, &error))?;
    Ok(print(&files))
}

fn viewed(words: &ViewArgs) -> Result<u8, Diagnostic> {
    let directory = words.view.as_str();
    let terms = ViewTerms { most_bytes: words.memory, has_names: words.names };
    let done = view::view(Path::new(directory), &words.command, terms, |lost, undone| {
        let names = if undone > 0 { format!(", and {undone} changes of names") } else { String::new() };
        say(format_args!("iodyno: lost {}{names}", summary(lost)));
    });
    let viewed = done.map_err(|error| wrong(directory, &error))?;
    if let Some(failure) = viewed.failure {
        say(Diagnostic::warning(
            &Origin::argument(directory),
            format!("unsynced data could not be written: {failure}"),
        ));
    }
    if !viewed.left.is_empty() {
        say(format_args!("iodyno: at its end unsynced, and written now: {}", summary(&viewed.left)));
    }
    Ok(viewed.end.status())
}

fn summary(files: &[UnsyncedBytes]) -> String {
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    match files {
        [] => "nothing".into(),
        [only] => format!("{bytes} bytes of {}", only.name),
        files => format!("{bytes} bytes of {} files", files.len()),
    }
}

//! Runs a program over a directory whose unsynced data is held back, and can be lost on command.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use iodyno_fuse::UnsyncedBytes;
use iodyno_fuse::{ControlSocket, UnsyncedNames, UnsyncedStore, UnsyncedTerms};
use iodyno_model::origin::plain;
use iodyno_trace::TraceError;

use crate::private_mount::PrivateMount;
use crate::program::forward::SignalForwarding;
use crate::recorded_program::ProgramEnd;
use crate::waiting_child::reap_ended;

/// How long the program is not looked at.
const LOOK: Duration = Duration::from_millis(10);

/// How a program ended, and what it left unsynced.
pub struct ViewedProgram {
    pub end: ProgramEnd,
    /// It is written to the files, unless it could not be.
    pub left: Vec<UnsyncedBytes>,
    pub failure: Option<String>,
}

/// What a view holds back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewTerms {
    /// Of data in memory, at most.
    pub most_bytes: u64,
    /// Names, too.
    pub has_names: bool,
}

/// Runs a command over a directory that loses what is unsynced whenever the word `drop` comes. `told` is told of each loss, and
/// how many names were undone.
///
/// # Errors
/// The directory cannot be covered; the command cannot be executed.
pub fn view(
    directory: &Path,
    command: &[String],
    terms: ViewTerms,
    told: impl Fn(&[UnsyncedBytes], usize) + Send + 'static,
) -> Result<ViewedProgram, TraceError> {
    let store =
        Arc::new(UnsyncedStore::new(UnsyncedTerms { most_bytes: terms.most_bytes, ignores_sync: false }));
    let mount = PrivateMount::begin(directory, command)?;
    let socket = ControlSocket::bind(&mount.directory).map_err(|error| {
        TraceError::new(format!("no socket for its orders: {}", plain(&error)))
            .hint("let another view of it end first; or name it by a shorter path")
    })?;
    let names = match terms.has_names {
        true => File::open(&mount.directory)
            .and_then(|root| UnsyncedNames::new(&root))
            .map(|names| Some(Arc::new(names))),
        false => Ok(None),
    };
    let names = names.map_err(|error| {
        TraceError::new(format!("no place for names that are removed: {}", plain(&error)))
            .hint("make the directory writable, or leave --names out")
    })?;
    let process = mount.process;
    let forwarding = SignalForwarding::begin(process);
    let served = mount.serve_holding(Arc::clone(&store), names.clone());
    let (thread, pages) = served.inspect_err(|_| drop(names.as_ref().map(|names| names.end())))?;
    let (held, changed) = (Arc::clone(&store), names.clone());
    let answers = move || {
        socket.answer(|word| match word {
            "drop" => {
                let lost = held.drop_all();
                let undone = changed.as_ref().map_or(0, |names| names.drop_all());
                let nodes: Vec<u64> = lost.iter().map(|file| file.node).collect();
                pages.forget(&nodes);
                told(&lost, undone);
                listed(&lost)
            }
            "unsynced" => listed(&held.unsynced()),
            word => format!("? {word}\n"),
        });
    };
    let answering = std::thread::Builder::new().name("orders".into()).spawn(answers);
    answering.map_err(|error| TraceError::new(plain(&error)))?;
    let mut end = None;
    while !thread.is_finished() || end.is_none() {
        reap_ended(process, &mut end, &forwarding);
        std::thread::park_timeout(LOOK);
    }
    let served = thread.join().unwrap_or(Ok(()));
    let left = store.unsynced();
    let failure = served
        .and_then(|()| store.write_all_out())
        .and_then(|()| names.map_or(Ok(()), |names| names.end()))
        .err();
    Ok(ViewedProgram {
        end: end.unwrap_or(ProgramEnd::Exited(1)),
        left,
        failure: failure.map(|error| plain(&error)),
    })
}

/// Says a word (`drop`, `unsynced`) to the view of a directory; a line for each file.
///
/// # Errors
/// There is no view of it, or it is another user's.
pub fn ask(directory: &Path, word: &str) -> Result<String, TraceError> {
    const HINT: &str = "iodyno crash --view DIR -- COMMAND makes one";
    let directory = directory.canonicalize().map_err(|error| TraceError::new(plain(&error)).hint(HINT))?;
    iodyno_fuse::ask(&directory, word).map_err(|_| TraceError::new("there is no view of it").hint(HINT))
}

/// A line for each file: bytes, and its name.
fn listed(files: &[UnsyncedBytes]) -> String {
    files.iter().map(|file| format!("{} {}\n", file.bytes, file.name)).collect()
}

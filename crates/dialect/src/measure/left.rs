//! What an earlier `measure` left in the directory when it was killed: a signal that cannot be caught removes nothing.
//!
//! Names say which process made them. What cannot be told from here, as on a network file system, is only mentioned.

use iodyno_model::{Diagnostic, Origin, units};

use super::lower::{ENDINGS, PREFIX};
use super::settings::Settings;
use crate::{Loader, PathKind};

/// What was found.
#[derive(Debug, Default, PartialEq)]
pub struct LeftoverFiles {
    /// Paths whose process is over.
    pub abandoned: Vec<String>,
    /// A note on each whose process is somewhere else, or nobody knows.
    pub unknown: Vec<Diagnostic>,
}

/// Looks for what was left where this run will make its own.
pub fn find(settings: &Settings, loader: &mut dyn Loader) -> LeftoverFiles {
    let mut left = LeftoverFiles::default();
    if settings.reads_only() {
        return left;
    }
    let directory = settings.path.trim_end_matches('/');
    for name in loader.list(&settings.path).unwrap_or_default() {
        let Some(process) = process(&name) else { continue };
        let path = format!("{directory}/{name}");
        match loader.is_over(process) {
            Some(true) => left.abandoned.push(path),
            Some(false) => {}
            None => left.unknown.push(unknown(&path, loader)),
        }
    }
    left
}

/// The process that made something of that name.
fn process(name: &str) -> Option<&str> {
    let rest = name.strip_prefix(PREFIX)?;
    ENDINGS.iter().find_map(|ending| rest.strip_suffix(ending))
}

fn unknown(path: &str, loader: &dyn Loader) -> Diagnostic {
    let facts = loader.look(path).unwrap_or_default();
    let (size, remove) = match facts.kind {
        PathKind::Directory => (String::new(), "rm -r"),
        _ => (format!(" ({})", units::binary(facts.bytes)), "rm"),
    };
    let message = format!("{path}{size}: made by another `iodyno measure`, perhaps on another machine");
    Diagnostic::note(&Origin::Default, message).hint(format!("if none is running there: {remove} {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_their_process() {
        assert_eq!(process(".iodyno-measure-a-1.tmp"), Some("a-1"));
        assert_eq!(process(".iodyno-measure-a-1.append.tmp"), Some("a-1"));
        assert_eq!(process(".iodyno-measure-a-1.d"), Some("a-1"));
        assert_eq!((process("iodyno-measure-a.tmp"), process(".iodyno-measure-a")), (None, None));
    }
}

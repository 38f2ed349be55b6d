//! The folder of results: `output`, or the one that `-o` names.
//!
//! A folder that an earlier run made is renewed, as by the original. It refuses any other folder in which something lies.

use iodyno_model::{Diagnostic, Origin};

use super::command::Command;
use super::report::SIGNS;
use crate::{Loader, PathKind};

const DEFAULT: &str = "output";
/// Numbers behind a folder's name, at most.
const NUMBERS_MOST: u32 = 999_999;

/// The folder's path.
///
/// # Errors
/// It is something else, or holds what no run of vdbench wrote.
pub fn choose(command: &Command, loader: &mut dyn Loader) -> Result<String, Diagnostic> {
    let typed = command.output.clone().unwrap_or_else(|| DEFAULT.into());
    let place = Origin::argument(&format!("-o {typed}"));
    if let Some(base) = typed.strip_suffix('+') {
        let base = if base.is_empty() { DEFAULT } else { base };
        let numbered = (1..=NUMBERS_MOST).map(|number| format!("{base}.{number:03}"));
        let free = std::iter::once(base.to_string()).chain(numbered).find(|path| loader.look(path).is_none());
        return free.ok_or_else(|| Diagnostic::error(&place, "no number is left").hint("-o another name"));
    }
    let path = typed.strip_suffix(".tod").map_or(typed.clone(), |base| {
        let stamp = crate::date::stamp(loader.now_unix_ns(), loader.east_s());
        let digits: String = stamp.chars().filter(char::is_ascii_digit).collect();
        format!("{base}.{}.{}", &digits[2..8], &digits[8..])
    });
    let path = path.trim_end_matches('/').to_string();
    let hint = "-o DIR names another folder, -o DIR+ a new one each time";
    match loader.look(&path).map(|facts| facts.kind) {
        None => Ok(path),
        Some(PathKind::Directory) => {
            let names = loader.list(&path).unwrap_or_default();
            let is_ours = SIGNS.iter().all(|sign| names.iter().any(|name| name == sign));
            if names.is_empty() || is_ours {
                return Ok(path);
            }
            let message = format!("{path} holds {}, which no run of vdbench made", names[0]);
            Err(Diagnostic::error(&place, message).hint(hint))
        }
        Some(_) => Err(Diagnostic::error(&place, format!("{path} is no folder")).hint(hint)),
    }
}

//! Where the studio keeps what was designed, and what runs reported: files that stay, so that `iodyno runs` names something
//! that can be run again. Nothing is overwritten: another text gets another name.

use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use iodyno_model::{Diagnostic, Origin};

use crate::archive;
use crate::loader::plain;

/// Files of one name at most.
const SAME_MOST: u32 = 10_000;

/// The directory beside the history, or among the user's data; it is made, for this user alone.
///
/// # Errors
/// When it cannot be had.
pub fn place() -> Result<PathBuf, Diagnostic> {
    let beside = archive::place()?.and_then(|history| history.parent().map(|parent| parent.join("studio")));
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    let folder = beside.or_else(|| Some(data.or_else(home)?.join("iodyno/studio")));
    let folder = folder.ok_or_else(|| {
        Diagnostic::error(&Origin::argument("HOME"), "there is no home directory to keep designs in")
    })?;
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|error| unwritable(&folder, &error))?;
    Ok(folder)
}

/// Keeps a text under a name; the path. The same text is kept once, another one gets a number behind its name.
///
/// # Errors
/// When it cannot be written; then nothing is left of it.
pub fn keep(folder: &Path, stem: &str, extension: &str, bytes: &[u8]) -> Result<PathBuf, Diagnostic> {
    for number in 1..SAME_MOST {
        let name = if number == 1 { stem.to_string() } else { format!("{stem}-{number}") };
        let path = folder.join(format!("{name}.{extension}"));
        match std::fs::File::create_new(&path) {
            Ok(mut file) => {
                return match file.write_all(bytes).and_then(|()| file.flush()) {
                    Ok(()) => Ok(path),
                    Err(error) => {
                        let _ = std::fs::remove_file(&path);
                        Err(unwritable(&path, &error))
                    }
                };
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if std::fs::read(&path).is_ok_and(|known| known == bytes) {
                    return Ok(path);
                }
            }
            Err(error) => return Err(unwritable(&path, &error)),
        }
    }
    Err(Diagnostic::error(&Origin::argument(stem), "too many designs have this name").hint("another name"))
}

/// The path of a file that is kept there, by its bare name; none: there is no such file.
pub fn kept(folder: &Path, name: &str) -> Option<PathBuf> {
    let is_bare = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
    let path = folder.join(name);
    (is_bare && path.is_file()).then_some(path)
}

fn unwritable(path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(&Origin::argument(&path.to_string_lossy()), plain(error))
        .hint("designs and reports are kept there; IODYNO_HISTORY=FILE names another directory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_overwritten_and_nothing_is_kept_twice() {
        let folder = tempfile::tempdir().unwrap();
        let keep = |text: &str| keep(folder.path(), "mix", "icf", text.as_bytes()).unwrap();
        let names = ["one", "two", "one", "two"].map(|text| keep(text).file_name().unwrap().to_owned());
        assert_eq!(names, ["mix.icf", "mix-2.icf", "mix.icf", "mix-2.icf"]);
        assert!(kept(folder.path(), "mix.icf").is_some());
        for name in ["", "..", "../mix.icf", "/etc/passwd", "other.icf"] {
            assert_eq!(kept(folder.path(), name), None, "{name}");
        }
    }
}

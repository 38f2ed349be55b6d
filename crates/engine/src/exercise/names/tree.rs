//! What is there when a race is over, and its removal.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::crew::found;
use super::state::{Answer, Seen};
use crate::engines::Failure;

/// All names below a directory, in the order of the model's.
///
/// # Errors
/// What cannot be looked at.
pub fn look(root: &Path) -> Result<Vec<Seen>, Failure> {
    let (mut seen, mut first) = (Vec::new(), HashMap::new());
    walk(root, "", &mut seen, &mut first).map_err(|error| told(&error))?;
    Ok(seen)
}

fn walk(
    at: &Path,
    above: &str,
    seen: &mut Vec<Seen>,
    first: &mut HashMap<u64, usize>,
) -> std::io::Result<()> {
    let entries = std::fs::read_dir(at)?;
    let mut names: Vec<String> = entries
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_, _>>()?;
    names.sort_unstable();
    for name in names {
        let here = at.join(&name);
        let metadata = std::fs::symlink_metadata(&here)?;
        let Answer::Found(kind, links) = found(metadata.mode(), metadata.nlink()) else { continue };
        let text = match metadata.is_symlink() {
            true => std::fs::read_link(&here)?.to_string_lossy().into_owned(),
            false => String::new(),
        };
        let path = format!("{above}{name}");
        let which = *first.entry(metadata.ino()).or_insert(seen.len());
        seen.push((path.clone(), kind, links, text, which));
        if metadata.is_dir() {
            walk(&here, &format!("{path}/"), seen, first)?;
        }
    }
    Ok(())
}

/// Removes all that was seen, the deepest first.
///
/// # Errors
/// What cannot be removed.
pub fn clear(root: &Path, seen: &[Seen]) -> Result<(), Failure> {
    for (path, kind, ..) in seen.iter().rev() {
        let path = root.join(path);
        let removed = match kind {
            super::state::Kind::Directory => std::fs::remove_dir(&path),
            _ => std::fs::remove_file(&path),
        };
        removed.map_err(|error| told(&error))?;
    }
    Ok(())
}

fn told(error: &std::io::Error) -> Failure {
    Failure::call("looking at what a race left", error.raw_os_error().unwrap_or(libc::EIO))
}

/// What was seen, in words.
pub fn describe(seen: &[Seen]) -> String {
    let one = |(path, kind, links, text, which): &Seen| match kind {
        super::state::Kind::Directory => format!("{path}/"),
        super::state::Kind::Symlink => format!("{path} -> {text}"),
        super::state::Kind::File if seen[*which].0 == *path => format!("{path} (links {links})"),
        super::state::Kind::File => format!("{path} (the same file as {})", seen[*which].0),
    };
    match seen {
        [] => "nothing".into(),
        _ => seen.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}

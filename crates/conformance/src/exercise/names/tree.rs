//! What is there when a race is over, and its removal.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::processes::found;
use super::state::{ModelAnswer, NodeKind, Seen};
use iodyno_engine::Failure;

/// Longer paths are those of a directory that holds itself.
const DEEPEST: usize = 64;
/// So often it is looked whether all was removed.
const LOOKS: u32 = 4;

/// All names below a directory, in the order of the model's.
///
/// # Errors
/// What cannot be looked at.
pub fn look(root: &Path) -> Result<Vec<Seen>, Failure> {
    let (mut seen, mut first) = (Vec::new(), HashMap::new());
    walk(root, "", &mut seen, &mut first).map_err(|error| tree_failure(&error))?;
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
        let path = format!("{above}{name}");
        let Ok(metadata) = std::fs::symlink_metadata(&here) else {
            // A name that is listed and leads nowhere: no model has that.
            seen.push((path, NodeKind::File, 0, String::new(), seen.len()));
            continue;
        };
        let ModelAnswer::Found(kind, links) = found(metadata.mode(), metadata.nlink()) else { continue };
        let text = match metadata.is_symlink() {
            true => std::fs::read_link(&here)?.to_string_lossy().into_owned(),
            false => String::new(),
        };
        let which = *first.entry(metadata.ino()).or_insert(seen.len());
        seen.push((path.clone(), kind, links, text, which));
        if metadata.is_dir() && path.len() < DEEPEST {
            walk(&here, &format!("{path}/"), seen, first)?;
        }
    }
    Ok(())
}

/// Removes all that was seen, the deepest first. What is two names of one thing on a broken file system may take a second
/// look.
///
/// # Errors
/// Something cannot be removed.
pub fn clear(root: &Path, seen: &[Seen]) -> Result<(), Failure> {
    remove(root, seen);
    let mut left = if seen.is_empty() { Vec::new() } else { look(root)? };
    for _ in 0..LOOKS {
        if left.is_empty() {
            return Ok(());
        }
        remove(root, &left);
        left = look(root)?;
    }
    Err(Failure::new(format!("{} cannot be removed again", describe(&left))))
}

fn remove(root: &Path, seen: &[Seen]) {
    for (path, kind, ..) in seen.iter().rev() {
        let path = root.join(path);
        // Whatever stays is seen when somebody looks again.
        let _ = match kind {
            NodeKind::Directory => std::fs::remove_dir(&path),
            _ => std::fs::remove_file(&path),
        };
    }
}

fn tree_failure(error: &std::io::Error) -> Failure {
    Failure::io("looking at what a race left", error)
}

/// What was seen, in words.
pub fn describe(seen: &[Seen]) -> String {
    let one = |(path, kind, links, text, which): &Seen| match kind {
        NodeKind::Directory => format!("{path}/"),
        NodeKind::Symlink => format!("{path} -> {text}"),
        NodeKind::File if seen[*which].0 == *path => format!("{path} (links {links})"),
        NodeKind::File => format!("{path} (the same file as {})", seen[*which].0),
    };
    match seen {
        [] => "nothing".into(),
        _ => seen.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}

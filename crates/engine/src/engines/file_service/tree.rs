//! Removes what lies below a directory, by the calls of dbench: each name is looked at, links are followed.
//!
//! What cannot be removed stays, and so does what holds it.

use super::calls::{self, Directory, Path};

/// Removes all files of a tree; dbench 4.0 leaves its directories.
pub fn empty(path: &Path) {
    visit(path, false);
}

/// Removes a tree.
pub fn remove(path: &Path) {
    visit(path, true);
}

fn visit(path: &Path, removes_directories: bool) {
    let Some(mut directory) = Directory::open(path) else { return };
    while let Some(name) = directory.next() {
        if name == c"." || name == c".." {
            continue;
        }
        let below = path.join(name);
        match calls::stat(&below) {
            Ok(facts) if facts.is_directory => visit(&below, removes_directories),
            Ok(_) => drop(calls::unlink(&below)),
            Err(_) => {}
        }
    }
    drop(directory);
    if removes_directories {
        let _ = calls::rmdir(path);
    }
}

//! How large a file of the tree may be: what a program writes is written again by it, and does not belong here.
//!
//! A tree that everybody clones and reads holds no packages, archives, captures or pictures of screens. Counts bytes of
//! what git tracks or would track, text or not; those that may be larger stand here with their reason.

use std::path::Path;

use super::Violation;

/// Bytes.
const LIMIT: u64 = 400 * 1024;
const HINT: &str = "leave it to the command that makes it, below target/, and have .gitignore name it";

/// Every file of a tree that is too large.
pub fn check(root: &Path, paths: &[String]) -> Vec<Violation> {
    let large = |path: &&String| root.join(path).metadata().is_ok_and(|about| about.len() > LIMIT);
    let message = format!("it has more than {} KiB", LIMIT / 1024);
    paths.iter().filter(large).map(|path| Violation::new(path, 1, &message, HINT)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_is_a_violation() {
        let folder = tempfile::TempDir::new().expect("a folder");
        for (name, bytes) in [("small", LIMIT), ("large", LIMIT + 1)] {
            let file = std::fs::File::create(folder.path().join(name)).expect("a file");
            file.set_len(bytes).expect("its length");
        }
        let names = ["small", "large", "absent"].map(String::from);
        let found = check(folder.path(), &names);
        assert_eq!(found.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["large"]);
    }
}

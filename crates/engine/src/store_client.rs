//! A store as it is asked outside the loop, one call after the other: for what killed runs left there, for promises of
//! consistency, and for directories that a run made and nobody else.
//!
//! Names are whole, without the address's scheme and bucket. Errors are numbers of the system.

/// A connection to a store.
pub trait StoreClient {
    /// Makes an object, or all of it anew.
    ///
    /// # Errors
    /// The store's.
    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), i32>;

    /// All bytes of an object.
    ///
    /// # Errors
    /// It is not there, or the store's.
    fn get(&mut self, name: &str) -> Result<Vec<u8>, i32>;

    /// Length of an object; of a directory 0.
    ///
    /// # Errors
    /// It is not there, or the store's.
    fn length(&mut self, name: &str) -> Result<u64, i32>;

    /// Removes an object, or a directory that is empty.
    ///
    /// # Errors
    /// It is not there, or the store's.
    fn remove(&mut self, name: &str) -> Result<(), i32>;

    /// Names of all objects below a directory, whose name ends in a slash or is empty.
    ///
    /// # Errors
    /// The store's; no directory has no objects.
    fn objects(&mut self, above: &str) -> Result<Vec<String>, i32>;

    /// What lies right below a directory and begins so: the last parts of the names, each once.
    ///
    /// # Errors
    /// The store's; no directory has nothing below it.
    fn children(&mut self, above: &str, start: &str) -> Result<Vec<String>, i32>;

    /// Whether names lie in directories, which are made and removed too.
    fn has_directories(&self) -> bool {
        false
    }

    /// Removes a directory with all directories below it, as far as they are empty.
    ///
    /// # Errors
    /// The store's.
    fn remove_directories(&mut self, _directory: &str) -> Result<(), i32> {
        Ok(())
    }
}

/// A directory and those above it that are not there, the lowest first; none in a store without directories.
///
/// # Errors
/// The store's.
pub fn missing_directories(client: &mut dyn StoreClient, directory: &str) -> Result<Vec<String>, i32> {
    let mut missing = Vec::new();
    if !client.has_directories() {
        return Ok(missing);
    }
    let mut next = directory.trim_end_matches('/');
    while !matches!(next, "" | ".") {
        match client.length(next) {
            Ok(_) => break,
            Err(libc::ENOENT) => missing.push(next.to_string()),
            Err(errno) => return Err(errno),
        }
        next = next.rsplit_once('/').map_or("", |(above, _)| above);
    }
    Ok(missing)
}

/// Removes directories that a run made, the lowest first; one that somebody else has put something in stays.
pub fn remove_made(client: &mut dyn StoreClient, directories: &[String]) {
    let Some((lowest, above)) = directories.split_first() else { return };
    let _ = client.remove_directories(lowest);
    for directory in above {
        let _ = client.remove(directory);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Directories alone.
    struct Directories(BTreeSet<String>);

    impl StoreClient for Directories {
        fn put(&mut self, _: &str, _: &[u8]) -> Result<(), i32> {
            Err(libc::EROFS)
        }
        fn get(&mut self, _: &str) -> Result<Vec<u8>, i32> {
            Err(libc::EISDIR)
        }
        fn length(&mut self, name: &str) -> Result<u64, i32> {
            if self.0.contains(name) { Ok(0) } else { Err(libc::ENOENT) }
        }
        fn remove(&mut self, name: &str) -> Result<(), i32> {
            let is_full = self.0.iter().any(|other| other.starts_with(&format!("{name}/")));
            if is_full {
                return Err(libc::ENOTEMPTY);
            }
            self.0.remove(name);
            Ok(())
        }
        fn objects(&mut self, _: &str) -> Result<Vec<String>, i32> {
            Ok(Vec::new())
        }
        fn children(&mut self, _: &str, _: &str) -> Result<Vec<String>, i32> {
            Ok(Vec::new())
        }
        fn has_directories(&self) -> bool {
            true
        }
        fn remove_directories(&mut self, directory: &str) -> Result<(), i32> {
            self.remove(directory)
        }
    }

    #[test]
    fn directories_of_others_stay() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let mut store = Directories(names(&["home"]));
        let missing = missing_directories(&mut store, "home/bench/run/4K/").unwrap();
        assert_eq!(missing, ["home/bench/run/4K", "home/bench/run", "home/bench"]);
        store.0 = names(&["home", "home/bench", "home/bench/run", "home/bench/run/4K", "home/bench/other"]);
        remove_made(&mut store, &missing);
        assert_eq!(store.0, names(&["home", "home/bench", "home/bench/other"]));
        assert_eq!(missing_directories(&mut store, "./x"), Ok(vec!["./x".to_string()]));
        assert_eq!(missing_directories(&mut store, "home"), Ok(Vec::new()));
    }
}

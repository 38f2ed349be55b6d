//! Where the files of a worker lie: trees by host and thread, directories by the number of the file.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use iodyno_model::Job;

use crate::engines::{setting, switched_on, whole_number};

/// The factor of the hash by which files are dealt to directories.
const PRIME: u64 = 900_593;

/// The trees of one worker.
#[derive(Clone, Debug, Default)]
pub struct FileTrees {
    /// Of the files, and of what they become; file n is in the tree n modulo their number.
    sources: Vec<PathBuf>,
    destinations: Vec<PathBuf>,
    files: u64,
    per_directory: u64,
    branch: u64,
    hashes: bool,
    /// A name before and behind its number.
    before: String,
    behind: String,
}

impl FileTrees {
    /// Those of a worker, by its number and that of all.
    pub fn of(job: &Job, tops: Vec<String>, files: u64, (seat, seats): (u32, u32)) -> FileTrees {
        let text = |name: &str| setting(job, name).unwrap_or_default().to_string();
        let number = |name: &str, default: u64| whole_number(job, name).unwrap_or(default).max(1);
        let threads = number("threads", seats.into());
        let hosts: Vec<String> =
            setting(job, "hosts").unwrap_or("localhost").split(',').map(String::from).collect();
        let (host, thread) = (u64::from(seat) / threads, u64::from(seat) % threads);
        let host = hosts[host as usize % hosts.len()].clone();
        let tree = |top: &String, name: &str| {
            let root = Path::new(top).join(name);
            match switched_on(job, "shared") {
                true => root,
                false => root.join(&host).join(format!("thrd_{thread:02}")),
            }
        };
        FileTrees {
            sources: tops.iter().map(|top| tree(top, "file_srcdir")).collect(),
            destinations: tops.iter().map(|top| tree(top, "file_dstdir")).collect(),
            files,
            per_directory: number("per_directory", 100),
            branch: number("branch", 10),
            hashes: switched_on(job, "hash"),
            before: format!("{}_{host}_{thread:02}_", text("prefix")),
            behind: format!("_{}", text("suffix")),
        }
    }

    pub fn source(&self, number: u64) -> PathBuf {
        self.path(&self.sources, number, "")
    }

    pub fn destination(&self, number: u64) -> PathBuf {
        self.path(&self.destinations, number, "")
    }

    /// The link to a file.
    pub fn linked(&self, number: u64) -> PathBuf {
        self.path(&self.destinations, number, ".s")
    }

    /// The directory that is made in its place.
    pub fn directory(&self, number: u64) -> PathBuf {
        self.path(&self.sources, number, ".d")
    }

    fn path(&self, trees: &[PathBuf], number: u64, end: &str) -> PathBuf {
        let tree = &trees[number as usize % trees.len()];
        let name = format!("{}{number}{}{end}", self.before, self.behind);
        tree.join(self.folder(number)).join(name)
    }

    /// The directory of a file, below its tree.
    fn folder(&self, number: u64) -> String {
        if self.hashes { self.hashed(number) } else { self.in_order(number) }
    }

    /// Files one after the other in one directory, then in the next: its number's digits are the levels.
    fn in_order(&self, number: u64) -> String {
        let mut rest = number / self.per_directory;
        let mut parts = vec![format!("d_{:03}", if self.branch > 1 { rest % self.branch } else { rest })];
        while self.branch > 1 && rest >= self.branch {
            rest /= self.branch;
            parts.push(format!("d_{:03}", rest % self.branch));
        }
        parts.reverse();
        parts.join("/")
    }

    fn hashed(&self, number: u64) -> String {
        let mut rest = number.wrapping_mul(PRIME) % self.files.max(1) / self.per_directory;
        let mut parts = Vec::new();
        while rest > 1 {
            parts.push(format!("h_{:03}", rest.wrapping_mul(PRIME) % self.branch));
            rest /= self.branch.max(2);
        }
        parts.reverse();
        parts.join("/")
    }

    /// Every directory of all trees, each once.
    fn directories(&self) -> BTreeSet<PathBuf> {
        let step = if self.hashes { 1 } else { self.per_directory };
        let last = self.files / step * step + step;
        let folders: BTreeSet<String> =
            (0..=last).step_by(step as usize).map(|number| self.folder(number.min(self.files))).collect();
        let trees = self.sources.iter().chain(&self.destinations);
        trees.flat_map(|tree| folders.iter().map(|folder| tree.join(folder))).collect()
    }

    /// Makes all directories.
    ///
    /// # Errors
    /// The one that cannot be made, and the system's error number.
    pub fn make_directories(&self) -> Result<(), (String, i32)> {
        for directory in self.directories() {
            let failed = |error: std::io::Error| {
                (directory.display().to_string(), error.raw_os_error().unwrap_or(libc::EIO))
            };
            fs::create_dir_all(&directory).map_err(failed)?;
        }
        Ok(())
    }

    /// Removes what is empty of them, up to the tops.
    pub fn remove_directories(&self) {
        for directory in self.directories().into_iter().rev() {
            let mut at = directory.as_path();
            while fs::remove_dir(at).is_ok() {
                let is_tree =
                    at.file_name().is_some_and(|name| name == "file_srcdir" || name == "file_dstdir");
                match at.parent() {
                    Some(above) if !is_tree => at = above,
                    _ => break,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(files: u64, per_directory: u64, branch: u64, hashes: bool) -> FileTrees {
        FileTrees {
            sources: vec!["a/s".into(), "b/s".into()],
            destinations: vec!["a/d".into(), "b/d".into()],
            files,
            per_directory,
            branch,
            hashes,
            before: "p_h_01_".into(),
            behind: "_x".into(),
        }
    }

    /// The directory's number by digits to the base of the branch.
    #[test]
    fn a_files_number_says_its_directory() {
        let small = places(1000, 20, 3, false);
        assert_eq!(small.folder(29 * 20), "d_001/d_000/d_000/d_002");
        assert_eq!((small.folder(1), small.folder(20)), ("d_000".into(), "d_001".into()));
        assert_eq!(places(1000, 20, 7, false).folder(320 * 20), "d_006/d_003/d_005");
        assert_eq!(small.source(7), Path::new("b/s/d_000/p_h_01_7_x"));
        assert_eq!(small.linked(8), Path::new("a/d/d_000/p_h_01_8_x.s"));
        assert_eq!(small.directory(8), Path::new("a/s/d_000/p_h_01_8_x.d"));
    }

    #[test]
    fn every_file_has_a_directory_that_is_made() {
        for (files, per_directory, branch) in
            [(1, 1, 1), (10, 3, 2), (500, 5, 4), (100, 100, 10), (99, 1, 10)]
        {
            for hashes in [false, true] {
                let places = places(files, per_directory, branch, hashes);
                let made = places.directories();
                for number in 1..=files {
                    let folder = places.source(number).parent().unwrap().to_path_buf();
                    assert!(made.contains(&folder), "{files} {per_directory} {branch} {hashes}: {number}");
                }
            }
        }
    }
}

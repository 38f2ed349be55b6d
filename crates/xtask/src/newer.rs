//! `cargo xtask newer`: a newer iperf3 and a newer fio than this system's, for the comparisons with originals.
//!
//! The packages of Debian's next release are fetched by apt into a folder of their own (`target/newer`), with the C
//! library that they were built for, and run with that library's own loader: nothing is installed, and the system's apt
//! learns nothing of it. It refuses to fail anybody's run: what cannot be had is a sentence, and the tests that want it
//! count themselves as skipped.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::shell;

/// The programs, each in a package of its name. What they are linked with comes with them, as apt reckons it.
const PROGRAMS: &[&str] = &["iperf3", "fio"];
/// Where they are, the newest first.
const SUITES: &[&str] = &["sid", "trixie"];
const MIRROR: &str = "http://deb.debian.org/debian";
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Waiting longer than this is worth less than the tests it would enable.
const LIMIT: Duration = Duration::from_secs(4 * 60);

/// Fetches it unless it is there, and says its version; true also where it cannot be had.
pub fn chore(root: &Path) -> Result<bool, String> {
    match fetch(root) {
        Ok(version) => println!("{version}"),
        Err(why) => println!("skipped: newer originals: {why}"),
    }
    Ok(true)
}

/// The versions that are there now.
///
/// # Errors
/// Why it cannot be had.
pub fn fetch(root: &Path) -> Result<String, String> {
    let folder = root.join("target/newer");
    if let Ok(versions) = versions(&folder) {
        return Ok(versions);
    }
    let missing = ["apt-get", "dpkg-deb"].into_iter().find(|tool| shell::find(tool).is_none());
    if let Some(tool) = missing {
        return Err(format!("this system has no {tool}"));
    }
    let deadline = Instant::now() + LIMIT;
    let mut last = String::new();
    for suite in SUITES {
        match (Fetching { folder: &folder, suite, deadline }).all().and_then(|()| versions(&folder)) {
            Ok(versions) => return Ok(versions),
            Err(why) => last = format!("{suite}: {why}"),
        }
    }
    Err(last)
}

fn versions(folder: &Path) -> Result<String, String> {
    let each = PROGRAMS.iter().map(|name| version(&folder.join(name)));
    Ok(each.collect::<Result<Vec<_>, _>>()?.join(", "))
}

fn version(program: &Path) -> Result<String, String> {
    let mut command = Command::new(program);
    command.arg("--version");
    let outcome = shell::run(command, None, Duration::from_secs(20))?;
    let line = outcome.lines.first().filter(|_| outcome.success).cloned();
    line.ok_or_else(|| outcome.last_words().to_string())
}

/// One attempt.
struct Fetching<'a> {
    folder: &'a Path,
    suite: &'a str,
    deadline: Instant,
}

impl Fetching<'_> {
    fn all(&self) -> Result<(), String> {
        let wrong = |error: std::io::Error| format!("{}: {error}", self.folder.display());
        for name in ["apt/lists/partial", "apt/cache/archives/partial", "root"] {
            let path = self.folder.join(name);
            // What an earlier attempt left would be mixed with this one's.
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).map_err(wrong)?;
        }
        let source = format!("deb [signed-by={KEYS}] {MIRROR} {} main\n", self.suite);
        fs::write(self.folder.join("apt/sources.list"), source).map_err(wrong)?;
        // Of a system on which nothing is installed, so that the C library comes as well.
        fs::write(self.folder.join("apt/status"), "").map_err(wrong)?;
        self.apt(&["update"])?;
        let install = ["install", "--download-only", "--yes", "--no-install-recommends"];
        self.apt(&[&install, PROGRAMS].concat())?;
        let archives = fs::read_dir(self.folder.join("apt/cache/archives")).map_err(wrong)?.flatten();
        let is_package = |entry: &fs::DirEntry| entry.path().extension().is_some_and(|end| end == "deb");
        for package in archives.filter(is_package) {
            let mut unpack = Command::new("dpkg-deb");
            unpack.arg("-x").arg(package.path()).arg(self.folder.join("root"));
            self.run(unpack)?;
        }
        for name in PROGRAMS {
            let launcher = self.folder.join(name);
            fs::write(&launcher, self.launcher(name)?).map_err(wrong)?;
            fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).map_err(wrong)?;
        }
        Ok(())
    }

    /// apt with sources, lists and a cache of its own.
    fn apt(&self, words: &[&str]) -> Result<(), String> {
        let own = |name: &str| self.folder.join("apt").join(name).display().to_string();
        let mut apt = Command::new("apt-get");
        apt.arg("-q");
        let options = [
            format!("Dir::Etc::sourcelist={}", own("sources.list")),
            "Dir::Etc::sourceparts=/dev/null".into(),
            format!("Dir::State::lists={}", own("lists")),
            format!("Dir::State::status={}", own("status")),
            format!("Dir::Cache={}", own("cache")),
            "APT::Sandbox::User=root".into(),
            "Acquire::Languages=none".into(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".into(),
        ];
        for option in &options {
            apt.args(["-o", option]);
        }
        apt.args(words);
        self.run(apt)
    }

    fn run(&self, command: Command) -> Result<(), String> {
        let outcome = shell::run(command, None, self.deadline.saturating_duration_since(Instant::now()))?;
        match (outcome.success, outcome.timed_out) {
            (true, _) => Ok(()),
            (false, true) => Err("its time was up".into()),
            (false, false) => {
                let reason = outcome.lines.iter().find_map(|line| line.strip_prefix("E: "));
                Err(reason.unwrap_or(outcome.last_words()).to_string())
            }
        }
    }

    /// A script that runs the program with its own loader and libraries.
    fn launcher(&self, name: &str) -> Result<String, String> {
        let is_loader = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.starts_with("ld-linux") && name.contains(".so")
        };
        let root = self.folder.join("root");
        let all = fs::read_dir(root.join("usr/lib")).map_err(|error| format!("usr/lib: {error}"))?;
        let folders = all.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
        let mut loaders = folders.filter_map(|folder| {
            let files = fs::read_dir(&folder).ok()?.flatten().map(|entry| entry.path());
            files.into_iter().find(is_loader)
        });
        let loader = loaders.next().ok_or("the packages hold no loader")?;
        // A package may keep its own libraries a folder deeper, as ceph does.
        let libraries = loader.parent().unwrap_or(&root);
        let libraries = format!("{0}:{0}/ceph", libraries.display());
        let program = root.join("usr/bin").join(name);
        Ok(format!(
            "#!/bin/sh\nexec '{}' --library-path '{libraries}' '{}' \"$@\"\n",
            loader.display(),
            program.display()
        ))
    }
}

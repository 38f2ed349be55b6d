//! What the tests like to have from Debian: the originals to compare with, file systems to make, emulators.
//!
//! Asked for through apt alone, and only where we are root on a system that has it. It refuses to fail the run: a
//! package that cannot be had is reported, and the tests that need it count themselves as skipped.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::shell::{self, ProcessResult};

/// What is asked for. `libc6-dev-arm64-cross` is what the cross compiler only recommends, and cannot link without.
const PACKAGES: &[&str] = &[
    "fio",
    "blktrace",
    "iperf3",
    "iperf",
    "netperf",
    "snmpd",
    "fping",
    "iozone3",
    "bonnie++",
    "postmark",
    "dbench",
    "sysstat",
    "openmpi-bin",
    "libopenmpi-dev",
    "libhdf5-openmpi-103-1",
    "libpnetcdf0d",
    "mpich",
    "openssh-server",
    "xfsprogs",
    "btrfs-progs",
    "ntfs-3g",
    "acl",
    "attr",
    "perl",
    "e2fsprogs",
    "fuse3",
    "hdparm",
    "valgrind",
    "iproute2",
    "dosfstools",
    "time",
    "gnuplot-nox",
    "chromium-headless-shell",
    "fonts-dejavu-core",
    "python3-venv",
    "libreoffice-calc",
];

/// Where apt keeps what it was told about its sources.
const SOURCES: &str = "/etc/apt";
/// The file we add when the section that holds iozone3 and netperf is not switched on.
const ADDED_SOURCE: &str = "sources.list.d/iodyno-non-free";
/// Waiting longer than this for a mirror is worth less than the tests it would enable.
const APT_LIMIT: Duration = Duration::from_secs(10 * 60);

/// What came of it.
#[derive(Debug, Default)]
pub struct Report {
    /// One clause for the step's line.
    pub summary: String,
    /// Each package that is not here, and why.
    pub missing: Vec<(String, String)>,
}

/// Installs what is missing, as far as that goes.
pub fn install(root: &Path, limit: Duration) -> Report {
    if shell::find("apt-get").is_none() || shell::find("dpkg-query").is_none() {
        return refuse("this system has no apt-get");
    }
    let wanted = absent();
    if wanted.is_empty() {
        return Report { summary: "everything is here already".into(), missing: Vec::new() };
    }
    if !is_root() {
        return Report {
            summary: "not root".into(),
            missing: because(&wanted, "not installed, and we are not root"),
        };
    }
    let apt = Apt { root, deadline: Instant::now() + limit.min(APT_LIMIT) };
    let section = enable_non_free(Path::new(SOURCES));
    let update = apt.run(&["update"]);
    let mut reasons = apt.install(&wanted);
    reasons.retain(|(package, _)| absent().contains(&package.as_str()));
    let update = if update.is_ok_and(|outcome| outcome.success) { "" } else { ", apt-get update failed" };
    let had = wanted.len() - reasons.len();
    Report {
        summary: format!("{had} of {} packages installed{section}{update}", wanted.len()),
        missing: reasons,
    }
}

fn refuse(reason: &str) -> Report {
    Report { summary: reason.into(), missing: vec![("all".into(), reason.into())] }
}

fn because(packages: &[&str], reason: &str) -> Vec<(String, String)> {
    packages.iter().map(|package| (package.to_string(), reason.to_string())).collect()
}

struct Apt<'a> {
    root: &'a Path,
    deadline: Instant,
}

impl Apt<'_> {
    /// All at once, which is fast; one by one when that fails, so that one absentee does not cost the others.
    fn install(&self, packages: &[&str]) -> Vec<(String, String)> {
        if self.try_install(packages).is_ok() {
            return Vec::new();
        }
        let one =
            |package: &&str| self.try_install(&[package]).err().map(|reason| (package.to_string(), reason));
        packages.iter().filter_map(one).collect()
    }

    fn try_install(&self, packages: &[&str]) -> Result<(), String> {
        let outcome = self.run(&[&["install", "-y", "--no-install-recommends"], packages].concat())?;
        match (outcome.success, outcome.timed_out) {
            (true, _) => Ok(()),
            (false, true) => Err("apt-get did not end in time".to_string()),
            (false, false) => Err(complaint(&outcome.lines)),
        }
    }

    fn run(&self, arguments: &[&str]) -> Result<ProcessResult, String> {
        let mut command = Command::new("apt-get");
        command.args(["-q", "-o", "DPkg::Lock::Timeout=120"]).args(arguments);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        let log = self.root.join("target/ci").join(format!("apt-{}.log", arguments[0]));
        shell::run(command, Some(&log), self.deadline.saturating_duration_since(Instant::now()))
    }
}

/// apt's own reason: its first line that begins with `E:`.
fn complaint(lines: &[String]) -> String {
    let reason = lines.iter().find_map(|line| line.strip_prefix("E: "));
    reason.unwrap_or("apt-get failed without a reason").to_string()
}

fn is_root() -> bool {
    let outcome = shell::run(
        {
            let mut id = Command::new("id");
            id.arg("-u");
            id
        },
        None,
        Duration::from_secs(10),
    );
    outcome.is_ok_and(|outcome| outcome.last_words() == "0")
}

/// The packages of the list that are not installed.
fn absent() -> Vec<&'static str> {
    let mut query = Command::new("dpkg-query");
    query.args(["-W", "-f", "${db:Status-Status} ${Package}\\n"]).args(PACKAGES);
    let Ok(outcome) = shell::run(query, None, Duration::from_secs(60)) else { return PACKAGES.to_vec() };
    let here: BTreeSet<&str> =
        outcome.lines.iter().filter_map(|line| line.strip_prefix("installed ")).collect();
    PACKAGES.iter().copied().filter(|package| !here.contains(package)).collect()
}

/// Switches on Debian's `non-free` section by a file of our own, copied from the source that serves `main`.
///
/// Says what was done, as the end of a sentence.
fn enable_non_free(apt: &Path) -> String {
    let is_debian =
        std::fs::read_to_string("/etc/os-release").is_ok_and(|t| t.lines().any(|l| l == "ID=debian"));
    if !is_debian {
        return String::new();
    }
    let Some((suffix, text)) = non_free_source(&source_files(apt)) else { return String::new() };
    match std::fs::write(apt.join(format!("{ADDED_SOURCE}.{suffix}")), text) {
        Ok(()) => ", section non-free switched on".to_string(),
        Err(error) => format!(", section non-free stays off ({error})"),
    }
}

/// Every source file as `(suffix, text)`.
fn source_files(apt: &Path) -> Vec<(String, String)> {
    let mut paths = vec![apt.join("sources.list")];
    if let Ok(entries) = std::fs::read_dir(apt.join("sources.list.d")) {
        paths.extend(entries.flatten().map(|entry| entry.path()));
    }
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let suffix = path.extension()?.to_str()?.to_string();
        Some((suffix, std::fs::read_to_string(path).ok()?))
    };
    paths.iter().filter_map(read).collect()
}

/// The file to add, unless the section is on already or no source of `main` is known to copy.
fn non_free_source(files: &[(String, String)]) -> Option<(&'static str, String)> {
    let words = |line: &str| line.split_whitespace().map(str::to_string).collect::<Vec<_>>();
    let live = |line: &&str| !line.trim_start().starts_with('#');
    let lines = || files.iter().flat_map(|(_, text)| text.lines()).filter(live);
    if lines().any(|line| words(line).iter().any(|word| word == "non-free")) {
        return None;
    }
    let stanzas =
        files.iter().filter(|(suffix, _)| suffix == "sources").flat_map(|(_, text)| text.split("\n\n"));
    stanzas
        .filter_map(stanza_for_non_free)
        .next()
        .map(|text| ("sources", text))
        .or_else(|| lines().find_map(line_for_non_free).map(|text| ("list", text)))
}

fn stanza_for_non_free(stanza: &str) -> Option<String> {
    let lines: Vec<&str> = stanza.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    let field = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name));
    let serves_main = field("Components:")?.split_whitespace().any(|word| word == "main");
    if !serves_main || field("Suites:")?.contains("-security") {
        return None;
    }
    let swap = |line: &&str| {
        if line.starts_with("Components:") { "Components: non-free".to_string() } else { line.to_string() }
    };
    Some(lines.iter().map(swap).collect::<Vec<_>>().join("\n") + "\n")
}

fn line_for_non_free(line: &str) -> Option<String> {
    let is_main = line.starts_with("deb ") && line.split_whitespace().any(|word| word == "main");
    let head = line.split(" main").next()?;
    (is_main && !head.contains("-security")).then(|| format!("{head} non-free\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANZA: &str =
        "Types: deb\n# a comment\nURIs: http://mirror.invalid/debian\nSuites: bookworm\nComponents: main\n";

    #[test]
    fn the_section_is_copied_from_the_source_of_main() {
        let security =
            "Types: deb\nURIs: http://mirror.invalid/s\nSuites: bookworm-security\nComponents: main";
        let files = [("sources".to_string(), format!("{security}\n\n{STANZA}"))];
        let (suffix, text) = non_free_source(&files).expect("a stanza to copy");
        assert_eq!(suffix, "sources");
        assert_eq!(
            text,
            "Types: deb\nURIs: http://mirror.invalid/debian\nSuites: bookworm\nComponents: non-free\n"
        );
    }

    #[test]
    fn the_older_one_line_form_is_known() {
        let files =
            [("list".to_string(), "deb http://mirror.invalid/debian bookworm main contrib\n".to_string())];
        let (suffix, text) = non_free_source(&files).expect("a line to copy");
        assert_eq!((suffix, text.as_str()), ("list", "deb http://mirror.invalid/debian bookworm non-free\n"));
    }

    #[test]
    fn a_section_that_is_on_is_left_alone_but_firmware_is_another() {
        let on = [("sources".to_string(), STANZA.replace("main", "main non-free"))];
        assert_eq!(non_free_source(&on), None);
        let firmware = [("sources".to_string(), STANZA.replace("main", "main non-free-firmware"))];
        assert!(non_free_source(&firmware).is_some());
    }

    #[test]
    fn apts_own_reason_is_passed_on() {
        let lines =
            ["Reading package lists...".to_string(), "E: Unable to locate package iozone3".to_string()];
        assert_eq!(complaint(&lines), "Unable to locate package iozone3");
    }
}

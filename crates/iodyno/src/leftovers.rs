//! What runs leave behind when they are killed: whose it is, and its end.
//!
//! A process is named by its machine, the machine's present life, its own namespace of processes, its number there and
//! its start. Only of the same machine it can be told whether it is over. Refuses to remove what belongs to another
//! user, and what somebody has open.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use iodyno_conformance::requests;
use iodyno_model::{Diagnostic, Origin, Plan, units};

/// The name of this process.
pub fn own_name() -> String {
    let place = ProcessOrigin::here();
    format!(
        "{:08x}-{:08x}-{}-{}",
        place.machine,
        place.life,
        place.namespace,
        life_of("self").unwrap_or_default()
    )
}

/// Whether the process of a name is over; `None`: it cannot be told from here.
pub fn is_over(name: &str) -> Option<bool> {
    let parts: Vec<&str> = name.split('-').collect();
    let [machine, life, namespace, number, start] = parts[..] else { return None };
    let place = ProcessOrigin::here();
    if machine != format!("{:08x}", place.machine) {
        return None;
    }
    if life != format!("{:08x}", place.life) {
        // The machine was started anew since.
        return Some(true);
    }
    if namespace != place.namespace || number.parse::<u32>().is_err() {
        return None;
    }
    Some(life_of(number) != Some(format!("{number}-{start}")))
}

/// Where processes have their numbers.
struct ProcessOrigin {
    machine: u32,
    life: u32,
    namespace: String,
}

impl ProcessOrigin {
    fn here() -> ProcessOrigin {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default().to_string_lossy().into_owned();
        ProcessOrigin {
            machine: hash(&[text("/etc/machine-id"), text("/proc/sys/kernel/hostname")].concat()),
            life: hash(&text("/proc/sys/kernel/random/boot_id")),
            namespace: link.chars().filter(char::is_ascii_digit).collect(),
        }
    }
}

/// FNV-1a: names are few, and must be the same in every version.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Number and start of a process (`/proc/N/stat`: the first and, behind the command's last parenthesis, the 20th).
fn life_of(process: &str) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (number, rest) = (stat.split(' ').next()?, stat.rsplit_once(')')?.1);
    // A process that nobody has waited for is over.
    let mut words = rest.split_whitespace();
    let state = words.next()?;
    (!matches!(state, "Z" | "X")).then(|| format!("{number}-{}", words.nth(18).unwrap_or_default()))
}

/// What the name of a command's temporary file or directory begins and ends with.
const TEMPORARY: (&str, &str) = (".iodyno-", ".tmp");

/// The name of something temporary of this process, in a directory that a command was told.
pub fn temporary(directory: &str, label: &str) -> String {
    let (begin, end) = TEMPORARY;
    format!("{}/{begin}{label}-{}{end}", directory.trim_end_matches('/'), own_name())
}

/// Removes what [`temporary`] named in a directory for processes that are over, and tells of each.
pub fn remove_temporaries(directory: &str) -> Vec<Diagnostic> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut left: Vec<String> = entries
        .filter(|entry| is_abandoned(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path().display().to_string())
        .collect();
    left.sort();
    left.iter().map(|path| removed(path)).collect()
}

fn is_abandoned(name: &str) -> bool {
    let (begin, end) = TEMPORARY;
    let inner = name.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end));
    // A label has no fixed length; a process is the last five words.
    let process = inner.and_then(|inner| inner.rmatch_indices('-').nth(4).map(|(at, _)| &inner[at + 1..]));
    process.is_some_and(|process| is_over(process) == Some(true))
}

const LEFT: &str = "left by a run that was killed";

/// Removes what was left, and tells of each; what lies in a bucket as the plan's first job reaches it.
pub fn remove(paths: &[String], plan: &Plan) -> Vec<Diagnostic> {
    let removed =
        |path: &String| if path.contains("://") { removed_objects(path, plan) } else { removed(path) };
    paths.iter().map(removed).collect()
}

fn removed_objects(url: &str, plan: &Plan) -> Diagnostic {
    let job = plan.phases.iter().flat_map(|phase| &phase.jobs).next();
    let outcome = job.map(|job| requests::leftovers::remove(job, url));
    match outcome {
        Some(Ok(count)) => {
            Diagnostic::note(&Origin::Default, format!("{url}: {LEFT}, {count} objects, removed"))
        }
        Some(Err(failure)) => {
            let wrong = format!("{url}: {LEFT}, and stays: {}", failure.message);
            Diagnostic::warning(&Origin::Default, wrong).hint("remove it yourself")
        }
        None => Diagnostic::note(&Origin::Default, format!("{url}: {LEFT}, and stays: nothing runs")),
    }
}

fn removed(path: &str) -> Diagnostic {
    let facts = fs::symlink_metadata(path);
    let size = facts.as_ref().map_or(0, |facts| if facts.is_dir() { 0 } else { facts.len() });
    let size = if size > 0 { format!(", {}", units::binary(size)) } else { String::new() };
    let stays = |why: String| {
        Diagnostic::warning(&Origin::Default, format!("{path}: {LEFT}{size}, and stays: {why}"))
            .hint("remove it yourself")
    };
    let user = fs::metadata("/proc/self").map(|facts| facts.uid()).ok();
    let own = facts.as_ref().is_ok_and(|facts| user == Some(facts.uid()));
    if !own {
        return stays("it is another user's".into());
    }
    if is_open(Path::new(path)) {
        return stays("a process has it open".into());
    }
    let done = match facts.is_ok_and(|facts| facts.is_dir()) {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
    match done {
        Ok(()) => Diagnostic::note(&Origin::Default, format!("{path}: {LEFT}{size}, removed")),
        Err(error) => stays(crate::loader::plain(&error)),
    }
}

/// Whether a process that can be looked at has a path open, or something beneath it.
fn is_open(path: &Path) -> bool {
    let Ok(path) = fs::canonicalize(path) else { return false };
    let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    entries(Path::new("/proc"))
        .filter(|process| process.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
        .flat_map(|process| entries(&process.path().join("fd")).collect::<Vec<_>>())
        .any(|link| fs::read_link(link.path()).is_ok_and(|target| target.starts_with(&path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn only_what_a_process_that_is_over_made_is_abandoned() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().display().to_string();
        let own = temporary(&directory, "load-cache");
        let over = format!("{}1.tmp", own.strip_suffix(".tmp").unwrap());
        for path in [
            &own,
            &over,
            &format!("{directory}/.iodyno-notes.tmp"),
            &format!("{directory}/.iodyno-a-b-c-d-e-f.tmp"),
        ] {
            fs::write(path, "x").unwrap();
        }
        let told = remove_temporaries(&directory);
        assert!(told.len() == 1 && told[0].message.contains("removed"), "{told:?}");
        assert!(Path::new(&own).exists() && !Path::new(&over).exists());
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 3);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_is_over_when_its_number_is_anothers() {
        let name = own_name();
        assert_eq!(is_over(&name), Some(false), "{name}");
        let (rest, start) = name.rsplit_once('-').unwrap();
        assert_eq!(is_over(&format!("{rest}-{start}1")), Some(true));
        assert_eq!(is_over(&format!("0{}", &name[1..])).or(Some(true)), Some(true));
        assert_eq!(is_over(&name.replacen(&name[..8], "zzzzzzzz", 1)), None, "another machine");
        assert_eq!((is_over("18a3f0"), is_over("")), (None, None), "as older versions called them");
    }
}

//! What a disk's queue was like before `tune` changed it, in a file that outlives a killed program.
//!
//! A file for each process, in a directory that is empty after a restart of the machine, as the settings are the kernel's
//! own then. The next start of iodyno restores what a process that is over has left. Refuses to touch another device that
//! has got the name since.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use iodyno_model::{Diagnostic, Origin};
use serde_json::{Value, json};

use super::queue::{DiskQueue, QueueParameter, QueueSettings, words};
use crate::leftovers;
use crate::loader::plain;

/// Where the files lie.
const DIRECTORY: &str = "/run/iodyno";
/// What their names begin with; the process that made it follows.
const PREFIX: &str = "tune-";
/// The same of one that is being written: nothing was changed yet.
const UNFINISHED: &str = "unfinished-";

/// A written journal, and the queue that it is about: restored when dropped.
pub struct Journal {
    file: PathBuf,
    queue: DiskQueue,
    found: QueueSettings,
    /// Whether it was restored already.
    is_done: bool,
}

impl Journal {
    /// Writes down what the queue is like, before anything is changed.
    ///
    /// # Errors
    /// It cannot be written, or another process tunes the same disk.
    pub fn begin(queue: &DiskQueue) -> Result<Journal, Diagnostic> {
        let origin = Origin::argument(&queue.disk);
        for (process, entry) in entries() {
            if entry.disk == queue.disk && leftovers::is_over(&process) != Some(true) {
                return Err(Diagnostic::error(&origin, "another iodyno tune changes its settings now")
                    .hint(format!("wait for its end; {DIRECTORY}/{PREFIX}{process} says what it restores")));
            }
        }
        let found = queue.settings();
        let file = Path::new(DIRECTORY).join(format!("{PREFIX}{}", leftovers::own_name()));
        let value = json!({
            "disk": queue.disk,
            "sequence": queue.sequence(),
            "found": found.iter().map(|(parameter, value)| (parameter.name(), value)).collect::<Vec<_>>(),
        });
        write(&file, &value.to_string()).map_err(|error| {
            let wrong = format!("what is to be restored cannot be written down: {}", plain(&error));
            Diagnostic::error(&Origin::argument(DIRECTORY), wrong).hint("run as root; /run must be writable")
        })?;
        Ok(Journal { file, queue: queue.clone(), found, is_done: false })
    }

    pub fn found(&self) -> &QueueSettings {
        &self.found
    }

    /// Makes the queue what it was; the journal goes once it is.
    ///
    /// # Errors
    /// The kernel refused; the next start tries again.
    pub fn restore(&mut self) -> Result<(), Diagnostic> {
        self.is_done = true;
        restore(&self.queue, &self.found)?;
        let _ = fs::remove_file(&self.file);
        Ok(())
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if !self.is_done
            && let Err(wrong) = self.restore()
        {
            crate::session::say(wrong);
        }
    }
}

fn restore(queue: &DiskQueue, found: &QueueSettings) -> Result<(), Diagnostic> {
    queue.apply(found).map_err(|why| {
        let by_hand = found.iter().map(|(parameter, value)| {
            format!("echo {value} > /sys/block/{}/queue/{}", queue.disk, parameter.name())
        });
        Diagnostic::warning(&Origin::argument(&queue.disk), format!("its queue is not as it was: {why}"))
            .hint(format!("as root: {}", by_hand.collect::<Vec<_>>().join("; ")))
    })
}

/// Whole or not there, and on the disk beneath before it counts.
fn write(file: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(DIRECTORY)?;
    // By no name that another start takes for a journal.
    let unfinished = Path::new(DIRECTORY).join(format!("{UNFINISHED}{}", leftovers::own_name()));
    let mut new = fs::File::create(&unfinished)?;
    new.write_all(text.as_bytes())?;
    new.sync_all()?;
    fs::rename(&unfinished, file)
}

/// What a journal says.
#[derive(Debug, PartialEq)]
struct FoundQueue {
    disk: String,
    sequence: String,
    found: QueueSettings,
}

impl FoundQueue {
    fn parsed(text: &str) -> Option<FoundQueue> {
        let value: Value = serde_json::from_str(text).ok()?;
        let text = |value: &Value| value.as_str().map(String::from);
        let found = value["found"].as_array()?.iter();
        let found = found.map(|pair| Some((QueueParameter::of(pair[0].as_str()?)?, text(&pair[1])?)));
        let disk = text(&value["disk"])?;
        // A name, and no way out of the directory of disks.
        (!disk.is_empty() && !disk.contains(['/', '.'])).then_some(())?;
        Some(FoundQueue { disk, sequence: text(&value["sequence"])?, found: found.collect::<Option<_>>()? })
    }
}

/// All journals, with the processes that wrote them.
fn entries() -> Vec<(String, FoundQueue)> {
    let names = fs::read_dir(DIRECTORY).into_iter().flatten().flatten();
    let entry = |file: fs::DirEntry| {
        let process = file.file_name().to_str()?.strip_prefix(PREFIX)?.to_string();
        Some((process, FoundQueue::parsed(&fs::read_to_string(file.path()).ok()?)?))
    };
    names.filter_map(entry).collect()
}

/// Restores what processes that are over have left; what there is to say about it.
pub fn restore_left() -> Vec<Diagnostic> {
    if !Path::new(DIRECTORY).exists() {
        return Vec::new();
    }
    let over = entries().into_iter().filter(|(process, _)| leftovers::is_over(process) == Some(true));
    over.filter_map(|(process, entry)| restored(&process, &entry)).collect()
}

fn restored(process: &str, entry: &FoundQueue) -> Option<Diagnostic> {
    let file = Path::new(DIRECTORY).join(format!("{PREFIX}{process}"));
    let origin = Origin::argument(&entry.disk);
    let Some(queue) = DiskQueue::named(&entry.disk).filter(|queue| queue.sequence() == entry.sequence) else {
        let _ = fs::remove_file(file);
        return None;
    };
    // Of several that start at once, one restores.
    let claimed = Path::new(DIRECTORY).join(format!("{PREFIX}{}", leftovers::own_name()));
    let left = "an iodyno tune that was killed left its queue changed";
    if let Err(error) = fs::rename(&file, &claimed) {
        return (error.kind() != io::ErrorKind::NotFound)
            .then(|| Diagnostic::warning(&origin, left).hint("start iodyno once as root: it restores it"));
    }
    match restore(&queue, &entry.found) {
        Ok(()) => {
            let _ = fs::remove_file(claimed);
            Some(Diagnostic::note(&origin, format!("{left}; restored: {}", words(&entry.found))))
        }
        Err(wrong) => Some(wrong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_read_back_and_a_mangled_one_is_none() {
        let text = r#"{"disk":"loop3","sequence":"12","found":[["scheduler","none"],["nr_requests","64"]]}"#;
        let found = vec![
            (QueueParameter::Scheduler, "none".to_string()),
            (QueueParameter::NrRequests, "64".to_string()),
        ];
        let entry = FoundQueue { disk: "loop3".into(), sequence: "12".into(), found };
        assert_eq!(FoundQueue::parsed(text), Some(entry));
        for wrong in [
            "",
            "{}",
            &text[..40],
            &text.replace("loop3", "../../etc"),
            &text.replace("scheduler", "rotational"),
            &text.replace("\"64\"", "64"),
        ] {
            assert_eq!(FoundQueue::parsed(wrong), None, "{wrong}");
        }
    }
}

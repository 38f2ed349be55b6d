//! Settings of a disk's request queue in sysfs (`/sys/block/DISK/queue`): read, checked, written.
//!
//! Source: the kernel's Documentation/ABI/stable/sysfs-block.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use iodyno_engine::witness::identity;

/// One that can be changed while the disk is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueParameter {
    Scheduler,
    NrRequests,
    MaxSectorsKb,
    ReadAheadKb,
}

impl QueueParameter {
    /// In the order in which they are written: a new scheduler sets the number of requests anew.
    pub const ALL: [QueueParameter; 4] = [
        QueueParameter::Scheduler,
        QueueParameter::NrRequests,
        QueueParameter::MaxSectorsKb,
        QueueParameter::ReadAheadKb,
    ];

    pub fn name(self) -> &'static str {
        match self {
            QueueParameter::Scheduler => "scheduler",
            QueueParameter::NrRequests => "nr_requests",
            QueueParameter::MaxSectorsKb => "max_sectors_kb",
            QueueParameter::ReadAheadKb => "read_ahead_kb",
        }
    }

    pub fn of(name: &str) -> Option<QueueParameter> {
        QueueParameter::ALL.into_iter().find(|parameter| parameter.name() == name)
    }
}

/// Settings with their values, in the order in which they are written.
pub type QueueSettings = Vec<(QueueParameter, String)>;

/// The settings as they are typed: `scheduler=none nr_requests=64`.
pub fn words(settings: &QueueSettings) -> String {
    let words = settings.iter().map(|(parameter, value)| format!("{}={value}", parameter.name()));
    words.collect::<Vec<_>>().join(" ")
}

/// A whole disk's queue.
#[derive(Clone, Debug)]
pub struct DiskQueue {
    /// The kernel's name of the disk.
    pub disk: String,
    /// Its directory in sysfs.
    directory: PathBuf,
}

impl DiskQueue {
    /// The queue of the disk that a block device is, or is a part of.
    pub fn of(path: &str) -> Option<DiskQueue> {
        fs::metadata(path).ok().filter(|facts| facts.file_type().is_block_device() && facts.rdev() > 0)?;
        DiskQueue::named(&identity::disk_of(path)?)
    }

    /// The queue of a disk by the kernel's name.
    pub fn named(disk: &str) -> Option<DiskQueue> {
        let directory = Path::new("/sys/block").join(disk);
        directory.join("queue").is_dir().then(|| DiskQueue { disk: disk.into(), directory })
    }

    /// Which device of that name it is, counted since the machine was started; empty: the kernel does not say.
    pub fn sequence(&self) -> String {
        fs::read_to_string(self.directory.join("diskseq")).unwrap_or_default().trim().into()
    }

    fn file(&self, parameter: QueueParameter) -> PathBuf {
        self.directory.join("queue").join(parameter.name())
    }

    /// # Errors
    /// The system's: the disk is gone, or has no such setting.
    pub fn read(&self, parameter: QueueParameter) -> io::Result<String> {
        Ok(chosen(fs::read_to_string(self.file(parameter))?.trim()))
    }

    /// All settings that it has.
    pub fn settings(&self) -> QueueSettings {
        let value = |parameter| Some((parameter, self.read(parameter).ok()?));
        QueueParameter::ALL.into_iter().filter_map(value).collect()
    }

    /// Whether this user may change it.
    ///
    /// # Errors
    /// The system's.
    pub fn may_write(&self, parameter: QueueParameter) -> io::Result<()> {
        fs::File::options().write(true).open(self.file(parameter)).map(|_| ())
    }

    /// Changes those that are different now, and reads back what became of them.
    ///
    /// # Errors
    /// Which one, and why: the kernel refused the value, or took another one.
    pub fn apply(&self, settings: &QueueSettings) -> Result<(), String> {
        for (parameter, value) in settings {
            let failed = |why: &str| format!("{}={value}: {why}", parameter.name());
            let now = |error: io::Error| failed(&crate::loader::plain(&error));
            if self.read(*parameter).map_err(now)? == *value {
                continue;
            }
            fs::write(self.file(*parameter), value).map_err(|error| match error.raw_os_error() {
                Some(EINVAL) => failed("the kernel refuses this value"),
                _ => failed(&crate::loader::plain(&error)),
            })?;
            let taken = self.read(*parameter).map_err(now)?;
            if taken != *value {
                return Err(failed(&format!("the kernel made it {taken}")));
            }
        }
        Ok(())
    }

    /// What values it may have, as a hint.
    pub fn range(&self, parameter: QueueParameter) -> String {
        let text = |name: &str| {
            fs::read_to_string(self.directory.join("queue").join(name)).unwrap_or_default().trim().to_string()
        };
        match parameter {
            QueueParameter::Scheduler => {
                format!("one of {}", text("scheduler").replace(['[', ']'], ""))
            }
            QueueParameter::MaxSectorsKb => format!("from 4 to {}", text("max_hw_sectors_kb")),
            QueueParameter::NrRequests => {
                "a number from 4; without a scheduler at most what the device takes".into()
            }
            QueueParameter::ReadAheadKb => "a number in KiB, 0: none".into(),
        }
    }

    /// Whether a value can be right, before anything is changed.
    pub fn is_possible(&self, parameter: QueueParameter, value: &str) -> bool {
        let range = self.range(parameter);
        match parameter {
            QueueParameter::Scheduler => range.split(' ').skip(2).any(|name| name == value),
            QueueParameter::MaxSectorsKb => {
                let most = range.rsplit(' ').next().and_then(|most| most.parse::<u64>().ok());
                value.parse::<u64>().is_ok_and(|kib| kib >= 4 && most.is_none_or(|most| kib <= most))
            }
            QueueParameter::NrRequests => value.parse::<u32>().is_ok_and(|count| count >= 4),
            QueueParameter::ReadAheadKb => value.parse::<u32>().is_ok(),
        }
    }
}

/// Linux's number for an invalid argument.
const EINVAL: i32 = 22;

/// Of several in one line, the one in brackets: `mq-deadline [none]`.
fn chosen(text: &str) -> String {
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(text, |(chosen, _)| chosen).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn staged() -> (tempfile::TempDir, DiskQueue) {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("queue")).unwrap();
        for (name, text) in [
            ("scheduler", "[none] mq-deadline \n"),
            ("nr_requests", "128\n"),
            ("max_sectors_kb", "1280\n"),
            ("max_hw_sectors_kb", "2560\n"),
        ] {
            fs::write(home.path().join("queue").join(name), text).unwrap();
        }
        let queue = DiskQueue { disk: "staged".into(), directory: home.path().into() };
        (home, queue)
    }

    #[test]
    fn settings_are_what_sysfs_says() {
        let (_home, queue) = staged();
        assert_eq!(words(&queue.settings()), "scheduler=none nr_requests=128 max_sectors_kb=1280");
        assert_eq!(queue.sequence(), "");
    }

    #[test]
    fn a_value_that_cannot_be_is_known_before_it_is_written() {
        let (_home, queue) = staged();
        for (word, possible) in [
            ("scheduler=mq-deadline", true),
            ("scheduler=bfq", false),
            ("scheduler=[none]", false),
            ("max_sectors_kb=4", true),
            ("max_sectors_kb=2560", true),
            ("max_sectors_kb=2561", false),
            ("max_sectors_kb=1m", false),
            ("nr_requests=3", false),
            ("nr_requests=4", true),
            ("read_ahead_kb=0", true),
            ("read_ahead_kb=-1", false),
        ] {
            let (name, value) = word.split_once('=').unwrap();
            let parameter = QueueParameter::of(name).unwrap();
            assert_eq!(queue.is_possible(parameter, value), possible, "{word}: {}", queue.range(parameter));
        }
    }

    #[test]
    fn what_the_kernel_made_of_a_value_is_read_back() {
        let (_home, queue) = staged();
        let settings = vec![(QueueParameter::NrRequests, "64".to_string())];
        assert_eq!(queue.apply(&settings), Ok(()));
        assert_eq!(queue.read(QueueParameter::NrRequests).unwrap(), "64");
        // A scheduler's file that only ever says what it said is one that did not take it.
        let wrong = queue.apply(&vec![(QueueParameter::ReadAheadKb, "64".to_string())]).unwrap_err();
        assert!(wrong.starts_with("read_ahead_kb=64: "), "{wrong}");
    }
}

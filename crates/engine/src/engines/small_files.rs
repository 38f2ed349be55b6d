//! `small_files`: one operation is one whole file of a tree, with all calls that it takes, timed as one.
//!
//! The trees, the names, what files hold and the calls are those that smallfile documents: `TOP/file_srcdir/HOST/thrd_00/d_000/`
//! with files from number 1 on, and `file_dstdir` for what is renamed or linked. Each target of the job is a top. Which file is
//! next, its workload says: item `n` of the first target is file `n + 1`. Directories are made before the start line, and
//! after a cleanup removed. It draws sizes from the plan's seed, so that whoever reads knows what whoever wrote drew.

mod content;
mod places;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use iodyno_model::{Diagnostic, EngineTrait, Job, TargetKind, VerbSet};

use super::{
    EngineFacts, Failure, Setup, SyncEngine, check_switches, check_values, setting, spec, switched_on,
    whole_number,
};
use crate::failure::strerror;
use crate::io::{Files, Io};
use crate::worker_counters::{Count, Counts};
use content::FileBytes;
use places::FileTrees;

/// What it does with files.
pub const OPERATIONS: [&str; 18] = [
    "create",
    "append",
    "overwrite",
    "truncate-overwrite",
    "read",
    "readdir",
    "ls-l",
    "stat",
    "chmod",
    "setxattr",
    "getxattr",
    "symlink",
    "mkdir",
    "rmdir",
    "rename",
    "delete",
    "delete-renamed",
    "cleanup",
];
/// The mode that `chmod` gives, and the one that files are made with.
const CHANGED_MODE: u32 = 0o646;
const MADE_MODE: u32 = 0o777;
/// Bytes of a value of an extended attribute on Linux at most.
const ATTRIBUTE_MOST: usize = 65_536;

/// One worker's files.
pub struct SmallFiles {
    operation: String,
    places: FileTrees,
    content: FileBytes,
    fsync: bool,
    verifies: bool,
    attributes: u64,
    attribute_bytes: usize,
    /// The directory that was listed last.
    listed: PathBuf,
    buffer: Vec<u8>,
    counts: *const Counts,
}

impl SyncEngine for SmallFiles {
    const FACTS: EngineFacts = EngineFacts {
        about: "does something with one whole small file of a tree at a time",
        verbs: VerbSet::ALL,
        settings: &[
            spec("operation", "create, append, overwrite, truncate-overwrite, read, stat, delete and others"),
            spec("kib", "KiB of a file (default 64)"),
            spec(
                "exponential",
                "on or off: sizes are drawn, with that mean and at most eight times as large",
            ),
            spec("record_kib", "KiB of a call; 0: the file, at most 1 MiB (default 0)"),
            spec("per_directory", "files in a directory at most (default 100)"),
            spec("branch", "directories in a directory at most (default 10)"),
            spec("hash", "on or off: files are dealt to directories by a hash of their number"),
            spec("shared", "on or off: all workers have one tree"),
            spec("hosts", "names of the hosts that trees are named by, with commas (default localhost)"),
            spec("threads", "workers of each host, by which they are numbered (default: all)"),
            spec("prefix", "what names begin with"),
            spec("suffix", "what names end with"),
            spec("fsync", "on or off: what was changed is made durable before it is closed"),
            spec("verify", "on or off: what is read is compared with what was written"),
            spec("incompressible", "on or off: random bytes"),
            spec("xattr_bytes", "bytes of an extended attribute (default 0)"),
            spec("xattr_count", "extended attributes of each file (default 0)"),
        ],
        is_slow: true,
        check: Self::check,
        traits: &[EngineTrait::OneAtATime],
        ..EngineFacts::named("small_files")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let job = setup.job;
        let number = |name: &str, default: u64| whole_number(job, name).unwrap_or(default);
        let mut tops = Vec::new();
        for handle in 0..job.targets.len() {
            match setup.target(handle).map(|target| &target.kind) {
                Some(TargetKind::FileSet { root, .. }) => tops.push(root.clone()),
                _ => {
                    return Err(
                        Failure::new("it works in directories").hint("targets that are sets of files")
                    );
                }
            }
        }
        let files = setup.files.handles.first().map_or(0, |handle| handle.bytes);
        let places = FileTrees::of(job, tops, files, (setup.seat, setup.seats));
        let kib = number("kib", 64);
        let drawn = switched_on(job, "exponential").then_some(setup.seed ^ u64::from(setup.seat));
        let attribute_bytes = number("xattr_bytes", 0);
        let content = FileBytes::new(kib, number("record_kib", 0), drawn, setup.seat.into(), attribute_bytes)
            .random(switched_on(job, "incompressible"));
        places.make_directories().map_err(|(path, errno)| {
            Failure::new(format!("{path}: {}", strerror(errno)))
                .hint("name a directory that can be written to")
        })?;
        setup.live.counts.begin_few();
        Ok(SmallFiles {
            operation: setting(job, "operation").unwrap_or("create").into(),
            places,
            content,
            fsync: switched_on(job, "fsync"),
            verifies: switched_on(job, "verify"),
            attributes: number("xattr_count", 0),
            attribute_bytes: attribute_bytes as usize,
            listed: PathBuf::new(),
            buffer: Vec::new(),
            counts: std::ptr::from_ref(setup.live.counts),
        })
    }

    fn perform(&mut self, io: &Io, _files: &mut Files) -> i64 {
        match self.on(io.offset + 1) {
            Ok(bytes) => bytes as i64,
            Err(error) => -i64::from(error.raw_os_error().unwrap_or(libc::EIO)),
        }
    }
}

impl Drop for SmallFiles {
    fn drop(&mut self) {
        if self.operation == "cleanup" {
            self.places.remove_directories();
        }
    }
}

impl SmallFiles {
    fn check(job: &Job) -> Vec<Diagnostic> {
        let switches = ["exponential", "hash", "shared", "fsync", "verify", "incompressible"];
        let mut wrong = check_switches(job, &switches);
        let known = |value: &str| OPERATIONS.contains(&value);
        wrong.extend(check_values(job, &["operation"], known, "say create, read, stat or delete"));
        let number = |value: &str| value.parse::<u64>().is_ok_and(|number| number <= 1 << 40);
        let numbers = ["kib", "record_kib", "xattr_bytes", "xattr_count"];
        wrong.extend(check_values(job, &numbers, number, "say a whole number"));
        let positive = |value: &str| value.parse::<u32>().is_ok_and(|number| number > 0);
        wrong.extend(check_values(job, &["per_directory", "branch", "threads"], positive, "say at least 1"));
        let short = |value: &str| value.parse::<usize>().is_ok_and(|bytes| bytes <= ATTRIBUTE_MOST);
        wrong.extend(check_values(job, &["xattr_bytes"], short, "an attribute has at most 65536 bytes"));
        wrong
    }

    /// Does it with one file: bytes that it moved.
    fn on(&mut self, number: u64) -> io::Result<u64> {
        let path = self.places.source(number);
        match self.operation.as_str() {
            "create" => {
                let mut options = OpenOptions::new();
                options.write(true).create_new(true).mode(MADE_MODE);
                self.write(options.open(path)?, number)
            }
            "append" => {
                let mut file = OpenOptions::new().write(true).open(path)?;
                file.seek(SeekFrom::End(0))?;
                self.write(file, number)
            }
            "overwrite" => self.write(OpenOptions::new().write(true).open(path)?, number),
            "truncate-overwrite" => {
                self.write(OpenOptions::new().write(true).truncate(true).open(path)?, number)
            }
            "read" => self.read(File::open(path)?, number),
            "stat" => fs::metadata(path).map(|_| 0),
            "chmod" => fs::set_permissions(path, fs::Permissions::from_mode(CHANGED_MODE)).map(|()| 0),
            "readdir" => self.list(&path),
            "ls-l" => {
                self.list(&path)?;
                fs::metadata(path).map(|_| 0)
            }
            "setxattr" => self.set_attributes(&path, number),
            "getxattr" => self.compare_attributes(&path, number),
            "symlink" => symlink(path, self.places.linked(number)).map(|()| 0),
            "mkdir" => fs::create_dir(self.places.directory(number)).map(|()| 0),
            "rmdir" => fs::remove_dir(self.places.directory(number)).map(|()| 0),
            "rename" => fs::rename(path, self.places.destination(number)).map(|()| 0),
            "delete" => fs::remove_file(path).map(|()| 0),
            "delete-renamed" => fs::remove_file(self.places.destination(number)).map(|()| 0),
            _ => self.clean(number),
        }
    }

    fn count(&self, records: u64) {
        // SAFETY: what is shared with the control plane outlives the engine.
        unsafe { &*self.counts }.add(Count::Blocks, records);
    }

    fn write(&mut self, mut file: File, number: u64) -> io::Result<u64> {
        let (bytes, record) = self.content.sizes(number);
        let mut left = bytes;
        while left > 0 {
            let next = left.min(record) as usize;
            if file.write(self.content.of(number, next))? != next {
                return Err(io::Error::from_raw_os_error(libc::EIO));
            }
            self.count(1);
            left -= next as u64;
        }
        if self.fsync {
            file.sync_all()?;
        }
        Ok(bytes)
    }

    fn read(&mut self, mut file: File, number: u64) -> io::Result<u64> {
        let (bytes, record) = self.content.sizes(number);
        self.buffer.resize(record as usize, 0);
        let mut left = bytes;
        while left > 0 {
            let next = left.min(record) as usize;
            if file.read(&mut self.buffer[..next])? != next {
                return Err(io::Error::from_raw_os_error(libc::EIO));
            }
            self.count(1);
            if self.verifies && self.buffer[..next] != *self.content.of(number, next) {
                return Err(io::Error::from_raw_os_error(libc::EILSEQ));
            }
            left -= next as u64;
        }
        Ok(bytes)
    }

    /// Lists the directory of a file, unless it was the one before.
    fn list(&mut self, path: &Path) -> io::Result<u64> {
        let directory = path.parent().unwrap_or(path);
        if self.listed != directory {
            self.listed = directory.into();
            for entry in fs::read_dir(directory)? {
                entry?;
            }
        }
        Ok(0)
    }

    fn set_attributes(&mut self, path: &Path, number: u64) -> io::Result<u64> {
        for index in 0..self.attributes {
            content::set_attribute(path, index, self.content.of(number + index, self.attribute_bytes))?;
        }
        if self.fsync {
            File::open(path)?.sync_all()?;
        }
        Ok(0)
    }

    fn compare_attributes(&mut self, path: &Path, number: u64) -> io::Result<u64> {
        for index in 0..self.attributes {
            let value = content::attribute(path, index, self.attribute_bytes)?;
            if value != self.content.of(number + index, self.attribute_bytes) {
                return Err(io::Error::from_raw_os_error(libc::EILSEQ));
            }
        }
        Ok(0)
    }

    /// Removes all that any operation may have left of a file.
    fn clean(&self, number: u64) -> io::Result<u64> {
        let gone = |result: io::Result<()>| match result {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        gone(fs::remove_file(self.places.linked(number)))?;
        gone(fs::remove_file(self.places.source(number)))?;
        gone(fs::remove_file(self.places.destination(number)))?;
        gone(fs::remove_dir(self.places.directory(number)))?;
        Ok(0)
    }
}

//! `hdfs`: files of Hadoop's file system by libhdfs, one call at a time.
//!
//! A bucket is a directory: `hdfs://NAMENODE[:PORT]/DIRECTORY`; without a directory, names are below the user's home, and
//! `hdfs://NAMENODE/./DIRECTORY` is below it too. The library is opened at run time and starts a Java machine in this
//! process, which all workers share. A file is written once, from its begin to its end, by one writer; reads go anywhere.
//! It refuses writes elsewhere: HDFS has none.

use iodyno_model::{Diagnostic, Job, Kind, Verb, VerbSet, WorkerKind};

use self::calls::{Calls, Connection, Creation, Handle};
use super::{
    EngineFacts, Failure, Setup, SyncEngine, check_switches, check_values, setting, spec, switched_on,
    whole_number,
};
use crate::io::{DURABLE, Files, Io};
use crate::names::{Names, PathBuffer};
use crate::objects::{ObjectSet, draws};

mod calls;
mod client;

/// Files below a directory for each target.
pub struct Hdfs {
    /// By handle.
    targets: Vec<Directory>,
    creation: Creation,
    /// What is written is at the data nodes before a write is done.
    flushes: bool,
}

struct Directory {
    connection: Connection,
    set: ObjectSet,
    names: Names,
    /// The file that is written, and how much of it is.
    writer: Option<(u64, Handle, u64)>,
    /// The file that is read.
    reader: Option<(u64, Handle)>,
}

impl SyncEngine for Hdfs {
    const FACTS: EngineFacts = EngineFacts {
        about: "files of Hadoop's file system by libhdfs",
        verbs: VerbSet::of(&[
            Verb::Read,
            Verb::Write,
            Verb::Fsync,
            Verb::Fdatasync,
            Verb::Create,
            Verb::Open,
            Verb::Stat,
            Verb::Access,
            Verb::Unlink,
            Verb::Mkdir,
            Verb::Rmdir,
            Verb::Readdir,
        ]),
        settings: &[
            spec("user", "as whom (default: who runs the program)"),
            spec("replication", "copies of each block (default: as configured)"),
            spec("block_bytes", "bytes of a block (default: as configured)"),
            spec("buffer_bytes", "bytes that the client gathers before it sends (default: as configured)"),
            spec("flush", "on or off: a write is done when the data nodes have it (default off)"),
            spec("own_connection", "on or off: each worker has a connection of its own (default off)"),
        ],
        performs: true,
        stores_objects: &["hdfs"],
        writes_parts: true,
        client: Some(client::connect),
        is_slow: true,
        uses_files: false,
        opens_files: true,
        available: || Calls::get().map(drop),
        check: Self::check,
        ..EngineFacts::named("hdfs")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let number = |name: &str| whole_number(setup.job, name).unwrap_or(0);
        let mut engine = Hdfs {
            targets: Vec::new(),
            creation: Creation {
                replication: number("replication") as i16,
                block_bytes: number("block_bytes") as i32,
                buffer_bytes: number("buffer_bytes") as i32,
            },
            flushes: switched_on(setup.job, "flush"),
        };
        for set in setup.objects.iter().flatten() {
            engine.targets.push(Directory::open(setup.job, set)?);
        }
        // Nothing is opened where files are only laid out or removed.
        if !setup.files.handles.is_empty() {
            engine.open_at_start(setup.job)?;
        }
        Ok(engine)
    }

    fn perform(&mut self, io: &Io, _files: &mut Files) -> i64 {
        let (creation, flushes) = (self.creation, self.flushes);
        // What only carries a line of the tally is nothing to ask a store for.
        if io.verb.kind() == Kind::Control {
            return 0;
        }
        let Some(directory) = self.targets.get_mut(io.file as usize) else {
            return -i64::from(libc::EBADF);
        };
        let place = directory.set.place(io.verb, io.offset);
        match io.verb {
            Verb::Read => directory.read(place.item, place.offset, io),
            Verb::Write => directory.write(place.item, place.offset, io, creation, flushes),
            Verb::Fsync | Verb::Fdatasync => directory.sync(),
            Verb::Create => directory.create(place.item, io, creation, flushes),
            Verb::Open => directory.open_one(place.item, io),
            Verb::Stat | Verb::Access => {
                let length = directory.connection.length(directory.names.path_of(place.item));
                length.min(0)
            }
            Verb::Unlink => {
                let closed = directory.end(place.item);
                let removed = directory.connection.remove(directory.names.path_of(place.item));
                if closed < 0 { closed } else { removed }
            }
            Verb::Mkdir => directory.connection.make_directory(directory.names.path_of(place.item)),
            Verb::Rmdir => directory.connection.remove(directory.names.path_of(place.item)),
            Verb::Readdir => directory.count(io.bytes),
            _ => -i64::from(libc::EOPNOTSUPP),
        }
    }

    fn close(&mut self) -> Result<(), Failure> {
        let results: Vec<i64> = self.targets.iter_mut().map(Directory::end_all).collect();
        match results.into_iter().find(|result| *result < 0) {
            Some(result) => Err(Failure::call("hdfsCloseFile", -result as i32).errno(-result as i32)),
            None => Ok(()),
        }
    }
}

impl Drop for Hdfs {
    fn drop(&mut self) {
        // What went wrong was told by `close`, unless the run broke off.
        let _ = self.close();
    }
}

impl Hdfs {
    fn check(job: &Job) -> Vec<Diagnostic> {
        let mut found = check_switches(job, &["flush", "own_connection"]);
        let fits = |value: &str| value.parse::<i32>().is_ok_and(|number| number >= 0);
        found.extend(check_values(
            job,
            &["block_bytes", "buffer_bytes"],
            fits,
            "say a number of bytes below 2 GiB",
        ));
        let is_few = |value: &str| value.parse::<i16>().is_ok_and(|number| number >= 0);
        found.extend(check_values(job, &["replication"], is_few, "say a number, e.g. 3"));
        if job.kind == WorkerKind::Processes {
            let message = format!("job {}: engine hdfs: a Java machine does not survive a fork", job.name);
            found.push(Diagnostic::error(&job.origin, message).hint("use threads"));
        }
        found
    }

    /// Opens the one file of each target, to be written or read.
    fn open_at_start(&mut self, job: &Job) -> Result<(), Failure> {
        for directory in self.targets.iter_mut().filter(|directory| directory.names.count == 1) {
            let opened = match (draws(job, Verb::Write), draws(job, Verb::Read)) {
                (true, _) => directory.writer(0, 0, self.creation).map(drop),
                (false, true) => directory.reader(0).map(drop),
                _ => Ok(()),
            };
            opened.map_err(|result| {
                let errno = -result as i32;
                Failure::call(&format!("cannot open {}", directory.set.address(0)), errno).errno(errno)
            })?;
        }
        Ok(())
    }
}

impl Directory {
    fn open(job: &Job, set: &ObjectSet) -> Result<Directory, Failure> {
        let (.., prefix) = set.parts();
        let account = client::account(job, &set.url)?;
        let connection = Connection::open(&account, switched_on(job, "own_connection"))?;
        let mut names = set.names.clone();
        if !prefix.is_empty() {
            names.root = client::path(prefix.trim_end_matches('/'));
        }
        Ok(Directory { connection, set: set.clone(), names, writer: None, reader: None })
    }

    fn read(&mut self, item: u64, offset: u64, io: &Io) -> i64 {
        match self.reader(item) {
            Ok(file) => self.connection.read(file, offset, io.buffer, io.bytes),
            Err(result) => result,
        }
    }

    fn write(&mut self, item: u64, offset: u64, io: &Io, creation: Creation, flushes: bool) -> i64 {
        let file = match self.writer(item, offset, creation) {
            Ok(file) => file,
            Err(result) => return result,
        };
        let written = self.connection.write(file, io.buffer, io.bytes);
        if written < 0 {
            return written;
        }
        self.writer = Some((item, file, offset + written as u64));
        let flushed = if flushes { self.connection.flush(file) } else { 0 };
        if flushed < 0 { flushed } else { written }
    }

    /// The file of an item, open to be written at an offset.
    fn writer(&mut self, item: u64, offset: u64, creation: Creation) -> Result<Handle, i64> {
        match self.writer {
            Some((open, file, end)) if open == item && end == offset => return Ok(file),
            // What is written is there for good.
            _ if offset > 0 => return Err(-i64::from(libc::ENOTSUP)),
            _ => {}
        }
        let ended = self.end_all();
        if ended < 0 {
            return Err(ended);
        }
        let file = self.connection.file(self.names.path_of(item), Some(creation))?;
        self.writer = Some((item, file, 0));
        Ok(file)
    }

    /// The file of an item, open to be read.
    fn reader(&mut self, item: u64) -> Result<Handle, i64> {
        // What a writer holds back cannot be read.
        if self.writer.is_some_and(|(open, ..)| open == item) {
            let ended = self.end(item);
            if ended < 0 {
                return Err(ended);
            }
        }
        if let Some((open, file)) = self.reader {
            if open == item {
                return Ok(file);
            }
            self.reader = None;
            self.connection.close(file);
        }
        let file = self.connection.file(self.names.path_of(item), None)?;
        self.reader = Some((item, file));
        Ok(file)
    }

    fn sync(&mut self) -> i64 {
        self.writer.map_or(0, |(_, file, _)| self.connection.sync(file))
    }

    fn create(&mut self, item: u64, io: &Io, creation: Creation, flushes: bool) -> i64 {
        let file = match self.connection.file(self.names.path_of(item), Some(creation)) {
            Ok(file) => file,
            Err(result) => return result,
        };
        let written = self.connection.write(file, io.buffer, io.bytes);
        let flushed = if flushes && written > 0 { self.connection.flush(file) } else { 0 };
        let synced = if io.flags & DURABLE != 0 { self.connection.sync(file) } else { 0 };
        let closed = self.connection.close(file);
        [written, flushed, synced, closed].into_iter().find(|result| *result < 0).unwrap_or(written)
    }

    fn open_one(&mut self, item: u64, io: &Io) -> i64 {
        let file = match self.connection.file(self.names.path_of(item), None) {
            Ok(file) => file,
            Err(result) => return result,
        };
        let read = self.connection.read(file, 0, io.buffer, io.bytes);
        self.connection.close(file);
        read
    }

    fn count(&mut self, most: u64) -> i64 {
        let mut buffer = PathBuffer::default();
        let count = self.connection.count(self.names.directory(0, &mut buffer));
        if most > 0 { count.min(most as i64) } else { count }
    }

    /// Ends the files of an item.
    fn end(&mut self, item: u64) -> i64 {
        let reader = self.reader.take_if(|(open, _)| *open == item);
        reader.map(|(_, file)| self.connection.close(file));
        let writer = self.writer.take_if(|(open, ..)| *open == item);
        writer.map_or(0, |(_, file, _)| self.connection.close(file))
    }

    /// Ends all that is open.
    fn end_all(&mut self) -> i64 {
        let reader = self.reader.take();
        reader.map(|(_, file)| self.connection.close(file));
        self.writer.take().map_or(0, |(_, file, _)| self.connection.close(file))
    }
}

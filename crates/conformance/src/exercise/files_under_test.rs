//! The real thing: two files on the file system under test, opened in every way that the exerciser uses them.
//!
//! It carries operations out and says what the system answered. What the answer should have been it does not know.

use std::ffi::CString;
use std::os::fd::RawFd;

use iodyno_model::Verb;

use super::calls::{self, Course};
use super::operation::{OpKind, Operation, Way};
use super::ways::{Channel, FileMapping, channel};
use iodyno_engine::engines::{Failure, Setup};
use iodyno_engine::io::{Files, Handle, Io, Slot, c_path};
use iodyno_engine::memory::{Memory, PAGE_BYTES};
use iodyno_engine::worker::Worker;

/// Operations that can be in flight together.
pub const SLOTS: u32 = 4;

/// How a file is opened: each has a descriptor of its own.
#[derive(Clone, Copy)]
enum Descriptor {
    Plain = 0,
    Direct = 1,
    Append = 2,
}

const ROLES: [(Descriptor, i32); 3] =
    [(Descriptor::Plain, 0), (Descriptor::Direct, libc::O_DIRECT), (Descriptor::Append, libc::O_APPEND)];

/// The files, the engines and their buffers.
pub struct FilesUnderTest {
    paths: [CString; 2],
    files: Files,
    memory: Memory,
    channels: Vec<(Way, Box<dyn Channel>)>,
    maps: [Option<FileMapping>; 2],
    most: u64,
    results: [i64; SLOTS as usize],
    /// A page of memory, bytes.
    pub page: u64,
    /// Engines that cannot be had, and why.
    pub missing: Vec<(Way, String)>,
}

impl FilesUnderTest {
    /// Two new files in a directory, of at most so many bytes each, operations of at most so many, and these engines.
    ///
    /// # Errors
    /// What is missing.
    pub fn new(
        worker: &Worker<'_>,
        directory: &str,
        limits: (u64, u64),
        ways: &[Way],
    ) -> Result<FilesUnderTest, Failure> {
        let path = |name| {
            c_path(&format!("{directory}/{name}")).map_err(|_| Failure::new("its path holds a zero byte"))
        };
        let memory = Memory::new(SLOTS, limits.1 as usize).map_err(|number| {
            Failure::call("mmap", number).hint("operations of fewer bytes need less memory")
        })?;
        let files = Files::of((0..6).map(|_| Handle::closed()).collect());
        let page = (PAGE_BYTES as u64).max(page_bytes());
        let mut files_under_test = FilesUnderTest {
            paths: [path("a")?, path("b")?],
            files,
            memory,
            channels: Vec::new(),
            maps: [None, None],
            most: limits.0.next_multiple_of(page),
            results: [0; SLOTS as usize],
            page,
            missing: Vec::new(),
        };
        files_under_test.renew()?;
        for way in ways {
            match channel(*way, &files_under_test.setup(worker)) {
                Ok(Some(channel)) => files_under_test.channels.push((*way, channel)),
                Ok(None) => {}
                Err(failure) => files_under_test.missing.push((*way, failure.message)),
            }
        }
        Ok(files_under_test)
    }

    fn setup<'a>(&'a self, worker: &'a Worker<'_>) -> Setup<'a> {
        Setup {
            plan: worker.plan,
            job: worker.job,
            depth: SLOTS,
            files: &self.files,
            memory: &self.memory,
            paths: &[],
            objects: &[],
            priorities: None,
            seed: worker.seed,
            worker: worker.number,
            seat: worker.seat,
            seats: worker.seats,
            live: iodyno_engine::engines::Live::alone(),
        }
    }

    /// Begins with empty files.
    ///
    /// # Errors
    /// They cannot be made.
    pub fn renew(&mut self) -> Result<(), Failure> {
        self.close();
        for path in &self.paths {
            // It need not be there.
            let _ = calls::unlink(path);
        }
        self.open().map_err(|number| {
            Failure::call("open", number).hint("the directory must be writable, and have room for two files")
        })
    }

    fn open(&mut self) -> Result<(), i32> {
        for file in 0..2 {
            for (role, flag) in ROLES {
                self.files.handles[handle(file, role) as usize].fd =
                    match calls::open(&self.paths[file], flag) {
                        Ok(fd) => fd,
                        // Not every file system has O_DIRECT: what needs it is refused when it is tried.
                        Err(libc::EINVAL | libc::EOPNOTSUPP) if matches!(role, Descriptor::Direct) => -1,
                        Err(number) => return Err(number),
                    };
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Option<i32> {
        self.maps = [None, None];
        self.files.close_all().map(|(_, number)| number)
    }

    /// How many bytes an operation can have at most.
    pub fn stride(&self) -> u64 {
        self.memory.stride() as u64
    }

    /// A file's plain descriptor.
    pub fn fd(&self, file: usize) -> RawFd {
        self.files.fd(handle(file, Descriptor::Plain))
    }

    /// A file's descriptor for direct operations; negative: there is none.
    pub fn direct_fd(&self, file: usize) -> RawFd {
        self.files.fd(handle(file, Descriptor::Direct))
    }

    /// The memory of a slot, as much of it as an operation uses.
    pub fn buffer(&mut self, slot: Slot, bytes: u64) -> &mut [u8] {
        let bytes = (bytes as usize).min(self.memory.stride());
        // SAFETY: a slot's buffer is that long, nobody else uses it between operations, and self is borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.memory.buffer(slot), bytes) }
    }

    /// The buffers, for those who only look.
    pub fn content(&self, slot: Slot, bytes: u64) -> &[u8] {
        let bytes = (bytes as usize).min(self.memory.stride());
        // SAFETY: as above; nothing is in flight.
        unsafe { std::slice::from_raw_parts(self.memory.buffer(slot), bytes) }
    }

    /// Carries out operations that do not get in each other's way, a slot for each: the result of each is in
    /// [`result`](FilesUnderTest::result). Those of asynchronous engines are in flight while the others are done.
    ///
    /// # Errors
    /// An engine is broken.
    pub fn perform(&mut self, operations: &[Operation]) -> Result<(), Failure> {
        for (slot, operation) in operations.iter().enumerate() {
            if is_in_channel(operation) && operation.way.is_asynchronous() {
                self.push(slot as Slot, operation);
            }
        }
        self.each_channel(operations, |channel, _, _| channel.submit())?;
        for (slot, operation) in operations.iter().enumerate() {
            if is_in_channel(operation) && !operation.way.is_asynchronous() {
                self.push(slot as Slot, operation);
                // An engine that does one operation at a time keeps one result.
                let one = std::slice::from_ref(operation);
                self.each_channel(one, |channel, count, results| channel.reap(count, results))?;
            }
            if !is_in_channel(operation) {
                let outcome = self.call(slot as Slot, operation);
                self.results[slot] = outcome.map_or_else(|number| -i64::from(number), |count| count as i64);
            }
        }
        let flown: Vec<Operation> =
            operations.iter().filter(|one| one.way.is_asynchronous()).cloned().collect();
        self.each_channel(&flown, |channel, count, results| channel.reap(count, results))
    }

    /// What became of the operation in a slot.
    pub fn result(&self, slot: usize) -> Result<u64, i32> {
        let result = self.results[slot];
        u64::try_from(result).map_err(|_| -result as i32)
    }

    fn each_channel(
        &mut self,
        operations: &[Operation],
        mut what: impl FnMut(&mut dyn Channel, u32, &mut [i64]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for (way, channel) in &mut self.channels {
            let mine =
                operations.iter().filter(|operation| is_in_channel(operation) && operation.way == *way);
            let count = mine.count() as u32;
            if count > 0 {
                what(channel.as_mut(), count, &mut self.results)?;
            }
        }
        Ok(())
    }

    fn push(&mut self, slot: Slot, operation: &Operation) {
        let verb = match operation.kind {
            OpKind::Read | OpKind::DirectRead => Verb::Read,
            _ => Verb::Write,
        };
        let role = if operation.kind.is_direct() { Descriptor::Direct } else { Descriptor::Plain };
        let io = Io {
            verb,
            file: handle(operation.file, role),
            offset: operation.offset,
            bytes: operation.bytes,
            buffer: self.memory.buffer(slot),
            ..Io::default()
        };
        self.results[slot as usize] = -i64::from(libc::ENOSYS);
        if let Some((_, channel)) = self.channels.iter_mut().find(|(way, _)| *way == operation.way) {
            channel.push(slot, &io, &mut self.files);
        }
    }

    fn call(&mut self, slot: Slot, operation: &Operation) -> Result<u64, i32> {
        let (offset, bytes, fd) = (operation.offset, operation.bytes, self.fd(operation.file));
        let mode = |mode| calls::fallocate(fd, mode, offset, bytes).map(|_| bytes);
        let keep = libc::FALLOC_FL_KEEP_SIZE;
        match operation.kind {
            OpKind::Read | OpKind::Write | OpKind::DirectRead | OpKind::DirectWrite => {
                self.transfer(slot, operation)
            }
            OpKind::MappedRead | OpKind::MappedWrite => self.mapped(slot, operation),
            OpKind::Append => {
                let fd = self.files.fd(handle(operation.file, Descriptor::Append));
                calls::append(fd, self.buffer(slot, bytes))
            }
            OpKind::Truncate => calls::truncate(fd, bytes).map(|_| bytes),
            OpKind::Fallocate => mode(0),
            OpKind::KeepSize => mode(keep),
            OpKind::PunchHole => mode(keep | libc::FALLOC_FL_PUNCH_HOLE),
            OpKind::ZeroRange => mode(libc::FALLOC_FL_ZERO_RANGE),
            OpKind::ZeroKeepSize => mode(keep | libc::FALLOC_FL_ZERO_RANGE),
            OpKind::CollapseRange => mode(libc::FALLOC_FL_COLLAPSE_RANGE),
            OpKind::InsertRange => mode(libc::FALLOC_FL_INSERT_RANGE),
            OpKind::Copy => calls::copy_range(&self.course(operation)),
            OpKind::Clone => calls::clone_range(&self.course(operation)),
            OpKind::Dedupe => calls::dedupe_range(&self.course(operation)).map(u64::from),
            OpKind::Sendfile => calls::sendfile(&self.course(operation)),
            OpKind::Splice => calls::splice(&self.course(operation)),
            OpKind::Fsync => calls::fsync(fd),
            OpKind::Fdatasync => calls::fdatasync(fd),
            OpKind::SyncRange => calls::sync_range(fd, offset, bytes),
            OpKind::Reopen => self.reopen(),
            OpKind::DropCache => calls::fsync(fd).and_then(|_| calls::drop_cache(fd)),
            OpKind::Readahead => calls::readahead(fd, offset, bytes),
            OpKind::Seek | OpKind::Check => Ok(0),
        }
    }

    fn course(&self, operation: &Operation) -> Course {
        Course {
            from: self.fd(operation.file),
            offset: operation.offset,
            to: self.fd(operation.to),
            target: operation.target,
            bytes: operation.bytes,
        }
    }

    /// Closes everything and opens it again.
    fn reopen(&mut self) -> Result<u64, i32> {
        let wrong = self.close();
        self.open()?;
        wrong.map_or(Ok(0), Err)
    }

    /// Reads or writes with the memory in one piece or several, the cut following from where it is.
    fn transfer(&mut self, slot: Slot, operation: &Operation) -> Result<u64, i32> {
        let role = if operation.kind.is_direct() { Descriptor::Direct } else { Descriptor::Plain };
        let fd = self.files.fd(handle(operation.file, role));
        let write = matches!(operation.kind, OpKind::Write | OpKind::DirectWrite);
        let count = match operation.kind.is_direct() {
            // Pieces of direct operations are aligned too.
            true => 1 + usize::from(operation.bytes.is_multiple_of(2 * self.page)),
            false => 2 + (operation.offset / 7 + operation.bytes) as usize % 5,
        };
        calls::pieces(fd, write, self.buffer(slot, operation.bytes), operation.offset, count)
    }

    fn mapped(&mut self, slot: Slot, operation: &Operation) -> Result<u64, i32> {
        let (file, fd) = (operation.file, self.fd(operation.file));
        if operation.kind == OpKind::MappedWrite && operation.end() > calls::size(fd)? {
            calls::truncate(fd, operation.end())?;
        }
        if self.maps[file].is_none() {
            self.maps[file] = Some(FileMapping::new(fd, self.most as usize)?);
        }
        // A mapping shows nothing behind the end of the file but the rest of its last page.
        let bytes = match operation.kind {
            OpKind::MappedRead => operation.end().min(calls::size(fd)?).saturating_sub(operation.offset),
            _ => operation.bytes,
        };
        let outcome = self.copy_mapped(slot, operation, bytes);
        if outcome.is_err() {
            // A page that could not be had was replaced: the mapping is not the file any more.
            self.maps[file] = None;
        }
        outcome.map(|()| bytes)
    }

    fn copy_mapped(&mut self, slot: Slot, operation: &Operation, bytes: u64) -> Result<(), i32> {
        let page = self.page as usize;
        let bytes = (bytes as usize).min(self.memory.stride());
        // SAFETY: a slot's buffer is that long, and nobody else uses it meanwhile.
        let buffer = unsafe { std::slice::from_raw_parts_mut(self.memory.buffer(slot), bytes) };
        let Some(map) = &self.maps[operation.file] else { return Err(libc::EFAULT) };
        match operation.kind {
            OpKind::MappedRead => map.read(operation.offset, buffer),
            _ => {
                map.write(operation.offset, buffer)?;
                if operation.sync { map.sync(operation.offset, bytes, page) } else { Ok(()) }
            }
        }
    }

    /// What a mapping shows between the end of a file of that size and the end of its last page.
    pub fn tail(&self, file: usize, size: u64) -> Option<Vec<u8>> {
        let map = self.maps[file].as_ref()?;
        let mut tail = vec![0; (size.next_multiple_of(self.page) - size) as usize];
        map.read(size, &mut tail).ok().map(|()| tail)
    }
}

fn handle(file: usize, role: Descriptor) -> u32 {
    (file + 2 * role as usize) as u32
}

fn is_in_channel(operation: &Operation) -> bool {
    operation.kind.has_way() && !matches!(operation.way, Way::Pvsync | Way::Mmap)
}

fn page_bytes() -> u64 {
    // SAFETY: the call takes no pointers.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

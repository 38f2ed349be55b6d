//! `file_service`: does what a file server does for its clients. A request is several system calls, timed as one.
//!
//! The calls and their order are those of dbench 4.0: a name is looked for first, in whatever letters it is written, then
//! comes what was asked for. Which request of which client is next, the source says (`served` traces alone): an operation's
//! offset is the request's number, its `other` the client's within the worker. A request that comes out as it was recorded has
//! succeeded, also where that is a failure; reads and writes count what was asked for. When the worker ends, the tree of each
//! of its clients is removed, outside the measured time.

mod calls;
mod tree;

use std::sync::Arc;

use iodyno_model::{Diagnostic, EngineTrait, Job, TargetKind, VerbSet, Workload};
use iodyno_trace::requests::{CLIENT, LoadRequest, LoadRequestKind, NO_NAME, RequestList};

use super::{
    EngineFacts, Failure, Setup, SyncEngine, check_switches, check_values, setting, spec, switch,
    whole_number,
};
use crate::io::{Files, Io, c_path};
use crate::request_file;
use crate::worker_counters::{Count, Counts};
use calls::{Descriptor, Path};

/// Clients of one worker at most.
const CLIENTS_MOST: u64 = 10_000;
/// Files that a client has open at most, as in dbench.
const OPEN_MOST: usize = 200;
/// The error of what succeeded and was to fail.
pub const UNEXPECTED_SUCCESS: i32 = libc::EPROTO;

/// Dispositions of a creation: the file is made, emptied, or both.
const CREATE: u32 = 2;
const OVERWRITE: u32 = 4;
const OVERWRITE_OR_CREATE: u32 = 5;
/// The creation option of directories.
const DIRECTORY: u32 = 1;

/// The server of one worker's clients.
pub struct FileService {
    service: Service,
    list: Arc<RequestList>,
    root: Path,
    clients: Vec<FileClient>,
    zeros: Vec<u8>,
    buffer: Vec<u8>,
    counts: *const Counts,
}

/// What the server does besides what was asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Service {
    /// Names that are not there are looked for in their directory.
    resolves: bool,
    sync_open: bool,
    /// A directory is made durable after each change.
    sync_directories: bool,
    /// A file is made durable after each write.
    fsync_writes: bool,
    /// The attribute of DOS is read and set.
    attributes: bool,
    /// What would come to nothing is found out before.
    looks_first: bool,
    /// Reads and writes are left out, and counted all the same.
    pretends: bool,
    /// Writes of one byte that change nothing are left out.
    spares_bytes: bool,
    keeps_trees: bool,
}

/// A client, as the server knows it.
struct FileClient {
    /// The load's names as they are here.
    names: Vec<Path>,
    /// All that is its own lies below it.
    tree: Path,
    open: Vec<Option<OpenFile>>,
    /// The line of its last request; 0: it has asked for nothing.
    line: u32,
}

#[derive(Clone, Copy)]
struct OpenFile {
    handle: u32,
    name: u32,
    descriptor: Descriptor,
}

impl SyncEngine for FileService {
    const FACTS: EngineFacts = EngineFacts {
        about: "does what a file server does for its clients, request by request",
        verbs: VerbSet::ALL,
        settings: &[
            spec("clients", "clients that one worker serves in turn, line by line (default 1)"),
            spec("resolve", "on or off: names are looked for in whatever letters (default on)"),
            spec("sync_open", "on or off: files are opened with O_SYNC"),
            spec("sync_directories", "on or off: directories are made durable after each change"),
            spec("fsync_writes", "on or off: files are made durable after each write"),
            spec("attributes", "on or off: the attribute user.DosAttrib is read and set"),
            spec("look_first", "on or off: what would come to nothing is found out before by stat"),
            spec("pretend", "on or off: reads and writes are counted and not done"),
            spec("spare_bytes", "on or off: writes of one byte that change nothing are left out"),
            spec("keep_trees", "on or off: what the clients made is there after the end"),
        ],
        is_slow: true,
        serves_requests: true,
        check: Self::check,
        traits: &[EngineTrait::OneAtATime],
        ..EngineFacts::named("file_service")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let job = setup.job;
        let Workload::Trace(trace) = &job.workload else {
            return Err(Failure::new("it serves requests of a file alone"));
        };
        let list = request_file::load(trace.path.as_deref().unwrap_or_default())?;
        let Some(TargetKind::FileSet { root, .. }) = setup.target(0).map(|target| &target.kind) else {
            return Err(Failure::new("it works in a directory").hint("a target that is a directory"));
        };
        let each = whole_number(job, "clients").unwrap_or(1);
        let first = u64::from(setup.seat) * each;
        let clients = (first..first + each).map(|number| FileClient::new(root, number, &list));
        let clients = clients.collect::<Result<_, Failure>>()?;
        setup.live.counts.begin_few();
        let bytes = list.largest_bytes.max(1) as usize;
        Ok(FileService {
            service: Service::of(job),
            root: path(root)?,
            clients,
            zeros: vec![0; bytes],
            buffer: vec![0; bytes],
            list,
            counts: std::ptr::from_ref(setup.live.counts),
        })
    }

    fn perform(&mut self, io: &Io, _files: &mut Files) -> i64 {
        let Some(request) = self.list.requests.get(io.offset as usize).copied() else {
            return -i64::from(libc::EINVAL);
        };
        let Some(client) = self.clients.get_mut(io.other as usize) else {
            return -i64::from(libc::EINVAL);
        };
        let lines = self.list.lines_between(client.line, request.line);
        client.line = request.line;
        // SAFETY: what is shared with the control plane outlives the engine.
        unsafe { &*self.counts }.add(Count::Lines, lines.into());
        let mut server = Server {
            service: self.service,
            root: &self.root,
            zeros: &self.zeros,
            buffer: &mut self.buffer,
            client,
        };
        match server.serve(&request) {
            Ok(moved) => moved as i64,
            Err(errno) => -i64::from(errno),
        }
    }
}

/// Removes what the clients have made, as they leave.
impl Drop for FileService {
    fn drop(&mut self) {
        for client in &mut self.clients {
            if !self.service.keeps_trees {
                tree::remove(&client.tree);
                let _ = calls::rmdir(&client.tree.parent());
            }
            for file in client.open.drain(..).flatten() {
                file.descriptor.close();
            }
        }
    }
}

impl FileService {
    fn check(job: &Job) -> Vec<Diagnostic> {
        let switches = [
            "resolve",
            "sync_open",
            "sync_directories",
            "fsync_writes",
            "attributes",
            "look_first",
            "pretend",
            "spare_bytes",
            "keep_trees",
        ];
        let mut wrong = check_switches(job, &switches);
        let count = |value: &str| value.parse::<u64>().is_ok_and(|count| (1..=CLIENTS_MOST).contains(&count));
        wrong.extend(check_values(job, &["clients"], count, "say a number from 1 to 10000"));
        if !calls::HAS_ATTRIBUTES && setting(job, "attributes").is_some() {
            let message = "engine file_service: extended attributes are not known on this system";
            wrong.push(Diagnostic::error(&job.origin, message).hint("leave attributes out"));
        }
        wrong
    }
}

impl Service {
    fn of(job: &Job) -> Service {
        let on = |name: &str| switch(job, name) == Some(true);
        Service {
            resolves: switch(job, "resolve") != Some(false),
            sync_open: on("sync_open"),
            sync_directories: on("sync_directories"),
            fsync_writes: on("fsync_writes"),
            attributes: on("attributes"),
            looks_first: on("look_first"),
            pretends: on("pretend"),
            spares_bytes: on("spare_bytes"),
            keeps_trees: on("keep_trees"),
        }
    }
}

impl FileClient {
    fn new(root: &str, number: u64, list: &RequestList) -> Result<FileClient, Failure> {
        let own = format!("client{number}");
        let names = list.names.iter().map(|name| path(&format!("{root}{}", name.replace(CLIENT, &own))));
        let names = names.collect::<Result<_, Failure>>()?;
        let tree = path(&format!("{root}/clients/{own}"))?;
        Ok(FileClient { names, tree, open: Vec::new(), line: 0 })
    }

    fn open_file(&self, handle: u32) -> Result<OpenFile, i32> {
        let same = |file: &&OpenFile| file.handle == handle;
        self.open.iter().flatten().find(same).copied().ok_or(libc::EBADF)
    }

    /// Puts an open file into the first free place.
    fn keep(&mut self, file: OpenFile) -> Result<(), i32> {
        match self.open.iter().position(Option::is_none) {
            Some(place) => self.open[place] = Some(file),
            None if self.open.len() < OPEN_MOST => self.open.push(Some(file)),
            None => return Err(libc::ENFILE),
        }
        Ok(())
    }
}

fn path(text: &str) -> Result<Path, Failure> {
    c_path(text).map(Path::new).map_err(|_| Failure::new("a path with a zero byte"))
}

/// The server at one request.
struct Server<'a> {
    service: Service,
    root: &'a Path,
    zeros: &'a [u8],
    buffer: &'a mut [u8],
    client: &'a mut FileClient,
}

/// What a request came to: the bytes that count, or an error number.
type Served = Result<u64, i32>;

impl Server<'_> {
    fn serve(&mut self, request: &LoadRequest) -> Served {
        match request.kind {
            LoadRequestKind::Open => self.open(request),
            LoadRequestKind::Close => self.close(request),
            LoadRequestKind::Rename => self.rename(request),
            LoadRequestKind::Unlink => self.unlink(request),
            LoadRequestKind::RemoveTree => {
                tree::empty(self.name(request.name)?);
                Ok(0)
            }
            LoadRequestKind::RemoveDirectory => self.remove_directory(request),
            LoadRequestKind::MakeDirectory => self.make_directory(request),
            LoadRequestKind::LookAtName => self.resolve(request.name).map(|()| 0),
            LoadRequestKind::LookAtHandle => self.look_at_handle(request),
            LoadRequestKind::LookAtFileSystem => {
                calls::look_at_file_system(self.root);
                Ok(0)
            }
            LoadRequestKind::SetTimes => self.set_times(request),
            LoadRequestKind::Find => self.find(request),
            LoadRequestKind::Write => self.write(request),
            LoadRequestKind::Read => self.read(request),
            LoadRequestKind::Lock => self.lock(request, true),
            LoadRequestKind::Unlock => self.lock(request, false),
            LoadRequestKind::Flush => {
                self.client.open_file(request.handle)?.descriptor.fsync();
                Ok(0)
            }
        }
    }

    fn name(&self, index: u32) -> Result<&Path, i32> {
        if index == NO_NAME {
            return Err(libc::EINVAL);
        }
        self.client.names.get(index as usize).ok_or(libc::EINVAL)
    }

    /// Looks for a name as a server does whose clients do not tell upper case from lower.
    fn resolve(&self, index: u32) -> Result<(), i32> {
        let name = self.name(index)?;
        if calls::stat(name).is_ok() {
            if self.service.attributes {
                calls::read_attribute_of(name);
            }
        } else if self.service.resolves {
            calls::look_for(name);
        }
        Ok(())
    }

    fn sync_parent(&self, name: &Path) {
        if self.service.sync_directories {
            calls::sync_directory(&name.parent());
        }
    }

    fn open(&mut self, request: &LoadRequest) -> Served {
        self.resolve(request.name)?;
        let name = self.name(request.name)?;
        let mut disposition = request.disposition;
        if disposition == CREATE && self.service.looks_first && calls::stat(name).is_ok() {
            disposition = 1;
        }
        let mut flags = libc::O_RDWR | if self.service.sync_open { libc::O_SYNC } else { 0 };
        flags |= match disposition {
            CREATE => libc::O_CREAT,
            OVERWRITE | OVERWRITE_OR_CREATE => libc::O_CREAT | libc::O_TRUNC,
            _ => 0,
        };
        if request.options & DIRECTORY != 0 {
            if !self.service.looks_first || calls::stat(name).is_err() {
                let _ = calls::mkdir(name, 0o700);
            }
            flags = libc::O_RDONLY | libc::O_DIRECTORY;
        }
        let mut opened = calls::open(name, flags, 0o600);
        if opened.is_err_and(|errno| errno == libc::EISDIR) {
            opened = calls::open(name, libc::O_RDONLY | libc::O_DIRECTORY, 0o600);
        }
        let descriptor = match (opened, request.succeeds) {
            (Ok(descriptor), true) => descriptor,
            (Ok(descriptor), false) => {
                descriptor.close();
                return Err(UNEXPECTED_SUCCESS);
            }
            (Err(errno), true) => return Err(errno),
            (Err(_), false) => return Ok(0),
        };
        let file = OpenFile { handle: request.handle, name: request.name, descriptor };
        self.client.keep(file).inspect_err(|_| descriptor.close())?;
        let is_directory = descriptor.look().is_ok_and(|facts| facts.is_directory);
        if self.service.attributes && !is_directory {
            descriptor.set_attribute()?;
        }
        Ok(0)
    }

    fn close(&mut self, request: &LoadRequest) -> Served {
        let same = |file: &Option<OpenFile>| file.is_some_and(|file| file.handle == request.handle);
        let place = self.client.open.iter_mut().find(|place| same(place)).ok_or(libc::EBADF)?;
        if let Some(file) = place.take() {
            file.descriptor.close();
        }
        Ok(0)
    }

    fn unlink(&mut self, request: &LoadRequest) -> Served {
        self.resolve(request.name)?;
        let name = self.name(request.name)?;
        expected(calls::unlink(name), request)?;
        self.sync_parent(name);
        Ok(0)
    }

    fn make_directory(&mut self, request: &LoadRequest) -> Served {
        self.resolve(request.name)?;
        let name = self.name(request.name)?;
        if !self.service.looks_first || calls::stat(name).is_err() {
            let _ = calls::mkdir(name, 0o777);
        }
        Ok(0)
    }

    fn remove_directory(&mut self, request: &LoadRequest) -> Served {
        self.resolve(request.name)?;
        let name = self.name(request.name)?;
        if self.service.looks_first && !calls::stat(name).is_ok_and(|facts| facts.is_directory) {
            return Ok(0);
        }
        expected(calls::rmdir(name), request)?;
        self.sync_parent(name);
        Ok(0)
    }

    fn rename(&mut self, request: &LoadRequest) -> Served {
        self.resolve(request.name)?;
        self.resolve(request.other)?;
        let (old, new) = (self.name(request.name)?, self.name(request.other)?);
        if self.service.looks_first && request.succeeds {
            calls::stat(old)?;
        }
        expected(calls::rename(old, new), request)?;
        self.sync_parent(new);
        Ok(0)
    }

    fn look_at_handle(&mut self, request: &LoadRequest) -> Served {
        let descriptor = self.client.open_file(request.handle)?.descriptor;
        let _ = descriptor.look();
        if self.service.attributes {
            descriptor.read_attribute();
        }
        Ok(0)
    }

    /// Reading was 10 s and writing 12 s before what is known, as in dbench.
    fn set_times(&mut self, request: &LoadRequest) -> Served {
        let file = self.client.open_file(request.handle)?;
        if self.service.attributes {
            file.descriptor.read_attribute();
        }
        let facts = file.descriptor.look().unwrap_or_default();
        calls::set_times(self.name(file.name)?, facts.read_s - 10, facts.written_s - 12);
        if self.service.attributes && !facts.is_directory {
            file.descriptor.set_attribute()?;
        }
        Ok(0)
    }

    fn find(&mut self, request: &LoadRequest) -> Served {
        self.resolve(request.name)?;
        let name = self.name(request.name)?;
        if name.is_pattern() {
            calls::list(&name.parent(), request.options);
        }
        Ok(0)
    }

    fn write(&mut self, request: &LoadRequest) -> Served {
        let file = self.client.open_file(request.handle)?.descriptor;
        let bytes = u64::from(request.bytes);
        if self.service.pretends {
            return Ok(request.moved_bytes.into());
        }
        if self.service.spares_bytes && bytes == 1 && file.spares_zero(request.offset) {
            return Ok(bytes);
        }
        let written = file.write(&self.zeros[..request.bytes as usize], request.offset)?;
        if written != u64::from(request.moved_bytes) {
            // What is left out of a write says why.
            let rest = &self.zeros[written as usize..request.bytes as usize];
            file.write(rest, request.offset + written)?;
            return Err(libc::EIO);
        }
        if self.service.fsync_writes {
            file.fsync();
        }
        Ok(bytes)
    }

    fn read(&mut self, request: &LoadRequest) -> Served {
        let file = self.client.open_file(request.handle)?.descriptor;
        if self.service.pretends {
            return Ok(request.moved_bytes.into());
        }
        let read = file.read(&mut self.buffer[..request.bytes as usize], request.offset)?;
        if read != u64::from(request.moved_bytes) {
            return Err(libc::EIO);
        }
        Ok(request.bytes.into())
    }

    fn lock(&mut self, request: &LoadRequest, locks: bool) -> Served {
        let file = self.client.open_file(request.handle)?.descriptor;
        file.lock(request.offset, request.bytes, locks);
        Ok(0)
    }
}

/// Whether a call came out as it was recorded.
fn expected(result: Result<(), i32>, request: &LoadRequest) -> Result<(), i32> {
    match (result, request.succeeds) {
        (Ok(()), true) | (Err(_), false) => Ok(()),
        (Ok(()), false) => Err(UNEXPECTED_SUCCESS),
        (Err(errno), true) => Err(errno),
    }
}

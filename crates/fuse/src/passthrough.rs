//! The file system itself: each call is made on a directory, and the observer is told of it.
//!
//! The kernel keeps nothing: names and attributes are asked for each time, and reads and writes are direct, so each call
//! arrives as the program made it. Only mapped memory goes through the page cache.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{
    DirEntryExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    AccessFlags, BsdFileFlags, CopyFileRangeFlags, Errno, FileAttr, FileHandle, FileType, Filesystem,
    FopenFlags, Generation, INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr,
    ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyLock, ReplyLseek, ReplyOpen,
    ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use iodyno_model::Verb;

use super::caller::CallerRights;
use super::calls;
use super::locks::{HeldLocks, RangeLock};
use super::nodes::{NodeTable, hold, through};
use super::observer::{CallFlags, CallObserver, ObservedCall, ObservedFile};
use super::unsynced::UnsyncedStore;
use super::unsynced_names::{NamePlace, UnsyncedNames};

/// Nothing is kept.
const KEPT: Duration = Duration::ZERO;
/// Bytes that one request may carry.
const MOST_BYTES: u32 = 1 << 20;
/// Requests at once.
const BACKGROUND: u16 = 64;
/// What is not passed on to a file whose unsynced data is held back.
const HELD: i32 = libc::O_TRUNC | libc::O_SYNC | libc::O_DSYNC;

/// An open file.
struct OpenFile {
    file: File,
    name: String,
    flags: CallFlags,
    /// How often unsynced data had been dropped when it was opened.
    drops: u64,
}

/// An open directory: its entries are read when the first of them is asked for.
struct OpenDirectory {
    file: File,
    name: String,
    entries: Vec<(u64, FileType, std::ffi::OsString)>,
}

/// A file system that passes all calls on to a directory.
pub struct Passthrough<O> {
    shared: Arc<CoveredDirectory<O>>,
}

struct CoveredDirectory<O> {
    observer: O,
    nodes: Mutex<NodeTable>,
    files: Mutex<HashMap<u64, Arc<OpenFile>>>,
    directories: Mutex<HashMap<u64, OpenDirectory>>,
    locks: HeldLocks,
    next_handle: AtomicU64,
    /// Whether files may be read past the page cache and mapped.
    is_direct: AtomicBool,
    /// What was written and not synced, where it is held back.
    unsynced: Option<Arc<UnsyncedStore>>,
    /// Names that were changed and not synced, where they are undone.
    names: Option<Arc<UnsyncedNames>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_i32(error.raw_os_error().unwrap_or(libc::EIO))
}

/// What came back of a call, as records have it.
fn result_of<T>(done: &io::Result<T>, value: impl Fn(&T) -> u64) -> i64 {
    match done {
        Ok(done) => value(done) as i64,
        Err(error) => -i64::from(error.raw_os_error().unwrap_or(libc::EIO)),
    }
}

fn status_of<T>(done: &io::Result<T>) -> i64 {
    result_of(done, |_| 0)
}

fn observed(metadata: &Metadata) -> ObservedFile {
    let kind = metadata.file_type();
    let is_device = kind.is_block_device() || kind.is_char_device();
    let device = is_device.then(|| (libc::major(metadata.rdev()), libc::minor(metadata.rdev())));
    ObservedFile { kind, bytes: metadata.len(), device }
}

fn time(seconds: i64, nanoseconds: i64) -> SystemTime {
    let nanoseconds = Duration::from_nanos(nanoseconds as u64);
    match u64::try_from(seconds) {
        Ok(seconds) => SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + nanoseconds,
        Err(_) => SystemTime::UNIX_EPOCH - Duration::from_secs(seconds.unsigned_abs()) + nanoseconds,
    }
}

fn kind_of(kind: fs::FileType) -> FileType {
    FileType::from_std(kind).unwrap_or(FileType::RegularFile)
}

/// `node`: the number that the kernel knows it by; none: the file's own, which programs see.
fn attributes(metadata: &Metadata, node: Option<u64>) -> FileAttr {
    FileAttr {
        ino: INodeNo(node.unwrap_or(metadata.ino())),
        size: metadata.size(),
        blocks: metadata.blocks(),
        atime: time(metadata.atime(), metadata.atime_nsec()),
        mtime: time(metadata.mtime(), metadata.mtime_nsec()),
        ctime: time(metadata.ctime(), metadata.ctime_nsec()),
        crtime: SystemTime::UNIX_EPOCH,
        kind: kind_of(metadata.file_type()),
        perm: (metadata.mode() & 0o7777) as u16,
        nlink: metadata.nlink() as u32,
        uid: metadata.uid(),
        gid: metadata.gid(),
        rdev: metadata.rdev() as u32,
        blksize: metadata.blksize() as u32,
        flags: 0,
    }
}

/// The flags of a call, of an open.
fn flags_of(flags: i32) -> CallFlags {
    let has = |flag: i32| flags & flag == flag;
    CallFlags {
        append: has(libc::O_APPEND),
        direct: has(libc::O_DIRECT),
        durable: has(libc::O_DSYNC),
        truncated: has(libc::O_TRUNC),
        ..CallFlags::default()
    }
}

/// What the file itself is opened with: the kernel has worked out where appended bytes go, and our memory is not aligned.
fn own_flags(flags: i32) -> i32 {
    let ours = libc::O_ACCMODE
        | libc::O_APPEND
        | libc::O_DIRECT
        | libc::O_CREAT
        | libc::O_EXCL
        | libc::O_NOFOLLOW
        | libc::O_NOCTTY;
    flags & !ours
}

fn opened(path: &Path, flags: i32, own: i32, mode: Option<(u32, bool)>) -> io::Result<File> {
    let mut options = File::options();
    match flags & libc::O_ACCMODE {
        libc::O_WRONLY => options.write(true),
        libc::O_RDWR => options.read(true).write(true),
        _ => options.read(true),
    };
    let own = match mode {
        // The library wants a writer for a new file, the system does not.
        Some((mode, is_new)) => {
            options.mode(mode);
            own | libc::O_CREAT | if is_new { libc::O_EXCL } else { 0 }
        }
        None => own,
    };
    options.custom_flags(own).open(path)
}

/// A call that goes on.
struct CallWatch<'a, O: CallObserver> {
    observer: &'a O,
    began: u64,
    call: ObservedCall,
}

impl<O: CallObserver> CallWatch<'_, O> {
    fn other(mut self, name: String) -> Self {
        self.call.other = Some(name);
        self
    }

    fn range(mut self, offset: u64, bytes: u64) -> Self {
        (self.call.offset, self.call.bytes) = (offset, bytes);
        self
    }

    fn flags(mut self, flags: CallFlags) -> Self {
        self.call.flags = flags;
        self
    }

    fn end(mut self, result: i64) {
        self.call.result = result;
        self.observer.ended(self.began, std::slice::from_ref(&self.call));
    }
}

impl<O: CallObserver> CoveredDirectory<O> {
    fn watch(&self, request: &Request, verb: Verb, name: String) -> CallWatch<'_, O> {
        let call = ObservedCall {
            verb,
            name,
            other: None,
            offset: 0,
            bytes: 0,
            result: 0,
            thread: request.pid(),
            flags: CallFlags::default(),
        };
        CallWatch { observer: &self.observer, began: self.observer.began(), call }
    }

    fn name(&self, node: INodeNo) -> String {
        locked(&self.nodes).name(node.0)
    }

    fn name_in(&self, parent: INodeNo, name: &OsStr) -> String {
        format!("{}/{}", self.name(parent), name.to_string_lossy())
    }

    /// A name that leads to a node.
    fn path(&self, node: INodeNo) -> io::Result<PathBuf> {
        // Its descriptor stays: the kernel knows the node while it asks.
        locked(&self.nodes).file(node.0).map(|file| through(&file))
    }

    fn path_in(&self, parent: INodeNo, name: &OsStr) -> io::Result<PathBuf> {
        Ok(self.path(parent)?.join(name))
    }

    fn open_file(&self, handle: FileHandle) -> io::Result<Arc<OpenFile>> {
        let found = locked(&self.files).get(&handle.0).map(Arc::clone);
        found.ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))
    }

    fn handle(&self) -> u64 {
        self.next_handle.fetch_add(1, Relaxed)
    }

    fn keep(&self, file: File, name: String, flags: CallFlags) -> (FileHandle, FopenFlags) {
        let handle = self.handle();
        let flags = CallFlags { created: false, truncated: false, ..flags };
        let drops = self.unsynced.as_ref().map_or(0, |store| store.drops());
        locked(&self.files).insert(handle, Arc::new(OpenFile { file, name, flags, drops }));
        let direct = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        (FileHandle(handle), if self.is_direct.load(Relaxed) { direct } else { FopenFlags::empty() })
    }

    fn place(&self, parent: INodeNo, name: &OsStr) -> io::Result<NamePlace> {
        let directory = locked(&self.nodes).file(parent.0)?;
        Ok(NamePlace { directory, name: name.into() })
    }

    fn note_made(&self, parent: INodeNo, name: &OsStr) -> io::Result<()> {
        if let Some(names) = &self.names {
            names.made(self.place(parent, name)?);
        }
        Ok(())
    }

    fn remove(&self, parent: INodeNo, name: &OsStr, is_directory: bool) -> io::Result<()> {
        match &self.names {
            Some(names) => names.remove(self.place(parent, name)?, is_directory),
            None => calls::remove(&self.path_in(parent, name)?, is_directory),
        }
    }

    /// Attributes with the length that unsynced data gives.
    fn attributes(&self, metadata: &Metadata, node: Option<u64>) -> FileAttr {
        let mut attributes = attributes(metadata, node);
        if let Some(size) = self.unsynced.as_ref().and_then(|store| store.size(metadata)) {
            attributes.size = size;
        }
        attributes
    }

    /// Finds a name, and makes its node known.
    fn find(&self, parent: INodeNo, name: &OsStr) -> io::Result<(FileAttr, Metadata)> {
        if self.names.as_ref().is_some_and(|names| names.hides(name)) {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        }
        let file = hold(&self.path_in(parent, name)?)?;
        let metadata = file.metadata()?;
        let node = locked(&self.nodes).found(parent.0, name, file, &metadata);
        Ok((self.attributes(&metadata, Some(node)), metadata))
    }

    /// The name that a call made.
    fn made(&self, parent: INodeNo, name: &OsStr, done: io::Result<()>, reply: ReplyEntry) {
        match done.and_then(|()| self.note_made(parent, name)).and_then(|()| self.find(parent, name)) {
            Ok((attributes, _)) => reply.entry(&KEPT, &attributes, Generation(0)),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn metadata(&self, node: INodeNo, handle: Option<FileHandle>) -> io::Result<Metadata> {
        match handle {
            Some(handle) => self.open_file(handle)?.file.metadata(),
            None => {
                let file = locked(&self.nodes).file(node.0)?;
                file.metadata()
            }
        }
    }

    fn change_size(&self, node: INodeNo, handle: Option<FileHandle>, size: u64) -> io::Result<()> {
        if let Some(store) = &self.unsynced {
            let name = self.name(node);
            return match handle.map(|handle| self.open_file(handle)).transpose()? {
                Some(open) => store.resize(Some(open.drops), (&open.file, &name), size),
                None => {
                    let file = File::options().write(true).open(self.path(node)?)?;
                    store.resize(None, (&file, &name), size)
                }
            };
        }
        match handle {
            Some(handle) => self.open_file(handle)?.file.set_len(size),
            None => File::options().write(true).open(self.path(node)?)?.set_len(size),
        }
    }
}

impl<O> CoveredDirectory<O> {
    fn read(&self, open: &OpenFile, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let held = match &self.unsynced {
            Some(store) => store.read(open.drops, &open.file, into, offset)?,
            None => None,
        };
        held.map_or_else(|| read_whole(&open.file, into, offset), Ok)
    }

    /// `flags`: of the open file, and of this write (`RWF_DSYNC`).
    fn write(&self, open: &OpenFile, data: &[u8], offset: u64, flags: i32) -> io::Result<usize> {
        let Some(store) = &self.unsynced else { return open.file.write_at(data, offset) };
        store.write(open.drops, (&open.file, &open.name), data, offset)?;
        if open.flags.durable || flags & libc::O_DSYNC != 0 {
            store.sync(open.drops, &open.file, true)?;
        }
        // The time of the last change is held back no more than other attributes are.
        let _ = calls::change_times(&open.file, None, Some(TimeOrNow::Now));
        Ok(data.len())
    }

    fn allocate(&self, open: &OpenFile, mode: i32, offset: u64, bytes: u64) -> io::Result<()> {
        let Some(store) = &self.unsynced else { return calls::allocate(&open.file, mode, offset, bytes) };
        let place = (&open.file, open.name.as_str());
        let (keeps, clears) =
            (libc::FALLOC_FL_KEEP_SIZE, libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE);
        if mode & !(keeps | clears) != 0 {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        let metadata = open.file.metadata()?;
        let size = store.size(&metadata).unwrap_or(metadata.len());
        if mode & keeps == 0 && offset.saturating_add(bytes) > size {
            store.resize(Some(open.drops), place, offset.saturating_add(bytes))?;
        }
        if mode & clears != 0 { store.clear(open.drops, place, offset, bytes) } else { Ok(()) }
    }
}

fn empty(done: &io::Result<()>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(error)),
    }
}

impl<O: CallObserver> Passthrough<O> {
    /// Over a directory that is held; `name`: what the observer is told it is called.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn new(name: PathBuf, directory: File, observer: O) -> io::Result<Passthrough<O>> {
        let shared = CoveredDirectory {
            observer,
            nodes: Mutex::new(NodeTable::new(name, directory)?),
            files: Mutex::default(),
            directories: Mutex::default(),
            locks: HeldLocks::default(),
            next_handle: AtomicU64::new(1),
            is_direct: AtomicBool::new(false),
            unsynced: None,
            names: None,
        };
        Ok(Passthrough { shared: Arc::new(shared) })
    }

    /// The same, which holds back what is not synced, and can undo names that are not.
    #[must_use]
    pub fn holding(mut self, store: Arc<UnsyncedStore>, names: Option<Arc<UnsyncedNames>>) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.unsynced = Some(store);
            shared.names = names;
        }
        self
    }
}

impl<O: CallObserver> Filesystem for Passthrough<O> {
    fn init(&mut self, _: &Request, kernel: &mut KernelConfig) -> io::Result<()> {
        let can_map = kernel.add_capabilities(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP).is_ok();
        self.shared.is_direct.store(can_map, Relaxed);
        for wanted in [
            InitFlags::FUSE_POSIX_LOCKS,
            InitFlags::FUSE_ATOMIC_O_TRUNC,
            InitFlags::FUSE_ASYNC_DIO,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_AUTO_INVAL_DATA,
        ] {
            let _ = kernel.add_capabilities(wanted);
        }
        let _ = kernel.set_max_write(MOST_BYTES);
        let _ = kernel.set_max_background(BACKGROUND);
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let fs = &self.shared;
        let _rights = CallerRights::take(request);
        let whole = fs.name_in(parent, name);
        let found = fs.find(parent, name);
        match &found {
            Ok((attributes, metadata)) => {
                fs.observer.met(&whole, Some(observed(metadata)));
                reply.entry(&KEPT, attributes, Generation(0));
            }
            Err(error) => {
                fs.observer.met(&whole, None);
                fs.watch(request, Verb::Stat, whole).end(status_of(&found));
                reply.error(errno(error));
            }
        }
    }

    fn forget(&self, _: &Request, node: INodeNo, lookups: u64) {
        let gone = locked(&self.shared.nodes).forget(node.0, lookups);
        if let (Some(file), Some(store)) = (gone, &self.shared.unsynced) {
            store.forget(&file);
        }
    }

    fn getattr(&self, request: &Request, node: INodeNo, handle: Option<FileHandle>, reply: ReplyAttr) {
        let fs = &self.shared;
        let name = fs.name(node);
        let done = fs.metadata(node, handle);
        let verb = match (handle, &done) {
            (Some(_), _) => Verb::Fstat,
            (None, Ok(metadata)) if metadata.is_symlink() => Verb::Lstat,
            _ => Verb::Stat,
        };
        fs.watch(request, verb, name).end(status_of(&done));
        match done {
            Ok(metadata) => reply.attr(&KEPT, &fs.attributes(&metadata, None)),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn setattr(
        &self,
        request: &Request,
        node: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let fs = &self.shared;
        let _rights = CallerRights::take(request);
        let (verb, bytes) = match (size, mode, uid.or(gid)) {
            (Some(size), ..) => (Verb::Truncate, size),
            (_, Some(mode), _) => (Verb::Chmod, u64::from(mode & 0o7777)),
            (_, _, Some(_)) => (Verb::Chown, 0),
            _ => (Verb::Utimens, 0),
        };
        let watched = fs.watch(request, verb, fs.name(node)).range(0, bytes);
        let change = || -> io::Result<()> {
            let file = locked(&fs.nodes).file(node.0)?;
            // The owner first: to change him takes bits of the mode away.
            if uid.is_some() || gid.is_some() {
                calls::change_owner(&file, uid, gid)?;
            }
            if let Some(mode) = mode {
                fs::set_permissions(through(&file), Permissions::from_mode(mode & 0o7777))?;
            }
            if let Some(size) = size {
                fs.change_size(node, handle, size)?;
            }
            if atime.is_some() || mtime.is_some() {
                calls::change_times(&file, atime, mtime)?;
            }
            Ok(())
        };
        let done = change();
        watched.end(status_of(&done));
        match done.and_then(|()| fs.metadata(node, handle)) {
            Ok(metadata) => reply.attr(&KEPT, &fs.attributes(&metadata, None)),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn readlink(&self, request: &Request, node: INodeNo, reply: ReplyData) {
        let fs = &self.shared;
        let watched = fs.watch(request, Verb::Readlink, fs.name(node));
        let done = locked(&fs.nodes).file(node.0).and_then(|file| calls::link_text(&file));
        watched.end(result_of(&done, |text| text.len() as u64));
        match done {
            Ok(text) => reply.data(&text),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        let fs = &self.shared;
        let _rights = CallerRights::take(request);
        let is_pipe = mode & libc::S_IFMT == libc::S_IFIFO;
        let verb = if is_pipe { Verb::Mkfifo } else { Verb::Mknod };
        let watched = fs.watch(request, verb, fs.name_in(parent, name)).range(0, u64::from(mode));
        let done = fs.path_in(parent, name).and_then(|path| calls::make_node(&path, mode, rdev));
        watched.end(status_of(&done));
        fs.made(parent, name, done, reply);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        let fs = &self.shared;
        let _rights = CallerRights::take(request);
        let watched = fs.watch(request, Verb::Mkdir, fs.name_in(parent, name)).range(0, u64::from(mode));
        let done = fs.path_in(parent, name).and_then(|path| calls::make_directory(&path, mode));
        watched.end(status_of(&done));
        fs.made(parent, name, done, reply);
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let fs = &self.shared;
        let _rights = CallerRights::take(request);
        let watched = fs.watch(request, Verb::Unlink, fs.name_in(parent, name));
        let done = fs.remove(parent, name, false);
        watched.end(status_of(&done));
        empty(&done, reply);
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let fs = &self.shared;
        let _rights = CallerRights::take(request);
        let watched = fs.watch(request, Verb::Rmdir, fs.name_in(parent, name));
        let done = fs.remove(parent, name, true);
        watched.end(status_of(&done));
        empty(&done, reply);
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let fs = &self.shared;
        let _rights = CallerRights::take(request);
        let watched = fs.watch(request, Verb::Symlink, fs.name_in(parent, name));
        let watched = watched.other(target.to_string_lossy().into_owned());
        let done = fs.path_in(parent, name).and_then(|path| symlink(target, path));
        watched.end(status_of(&done));
        fs.made(parent, name, done, reply);
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let fs = &self.shared;
        let _rights = CallerRights::take(request);
        let watched = fs.watch(request, Verb::Rename, fs.name_in(parent, name));
        let watched = watched.other(fs.name_in(newparent, newname));
        let done = fs.path_in(parent, name).and_then(|from| {
            let to = fs.path_in(newparent, newname)?;
            match &fs.names {
                Some(names) => {
                    names.rename(fs.place(parent, name)?, fs.place(newparent, newname)?, flags.bits())
                }
                None => calls::rename(&from, &to, flags.bits()),
            }
        });
        if done.is_ok() {
            let is_exchange = flags.contains(RenameFlags::RENAME_EXCHANGE);
            locked(&fs.nodes).renamed((parent.0, name), (newparent.0, newname), is_exchange);
        }
        watched.end(status_of(&done));
        empty(&done, reply);
    }

    fn link(&self, request: &Request, node: INodeNo, newparent: INodeNo, newname: &OsStr, reply: ReplyEntry) {
        let fs = &self.shared;
        let _rights = CallerRights::take(request);
        let watched = fs.watch(request, Verb::Link, fs.name(node)).other(fs.name_in(newparent, newname));
        let done = fs.path(node).and_then(|from| calls::link(&from, &fs.path_in(newparent, newname)?));
        watched.end(status_of(&done));
        fs.made(newparent, newname, done, reply);
    }

    fn open(&self, request: &Request, node: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let fs = &self.shared;
        let _rights = CallerRights::take(request);
        let name = fs.name(node);
        let told = flags_of(flags.0);
        let watched = fs.watch(request, Verb::Open, name.clone()).flags(told);
        let own = own_flags(flags.0);
        let done = fs.path(node).and_then(|path| match &fs.unsynced {
            None => opened(&path, flags.0, own, None),
            Some(store) => {
                let file = opened(&path, flags.0, own & !HELD, None)?;
                if told.truncated {
                    store.resize(None, (&file, &name), 0)?;
                }
                Ok(file)
            }
        });
        watched.end(status_of(&done));
        match done {
            Ok(file) => {
                let (handle, how) = fs.keep(file, name, told);
                reply.opened(handle, how);
            }
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let fs = &self.shared;
        let _rights = CallerRights::take(request);
        let whole = fs.name_in(parent, name);
        let is_exclusive = flags & libc::O_EXCL != 0;
        let verb = if is_exclusive { Verb::Create } else { Verb::Open };
        let watched = fs.watch(request, verb, whole.clone()).range(0, u64::from(mode & 0o7777));
        let mut told = flags_of(flags);
        let own = own_flags(flags) | libc::O_NOFOLLOW;
        let own = if fs.unsynced.is_some() { own & !HELD } else { own };
        let done = fs.path_in(parent, name).and_then(|path| {
            let made = opened(&path, flags, own, Some((mode, true)));
            told.created = made.is_ok();
            if told.created {
                fs.note_made(parent, name)?;
            }
            match made {
                Err(error) if error.raw_os_error() == Some(libc::EEXIST) && !is_exclusive => {
                    let file = opened(&path, flags, own, Some((mode, false)))?;
                    if let (Some(store), true) = (&fs.unsynced, told.truncated) {
                        store.resize(None, (&file, &whole), 0)?;
                    }
                    Ok(file)
                }
                made => made,
            }
        });
        watched.flags(told).end(status_of(&done));
        match done.and_then(|file| fs.find(parent, name).map(|found| (file, found))) {
            Ok((file, (attributes, _))) => {
                let (handle, how) = fs.keep(file, whole, told);
                reply.created(&KEPT, &attributes, Generation(0), handle, how);
            }
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn read(
        &self,
        request: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let fs = &self.shared;
        let open = match fs.open_file(handle) {
            Ok(open) => open,
            Err(error) => return reply.error(errno(&error)),
        };
        // A page that is missing in the cache is nobody's read.
        let flags = CallFlags { mapped: owner.is_none(), ..open.flags };
        let watched =
            fs.watch(request, Verb::Read, open.name.clone()).range(offset, size.into()).flags(flags);
        let mut data = vec![0; size as usize];
        let done = fs.read(&open, &mut data, offset);
        watched.end(result_of(&done, |read| *read as u64));
        match done {
            Ok(read) => reply.data(&data[..read]),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn write(
        &self,
        request: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        open_flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let fs = &self.shared;
        let open = match fs.open_file(handle) {
            Ok(open) => open,
            Err(error) => return reply.error(errno(&error)),
        };
        let flags = CallFlags { mapped: write_flags.contains(WriteFlags::FUSE_WRITE_CACHE), ..open.flags };
        let watched = fs.watch(request, Verb::Write, open.name.clone());
        let watched = watched.range(offset, data.len() as u64).flags(flags);
        let done = fs.write(&open, data, offset, open_flags.0);
        watched.end(result_of(&done, |written| *written as u64));
        match done {
            Ok(written) => reply.written(written as u32),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn flush(
        &self,
        request: &Request,
        node: INodeNo,
        handle: FileHandle,
        owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        let fs = &self.shared;
        fs.locks.release(node.0, owner.0);
        let done = fs.open_file(handle).and_then(|open| {
            let watched = fs.watch(request, Verb::Close, open.name.clone());
            let done = calls::flush(&open.file);
            watched.end(status_of(&done));
            done
        });
        empty(&done, reply);
    }

    fn release(
        &self,
        _: &Request,
        node: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        if let Some(owner) = owner {
            self.shared.locks.release(node.0, owner.0);
        }
        let closed = locked(&self.shared.files).remove(&handle.0);
        let store = self.shared.unsynced.as_ref();
        // Whoever else has it open still needs it.
        if let (Some(open), Some(store)) = (closed, store)
            && !locked(&self.shared.files).values().any(|other| other.name == open.name)
        {
            store.forget(&open.file);
        }
        reply.ok();
    }

    fn fsync(&self, request: &Request, _: INodeNo, handle: FileHandle, datasync: bool, reply: ReplyEmpty) {
        let fs = &self.shared;
        let verb = if datasync { Verb::Fdatasync } else { Verb::Fsync };
        let done = fs.open_file(handle).and_then(|open| {
            let watched = fs.watch(request, verb, open.name.clone());
            let done = match &fs.unsynced {
                Some(store) => store
                    .sync(open.drops, &open.file, datasync)
                    .and_then(|()| open.file.metadata())
                    .and_then(|file| fs.names.as_ref().map_or(Ok(()), |names| names.sync_file(&file))),
                None if datasync => open.file.sync_data(),
                None => open.file.sync_all(),
            };
            watched.end(status_of(&done));
            done
        });
        empty(&done, reply);
    }

    fn opendir(&self, request: &Request, node: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let fs = &self.shared;
        let _rights = CallerRights::take(request);
        let name = fs.name(node);
        let watched = fs.watch(request, Verb::Open, name.clone());
        let done = fs
            .path(node)
            .and_then(|path| File::options().read(true).custom_flags(libc::O_DIRECTORY).open(path));
        watched.end(status_of(&done));
        match done {
            Ok(file) => {
                let handle = fs.handle();
                let directory = OpenDirectory { file, name, entries: Vec::new() };
                locked(&fs.directories).insert(handle, directory);
                reply.opened(FileHandle(handle), FopenFlags::empty());
            }
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn readdir(
        &self,
        request: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let fs = &self.shared;
        let mut directories = locked(&fs.directories);
        let Some(directory) = directories.get_mut(&handle.0) else { return reply.error(Errno::EBADF) };
        let watched = fs.watch(request, Verb::Readdir, directory.name.clone());
        let listed = if offset == 0 { entries(&directory.file) } else { Ok(Vec::new()) };
        watched.end(status_of(&listed));
        match listed {
            Ok(mut entries) if offset == 0 => {
                if let Some(names) = &fs.names {
                    entries.retain(|(_, _, name)| !names.hides(name));
                }
                directory.entries = entries;
            }
            Ok(_) => {}
            Err(error) => return reply.error(errno(&error)),
        }
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        for (index, (number, kind, name)) in directory.entries.iter().enumerate().skip(from) {
            if reply.add(INodeNo(*number), index as u64 + 1, *kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(&self, request: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        let fs = &self.shared;
        if let Some(directory) = locked(&fs.directories).remove(&handle.0) {
            fs.watch(request, Verb::Close, directory.name).end(0);
        }
        reply.ok();
    }

    fn fsyncdir(&self, request: &Request, _: INodeNo, handle: FileHandle, _: bool, reply: ReplyEmpty) {
        let fs = &self.shared;
        let found = locked(&fs.directories)
            .get(&handle.0)
            .map(|directory| (directory.file.try_clone(), directory.name.clone()));
        let Some((file, name)) = found else { return reply.error(Errno::EBADF) };
        let watched = fs.watch(request, Verb::Fsync, name);
        let done = file.and_then(|file| {
            file.sync_all()?;
            match &fs.names {
                Some(names) => names.sync_directory(&file.metadata()?),
                None => Ok(()),
            }
        });
        watched.end(status_of(&done));
        empty(&done, reply);
    }

    fn statfs(&self, _: &Request, node: INodeNo, reply: ReplyStatfs) {
        match locked(&self.shared.nodes).file(node.0).and_then(|file| calls::file_system(&file)) {
            Ok(facts) => reply.statfs(
                facts.f_blocks,
                facts.f_bfree,
                facts.f_bavail,
                facts.f_files,
                facts.f_ffree,
                facts.f_bsize as u32,
                facts.f_namemax as u32,
                facts.f_frsize as u32,
            ),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn setxattr(
        &self,
        request: &Request,
        node: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        let fs = &self.shared;
        let _rights = CallerRights::take(request);
        let watched = fs.watch(request, Verb::Setxattr, fs.name(node)).range(0, value.len() as u64);
        let done = fs.path(node).and_then(|path| calls::set_attribute(&path, name, value, flags));
        watched.end(status_of(&done));
        empty(&done, reply);
    }

    fn getxattr(&self, request: &Request, node: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let fs = &self.shared;
        let _rights = CallerRights::take(request);
        let watched = fs.watch(request, Verb::Getxattr, fs.name(node)).range(0, size.into());
        let done = fs.path(node).and_then(|path| calls::attribute(&path, name, size));
        watched.end(result_of(&done, |value| value.len() as u64));
        xattr(done, size, reply);
    }

    fn listxattr(&self, request: &Request, node: INodeNo, size: u32, reply: ReplyXattr) {
        let fs = &self.shared;
        let _rights = CallerRights::take(request);
        let watched = fs.watch(request, Verb::Listxattr, fs.name(node)).range(0, size.into());
        let done = fs.path(node).and_then(|path| calls::attributes(&path, size));
        watched.end(result_of(&done, |names| names.len() as u64));
        xattr(done, size, reply);
    }

    fn removexattr(&self, request: &Request, node: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let fs = &self.shared;
        let _rights = CallerRights::take(request);
        let watched = fs.watch(request, Verb::Removexattr, fs.name(node));
        let done = fs.path(node).and_then(|path| calls::remove_attribute(&path, name));
        watched.end(status_of(&done));
        empty(&done, reply);
    }

    fn access(&self, request: &Request, node: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        let fs = &self.shared;
        let _rights = CallerRights::take(request);
        let watched = fs.watch(request, Verb::Access, fs.name(node)).range(0, mask.bits() as u64);
        let done = fs.path(node).and_then(|path| calls::access(&path, mask.bits()));
        watched.end(status_of(&done));
        empty(&done, reply);
    }

    fn getlk(
        &self,
        _: &Request,
        node: INodeNo,
        _handle: FileHandle,
        owner: LockOwner,
        start: u64,
        end: u64,
        kind: i32,
        _process: u32,
        reply: ReplyLock,
    ) {
        let fs = &self.shared;
        let range = RangeLock { start, end, kind };
        match fs.path(node).and_then(|path| fs.locks.conflict(node.0, owner.0, &path, range)) {
            // Whose it is the kernel does not tell of such locks.
            Ok(lock) => reply.locked(lock.start, lock.end, lock.kind, 0),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn setlk(
        &self,
        request: &Request,
        node: INodeNo,
        _handle: FileHandle,
        owner: LockOwner,
        start: u64,
        end: u64,
        kind: i32,
        _process: u32,
        waits: bool,
        reply: ReplyEmpty,
    ) {
        let fs = Arc::clone(&self.shared);
        let range = RangeLock { start, end, kind };
        let verb = if kind == i32::from(libc::F_UNLCK as i16) { Verb::Unlock } else { Verb::Lock };
        let (thread, name, path) = (request.pid(), fs.name(node), fs.path(node));
        let began = fs.observer.began();
        let set = move || {
            let done = path.and_then(|path| fs.locks.set(node.0, owner.0, &path, range, waits));
            let call = ObservedCall {
                verb,
                name,
                other: None,
                offset: start,
                bytes: range.bytes(),
                result: status_of(&done),
                thread,
                flags: CallFlags::default(),
            };
            fs.observer.ended(began, &[call]);
            empty(&done, reply);
        };
        // One that waits must not keep a thread from the one who unlocks.
        if waits {
            std::thread::spawn(set);
        } else {
            set();
        }
    }

    fn fallocate(
        &self,
        request: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let fs = &self.shared;
        let verb = match mode {
            mode if mode & libc::FALLOC_FL_PUNCH_HOLE != 0 => Verb::Trim,
            mode if mode & libc::FALLOC_FL_ZERO_RANGE != 0 => Verb::WriteZeroes,
            _ => Verb::Fallocate,
        };
        let done = fs.open_file(handle).and_then(|open| {
            let watched = fs.watch(request, verb, open.name.clone()).range(offset, length);
            let done = fs.allocate(&open, mode, offset, length);
            watched.end(status_of(&done));
            done
        });
        empty(&done, reply);
    }

    fn lseek(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        // Of what is held back the kernel knows the length, and takes all of it for data.
        if self.shared.unsynced.is_some() {
            return reply.error(Errno::ENOSYS);
        }
        match self.shared.open_file(handle).and_then(|open| calls::seek(&open.file, offset, whence)) {
            Ok(offset) => reply.offset(offset as i64),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn copy_file_range(
        &self,
        request: &Request,
        _: INodeNo,
        from: FileHandle,
        from_offset: u64,
        _: INodeNo,
        to: FileHandle,
        to_offset: u64,
        bytes: u64,
        _flags: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        let fs = &self.shared;
        if fs.unsynced.is_some() {
            // The kernel copies by reads and writes then.
            return reply.error(Errno::EOPNOTSUPP);
        }
        let files = fs.open_file(from).and_then(|from| Ok((from, fs.open_file(to)?)));
        let (from, to) = match files {
            Ok(files) => files,
            Err(error) => return reply.error(errno(&error)),
        };
        let watched = fs.watch(request, Verb::CopyFileRange, to.name.clone()).range(to_offset, bytes);
        let CallWatch { observer, began, call } = watched.other(from.name.clone());
        // What a reply can say is 32 bits wide.
        let bytes = bytes.min(u64::from(u32::MAX) & !0xfff);
        let done = calls::copy_range(&from.file, from_offset, &to.file, to_offset, bytes);
        let result = result_of(&done, |copied| *copied);
        // More may be asked for than there is: what was moved is what was read and written.
        let moved = done.as_ref().map_or(call.bytes, |copied| *copied);
        let write = ObservedCall { result, other: None, bytes: moved, ..call };
        let read =
            ObservedCall { verb: Verb::Read, name: from.name.clone(), offset: from_offset, ..write.clone() };
        observer.ended(began, &[read, write]);
        match done {
            Ok(copied) => reply.written(copied as u32),
            Err(error) => reply.error(errno(&error)),
        }
    }
}

/// Reads until all is there or the file ends: a short answer means its end to the kernel.
fn read_whole(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < into.len() {
        match file.read_at(&mut into[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(bytes) => read += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if read == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(read)
}

fn xattr(done: io::Result<Vec<u8>>, room: u32, reply: ReplyXattr) {
    match done {
        Ok(value) if room == 0 => reply.size(value.len() as u32),
        Ok(value) => reply.data(&value),
        Err(error) => reply.error(errno(&error)),
    }
}

/// All entries of a directory, the two that lead to itself and up first.
fn entries(directory: &File) -> io::Result<Vec<(u64, FileType, std::ffi::OsString)>> {
    let own = directory.metadata()?.ino();
    let mut all = vec![(own, FileType::Directory, ".".into()), (own, FileType::Directory, "..".into())];
    for entry in fs::read_dir(through(directory))? {
        let entry = entry?;
        all.push((entry.ino(), entry.file_type().map_or(FileType::RegularFile, kind_of), entry.file_name()));
    }
    Ok(all)
}

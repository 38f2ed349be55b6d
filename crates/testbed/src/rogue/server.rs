//! The file system as the kernel asks for it: each request becomes one step on the tree.
//!
//! No attributes and no data are cached in the kernel, so that what is broken here is seen there at once. What the FUSE crate cannot carry
//! (O_TMPFILE, birth times, the flags of chattr) is refused, as many a FUSE file system refuses it.

use super::access::{Caller, READ, SEARCH, WRITE};
use super::attributes::{TimeToSet, Wish};
use super::content::PAGE;
use super::fault::Fault;
use super::locks::Lock;
use super::names::NewNode;
use super::node::{Node, NodeKind, sent_stamp, time_of};
use super::tree::{FILES, NAME_MAX, PAGES, Tree, Try};
use fuser::{
    AccessFlags, BsdFileFlags, CopyFileRangeFlags, Errno, FileAttr, FileHandle, FileType, Filesystem,
    FopenFlags, Generation, INodeNo, InitFlags, IoctlFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags,
    ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLock,
    ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Attributes do not stay in the kernel's caches.
const AT_ONCE: Duration = Duration::ZERO;
/// Names do.
const FOR_EVER: Duration = Duration::from_secs(1 << 20);
/// How long a lock is waited for: a waiter that is killed cannot be heard of.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);
/// How much later a rename arrives that is not atomic.
const LATE: Duration = Duration::from_millis(30);
/// What a server says when it leaves the first request unanswered.
pub(crate) const HANGS: &str = "hangs";
/// Where the ghosts of removed entries begin.
const GHOSTS: u64 = 1 << 40;
/// What the kernel opens a program with.
const FOR_EXECUTION: i32 = 0x20;

/// After how many requests something happens to all of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Troubles {
    /// No request is answered any more.
    pub hang_after: Option<u64>,
    /// The server ends.
    pub die_after: Option<u64>,
}

/// A mounted tree.
pub struct RogueServer {
    tree: Arc<Mutex<Tree>>,
    troubles: Troubles,
    requests: AtomicU64,
}

fn hold(tree: &Mutex<Tree>) -> MutexGuard<'_, Tree> {
    tree.lock().unwrap_or_else(PoisonError::into_inner)
}

fn no(error: i32) -> Errno {
    Errno::from_i32(error)
}

impl RogueServer {
    /// A server of this tree.
    pub fn new(tree: Tree, troubles: Troubles) -> RogueServer {
        RogueServer { tree: Arc::new(Mutex::new(tree)), troubles, requests: AtomicU64::new(0) }
    }

    /// The tree, for this request alone.
    fn tree(&self) -> MutexGuard<'_, Tree> {
        let tree = hold(&self.tree);
        let count = self.requests.fetch_add(1, Relaxed);
        if self.troubles.die_after.is_some_and(|last| count >= last) {
            std::process::exit(9);
        }
        if self.troubles.hang_after.is_some_and(|last| count >= last) {
            // Whoever mounted it reads this line: see `Rogue::await_hang`.
            println!("{HANGS}");
            loop {
                std::thread::park();
            }
        }
        tree
    }

    fn entry(&self, tree: &Tree, found: Try<u64>, reply: ReplyEntry) {
        match found.and_then(|number| attributes(tree, number)) {
            Ok(attributes) => reply.entry_with_ttls(&AT_ONCE, &names_live(tree), &attributes, Generation(0)),
            Err(error) => reply.error(no(error)),
        }
    }
}

/// How long the kernel may believe that a name leads where it led: for ever, unless a fault moves names behind its back
/// or permission to search is judged here.
fn names_live(tree: &Tree) -> Duration {
    let moved = tree.fault.is_some_and(Fault::moves_names);
    if tree.judges || moved { AT_ONCE } else { FOR_EVER }
}

fn done(result: Try<()>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(no(error)),
    }
}

fn file_type(node: &Node) -> FileType {
    match node.kind {
        NodeKind::Regular(_) => FileType::RegularFile,
        NodeKind::Directory(..) => FileType::Directory,
        NodeKind::Symlink(_) => FileType::Symlink,
        NodeKind::Fifo => FileType::NamedPipe,
        NodeKind::Socket => FileType::Socket,
        NodeKind::Block(_) => FileType::BlockDevice,
        NodeKind::Character(_) => FileType::CharDevice,
    }
}

fn size_of(tree: &Tree, node: &Node) -> u64 {
    match &node.kind {
        NodeKind::Regular(content) if tree.breaks(Fault::SizeRounded) => content.size().next_multiple_of(512),
        NodeKind::Regular(content) => content.size(),
        NodeKind::Symlink(_) if tree.breaks(Fault::SymlinkSizeZero) => 0,
        NodeKind::Symlink(text) => text.len() as u64,
        NodeKind::Directory(..) => PAGE,
        _ => 0,
    }
}

fn attributes(tree: &Tree, number: u64) -> Try<FileAttr> {
    let node = tree.node(number)?;
    let blocks = match &node.kind {
        NodeKind::Regular(content) if !tree.breaks(Fault::BlocksZero) => content.allocated() * (PAGE / 512),
        _ => 0,
    };
    let rdev = match node.kind {
        NodeKind::Block(device) | NodeKind::Character(device) => device,
        _ => 0,
    };
    Ok(FileAttr {
        ino: INodeNo(number),
        size: size_of(tree, node),
        blocks,
        atime: time_of(node.accessed),
        mtime: time_of(node.modified),
        ctime: time_of(node.changed),
        crtime: time_of(node.changed),
        kind: file_type(node),
        perm: node.mode as u16,
        nlink: node.links,
        uid: node.uid,
        gid: node.gid,
        rdev,
        blksize: PAGE as u32,
        flags: 0,
    })
}

fn moment(time: TimeOrNow) -> TimeToSet {
    match time {
        TimeOrNow::Now => TimeToSet::Now,
        TimeOrNow::SpecificTime(time) => TimeToSet::At(sent_stamp(time)),
    }
}

/// What an open asks of the file.
fn wanted(flags: i32) -> u32 {
    let run = if flags & FOR_EXECUTION != 0 { SEARCH } else { 0 };
    match flags & libc::O_ACCMODE {
        libc::O_WRONLY => WRITE,
        libc::O_RDWR => READ | WRITE,
        _ if run != 0 => run,
        _ => READ,
    }
}

/// How regular files are opened: every read and write comes here.
fn uncached() -> FopenFlags {
    FopenFlags::FOPEN_DIRECT_IO
}

/// One line of a directory: where the next begins, the file, its type, its name.
type DirectoryLine = (u64, u64, FileType, Vec<u8>);

fn listing(tree: &Tree, directory: u64, offset: u64) -> Try<Vec<DirectoryLine>> {
    let (names, parent) = tree.names(directory)?;
    let kind = |number| match tree.node(number) {
        Ok(node) if !tree.breaks(Fault::ReaddirWrongType) => file_type(node),
        _ => FileType::RegularFile,
    };
    let dots = [
        (1, directory, FileType::Directory, b".".to_vec()),
        (2, parent, FileType::Directory, b"..".to_vec()),
    ];
    let mut lines: Vec<DirectoryLine> = dots.into_iter().filter(|line| line.0 > offset).collect();
    let entries: Vec<DirectoryLine> = names
        .after(if tree.breaks(Fault::ReaddirCounts) { 2 } else { offset.max(2) })
        .map(|(position, name, number)| (position, number, kind(number), name.as_bytes().to_vec()))
        .collect();
    lines.extend(entries);
    haunt(tree, directory, offset, &mut lines)?;
    Ok(lines)
}

/// What faults make of a list.
fn haunt(tree: &Tree, directory: u64, offset: u64, lines: &mut Vec<DirectoryLine>) -> Try<()> {
    let positions: Vec<u64> = tree.names(directory)?.0.after(0).map(|(position, ..)| position).collect();
    match tree.fault {
        Some(Fault::ReaddirMisses) if positions.len() > 1 => {
            lines.retain(|line| Some(&line.0) != positions.last());
        }
        Some(Fault::ReaddirTwice) => {
            if let Some(at) = lines.iter().position(|line| line.0 == 3) {
                lines.insert(at, lines[at].clone());
            }
        }
        Some(Fault::ReaddirGhosts) => {
            let ghosts = tree.names(directory)?.0.ghosts.iter().zip(GHOSTS..);
            let ghosts = ghosts.filter(|(_, position)| *position > offset);
            lines.extend(ghosts.map(|((name, number), position)| {
                (position, *number, FileType::RegularFile, name.as_bytes().to_vec())
            }));
        }
        Some(Fault::ReaddirCounts) => {
            let entries = lines.split_off(lines.iter().take_while(|line| line.0 <= 2).count());
            let counted = (3..).zip(entries).map(|(count, line)| (count, line.1, line.2, line.3));
            lines.extend(counted.filter(|line| line.0 > offset));
        }
        _ => {}
    }
    Ok(())
}

/// Waits for a lock elsewhere, so that others are served meanwhile.
fn wait_for_lock(tree: Arc<Mutex<Tree>>, number: u64, lock: Lock, reply: ReplyEmpty) {
    std::thread::spawn(move || {
        let begun = Instant::now();
        loop {
            let taken = hold(&tree).lock(number, lock);
            match taken {
                Err(libc::EAGAIN) if begun.elapsed() < LOCK_PATIENCE => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(libc::EAGAIN) => return reply.error(no(libc::EDEADLK)),
                taken => return done(taken, reply),
            }
        }
    });
}

impl Filesystem for RogueServer {
    fn init(&mut self, _: &Request, kernel: &mut KernelConfig) -> io::Result<()> {
        let tree = hold(&self.tree);
        let mut wishes = vec![
            InitFlags::FUSE_DONT_MASK,
            InitFlags::FUSE_HANDLE_KILLPRIV_V2,
            InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
        ];
        if !tree.judges {
            wishes.push(InitFlags::FUSE_POSIX_ACL);
        }
        if tree.breaks(Fault::OpenTruncateIgnored) {
            wishes.push(InitFlags::FUSE_ATOMIC_O_TRUNC);
        }
        if tree.fault.is_some_and(Fault::keeps_records) {
            wishes.push(InitFlags::FUSE_POSIX_LOCKS);
        }
        if tree.breaks(Fault::FlockAlwaysGranted) {
            wishes.push(InitFlags::FUSE_FLOCK_LOCKS);
        }
        for wish in wishes {
            kernel
                .add_capabilities(wish)
                .map_err(|_| io::Error::other(format!("this kernel's FUSE has no {wish:?}")))?;
        }
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let mut tree = self.tree();
        let found = tree.look_up(&Caller::of(request), parent.0, name);
        self.entry(&tree, found, reply);
    }

    fn forget(&self, _: &Request, node: INodeNo, times: u64) {
        self.tree().forget(node.0, times);
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match attributes(&self.tree(), node.0) {
            Ok(attributes) => reply.attr(&AT_ONCE, &attributes),
            Err(error) => reply.error(no(error)),
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
        let wish = Wish {
            mode,
            uid,
            gid,
            size,
            accessed: atime.map(moment),
            modified: mtime.map(moment),
            opened: handle.is_some(),
        };
        let mut tree = self.tree();
        let changed = tree.change(&Caller::of(request), node.0, &wish);
        match changed.and_then(|()| attributes(&tree, node.0)) {
            Ok(attributes) => reply.attr(&AT_ONCE, &attributes),
            Err(error) => reply.error(no(error)),
        }
    }

    fn readlink(&self, _: &Request, node: INodeNo, reply: ReplyData) {
        let mut tree = self.tree();
        tree.note_access(node.0);
        let cut = usize::from(tree.breaks(Fault::SymlinkTextCut));
        match tree.node(node.0).map(|node| &node.kind) {
            Ok(NodeKind::Symlink(text)) => reply.data(&text[..text.len() - cut.min(text.len())]),
            Ok(_) => reply.error(no(libc::EINVAL)),
            Err(error) => reply.error(no(error)),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        let mut tree = self.tree();
        let made = tree.special(mode, rdev).and_then(|kind| {
            let order = NewNode { kind, mode, umask, quiet: Fault::MknodKeepsParent };
            tree.create(&Caller::of(request), parent.0, name, order)
        });
        self.entry(&tree, made, reply);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let order = NewNode { kind: Tree::directory(), mode, umask, quiet: Fault::MkdirKeepsParent };
        let mut tree = self.tree();
        let made = tree.create(&Caller::of(request), parent.0, name, order);
        self.entry(&tree, made, reply);
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(self.tree().unlink(&Caller::of(request), parent.0, name), reply);
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(self.tree().rmdir(&Caller::of(request), parent.0, name), reply);
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let mut tree = self.tree();
        let text = target.as_os_str().as_bytes().to_vec();
        if text.len() > NAME_MAX && tree.breaks(Fault::SymlinkTextLimited) {
            return reply.error(no(libc::ENAMETOOLONG));
        }
        let kind = NodeKind::Symlink(text);
        let order = NewNode { kind, mode: 0o777, umask: 0, quiet: Fault::SymlinkKeepsParent };
        let made = tree.create(&Caller::of(request), parent.0, name, order);
        self.entry(&tree, made, reply);
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
        let (from, to) = ((parent.0, name), (newparent.0, newname));
        let renamed = self.tree().rename(&Caller::of(request), from, to, flags.bits());
        if let Ok(Some((directory, name, child))) = &renamed {
            let (tree, directory, name, child) = (self.tree.clone(), *directory, name.clone(), *child);
            std::thread::spawn(move || {
                std::thread::sleep(LATE);
                hold(&tree).arrive(directory, &name, child);
            });
        }
        done(renamed.map(|_| ()), reply);
    }

    fn link(&self, request: &Request, node: INodeNo, newparent: INodeNo, newname: &OsStr, reply: ReplyEntry) {
        let mut tree = self.tree();
        let linked = tree.link(&Caller::of(request), node.0, newparent.0, newname);
        self.entry(&tree, linked, reply);
    }

    fn open(&self, request: &Request, node: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let tree = self.tree();
        let may = tree.may_open(&Caller::of(request), node.0, wanted(flags.0));
        match may.and_then(|()| tree.may_write(node.0, flags.0)) {
            Ok(()) => reply.opened(FileHandle(0), uncached()),
            Err(error) => reply.error(no(error)),
        }
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        let kind = NodeKind::Regular(Default::default());
        let order = NewNode { kind, mode, umask, quiet: Fault::CreateKeepsParent };
        let mut tree = self.tree();
        let made = tree.create(&Caller::of(request), parent.0, name, order);
        match made.and_then(|number| attributes(&tree, number)) {
            Ok(attributes) => {
                reply.created(&AT_ONCE, &attributes, Generation(0), FileHandle(0), uncached());
            }
            Err(error) => reply.error(no(error)),
        }
    }

    fn read(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.tree().read(node.0, offset, size.into(), flags.0) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(no(error)),
        }
    }

    fn write(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut tree = self.tree();
        if write_flags.contains(WriteFlags::FUSE_WRITE_CACHE) && tree.breaks(Fault::MappedWritesLost) {
            return reply.written(data.len() as u32);
        }
        let strip = write_flags.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID);
        match tree.write(node.0, offset, data, flags.0, strip) {
            Ok(count) => reply.written(count as u32),
            Err(error) => reply.error(no(error)),
        }
    }

    fn flush(&self, _: &Request, node: INodeNo, _: FileHandle, owner: LockOwner, reply: ReplyEmpty) {
        self.tree().unlock_all(node.0, owner.0);
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn opendir(&self, request: &Request, node: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.tree().may_open(&Caller::of(request), node.0, READ) {
            Ok(()) => reply.opened(FileHandle(0), FopenFlags::empty()),
            Err(error) => reply.error(no(error)),
        }
    }

    fn readdir(&self, _: &Request, node: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let mut tree = self.tree();
        tree.note_access(node.0);
        match listing(&tree, node.0, offset) {
            Ok(lines) => {
                let full = |(next, number, kind, name): &DirectoryLine| {
                    reply.add(INodeNo(*number), *next, *kind, OsStr::from_bytes(name))
                };
                let _ = lines.iter().any(full);
                reply.ok();
            }
            Err(error) => reply.error(no(error)),
        }
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let refused = self.tree().breaks(Fault::DirectorySyncRefused);
        done(if refused { Err(libc::EINVAL) } else { Ok(()) }, reply);
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let tree = self.tree();
        let taken = if tree.breaks(Fault::SpaceConstant) { 0 } else { tree.pages };
        let free = PAGES.saturating_sub(taken);
        let longest = if tree.breaks(Fault::NameLimitLies) { 100 } else { NAME_MAX as u32 };
        let files = FILES.saturating_sub(tree.count());
        reply.statfs(PAGES, free, free, FILES, files, PAGE as u32, longest, PAGE as u32);
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
        done(self.tree().set_attribute(&Caller::of(request), node.0, name, value, flags), reply);
    }

    fn getxattr(&self, request: &Request, node: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        answer(self.tree().attribute(&Caller::of(request), node.0, name, size), size, reply);
    }

    fn listxattr(&self, request: &Request, node: INodeNo, size: u32, reply: ReplyXattr) {
        answer(self.tree().attribute_names(&Caller::of(request), node.0, size), size, reply);
    }

    fn removexattr(&self, request: &Request, node: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(self.tree().remove_attribute(&Caller::of(request), node.0, name), reply);
    }

    fn access(&self, request: &Request, node: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        done(self.tree().may(&Caller::of(request), node.0, mask.bits() as u32), reply);
    }

    fn getlk(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        owner: LockOwner,
        start: u64,
        end: u64,
        kind: i32,
        pid: u32,
        reply: ReplyLock,
    ) {
        let wanted = Lock { owner: owner.0, start, end, kind, pid };
        match self.tree().holder(node.0, &wanted) {
            Some(held) => reply.locked(held.start, held.end, held.kind, held.pid),
            None => reply.locked(start, end, libc::F_UNLCK, 0),
        }
    }

    fn setlk(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        owner: LockOwner,
        start: u64,
        end: u64,
        kind: i32,
        pid: u32,
        sleep: bool,
        reply: ReplyEmpty,
    ) {
        let lock = Lock { owner: owner.0, start, end, kind, pid };
        let taken = self.tree().lock(node.0, lock);
        if sleep && taken == Err(libc::EAGAIN) {
            return wait_for_lock(self.tree.clone(), node.0, lock, reply);
        }
        done(taken, reply);
    }

    fn ioctl(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        _: IoctlFlags,
        command: u32,
        data: &[u8],
        _: u32,
        reply: ReplyIoctl,
    ) {
        match self.tree().flag_request(node.0, command, data) {
            Ok(bytes) => reply.ioctl(0, &bytes),
            Err(error) => reply.error(no(error)),
        }
    }

    fn fallocate(
        &self,
        request: &Request,
        node: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let mut tree = self.tree();
        let allocated = tree.allocate(node.0, offset, length, mode);
        if allocated.is_ok() && request.uid() != 0 {
            let _ = tree.node_mut(node.0).map(Node::drop_privileges);
        }
        done(allocated, reply);
    }

    fn lseek(&self, _: &Request, node: INodeNo, _: FileHandle, offset: i64, whence: i32, reply: ReplyLseek) {
        match self.tree().seek(node.0, offset as u64, whence) {
            Ok(offset) => reply.offset(offset as i64),
            Err(error) => reply.error(no(error)),
        }
    }

    fn copy_file_range(
        &self,
        request: &Request,
        from: INodeNo,
        _: FileHandle,
        from_offset: u64,
        to: INodeNo,
        _: FileHandle,
        to_offset: u64,
        length: u64,
        _: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        let (from, to) = ((from.0, from_offset), (to.0, to_offset));
        match self.tree().copy(from, to, length, request.uid() != 0) {
            Ok(count) => reply.written(count as u32),
            Err(error) => reply.error(no(error)),
        }
    }
}

fn answer(value: Try<Vec<u8>>, size: u32, reply: ReplyXattr) {
    match value {
        Ok(value) if size == 0 => reply.size(value.len() as u32),
        Ok(value) => reply.data(&value),
        Err(error) => reply.error(no(error)),
    }
}

//! The descriptor tables and working directories of recorded threads, as the kernel shares and copies them.
//!
//! A descriptor names an open file; `dup` and `fork` make more names of the same open file, with one position for all.

use std::collections::{BTreeMap, HashMap};

use crate::FileKind;

/// An open file of the kernel: what `open` made, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenFile {
    /// Index into [`Tables::files`](crate::Tables::files): the name that it was opened by.
    pub file: u32,
    pub kind: FileKind,
    /// Where the next read or write without an offset begins, bytes.
    pub position: u64,
    pub mode: OpenMode,
}

/// How a file is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenMode {
    /// `O_APPEND`.
    pub append: bool,
    /// `O_DIRECT`.
    pub direct: bool,
    /// `O_SYNC` or `O_DSYNC`.
    pub durable: bool,
}

/// An open file in [`DescriptorTables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFileId(usize);

/// What a new thread or process shares with the one that made it; the rest is copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedState {
    /// `CLONE_FILES`.
    pub descriptors: bool,
    /// `CLONE_FS`.
    pub directory: bool,
}

#[derive(Clone, Copy, Debug)]
struct Descriptor {
    open: usize,
    close_on_exec: bool,
}

type Descriptors = BTreeMap<i32, Descriptor>;

#[derive(Clone, Copy, Debug)]
struct ThreadState {
    descriptors: usize,
    directory: usize,
}

/// Values that several own; a value goes when its last owner does.
#[derive(Debug)]
struct SharedSlots<T> {
    slots: Vec<Option<(T, usize)>>,
    free: Vec<usize>,
}

impl<T> Default for SharedSlots<T> {
    fn default() -> Self {
        SharedSlots { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> SharedSlots<T> {
    fn add(&mut self, value: T) -> usize {
        let slot = Some((value, 1));
        match self.free.pop() {
            Some(id) => {
                self.slots[id] = slot;
                id
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        }
    }

    fn get(&self, id: usize) -> Option<&T> {
        self.slots.get(id)?.as_ref().map(|(value, _)| value)
    }

    fn get_mut(&mut self, id: usize) -> Option<&mut T> {
        self.slots.get_mut(id)?.as_mut().map(|(value, _)| value)
    }

    fn share(&mut self, id: usize) -> usize {
        if let Some(Some((_, owners))) = self.slots.get_mut(id) {
            *owners += 1;
        }
        id
    }

    fn is_shared(&self, id: usize) -> bool {
        matches!(self.slots.get(id), Some(Some((_, owners))) if *owners > 1)
    }

    /// The value, if this was its last owner.
    fn release(&mut self, id: usize) -> Option<T> {
        let slot = self.slots.get_mut(id)?;
        let (_, owners) = slot.as_mut()?;
        *owners -= 1;
        if *owners > 0 {
            return None;
        }
        self.free.push(id);
        slot.take().map(|(value, _)| value)
    }
}

/// All threads with their descriptors and working directories.
#[derive(Debug, Default)]
pub struct DescriptorTables {
    threads: HashMap<u32, ThreadState>,
    tables: SharedSlots<Descriptors>,
    directories: SharedSlots<Option<String>>,
    open: SharedSlots<OpenFile>,
}

impl DescriptorTables {
    /// A thread of which nothing is known yet gets an empty table and an unknown directory.
    pub fn ensure(&mut self, thread: u32) {
        if !self.threads.contains_key(&thread) {
            let state = ThreadState {
                descriptors: self.tables.add(BTreeMap::new()),
                directory: self.directories.add(None),
            };
            self.threads.insert(thread, state);
        }
    }

    /// A thread or process that `parent` makes.
    pub fn start(&mut self, parent: u32, child: u32, shared: SharedState) {
        self.end(child);
        self.ensure(parent);
        let ThreadState { descriptors, directory } = self.threads[&parent];
        let descriptors = match shared.descriptors {
            true => self.tables.share(descriptors),
            false => self.copy(descriptors),
        };
        let directory = match shared.directory {
            true => self.directories.share(directory),
            false => self.directories.add(self.directories.get(directory).cloned().flatten()),
        };
        self.threads.insert(child, ThreadState { descriptors, directory });
    }

    fn copy(&mut self, descriptors: usize) -> usize {
        let table = self.tables.get(descriptors).cloned().unwrap_or_default();
        for descriptor in table.values() {
            self.open.share(descriptor.open);
        }
        self.tables.add(table)
    }

    /// A thread that ended.
    pub fn end(&mut self, thread: u32) {
        let Some(state) = self.threads.remove(&thread) else { return };
        self.leave(state.descriptors);
        self.directories.release(state.directory);
    }

    fn leave(&mut self, descriptors: usize) {
        for descriptor in self.tables.release(descriptors).into_iter().flatten() {
            self.open.release(descriptor.1.open);
        }
    }

    /// A new program: descriptors that are marked so close, and the table is nobody else's any more.
    pub fn exec(&mut self, thread: u32) {
        self.unshare_descriptors(thread);
        let Some(table) = self.table_mut(thread) else { return };
        let mut closed = Vec::new();
        table.retain(|_, descriptor| {
            if descriptor.close_on_exec {
                closed.push(descriptor.open);
            }
            !descriptor.close_on_exec
        });
        for open in closed {
            self.open.release(open);
        }
    }

    /// A thread that goes on under another number: `exec` gives the caller the number of its process.
    pub fn renumber(&mut self, former: u32, thread: u32) {
        if former != thread && self.threads.contains_key(&former) {
            self.end(thread);
            let state = self.threads.remove(&former);
            self.threads.extend(state.map(|state| (thread, state)));
        }
    }

    /// `unshare(CLONE_FILES)`.
    pub fn unshare_descriptors(&mut self, thread: u32) {
        self.ensure(thread);
        let state = self.threads[&thread];
        if self.tables.is_shared(state.descriptors) {
            let descriptors = self.copy(state.descriptors);
            self.leave(state.descriptors);
            self.threads.insert(thread, ThreadState { descriptors, ..state });
        }
    }

    /// `unshare(CLONE_FS)`.
    pub fn unshare_directory(&mut self, thread: u32) {
        self.ensure(thread);
        let state = self.threads[&thread];
        if self.directories.is_shared(state.directory) {
            let directory = self.directories.add(self.directories.get(state.directory).cloned().flatten());
            self.directories.release(state.directory);
            self.threads.insert(thread, ThreadState { directory, ..state });
        }
    }

    fn table_mut(&mut self, thread: u32) -> Option<&mut Descriptors> {
        let state = self.threads.get(&thread)?;
        self.tables.get_mut(state.descriptors)
    }

    fn table(&self, thread: u32) -> Option<&Descriptors> {
        self.tables.get(self.threads.get(&thread)?.descriptors)
    }

    /// A descriptor of a file just opened; one that it had under this number is closed.
    pub fn open(&mut self, thread: u32, fd: i32, file: OpenFile, close_on_exec: bool) -> OpenFileId {
        self.ensure(thread);
        let open = self.open.add(file);
        self.insert(thread, fd, Descriptor { open, close_on_exec });
        OpenFileId(open)
    }

    fn insert(&mut self, thread: u32, fd: i32, descriptor: Descriptor) {
        let former = self.table_mut(thread).and_then(|table| table.insert(fd, descriptor));
        if let Some(former) = former {
            self.open.release(former.open);
        }
    }

    /// A number for an open file, as `dup` and its kin make them; none: for one that is not known.
    pub fn adopt(&mut self, thread: u32, fd: i32, open: Option<OpenFileId>, close_on_exec: bool) {
        match open {
            // dup2 of a descriptor onto itself changes nothing.
            Some(id) if self.find(thread, fd) == Some(id) => {}
            Some(OpenFileId(open)) => {
                self.open.share(open);
                self.insert(thread, fd, Descriptor { open, close_on_exec });
            }
            None => {
                self.close(thread, fd);
            }
        }
    }

    /// Whether it was known.
    pub fn close(&mut self, thread: u32, fd: i32) -> bool {
        let closed = self.table_mut(thread).and_then(|table| table.remove(&fd));
        if let Some(descriptor) = closed {
            self.open.release(descriptor.open);
        }
        closed.is_some()
    }

    /// All descriptors from `first` to `last`.
    pub fn close_range(&mut self, thread: u32, first: i32, last: i32) {
        for fd in self.in_range(thread, first, last) {
            self.close(thread, fd);
        }
    }

    fn in_range(&self, thread: u32, first: i32, last: i32) -> Vec<i32> {
        if first > last {
            return Vec::new();
        }
        let table = self.table(thread).into_iter();
        table.flat_map(|table| table.range(first..=last)).map(|(fd, _)| *fd).collect()
    }

    pub fn set_close_on_exec(&mut self, thread: u32, fd: i32, close_on_exec: bool) {
        if let Some(descriptor) = self.table_mut(thread).and_then(|table| table.get_mut(&fd)) {
            descriptor.close_on_exec = close_on_exec;
        }
    }

    /// The same for all descriptors from `first` to `last`.
    pub fn set_range_close_on_exec(&mut self, thread: u32, first: i32, last: i32) {
        for fd in self.in_range(thread, first, last) {
            self.set_close_on_exec(thread, fd, true);
        }
    }

    pub fn find(&self, thread: u32, fd: i32) -> Option<OpenFileId> {
        self.table(thread)?.get(&fd).map(|descriptor| OpenFileId(descriptor.open))
    }

    /// Keeps an open file while a call on it has not ended, although another thread may close it.
    pub fn hold(&mut self, id: OpenFileId) {
        self.open.share(id.0);
    }

    /// The end of a [`hold`](DescriptorTables::hold).
    pub fn release(&mut self, id: OpenFileId) {
        self.open.release(id.0);
    }

    pub fn file(&self, id: OpenFileId) -> Option<&OpenFile> {
        self.open.get(id.0)
    }

    pub fn file_mut(&mut self, id: OpenFileId) -> Option<&mut OpenFile> {
        self.open.get_mut(id.0)
    }

    /// The working directory; none: unknown.
    pub fn directory(&self, thread: u32) -> Option<&str> {
        self.directories.get(self.threads.get(&thread)?.directory)?.as_deref()
    }

    pub fn set_directory(&mut self, thread: u32, name: Option<String>) {
        self.ensure(thread);
        if let Some(directory) = self.directories.get_mut(self.threads[&thread].directory) {
            *directory = name;
        }
    }

    /// How many open files are known.
    pub fn open_files(&self) -> usize {
        self.open.slots.len() - self.open.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(file: u32) -> OpenFile {
        OpenFile { file, kind: FileKind::File, position: 0, mode: OpenMode::default() }
    }

    fn number(tables: &DescriptorTables, thread: u32, fd: i32) -> Option<u32> {
        tables.find(thread, fd).and_then(|id| tables.file(id)).map(|open| open.file)
    }

    #[test]
    fn duplicates_and_children_share_the_position() {
        let mut tables = DescriptorTables::default();
        let id = tables.open(1, 3, file(7), false);
        tables.adopt(1, 9, Some(id), false);
        tables.start(1, 2, SharedState::default());
        tables.close(1, 3);
        tables.file_mut(id).unwrap().position = 40;
        let child = tables.find(2, 3).unwrap();
        assert_eq!(tables.file(child).unwrap().position, 40);
        assert_eq!((number(&tables, 1, 3), number(&tables, 1, 9)), (None, Some(7)));
    }

    #[test]
    fn threads_share_the_table_until_one_of_them_executes_a_program() {
        let mut tables = DescriptorTables::default();
        tables.open(1, 3, file(7), true);
        tables.start(1, 2, SharedState { descriptors: true, directory: true });
        tables.open(2, 4, file(8), false);
        assert_eq!(number(&tables, 1, 4), Some(8));
        tables.set_directory(2, Some("/a".into()));
        assert_eq!(tables.directory(1), Some("/a"));
        tables.exec(2);
        assert_eq!((number(&tables, 2, 3), number(&tables, 2, 4)), (None, Some(8)));
        assert_eq!(number(&tables, 1, 3), Some(7));
        tables.unshare_directory(2);
        tables.set_directory(2, Some("/b".into()));
        assert_eq!(tables.directory(1), Some("/a"));
    }

    #[test]
    fn a_range_is_closed_and_nothing_stays_behind() {
        let mut tables = DescriptorTables::default();
        for fd in 0..10 {
            tables.open(1, fd, file(fd as u32), false);
        }
        tables.close_range(1, 3, i32::MAX);
        assert_eq!((number(&tables, 1, 2), number(&tables, 1, 3)), (Some(2), None));
        let second = tables.find(1, 2);
        tables.adopt(1, 2, second, true);
        tables.adopt(1, 0, second, false);
        assert_eq!(tables.open_files(), 2);
        tables.set_range_close_on_exec(1, 0, 1);
        tables.exec(1);
        assert_eq!((number(&tables, 1, 0), number(&tables, 1, 2)), (None, Some(2)));
        tables.renumber(1, 5);
        assert_eq!(number(&tables, 5, 2), Some(2));
        tables.end(5);
        assert_eq!(tables.open_files(), 0);
    }

    #[test]
    fn an_open_file_that_is_held_survives_its_close() {
        let mut tables = DescriptorTables::default();
        let id = tables.open(1, 3, file(7), false);
        tables.hold(id);
        tables.close(1, 3);
        assert_eq!(tables.file(id).map(|open| open.file), Some(7));
        tables.release(id);
        assert_eq!(tables.open_files(), 0);
    }
}

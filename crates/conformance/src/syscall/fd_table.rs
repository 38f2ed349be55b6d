//! What one process holds from call to call: descriptors, directory streams, mappings, programs it started.
//!
//! Everything is let go when the hands are dropped, which is how a round leaves nothing to the next. It refuses to share:
//! each process has its own.

use std::collections::BTreeMap;
use std::ffi::c_int;

use super::{Answer, processes, table};

/// What one process holds.
#[derive(Debug, Default)]
pub struct Hands {
    held: Vec<(String, HeldDescriptor)>,
    /// Programs that sleep until the round is over.
    children: Vec<c_int>,
    /// The file mode creation mask before it was first changed.
    pub(super) mask: Option<libc::mode_t>,
    /// Limits before they were changed.
    pub(super) limits: Vec<(c_int, libc::rlim_t)>,
    /// Cookies of events, in the order in which they were first seen, by descriptor.
    pub(super) cookies: BTreeMap<c_int, Vec<u32>>,
}

/// One thing that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeldDescriptor {
    /// A descriptor.
    File(c_int),
    /// A directory stream, and its descriptor.
    Stream(usize, c_int),
    MappedPart(MappedPart),
    /// What was closed. Using it is a bad descriptor, as it would be in a program.
    Gone,
}

/// Memory that stands for a part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MappedPart {
    /// Where it begins.
    pub address: usize,
    /// Bytes.
    pub length: usize,
    /// Whether what is written is the file's.
    pub shared: bool,
}

impl Hands {
    /// Makes a call. What it opens is held under the label; without a label it is closed at once.
    ///
    /// # Errors
    /// There is no such call, or its arguments make no sense: nothing was done.
    pub fn call(&mut self, name: &str, arguments: &[String], label: &str) -> Result<Answer, String> {
        let verb = match table::find(name) {
            Some(verb) => verb,
            None if table::elsewhere(name) => return Ok(Answer::failed(libc::ENOSYS)),
            None => return Err(table::unknown(name)),
        };
        let given = verb.read(Some(self), arguments, label)?;
        (verb.run)(self, &given).map_err(|wrong| format!("`{name}`: {wrong}"))
    }

    /// Where the latest thing under a label is.
    pub(super) fn find(&self, label: &str) -> Option<usize> {
        self.held.iter().rposition(|(known, _)| known == label)
    }

    /// The descriptor under a label; -1 once it is closed.
    ///
    /// # Errors
    /// Nothing was opened under it, or nothing that has a descriptor.
    pub fn descriptor(&self, label: &str) -> Result<c_int, String> {
        match self.find(label).map(|index| self.held[index].1) {
            Some(HeldDescriptor::File(fd) | HeldDescriptor::Stream(_, fd)) => Ok(fd),
            Some(HeldDescriptor::Gone) => Ok(-1),
            Some(HeldDescriptor::MappedPart(_)) => Err(format!("`{label}`: is a mapping and no descriptor")),
            None => Err(format!(
                "`{label}`: nothing was opened under this label, `AT_FDCWD` or `BADFD` are others"
            )),
        }
    }

    /// Keeps a descriptor under a label, or closes it where there is none; a negative one is an error.
    pub(super) fn keep(&mut self, label: &str, fd: c_int) -> Answer {
        if fd < 0 {
            return Answer::last();
        }
        self.hold(label, HeldDescriptor::File(fd));
        Answer::default()
    }

    /// Keeps a thing, or lets it go at once where it has no label.
    pub(super) fn hold(&mut self, label: &str, thing: HeldDescriptor) {
        match label {
            "" => _ = release(thing),
            label => self.held.push((label.into(), thing)),
        }
    }

    /// The thing at an index.
    pub(super) fn at(&self, index: usize) -> HeldDescriptor {
        self.held.get(index).map_or(HeldDescriptor::Gone, |(_, thing)| *thing)
    }

    /// Lets the thing at an index go.
    pub(super) fn drop_at(&mut self, index: usize) -> Answer {
        match self.held.get_mut(index) {
            Some((_, thing)) => release(std::mem::replace(thing, HeldDescriptor::Gone)),
            None => Answer::failed(libc::EBADF),
        }
    }

    /// Closes a descriptor, whoever holds it.
    pub(super) fn close(&mut self, fd: c_int) -> Answer {
        self.cookies.remove(&fd);
        let holder = |(_, thing): &(String, HeldDescriptor)| match thing {
            HeldDescriptor::File(held) | HeldDescriptor::Stream(_, held) => *held == fd,
            _ => false,
        };
        match self.held.iter().position(holder).filter(|_| fd >= 0) {
            Some(index) => self.drop_at(index),
            None => release(HeldDescriptor::File(fd)),
        }
    }

    /// Keeps a program that runs until the hands are dropped.
    pub(super) fn raise(&mut self, child: c_int) {
        self.children.push(child);
    }

    /// Ends all that runs, lets go of all that is held, and puts mask and limits back: a round is over.
    pub fn empty(&mut self) {
        self.children.drain(..).for_each(processes::end);
        for (_, thing) in std::mem::take(&mut self.held) {
            release(thing);
        }
        self.cookies.clear();
        if let Some(mask) = self.mask.take() {
            // SAFETY: takes no pointers.
            unsafe { libc::umask(mask) };
        }
        while let Some((resource, limit)) = self.limits.pop() {
            processes::restore(resource, limit);
        }
    }
}

impl Drop for Hands {
    fn drop(&mut self) {
        self.empty();
    }
}

fn release(thing: HeldDescriptor) -> Answer {
    match thing {
        // SAFETY: the descriptor is the hands' own; a bad one is an error.
        HeldDescriptor::File(fd) => Answer::of(i64::from(unsafe { libc::close(fd) })),
        // SAFETY: the stream came from opendir and is let go once.
        HeldDescriptor::Stream(stream, _) => {
            Answer::of(i64::from(unsafe { libc::closedir(stream as *mut libc::DIR) }))
        }
        HeldDescriptor::MappedPart(map) => {
            // SAFETY: the range came from mmap, and nothing refers to it but this.
            Answer::of(i64::from(unsafe { libc::munmap(map.address as *mut libc::c_void, map.length) }))
        }
        HeldDescriptor::Gone => Answer::failed(libc::EBADF),
    }
}

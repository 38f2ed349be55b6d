//! `page_fault`: copies to and from memory that belongs to the worker alone and lies behind no file. The first access to
//! each of its pages faults, which is what it measures.
//!
//! Every span begins in a memory of its own that nothing has touched yet.

use iodyno_model::{EngineTrait, Verb, VerbSet};

use super::{EngineFacts, Failure, Setup, SyncEngine};
use crate::io::{AT_END, Files, Handle, Io};
use crate::memory::Mapping;

/// Memory for each target.
pub struct PageFault {
    mappings: Vec<Mapping>,
}

impl SyncEngine for PageFault {
    const FACTS: EngineFacts = EngineFacts {
        about: "copies to and from memory without a file: the cost of page faults",
        verbs: VerbSet::of(&[
            Verb::Read,
            Verb::Write,
            Verb::Fsync,
            Verb::Fdatasync,
            Verb::SyncFileRange,
            Verb::Syncfs,
        ]),
        uses_files: false,
        performs: true,
        traits: &[EngineTrait::Pretends, EngineTrait::OneAtATime, EngineTrait::KeepsProcessorBusy],
        ..EngineFacts::named("page_fault")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let refused = |errno| Failure::call("mmap", errno).hint("give a smaller size");
        let mapping = |handle: &Handle| {
            let bytes = usize::try_from(handle.base.saturating_add(handle.bytes)).map_err(|_| libc::ENOMEM);
            bytes.and_then(Mapping::private).map_err(refused)
        };
        Ok(PageFault { mappings: setup.files.handles.iter().map(mapping).collect::<Result<_, _>>()? })
    }

    #[inline(always)]
    fn perform(&mut self, io: &Io, _files: &mut Files) -> i64 {
        if !matches!(io.verb, Verb::Read | Verb::Write) {
            return match io.verb {
                Verb::Fsync | Verb::Fdatasync | Verb::SyncFileRange | Verb::Syncfs => 0,
                _ => -i64::from(libc::EINVAL),
            };
        }
        let place = self.mappings.get(io.file as usize).filter(|_| io.offset < AT_END);
        let Some(place) = place.and_then(|mapping| range(mapping, io.offset, io.bytes)) else {
            return -i64::from(libc::EINVAL);
        };
        // SAFETY: the range lies in the mapping, and the buffer holds so many bytes until the operation completes; they
        // are different memory.
        unsafe {
            match io.verb {
                Verb::Read => std::ptr::copy_nonoverlapping(place, io.buffer, io.bytes as usize),
                _ => std::ptr::copy_nonoverlapping(io.buffer, place, io.bytes as usize),
            }
        }
        io.bytes as i64
    }
}

/// Where a range of a mapping begins, if it lies inside.
fn range(mapping: &Mapping, offset: u64, bytes: u64) -> Option<*mut u8> {
    let end = offset.checked_add(bytes)?;
    // SAFETY: the range ends inside of the mapping.
    (end <= mapping.bytes() as u64).then(|| unsafe { mapping.start().add(offset as usize) })
}

//! The memory of another process: names, vectors and structures that calls point to.

use std::mem::size_of;

const PAGE: u64 = 4096;
/// `IOV_MAX`.
const MOST_VECTORS: u64 = 1024;

pub struct ProcessMemory {
    pub thread: u32,
}

impl ProcessMemory {
    /// Copies from an address; how many bytes there were.
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: into.len() };
        // SAFETY: the kernel writes at most `into.len()` bytes into `into`; what is wrong with the other address it refuses.
        let read = unsafe {
            libc::process_vm_readv(self.thread as i32, &raw const local, 1, &raw const remote, 1, 0)
        };
        usize::try_from(read).unwrap_or(0)
    }

    /// A text that a zero byte ends; none: there is none.
    pub fn text(&self, address: u64) -> Option<String> {
        let mut bytes = Vec::new();
        let mut chunk = [0u8; 256];
        while bytes.len() < libc::PATH_MAX as usize {
            let from = address.checked_add(bytes.len() as u64)?;
            // A read stops at the end of a page: the next one may not be there.
            let room = (PAGE - from % PAGE).min(chunk.len() as u64) as usize;
            let read = self.read(from, &mut chunk[..room]);
            let part = &chunk[..read];
            if let Some(end) = part.iter().position(|byte| *byte == 0) {
                bytes.extend_from_slice(&part[..end]);
                return Some(String::from_utf8_lossy(&bytes).into_owned());
            }
            if read == 0 {
                return None;
            }
            bytes.extend_from_slice(part);
        }
        None
    }

    pub fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0u8; size_of::<u64>()];
        (self.read(address, &mut bytes) == bytes.len()).then(|| u64::from_ne_bytes(bytes))
    }

    /// The bytes of all vectors of a `struct iovec` array.
    pub fn vectors(&self, address: u64, count: u64) -> u64 {
        let count = count.min(MOST_VECTORS) as usize;
        let mut bytes = vec![0u8; count * size_of::<libc::iovec>()];
        let read = self.read(address, &mut bytes);
        let length = |vector: &[u8]| u64::from_ne_bytes(vector[8..16].try_into().unwrap_or_default());
        bytes[..read].chunks_exact(size_of::<libc::iovec>()).map(length).fold(0, u64::saturating_add)
    }
}

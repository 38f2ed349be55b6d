//! Memory that core dumps leave out, for keys.

use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

use crate::failure::Failure;
use crate::memory::{Mapping, errno};

/// A value in pages of its own, which are in no core dump and in no swap where that is allowed.
pub struct SecretPages<T> {
    pages: Mapping,
    of: std::marker::PhantomData<T>,
}

impl<T> SecretPages<T> {
    /// Moves a value there, before it holds anything secret.
    ///
    /// # Errors
    /// The system has no such memory.
    pub fn new(value: T) -> Result<SecretPages<T>, Failure> {
        let bytes = size_of::<T>().max(1);
        let pages = Mapping::private(bytes).map_err(|errno| Failure::call("mmap", errno))?;
        let start = pages.start().cast::<libc::c_void>();
        leave_out_of_dumps(start, bytes)?;
        // SAFETY: as above. What may not be locked is at least not dumped.
        unsafe { libc::mlock(start, bytes) };
        // SAFETY: pages are aligned for anything and long enough, and nobody else has them.
        unsafe { pages.start().cast::<MaybeUninit<T>>().as_mut().expect("pages of our own").write(value) };
        Ok(SecretPages { pages, of: std::marker::PhantomData })
    }
}

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
fn leave_out_of_dumps(start: *mut libc::c_void, bytes: usize) -> Result<(), Failure> {
    #[cfg(target_os = "linux")]
    const ADVICE: libc::c_int = libc::MADV_DONTDUMP;
    #[cfg(target_os = "freebsd")]
    const ADVICE: libc::c_int = libc::MADV_NOCORE;
    // SAFETY: the caller's pages are as long as that, and no byte of them changes.
    match unsafe { libc::madvise(start, bytes, ADVICE) } {
        0 => Ok(()),
        _ => Err(Failure::call("madvise", errno())),
    }
}

/// Elsewhere no system is known that could.
#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
fn leave_out_of_dumps(_start: *mut libc::c_void, _bytes: usize) -> Result<(), Failure> {
    Ok(())
}

#[cfg(target_os = "linux")]
pub fn page_bytes() -> usize {
    // SAFETY: the call has no requirements.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as usize
}

// SAFETY: a value is where its owner is, as in a `Box`.
unsafe impl<T: Send> Send for SecretPages<T> {}

impl<T> Deref for SecretPages<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `new` wrote a value there, which lives until this is dropped.
        unsafe { &*self.pages.start().cast::<T>() }
    }
}

impl<T> DerefMut for SecretPages<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and it is ours alone.
        unsafe { &mut *self.pages.start().cast::<T>() }
    }
}

impl<T> Drop for SecretPages<T> {
    fn drop(&mut self) {
        // SAFETY: `new` wrote a value there, and it is dropped once.
        unsafe { std::ptr::drop_in_place(self.pages.start().cast::<T>()) };
    }
}

/// Bytes that grow, in pages that core dumps leave out; those that are not used cost nothing.
#[derive(Debug, Default)]
pub struct SecretBytes {
    pages: Option<Mapping>,
    length: usize,
}

impl SecretBytes {
    /// The most at first: few heads of requests are longer.
    const FIRST: usize = 64 << 10;

    pub fn clear(&mut self) {
        self.length = 0;
    }

    fn grow(&mut self, bytes: usize) -> std::io::Result<()> {
        let wanted = bytes.next_power_of_two().max(SecretBytes::FIRST);
        let pages = Mapping::private(wanted).map_err(std::io::Error::from_raw_os_error)?;
        leave_out_of_dumps(pages.start().cast(), wanted)
            .map_err(|failure| std::io::Error::from_raw_os_error(failure.errno))?;
        // SAFETY: both are so long, and the new one was just made.
        unsafe { std::ptr::copy_nonoverlapping(self.as_ptr(), pages.start(), self.length) };
        self.pages = Some(pages);
        Ok(())
    }
}

impl Deref for SecretBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.pages {
            // SAFETY: so many bytes were written there, and the pages are this value's own.
            Some(pages) => unsafe { std::slice::from_raw_parts(pages.start(), self.length) },
            None => &[],
        }
    }
}

impl std::io::Write for SecretBytes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let end = self.length + bytes.len();
        if self.pages.as_ref().is_none_or(|pages| pages.bytes() < end) {
            self.grow(end)?;
        }
        if let Some(pages) = &self.pages {
            // SAFETY: the pages are long enough and nobody else has them.
            let room = unsafe { pages.start().add(self.length) };
            // SAFETY: as above; the bytes are the caller's.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), room, bytes.len()) };
        }
        self.length = end;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn bytes_grow_and_are_kept() {
        use std::io::Write;
        let mut kept = SecretBytes::default();
        assert!(kept.is_empty());
        let part: Vec<u8> = (0..40_000u32).map(|number| number as u8).collect();
        kept.write_all(&part).unwrap();
        kept.write_all(&part).unwrap();
        assert_eq!((&kept[..40_000], &kept[40_000..]), (&part[..], &part[..]));
        kept.clear();
        kept.write_all(b"x").unwrap();
        assert_eq!(&*kept, b"x");
    }

    #[test]
    fn its_pages_are_left_out_of_core_dumps() {
        let kept = SecretPages::new([7u8; 64]).unwrap();
        let address = std::ptr::from_ref(&*kept) as usize;
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut inside = false;
        let flags = maps.lines().find_map(|line| {
            if let Some((range, _)) = line.split_once(' ')
                && let Some((first, last)) = range.split_once('-')
                && let (Ok(first), Ok(last)) =
                    (usize::from_str_radix(first, 16), usize::from_str_radix(last, 16))
            {
                inside = (first..last).contains(&address);
            }
            line.strip_prefix("VmFlags:").filter(|_| inside)
        });
        let flags = flags.expect("every mapping has flags");
        assert!(flags.split_whitespace().any(|flag| flag == "dd"), "{flags}");
        assert_eq!(kept[63], 7);
    }
}

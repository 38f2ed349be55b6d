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
        // SAFETY: the pages are ours and as long as that.
        if unsafe { libc::madvise(start, bytes, libc::MADV_DONTDUMP) } < 0 {
            return Err(Failure::call("madvise", errno()));
        }
        // SAFETY: as above. What may not be locked is at least not dumped.
        unsafe { libc::mlock(start, bytes) };
        // SAFETY: pages are aligned for anything and long enough, and nobody else has them.
        unsafe { pages.start().cast::<MaybeUninit<T>>().as_mut().expect("pages of our own").write(value) };
        Ok(SecretPages { pages, of: std::marker::PhantomData })
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

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

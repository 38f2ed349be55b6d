//! System calls by their names, with their arguments as words: what rules and the helper of pjdfstest's suites say.
//!
//! One [table](table) for both. `call` is the meaning of the few verbs that are measured; here is whatever a file system
//! can be asked, one answer at a time, and how long it takes does not matter. It refuses to judge: what an answer has to
//! be, the cases know.

#![allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "other systems have other widths")]

use iodyno_model::reflect::Reflect;

/// Makes a call of the C library and takes its answer.
macro_rules! ask {
    ($call:ident ( $($argument:expr),* $(,)? )) => {
        // SAFETY: pointers are words that outlive the call, or bad on purpose, which the kernel answers with EFAULT.
        $crate::syscall::Answer::of(unsafe { libc::$call($($argument),*) } as i64)
    };
}

/// Makes a call of the kernel that the C library does not have, or not as it is, and takes its answer.
#[cfg(target_os = "linux")]
macro_rules! kernel {
    ($number:ident ( $($argument:expr),* $(,)? )) => {
        // SAFETY: pointers are words that outlive the call, or bad on purpose, which the kernel answers with EFAULT.
        $crate::syscall::Answer::of(unsafe { libc::syscall(libc::$number, $($argument),*) })
    };
}

mod attributes;
mod chain;
#[cfg(target_os = "linux")]
mod copies;
mod data;
mod directories;
mod errno;
#[cfg(target_os = "linux")]
mod events;
mod fd_table;
mod flags;
mod further;
mod locks;
mod maps;
#[cfg(target_os = "linux")]
mod mounts;
mod names;
mod processes;
mod several;
mod stat;
pub mod table;
mod words;
#[cfg(target_os = "linux")]
mod xattr;

pub use chain::{Identity, chain};
pub use errno::{errno_name, errno_number};
pub use fd_table::Hands;
pub use words::{bytes, text};

/// What a call came back with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub struct Answer {
    /// The error number; none: it succeeded. A signal is its negative number ([`errno_name`] names it).
    pub errno: Option<i32>,
    /// What it says beyond that: the bytes of a read, the target of a link; empty for most.
    pub text: String,
    /// What can be compared by name: `mode`, `ctime`, … of a stat.
    pub fields: Vec<(String, String)>,
}

impl Answer {
    /// An error.
    pub fn failed(errno: i32) -> Self {
        Answer { errno: Some(errno), ..Answer::default() }
    }

    /// The last error of this thread.
    pub fn last() -> Self {
        Answer::failed(iodyno_engine::memory::errno())
    }

    /// Success, and what was said.
    pub fn said(text: impl Into<String>) -> Self {
        Answer { text: text.into(), ..Answer::default() }
    }

    /// What a C function's result means: below 0, the last error.
    fn of(result: i64) -> Self {
        if result < 0 { Answer::last() } else { Answer::default() }
    }

    /// The same with one more attribute.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.fields.push((name.into(), value.to_string()));
        self
    }

    /// An attribute by its name.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests;

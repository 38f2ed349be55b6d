//! Why a part of the engine cannot start or go on. The conductor adds the place and reports it.

use iodyno_model::origin::plain;
use iodyno_model::reflect::Reflect;
use iodyno_model::{Diagnostic, Origin};

/// Why an engine cannot start, or cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Reflect)]
pub struct Failure {
    /// What is wrong, a lower-case fragment.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// The system's error number; 0 where there is none.
    pub errno: i32,
}

impl Failure {
    /// A failure.
    pub fn new(message: impl Into<String>) -> Self {
        Failure { message: message.into(), hint: None, errno: 0 }
    }

    /// A failed system call.
    pub fn call(name: &str, errno: i32) -> Self {
        Failure::new(format!("{name}: {}", std::io::Error::from_raw_os_error(errno))).errno(errno)
    }

    /// A call that failed with an error of the system.
    pub fn io(name: &str, error: &std::io::Error) -> Self {
        match error.raw_os_error() {
            Some(errno) => Failure::call(name, errno),
            None => Failure::new(format!("{name}: {error}")).errno(libc::EIO),
        }
    }

    /// An error at a place of what the user wrote, its message after a prefix.
    pub fn diagnostic(self, origin: &Origin, prefix: &str) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(origin, format!("{prefix}{}", self.message));
        diagnostic.hint = self.hint;
        diagnostic
    }

    /// The same with an error number.
    pub fn errno(mut self, errno: i32) -> Self {
        self.errno = errno;
        self
    }

    /// The same with a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The system's text for an error number, without Rust's suffix.
pub fn strerror(errno: i32) -> String {
    plain(&std::io::Error::from_raw_os_error(errno))
}

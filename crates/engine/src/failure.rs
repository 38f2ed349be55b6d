//! Why something inside the engine room cannot start or go on. The conductor gives it a place and tells the user.

/// Why an engine cannot start, or cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What is wrong, a lower-case fragment.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Failure {
    /// A failure.
    pub fn new(message: impl Into<String>) -> Self {
        Failure { message: message.into(), hint: None }
    }

    /// A failed system call.
    pub fn call(name: &str, errno: i32) -> Self {
        Failure::new(format!("{name}: {}", std::io::Error::from_raw_os_error(errno)))
    }

    /// The same with a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

//! System calls by their names, with their arguments as words: what rules and the helper of pjdfstest's suites say.
//!
//! One table for both. `call` is the meaning of the few verbs that are measured; here is whatever a file system can be
//! asked, one answer at a time, and how long it takes does not matter.

use serde::{Deserialize, Serialize};

/// What a call came back with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The error number; none: it succeeded.
    pub errno: Option<i32>,
    /// What it says beyond that: the bytes of a read, the target of a link; empty for most.
    pub text: String,
    /// What can be compared by name: `mode`, `ctime`, … of a stat.
    pub fields: Vec<(String, String)>,
}

/// What one process holds from call to call: descriptors, directory streams, mappings.
#[derive(Debug, Default)]
pub struct Hands {}

impl Hands {
    /// Makes a call. What it opens is held under the label, and in the order of opening.
    ///
    /// # Errors
    /// There is no such call, or its arguments make no sense: nothing was done.
    pub fn call(&mut self, name: &str, _arguments: &[String], _label: &str) -> Result<Answer, String> {
        Err(format!("`{name}`: there is no such call"))
    }
}

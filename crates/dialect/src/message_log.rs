//! Messages of a run on standard error, each once: workers that fail alike have one reason.
//!
//! Refuses to fail: who cannot write to standard error has nobody to tell it to.

use iodyno_report::Output;

/// What was said already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageLog(Vec<String>);

impl MessageLog {
    /// Writes a text, which has its own end of line, unless it was written before.
    pub fn say(&mut self, text: String, output: &mut Output<'_>) {
        if !self.0.contains(&text) {
            let _ = output.err.write_all(text.as_bytes());
            self.0.push(text);
        }
    }
}

//! Colour, or none: decided once by whoever makes the reporter, never guessed here.

use iodyno_model::Severity;

/// Whether text may be coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paint {
    /// With escape sequences (a terminal), or plain.
    pub colour: bool,
}

impl Paint {
    /// Plain text: for pipes and files.
    pub const PLAIN: Paint = Paint { colour: false };

    pub fn heading(self, text: &str) -> String {
        self.with("1", text)
    }

    /// What is said beside the figures.
    pub fn aside(self, text: &str) -> String {
        self.with("2", text)
    }

    /// Something that spoils a figure, by how much it spoils.
    pub fn severity(self, severity: Severity, text: &str) -> String {
        self.with(
            match severity {
                Severity::Note => "36",
                Severity::Doubtful => "33",
                Severity::Invalid => "1;31",
            },
            text,
        )
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }
}

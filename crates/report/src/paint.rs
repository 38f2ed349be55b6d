//! How text for people is written: decided once by whoever makes the reporter, never guessed here.

use iodyno_model::Severity;

use crate::number::RateUnit;

/// Colour, width and units of text for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    /// With escape sequences (a terminal), or plain.
    pub colour: bool,
    /// Columns that a line may take.
    pub columns: usize,
    pub rates: RateUnit,
}

impl Default for Paint {
    fn default() -> Self {
        Paint::PLAIN
    }
}

impl Paint {
    /// Plain text: for pipes and files.
    pub const PLAIN: Paint = Paint { colour: false, columns: 80, rates: RateUnit::MegabytesPerSecond };

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

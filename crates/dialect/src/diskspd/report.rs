//! diskspd's results: text for each time span as it ends, or one XML document at the end.
//!
//! ```text
//!   events ─► Report ─┬─ figures ─► text
//!                     └─ figures ─► xml
//! ```
//! Processors are told together, and latencies as buckets tell them: the record has no others.

mod figures;
mod text;
mod xml;

use std::io;

use iodyno_model::{Event, Level, PhaseRecord, Record};
use iodyno_report::{Output, Reporter};

use super::profile;
use super::settings::{Profile, ResultFormat};
use figures::SpanFigures;

/// What the report must know that the plan does not say.
#[derive(Clone, Debug, Default)]
pub struct ReportContext {
    pub command: String,
    pub profile: Profile,
    pub host: String,
    pub cpus: u32,
    pub began_unix_ns: u64,
    /// Of the targets of each span, bytes.
    pub sizes: Vec<Vec<u64>>,
}

struct Report {
    context: ReportContext,
    spans: Vec<SpanFigures>,
    begun: bool,
}

/// The reporter of a run.
pub fn reporter(context: ReportContext) -> Box<dyn Reporter> {
    Box::new(Report { context, spans: Vec::new(), begun: false })
}

/// The profile alone, in the format that was asked for.
pub fn profile_text(profile: &Profile) -> String {
    match profile.format {
        ResultFormat::Text => text::profile(profile),
        ResultFormat::Xml => {
            let mut out = String::new();
            profile::element(profile).print(0, &mut out);
            out
        }
    }
}

impl Report {
    fn phase(&mut self, phase: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        let number = phase.index % self.context.profile.spans.len().max(1);
        let Some(span) = self.context.profile.spans.get(number) else { return Ok(()) };
        let figures = SpanFigures::of(phase, span, number, self.context.cpus);
        if self.context.profile.format == ResultFormat::Text {
            let mut text = String::new();
            if !self.begun {
                text += &text::head(&self.context);
                self.begun = true;
            }
            text += &text::span(&self.context, &figures);
            output.out.write_all(text.as_bytes())?;
            output.out.flush()?;
        }
        self.spans.push(figures);
        Ok(())
    }

    fn ended(&self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        for error in &record.errors {
            writeln!(output.err, "diskspd: {error}")?;
        }
        if self.context.profile.format == ResultFormat::Xml && !self.spans.is_empty() {
            output.out.write_all(xml::results(&self.context, &self.spans).as_bytes())?;
        }
        output.out.flush()
    }
}

impl Reporter for Report {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::PhaseEnded(phase) => self.phase(phase, output),
            Event::Message(message) if message.level != Level::Note => {
                writeln!(output.err, "diskspd: {message}")
            }
            Event::Ended(record) => self.ended(record, output),
            _ => Ok(()),
        }
    }
}

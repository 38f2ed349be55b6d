//! The card's reporter: says at once what is measured, keeps quiet while it runs, and writes one card at the end.
//!
//! An interrupted run gets the same card with what was measured until then.

use std::io;

use iodyno_model::{Event, Record, RunStart};
use iodyno_report::live::planned_ns;
use iodyno_report::paint::Paint;
use iodyno_report::shape::Context;
use iodyno_report::table::wrapped;
use iodyno_report::{Output, Reporter, number};

use super::settings::Settings;
use super::text::{self, CardText};

/// Writes the card.
pub(super) struct Card {
    settings: Settings,
    paint: Paint,
    context: Context,
    details: bool,
}

impl Card {
    /// The card of these settings.
    pub(super) fn new(settings: Settings, colour: bool, details: bool) -> Self {
        Card { settings, paint: Paint { colour }, context: Context::default(), details }
    }

    fn first(&self, started: &RunStart) -> String {
        let budget = &self.settings.budget;
        let (metadata, laid_out) = match self.settings.reads_only() {
            true => ("", ""),
            false => (", metadata", " once the file is laid out"),
        };
        let passes = format!(
            "{} passes of {} a cell, depths 1 to {}{metadata}: about {}{laid_out}",
            budget.passes,
            number::latency(budget.cell_ns as f64),
            budget.depths.last().copied().unwrap_or(1),
            number::wait(planned_ns(&started.plan)),
        );
        let what = text::what(&self.settings, &started.targets);
        let path = self.paint.heading(&self.settings.path);
        format!("measuring {path}: {what}\n{}\n", wrapped(&passes, 100, 0))
    }

    fn card(&self, record: &Record) -> String {
        let (context, details) = (&self.context, self.details);
        CardText { setup: &self.settings, paint: self.paint, context, record, details }.card()
    }
}

impl Reporter for Card {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        self.context.event(event);
        match event {
            Event::Started(started) => {
                output.out.write_all(self.first(started).as_bytes())?;
                output.out.flush()
            }
            Event::Message(message) => writeln!(output.err, "{message}"),
            Event::Ended(record) => output.out.write_all(self.card(record).as_bytes()),
            _ => Ok(()),
        }
    }
}

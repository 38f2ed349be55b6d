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

use super::text::CardText;
use super::{Setup, text};

/// Writes the card.
pub(super) struct Card {
    setup: Setup,
    paint: Paint,
    context: Context,
    details: bool,
}

impl Card {
    /// The card of a setup.
    pub(super) fn new(setup: Setup, colour: bool, details: bool) -> Self {
        Card { setup, paint: Paint { colour }, context: Context::default(), details }
    }

    fn first(&self, started: &RunStart) -> String {
        let budget = &self.setup.budget;
        let (metadata, laid_out) = match self.setup.reads_only() {
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
        let what = text::what(&self.setup, &started.targets);
        let path = self.paint.heading(&self.setup.path);
        format!("measuring {path}: {what}\n{}\n", wrapped(&passes, 100, 0))
    }

    fn card(&self, record: &Record) -> String {
        let (context, details) = (&self.context, self.details);
        CardText { setup: &self.setup, paint: self.paint, context, record, details }.card()
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

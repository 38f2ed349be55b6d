//! The card's reporter: says at once what is measured, keeps quiet while it runs, and writes one card at the end; and the
//! card on the screen, which fills in cell by cell.
//!
//! An interrupted run gets the same card with what was measured until then.

use std::io;

use iodyno_model::{Event, Record, RunStart};
use iodyno_report::live::planned_ns;
use iodyno_report::paint::Paint;
use iodyno_report::screen::GrowingReport;
use iodyno_report::shape::Context;
use iodyno_report::table::wrapped;
use iodyno_report::{Output, Reporter, number};

use super::frame::CardFrame;
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
    pub(super) fn new(settings: Settings, paint: Paint, details: bool) -> Self {
        Card { settings, paint, context: Context::default(), details }
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
        let what = wrapped(&text::what(&self.settings, &started.targets), self.paint.columns - 2, 2);
        let path = &self.settings.path;
        let is_short =
            path.chars().count() + what.chars().count() + "measuring : ".len() <= self.paint.columns;
        let after = if is_short { " " } else { "\n  " };
        let passes = wrapped(&passes, self.paint.columns, 0);
        format!("measuring {}:{after}{what}\n{passes}\n", self.paint.heading(path))
    }

    fn card(&self, record: &Record) -> String {
        let (context, details) = (&self.context, self.details);
        let frame = CardFrame { paint: self.paint, context, record, details, running: None };
        CardText { setup: &self.settings, frame }.card()
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

/// The card while it fills in.
pub(super) struct GrowingCard {
    settings: Settings,
    context: Context,
    record: Record,
    running: Option<String>,
}

impl GrowingCard {
    pub(super) fn new(settings: Settings) -> Self {
        let (context, record) = (Context::default(), Record::default());
        GrowingCard { settings, context, record, running: None }
    }
}

impl GrowingReport for GrowingCard {
    fn event(&mut self, event: &Event) {
        self.context.event(event);
        match event {
            Event::PhaseStarted { name, .. } => self.running = Some(name.clone()),
            Event::PhaseEnded(phase) => {
                self.record.phases.push((**phase).clone());
                self.running = None;
            }
            _ => {}
        }
    }

    fn text(&self, paint: Paint, rows: usize) -> String {
        let (context, record, running) = (&self.context, &self.record, self.running.as_deref());
        let frame = CardFrame { paint, context, record, details: false, running };
        CardText { setup: &self.settings, frame }.growing(rows)
    }
}

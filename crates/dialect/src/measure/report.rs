//! The reporter of a card: says at once what is measured, keeps quiet while it runs, and writes one card at the end; and the
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

/// What is measured, and how the figures of it are written.
pub(super) trait CardSetup: Clone {
    /// What is said when the run begins.
    fn announcement(&self, started: &RunStart, paint: Paint) -> String;
    fn card(&self, frame: CardFrame<'_>) -> String;
    /// The figures alone, in so many rows.
    fn growing(&self, frame: CardFrame<'_>, rows: usize) -> String;
}

impl CardSetup for Settings {
    fn announcement(&self, started: &RunStart, paint: Paint) -> String {
        let budget = &self.budget;
        let (metadata, laid_out) = match self.reads_only() {
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
        let what = wrapped(&text::what(self, &started.targets), paint.columns - 2, 2);
        let path = &self.path;
        let is_short = path.chars().count() + what.chars().count() + "measuring : ".len() <= paint.columns;
        let after = if is_short { " " } else { "\n  " };
        let passes = wrapped(&passes, paint.columns, 0);
        format!("measuring {}:{after}{what}\n{passes}\n", paint.heading(path))
    }

    fn card(&self, frame: CardFrame<'_>) -> String {
        CardText { setup: self, frame }.card()
    }

    fn growing(&self, frame: CardFrame<'_>, rows: usize) -> String {
        CardText { setup: self, frame }.growing(rows)
    }
}

/// Writes the card.
pub(super) struct Card<S> {
    setup: S,
    paint: Paint,
    context: Context,
    details: bool,
}

impl<S: CardSetup> Card<S> {
    pub(super) fn new(setup: S, paint: Paint, details: bool) -> Self {
        Card { setup, paint, context: Context::default(), details }
    }
}

impl<S: CardSetup> Reporter for Card<S> {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        self.context.event(event);
        match event {
            Event::Started(started) => {
                output.out.write_all(self.setup.announcement(started, self.paint).as_bytes())?;
                output.out.flush()
            }
            Event::Message(message) => writeln!(output.err, "{message}"),
            Event::Ended(record) => {
                let (paint, context, details) = (self.paint, &self.context, self.details);
                let frame = CardFrame { paint, context, record, details, running: None };
                output.out.write_all(self.setup.card(frame).as_bytes())
            }
            _ => Ok(()),
        }
    }
}

/// The card while it fills in.
pub(super) struct GrowingCard<S> {
    setup: S,
    context: Context,
    record: Record,
    running: Option<String>,
}

impl<S: CardSetup> GrowingCard<S> {
    pub(super) fn new(setup: S) -> Self {
        let (context, record) = (Context::default(), Record::default());
        GrowingCard { setup, context, record, running: None }
    }
}

impl<S: CardSetup> GrowingReport for GrowingCard<S> {
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
        self.setup.growing(frame, rows)
    }
}

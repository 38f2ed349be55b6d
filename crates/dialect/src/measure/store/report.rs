//! The reporter of a store's card: says at once what is measured, keeps quiet while it runs, and writes one card at the end;
//! and the card on the screen, which fills in cell by cell.

use std::io;

use iodyno_model::{Event, Record, RunStart};
use iodyno_report::live::planned_ns;
use iodyno_report::paint::Paint;
use iodyno_report::screen::GrowingReport;
use iodyno_report::shape::Context;
use iodyno_report::table::wrapped;
use iodyno_report::{Output, Reporter, number};

use super::settings::StoreSettings;
use super::text::{self, StoreText};
use crate::measure::frame::CardFrame;

/// Writes the card.
pub struct StoreCard {
    settings: StoreSettings,
    paint: Paint,
    context: Context,
    details: bool,
}

impl StoreCard {
    pub fn new(settings: StoreSettings, paint: Paint, details: bool) -> Self {
        StoreCard { settings, paint, context: Context::default(), details }
    }

    fn first(&self, started: &RunStart) -> String {
        let budget = &self.settings.budget;
        let passes = format!(
            "{} passes of {} a cell, 1 to {} in flight, requests without data{}: about {} once the objects are \
             laid out",
            budget.passes,
            number::latency(budget.cell_ns as f64),
            budget.depths.last().copied().unwrap_or(1),
            if self.settings.engine.is_http { ", consistency" } else { "" },
            number::wait(planned_ns(&started.plan)),
        );
        let at = self.settings.endpoint.as_ref().map(|at| format!(", at {at}")).unwrap_or_default();
        let what = wrapped(&(text::what(&self.settings) + &at), self.paint.columns - 2, 2);
        let passes = wrapped(&passes, self.paint.columns, 0);
        format!("measuring {}:\n  {what}\n{passes}\n", self.paint.heading(&self.settings.url))
    }
}

impl Reporter for StoreCard {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        self.context.event(event);
        match event {
            Event::Started(started) => {
                output.out.write_all(self.first(started).as_bytes())?;
                output.out.flush()
            }
            Event::Message(message) => writeln!(output.err, "{message}"),
            Event::Ended(record) => {
                let (context, details) = (&self.context, self.details);
                let frame = CardFrame { paint: self.paint, context, record, details, running: None };
                output.out.write_all(StoreText { setup: &self.settings, frame }.card().as_bytes())
            }
            _ => Ok(()),
        }
    }
}

/// The card while it fills in.
pub struct GrowingStoreCard {
    settings: StoreSettings,
    context: Context,
    record: Record,
    running: Option<String>,
}

impl GrowingStoreCard {
    pub fn new(settings: StoreSettings) -> Self {
        let (context, record) = (Context::default(), Record::default());
        GrowingStoreCard { settings, context, record, running: None }
    }
}

impl GrowingReport for GrowingStoreCard {
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
        StoreText { setup: &self.settings, frame }.growing(rows)
    }
}

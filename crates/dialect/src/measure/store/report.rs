//! What is said of a store: at once what is measured, and its card.

use iodyno_model::RunStart;
use iodyno_report::live::planned_ns;
use iodyno_report::number;
use iodyno_report::paint::Paint;
use iodyno_report::table::wrapped;

use super::budget::CONSISTENCY;
use super::settings::StoreSettings;
use super::text::{self, StoreText};
use crate::measure::frame::CardFrame;
use crate::measure::report::CardSetup;

impl CardSetup for StoreSettings {
    fn announcement(&self, started: &RunStart, paint: Paint) -> String {
        let budget = &self.budget;
        // A simulated store keeps no objects whose versions could differ.
        let is_tried = started.plan.phases.iter().any(|phase| phase.name == CONSISTENCY);
        let passes = format!(
            "{} passes of {} a cell, 1 to {} in flight, requests without data{}: about {} once the objects are laid out",
            budget.passes,
            number::latency(budget.cell_ns as f64),
            budget.depths.last().copied().unwrap_or(1),
            if is_tried { ", consistency" } else { "" },
            number::wait(planned_ns(&started.plan)),
        );
        let at = self.endpoint.as_ref().map(|at| format!(", at {at}")).unwrap_or_default();
        let what = wrapped(&(text::what(self) + &at), paint.columns - 2, 2);
        let passes = wrapped(&passes, paint.columns, 0);
        format!("measuring {}:\n  {what}\n{passes}\n", paint.heading(&self.url))
    }

    fn card(&self, frame: CardFrame<'_>) -> String {
        StoreText { setup: self, frame }.card()
    }

    fn growing(&self, frame: CardFrame<'_>, rows: usize) -> String {
        StoreText { setup: self, frame }.growing(rows)
    }
}

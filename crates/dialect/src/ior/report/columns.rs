//! The columns of a phase's row, in the texts of IOR 4 and 3 and in CSV.

use super::number::cell;
use super::outcome::PhaseOutcome;
use super::text::MEBI;
use crate::ior::test::IorTest;
use crate::ior::view::Access;

/// A figure of a phase.
struct Column {
    title: &'static str,
    /// The title in CSV.
    csv: &'static str,
    /// Characters with the blanks behind it.
    width: usize,
    /// Dashes below the title.
    dashes: usize,
    /// Whether IOR 3 has it.
    is_old: bool,
    value: fn(&PhaseOutcome, &IorTest) -> f64,
}

const fn column(title: &'static str, dashes: usize, value: fn(&PhaseOutcome, &IorTest) -> f64) -> Column {
    Column { title, csv: title, width: 11, dashes, is_old: true, value }
}

const COLUMNS: [Column; 9] = [
    column("bw(MiB/s)", 9, |outcome, _| outcome.bandwidth() / MEBI),
    Column { is_old: false, ..column("IOPS", 4, |outcome, _| outcome.operations()) },
    Column {
        csv: "Latency",
        width: 12,
        is_old: false,
        ..column("Latency(s)", 10, |outcome, _| outcome.latency)
    },
    column("block(KiB)", 10, |_, test| test.block as f64 / 1024.0),
    column("xfer(KiB)", 9, |_, test| test.transfer as f64 / 1024.0),
    column("open(s)", 8, |outcome, _| outcome.open),
    column("wr/rd(s)", 8, |outcome, _| outcome.transfer),
    column("close(s)", 8, |outcome, _| outcome.close),
    column("total(s)", 8, |outcome, _| outcome.total),
];

fn columns(layout: u8) -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(move |column| layout != 3 || column.is_old)
}

/// The two lines above the rows.
pub fn head(layout: u8) -> String {
    let titles: String =
        columns(layout).map(|column| format!("{:<1$}", column.title, column.width)).collect();
    let dashes = columns(layout).map(|column| format!("{:<1$}", "-".repeat(column.dashes), column.width));
    format!("access    {titles}iter\n------    {}----\n", dashes.collect::<String>())
}

/// A row of the text; what was removed has only a time.
pub fn row(outcome: &PhaseOutcome, test: &IorTest, layout: u8) -> String {
    let access = outcome.access.map_or("", Access::name);
    let last = COLUMNS.len() - 1;
    let shows =
        |column: &Column| outcome.access != Some(Access::Remove) || column.title == COLUMNS[last].title;
    let cells = columns(layout).map(|column| {
        let text = if shows(column) { cell((column.value)(outcome, test)) } else { "-".into() };
        format!("{text:<0$}", column.width)
    });
    format!("{access:<10}{}{:<4}\n", cells.collect::<String>(), outcome.repetition)
}

/// The names of the columns in CSV.
pub fn csv_head() -> String {
    let names: String = COLUMNS.iter().map(|column| format!("{},", column.csv)).collect();
    format!("access,{names}numTasks,iter\n")
}

/// A row of CSV, or nothing for what has none.
pub fn csv_row(outcome: &PhaseOutcome, test: &IorTest) -> String {
    let Some(access @ (Access::Write | Access::Read)) = outcome.access else { return String::new() };
    let cells = COLUMNS.iter().map(|column| format!("{:.4},", (column.value)(outcome, test)));
    format!("{},{}{},{}\n", access.name(), cells.collect::<String>(), test.tasks, outcome.repetition)
}

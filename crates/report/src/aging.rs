//! How a file system wore, before and after, as a table. Judges nothing.

use std::fmt::Write as _;

use iodyno_model::{AgingRecord, Wear, units};

/// What was done, and how worn it was and is.
pub fn table(record: &AgingRecord) -> String {
    let mut text = record.directory.clone();
    if !record.file_system.is_empty() {
        let _ = write!(text, " · {} of {}", record.file_system, units::binary(record.size_bytes));
    }
    if record.after.is_none() {
        return text + "\n";
    }
    let _ = write!(
        text,
        "\n{} files made, {} removed, {} there now, {} written{}\n\n",
        record.made,
        record.removed,
        record.files,
        units::binary(record.written_bytes),
        if record.resumed { " (earlier runs included)" } else { "" }
    );
    if record.cut > 0 {
        let _ = writeln!(text, "{} files were cut: the file system was full", record.cut);
    }
    let columns: Vec<(&str, &Wear)> = [("before", &record.before), ("now", &record.after)]
        .into_iter()
        .filter_map(|(name, wear)| Some((name, wear.as_ref()?)))
        .collect();
    let heads: String = columns.iter().map(|(name, _)| format!(" {name:>14}")).collect();
    let _ = writeln!(text, "  {:<34}{heads}", "");
    let mut row = |name: &str, of: &dyn Fn(&Wear) -> String| {
        let cells: String = columns.iter().map(|(_, wear)| format!(" {:>14}", of(wear))).collect();
        let _ = writeln!(text, "  {name:<34}{cells}");
    };
    row("full", &|wear| format!("{:.1} %", wear.full_percent));
    row("files looked at", &|wear| wear.files.to_string());
    row("extents a file", &|wear| {
        or_unknown(wear.extents.filter(|_| wear.files > 0), |all| {
            format!("{:.2}", all as f64 / wear.files as f64)
        })
    });
    row("files in more than one extent", &|wear| {
        or_unknown(wear.extents.filter(|_| wear.files > 0), |_| {
            format!("{:.0} %", 100.0 * wear.broken_files as f64 / wear.files as f64)
        })
    });
    row("extents of a new file", &|wear| {
        or_unknown(wear.trial_extents, |all| format!("{all} in {}", units::binary(wear.trial_bytes)))
    });
    row("extents of free space", &|wear| or_unknown(wear.free_extents, |all| all.to_string()));
    row("largest of them", &|wear| or_unknown(wear.free_extents, |_| units::binary(wear.free_largest_bytes)));
    text += &off_the_aim(record);
    text
}

/// The data is as much as was asked for; what the file system keeps beside it is its own affair.
fn off_the_aim(record: &AgingRecord) -> String {
    const NEAR_PERCENT: f64 = 0.5;
    let (asked, now) = (record.asked_percent, record.after.as_ref().map_or(0.0, |wear| wear.full_percent));
    let why = match () {
        () if !record.complete || asked <= 0.0 || (now - asked).abs() <= NEAR_PERCENT => {
            return String::new();
        }
        () if now > asked => "the file system's own structures take room, too",
        () if record.cut > 0 => "it had no more room",
        () => "it stores less than is written to it",
    };
    format!("\nit is {now:.1} % full, and {asked} % was asked for: {why}\n")
}

fn or_unknown(number: Option<u64>, text: impl Fn(u64) -> String) -> String {
    number.map_or_else(|| "cannot tell".into(), text)
}

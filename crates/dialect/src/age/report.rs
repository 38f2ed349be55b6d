//! What an aging did: a table for each directory, and what is to be known afterwards.

use std::io;

use iodyno_model::{AgingRecord, Event};
use iodyno_report::{Output, Reporter, aging};

/// The report.
pub struct AgingReporter;

impl Reporter for AgingReporter {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Message(message) => writeln!(output.err, "{message}"),
            Event::Ended(record) => {
                for record in &record.aging {
                    output.out.write_all(aging::table(record).as_bytes())?;
                    output.out.write_all(last(record).as_bytes())?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// What is to be known afterwards.
fn last(record: &AgingRecord) -> String {
    match record {
        AgingRecord { after: None, .. } => "removed\n".into(),
        AgingRecord { complete: false, .. } => {
            format!("ended early; the same command goes on where it was ({})\n", record.directory)
        }
        _ => format!("its files stay in {} until: iodyno age DIR --remove\n", record.directory),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::Wear;

    #[test]
    fn the_table_says_what_it_was_and_what_it_is() {
        let wear = |broken_files, trial_extents| Wear {
            full_percent: 70.25,
            files: 100,
            broken_files,
            extents: Some(100 + 3 * broken_files),
            bytes: 100 << 20,
            trial_bytes: 64 << 20,
            trial_extents: Some(trial_extents),
            free_extents: Some(9),
            free_largest_bytes: 1 << 20,
            free_bytes: 1 << 30,
        };
        let mut record = AgingRecord {
            directory: "/d/iodyno-age".into(),
            file_system: "ext4".into(),
            made: 400,
            removed: 300,
            files: 100,
            written_bytes: 4 << 30,
            complete: true,
            before: Some(wear(0, 1)),
            after: Some(wear(20, 31)),
            ..AgingRecord::default()
        };
        let text = aging::table(&record);
        for part in ["ext4", "400 files made, 300 removed", "70.2 %", "1.60", "20 %", "31"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(last(&record).contains("--remove"));
        record.after.as_mut().unwrap().extents = None;
        assert!(aging::table(&record).contains("cannot tell"));
        for (asked_percent, said) in [
            (70.0, ""),
            (70.6, ""),
            (69.5, "it is 70.2 % full, and 69.5 % was asked for: the file system's own structures"),
            (72.0, "it is 70.2 % full, and 72 % was asked for: it stores less"),
        ] {
            record.asked_percent = asked_percent;
            let text = aging::table(&record);
            assert!(text.contains(said) && said.is_empty() != text.contains("was asked for"), "{text}");
        }
        record.complete = false;
        assert!(last(&record).starts_with("ended early"));
    }
}

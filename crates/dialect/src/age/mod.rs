//! `iodyno age DIR --to 70%`: makes a young file system old before anything is measured on it, and says how it wore.
//!
//! The same may be asked of any plan (`[[age]]` in a plan file, `--age`, or `age=70%` among our words beside a drop-in).
//! Nothing is made old here; the words become an [`Aging`], and its record a table.

use std::io;

use clap::Parser;
use iodyno_model::{Aging, AgingRecord, Diagnostic, Event, Intent, Origin, Plan, Size, units};
use iodyno_report::{Output, Reporter, aging};

use crate::native::ExportArguments;
use crate::{Dialect, Keep, Loader, PathKind, Request, Run};

/// The command in the list of dialects.
pub const DIALECT: Dialect = Dialect {
    name: "age",
    about: "age a file system: fill it, rewrite files, report how it changed",
    drop_in: false,
    also: &[],
    lower,
};

const AFTER: &str = "Its files lie in DIR/iodyno-age, and stay until --remove. Ctrl-C ends it at any time; the same \
command goes on where it was. The same seed does the same changes. Nothing else in DIR is touched.";

#[derive(Debug, Parser)]
#[command(name = "iodyno age", about = DIALECT.about, after_help = AFTER, disable_version_flag = true)]
struct Options {
    /// A directory of the file system
    directory: String,
    /// How full the file system becomes, with its present content
    #[arg(long = "to", value_name = "PERCENT", value_parser = percent, required_unless_present = "remove")]
    full_percent: Option<f64>,
    /// How often the written bytes are rewritten afterwards
    #[arg(long, value_name = "N", default_value_t = 3.0)]
    turnover: f64,
    /// How much sooner young files are deleted than old ones; 1: all alike
    #[arg(long, value_name = "N", default_value_t = 2.0)]
    youth: f64,
    /// Sizes of the files, e.g. 4k-1m, or 16k [default: most small, most bytes in large ones]
    #[arg(long, value_name = "S", value_parser = sizes)]
    sizes: Option<Size>,
    /// Parallel sequences of changes
    #[arg(long, value_name = "N", default_value_t = 2)]
    workers: u32,
    /// Reserve space instead of writing it: faster, but what is there reads as zeros without the device
    #[arg(long)]
    reserved: bool,
    /// Remove the files of an earlier aging in DIR, and do nothing else
    #[arg(long, conflicts_with_all = ["full_percent", "reserved", "sizes"])]
    remove: bool,
    /// Seed of every change
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    export: ExportArguments,
}

/// `70%`, or `70`.
///
/// # Errors
/// No number, or one that is no part of a file system.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim().parse::<f64>().ok();
    number
        .filter(|number| *number > 0.0 && *number < 100.0)
        .ok_or_else(|| format!("`{text}`: expected more than 0 and less than 100 percent, e.g. 70%"))
}

fn sizes(text: &str) -> Result<Size, String> {
    let Some((least, most)) = text.split_once('-') else { return units::parse_bytes(text).map(Size::Fixed) };
    let (least_bytes, most_bytes) = (units::parse_bytes(least)?, units::parse_bytes(most)?);
    match least_bytes <= most_bytes {
        true => Ok(Size::Uniform { least_bytes, most_bytes, step_bytes: 1 }),
        false => Err(format!("`{text}`: the smallest comes first")),
    }
}

fn lower(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let options: Options = match crate::native::parsed("iodyno age", arguments)? {
        Ok(options) => options,
        Err(help) => return Ok(help),
    };
    let origin = Origin::argument(&options.directory);
    let wrong =
        |message: &str| vec![Diagnostic::error(&origin, message).hint("name a directory, e.g. /mnt/test")];
    match loader.look(&options.directory) {
        None => return Err(wrong("no such directory")),
        Some(facts) if facts.kind != PathKind::Directory => return Err(wrong("this is no directory")),
        Some(facts) if !facts.writable => return Err(wrong("this directory cannot be written to")),
        Some(_) => {}
    }
    Ok(Request::Run(Box::new(run(&options, origin))))
}

fn run(options: &Options, origin: Origin) -> Run {
    let usual = Aging::new(&options.directory, options.full_percent.unwrap_or_default());
    let aging = Aging {
        turnover: options.turnover,
        youth: options.youth,
        sizes: options.sizes.clone().unwrap_or_else(Aging::usual_sizes),
        workers: options.workers,
        reserved: options.reserved,
        remove: options.remove,
        origin,
        ..usual
    };
    let plan = Plan {
        name: "age".into(),
        seed: options.seed,
        intent: Intent::Correctness,
        aging: vec![aging],
        ..Plan::default()
    };
    Run {
        files: options.export.clone().files(),
        keep: Keep { wanted: Some(false), tags: Vec::new() },
        unwatched: true,
        findings: false,
        ..Run::of(plan, Box::new(AgingReporter))
    }
}

/// The report.
struct AgingReporter;

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
    use clap::Parser;
    use iodyno_model::Wear;

    fn read(line: &str) -> Result<Aging, String> {
        let arguments = std::iter::once("iodyno age").chain(line.split_whitespace());
        let options = Options::try_parse_from(arguments).map_err(|error| error.to_string())?;
        Ok(run(&options, Origin::Default).plan.aging.remove(0))
    }

    #[test]
    fn words_become_an_aging() {
        assert_eq!(read("/d --to 70%"), Ok(Aging::new("/d", 70.0)));
        let said =
            read("/d --to 55.5 --turnover 0.5 --youth 1 --sizes 4k-64k --workers 8 --reserved").unwrap();
        assert_eq!((said.full_percent, said.turnover, said.youth, said.workers), (55.5, 0.5, 1.0, 8));
        assert_eq!(said.sizes, Size::Uniform { least_bytes: 4096, most_bytes: 65536, step_bytes: 1 });
        assert!(said.reserved && !said.remove);
        assert!(read("/d --remove").unwrap().remove);
        for wrong in
            ["/d", "--to 70%", "/d --to 0", "/d --to 100%", "/d --to 70% --sizes 9-1", "/d --to 5 --remove"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

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
        record.complete = false;
        assert!(last(&record).starts_with("ended early"));
    }
}

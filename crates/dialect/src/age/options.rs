//! The options, as a table of clap's: it parses them, too.

use clap::Parser;
use iodyno_model::{Size, units};

use crate::native::ExportArguments;

const AFTER: &str = "Its files lie in DIR/iodyno-age, and stay until --remove. Ctrl-C ends it at any time; the same \
command goes on where it was. The same seed does the same changes. Nothing else in DIR is touched.";

#[derive(Debug, Parser)]
#[command(name = "iodyno age", about = super::DIALECT.about, after_help = AFTER, disable_version_flag = true)]
pub struct Options {
    /// A directory of the file system
    pub directory: String,
    /// How full the file system becomes, with its present content
    #[arg(long = "to", value_name = "PERCENT", value_parser = percent, required_unless_present = "remove")]
    pub full_percent: Option<f64>,
    /// How often the written bytes are rewritten afterwards
    #[arg(long, value_name = "N", default_value_t = 3.0)]
    pub turnover: f64,
    /// How much sooner young files are deleted than old ones; 1: all alike
    #[arg(long, value_name = "N", default_value_t = 2.0)]
    pub youth: f64,
    /// Sizes of the files, e.g. 4k-1m, or 16k [default: most small, most bytes in large ones]
    #[arg(long, value_name = "S", value_parser = sizes)]
    pub sizes: Option<Size>,
    /// Parallel sequences of changes
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub workers: u32,
    /// Reserve space instead of writing it: faster, but what is there reads as zeros without the device
    #[arg(long)]
    pub reserved: bool,
    /// Remove the files of an earlier aging in DIR, and do nothing else
    #[arg(long, conflicts_with_all = ["full_percent", "reserved", "sizes"])]
    pub remove: bool,
    /// Seed of every change
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub export: ExportArguments,
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

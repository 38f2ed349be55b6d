//! `iodyno trace remap`.

use clap::{Args, ValueEnum};
use iodyno_model::{Diagnostic, Origin, Remap, units};
use iodyno_trace::RecordSource;
use iodyno_trace::transform::{PlaceRule, Relocate};

use super::output::OutputArgs;
use super::{Answer, input, written};

#[derive(Args)]
pub struct RemapArgs {
    /// The trace; -: standard input
    #[arg(value_name = "TRACE")]
    trace: String,
    /// Call this file or device by another name; repeatable
    #[arg(long, value_name = "OLD=NEW", value_parser = pair)]
    map: Vec<(String, String)>,
    /// Make all files and devices this long: what lies beyond goes elsewhere, --by tells how
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes, requires = "by")]
    size: Option<u64>,
    /// Offsets scaled to the new size, wrapped at its end, or blocks of 4 KiB dealt by a hash: the same block stays the same
    #[arg(long, value_name = "linear|modulo|hash", requires = "size", hide_possible_values = true)]
    by: Option<RemapRule>,
    /// Round offsets down and ends up to a multiple of this
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes, requires = "size")]
    align: Option<u64>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum RemapRule {
    Linear,
    Modulo,
    Hash,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() => Ok((old.into(), new.into())),
        _ => Err("expected OLD=NEW".into()),
    }
}

pub fn answer(words: &RemapArgs) -> Answer {
    if words.map.is_empty() && words.size.is_none() {
        return Err(Diagnostic::error(&Origin::argument("iodyno trace remap"), "nothing is changed")
            .hint("say --map OLD=NEW, or --size SIZE with --by linear, modulo or hash"));
    }
    let (source, reaches) = open(&words.trace)?;
    let rule = words.size.map(|length| PlaceRule {
        remap: match words.by {
            None | Some(RemapRule::Linear) => Remap::Linear,
            Some(RemapRule::Modulo) => Remap::Modulo,
            Some(RemapRule::Hash) => Remap::Hash,
        },
        align: words.align.unwrap_or(0),
        length,
        reaches,
    });
    let is_linear = rule.as_ref().is_some_and(|rule| rule.remap == Remap::Linear && rule.reaches.is_empty());
    if is_linear {
        let path = if words.trace == "-" { "standard input" } else { &words.trace };
        let message = "how far its records reach is not known before they are read";
        return Err(Diagnostic::error(&Origin::argument(path), message)
            .hint("--by linear needs a file that was finished: iodyno trace cut --time 0.. makes one; or --by modulo"));
    }
    written::write(&mut Relocate::of(source, words.map.clone(), rule), &words.output, &words.trace)
}

type Opened = (Box<dyn RecordSource + Send>, Vec<Option<u64>>);

/// The trace, and how far the records of each file reach where its end tells.
fn open(path: &str) -> Result<Opened, Diagnostic> {
    if path != "-"
        && let Ok(reader) = input::open_seekable(path)
        && reader.totals().is_some()
    {
        let reaches = reader.reaches().to_vec();
        return Ok((Box::new(reader), reaches));
    }
    Ok((input::open(path)?, Vec::new()))
}

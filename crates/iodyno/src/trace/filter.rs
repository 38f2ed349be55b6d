//! `iodyno trace filter`.

use std::ops::{Range, RangeInclusive};

use clap::Args;
use iodyno_dialect::native;
use iodyno_model::{Diagnostic, Kind, Origin, Verb};
use iodyno_trace::RecordFlags;
use iodyno_trace::text::FLAGS;
use iodyno_trace::transform::{Filter, RecordFilter};

use super::output::OutputArgs;
use super::{Answer, input, words, written};

#[derive(Args)]
pub struct FilterArgs {
    /// The trace; -: standard input
    #[arg(value_name = "TRACE")]
    trace: String,
    /// Only these operations: read, write, fsync, …; or a kind of them: reads, writes, trims, syncs, metadata, network
    #[arg(long, value_name = "OPERATION", value_delimiter = ',')]
    only: Vec<String>,
    /// All but these operations
    #[arg(long, value_name = "OPERATION", value_delimiter = ',', conflicts_with = "only")]
    except: Vec<String>,
    /// Only files with this name, which may have * and ?; repeatable
    #[arg(long, value_name = "NAME")]
    file: Vec<String>,
    /// No files with this name; repeatable
    #[arg(long, value_name = "NAME")]
    except_file: Vec<String>,
    /// Only this process or thread by its number, or commands with this name; repeatable
    #[arg(long, value_name = "WHO")]
    thread: Vec<String>,
    /// Only reads, writes and trims that begin from A up to B
    #[arg(long, value_name = "A..B", value_parser = words::sizes)]
    offset: Option<Range<u64>>,
    /// Only reads, writes and trims of A up to B bytes
    #[arg(long, value_name = "A..B", value_parser = words::sizes)]
    size: Option<Range<u64>>,
    /// Only what has all of these flags: sync, fua, direct, …
    #[arg(long, value_name = "FLAG", value_delimiter = ',')]
    flag: Vec<String>,
    /// Only what has none of these flags
    #[arg(long, value_name = "FLAG", value_delimiter = ',')]
    without_flag: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
}

pub fn answer(words: &FilterArgs) -> Answer {
    let only = verbs("--only", &words.only)?;
    let except = verbs("--except", &words.except)?;
    let verbs = match (words.only.is_empty(), words.except.is_empty()) {
        (false, _) => Some(only),
        (true, false) => Some(Verb::ALL.iter().copied().filter(|verb| !except.contains(verb)).collect()),
        (true, true) => None,
    };
    let filter = RecordFilter {
        verbs,
        files: words.file.clone(),
        except_files: words.except_file.clone(),
        threads: words.thread.clone(),
        offsets: words.offset.as_ref().map(inclusive),
        sizes: words.size.as_ref().map(inclusive),
        flags: flags("--flag", &words.flag)?,
        without_flags: flags("--without-flag", &words.without_flag)?,
    };
    let source = input::open(&words.trace)?;
    written::write(&mut Filter::of(source, filter), &words.output, &words.trace)
}

/// A range to the end holds the greatest number too.
fn inclusive(range: &Range<u64>) -> RangeInclusive<u64> {
    let end = if range.end == u64::MAX { u64::MAX } else { range.end - 1 };
    range.start..=end
}

const KINDS: [(&str, Kind); 6] = [
    ("reads", Kind::Read),
    ("writes", Kind::Write),
    ("trims", Kind::Trim),
    ("syncs", Kind::Sync),
    ("metadata", Kind::Metadata),
    ("network", Kind::Network),
];

fn verbs(option: &str, names: &[String]) -> Result<Vec<Verb>, Diagnostic> {
    let mut verbs = Vec::new();
    for name in names {
        match (Verb::named(name), KINDS.iter().find(|(kind, _)| kind == name)) {
            (Some(verb), _) => verbs.push(verb),
            (None, Some((_, kind))) => verbs.extend(Verb::ALL.iter().filter(|verb| verb.kind() == *kind)),
            (None, None) => {
                let kinds = KINDS.iter().map(|(kind, _)| *kind);
                let known: Vec<&str> = Verb::ALL.iter().map(|verb| verb.name()).chain(kinds).collect();
                let message = format!("`{name}` is no operation");
                return Err(Diagnostic::error(&Origin::argument(option), message)
                    .hint(native::suggestion(name, &known)));
            }
        }
    }
    Ok(verbs)
}

fn flags(option: &str, names: &[String]) -> Result<RecordFlags, Diagnostic> {
    names.iter().try_fold(RecordFlags::default(), |flags, name| {
        match FLAGS.iter().find(|(known, _)| known == name) {
            Some((_, flag)) => Ok(flags.with(*flag)),
            None => {
                let known: Vec<&str> = FLAGS.iter().map(|(known, _)| *known).collect();
                Err(Diagnostic::error(&Origin::argument(option), format!("`{name}` is no flag"))
                    .hint(format!("one of {}", known.join(", "))))
            }
        }
    })
}

//! `iodyno trace anonymise`.

use std::io::Read;

use clap::Args;
use iodyno_model::{Diagnostic, Origin};
use iodyno_trace::transform::{Anonymise, NameStyle};

use super::output::OutputArgs;
use super::{Answer, input, written};
use crate::loader::plain;

#[derive(Args)]
pub struct AnonymiseArgs {
    /// The trace; -: standard input
    #[arg(value_name = "TRACE")]
    trace: String,
    /// A file that holds the key, any bytes: traces with one key have the same names; default: a new one that nobody knows
    #[arg(long, value_name = "FILE")]
    key: Option<String>,
    /// Replace each part of a path, so that it is seen which files lie in one directory
    #[arg(long)]
    keep_paths: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Bytes of a key that are read.
const KEY_LIMIT: u64 = 1 << 20;

pub fn answer(words: &AnonymiseArgs) -> Answer {
    let secret = match &words.key {
        Some(path) => secret(path)?,
        None => random()?,
    };
    let style = if words.keep_paths { NameStyle::Parts } else { NameStyle::Whole };
    let source = input::open(&words.trace)?;
    let mut anonymous = Anonymise::of(source, Anonymise::key(&secret), style);
    written::write(&mut anonymous, &words.output, &words.trace)
}

fn secret(path: &str) -> Result<Vec<u8>, Diagnostic> {
    let mut secret = Vec::new();
    let read = input::file(path)?.take(KEY_LIMIT).read_to_end(&mut secret);
    read.map_err(|error| Diagnostic::error(&Origin::argument(path), plain(&error)))?;
    match secret.len() {
        16.. => Ok(secret),
        length => {
            Err(Diagnostic::error(&Origin::argument(path), format!("a key of {length} bytes can be guessed"))
                .hint("at least 16 bytes are needed: head -c 32 /dev/urandom > FILE"))
        }
    }
}

fn random() -> Result<Vec<u8>, Diagnostic> {
    let mut secret = Vec::new();
    let read = std::fs::File::open("/dev/urandom").and_then(|file| file.take(32).read_to_end(&mut secret));
    read.map_err(|error| Diagnostic::error(&Origin::argument("/dev/urandom"), plain(&error)))?;
    Ok(secret)
}

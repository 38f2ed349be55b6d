//! How a long run loads: its depth, block and mix, and whether a device was given up to it.
//!
//! Refuses to write what was there before: a file always, a device unless it was named twice.

use iodyno_model::{Diagnostic, Origin, units};

use super::options::{LongArguments, Options};
use super::settings::Settings;
use crate::PathKind;

/// A usual mix, deep enough to keep a device busy.
const READS_PERCENT: f64 = 70.0;
const DEPTH: u32 = 4;
const BLOCK_BYTES: u64 = 4096;

/// How it loads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LongManner {
    pub depth: u32,
    pub block_bytes: u64,
    /// The others write.
    pub reads_percent: f64,
    /// What is on the device is given up.
    pub is_destroyed: bool,
}

/// What the options come to.
///
/// # Errors
/// Writes to what is not given up, and blocks that are larger than all that is touched.
pub(super) fn resolve(options: &Options, settings: &Settings) -> Result<LongManner, Vec<Diagnostic>> {
    let LongArguments { depth, block, mix, destroy } = &options.lasting;
    let is_destroyed = destroy.is_some();
    if let Some(device) = destroy {
        given_up(device, settings).map_err(|wrong| vec![wrong])?;
    }
    let writes = !settings.reads_only() || is_destroyed;
    let reads_percent = mix.unwrap_or(if writes { READS_PERCENT } else { 100.0 });
    if reads_percent < 100.0 && !writes {
        return Err(vec![refused(reads_percent, settings)]);
    }
    let block_bytes = block.unwrap_or(BLOCK_BYTES);
    if block_bytes > settings.span_bytes {
        let (block, span) = (units::binary(block_bytes), units::binary(settings.span_bytes));
        let origin = Origin::argument("--block");
        return Err(vec![
            Diagnostic::error(&origin, format!("{block} are more than the {span} that are touched"))
                .hint("take a smaller block, or a larger --size"),
        ]);
    }
    Ok(LongManner { depth: depth.unwrap_or(DEPTH), block_bytes, reads_percent, is_destroyed })
}

/// Whether the device that is given up is the one that is measured.
fn given_up(device: &str, settings: &Settings) -> Result<(), Diagnostic> {
    let origin = Origin::argument(&format!("--destroy {device}"));
    if device != settings.path {
        let what = format!("{} is measured, not that", settings.path);
        return Err(Diagnostic::error(&origin, what).hint("name the same device twice, if that is meant"));
    }
    match settings.kind {
        PathKind::BlockDevice => Ok(()),
        _ => Err(Diagnostic::error(&origin, "only a block device can be given up")
            .hint("name its directory to write a temporary file beside it")),
    }
}

fn refused(reads_percent: f64, settings: &Settings) -> Diagnostic {
    let origin = Origin::argument(&format!("--mix {reads_percent}"));
    let path = &settings.path;
    match settings.kind {
        PathKind::BlockDevice => {
            Diagnostic::error(&origin, format!("{path} would be written, and all that is on it be lost"))
                .hint(format!("if that is meant: --destroy {path}"))
        }
        _ => Diagnostic::error(&origin, format!("{path} was there before, and is only read"))
            .hint("name its directory to write a temporary file beside it, or leave --mix out"),
    }
}

//! `iodyno audit FILE|-`: which lies a pasted result may hold, what would have had to carry it, what to run again.
//!
//! Runs nothing, and looks at nothing of this machine but the files that are named.

use std::io::Read;

use clap::Parser;
use iodyno_dialect::audit::{self, Known};
use iodyno_engine::world::World;
use iodyno_model::{Diagnostic, Origin, units};

use crate::loader::{HostLoader, plain};
use crate::runs::{ended, one, paint, parsed, print};

#[derive(Parser)]
#[command(name = "iodyno audit", about = "Say what a pasted result of fio, IOR, mdtest, dd, hdparm, iozone or iperf3 may hide",
    disable_version_flag = true, after_help = AFTER)]
pub struct AuditArgs {
    /// The text with command lines or output, as text or JSON; -: standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// Memory of the host that was measured, e.g. 256GiB
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes)]
    memory: Option<u64>,
    /// What the way to the storage carries, e.g. 25Gbit or 7.8GB/s
    #[arg(long, value_name = "RATE", value_parser = units::parse_bits)]
    ceiling: Option<u64>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

const AFTER: &str = "Each lie is proven (by the figures themselves), expected (from what the command asks for) or open (nothing \
shown excludes it). Exit status: 0; 2 no result was found. docs/audit.md has examples.";

/// A pasted text is not longer than this.
const MOST_BYTES: u64 = 64 << 20;

/// Does `iodyno audit ARGUMENTS…`; the exit status.
pub fn answer(world: &World, arguments: &[String]) -> u8 {
    match parsed::<AuditArgs>("iodyno audit", arguments) {
        Ok(words) => ended(audited(world, &words).map_err(one)),
        Err(status) => status,
    }
}

fn audited(world: &World, words: &AuditArgs) -> Result<u8, Diagnostic> {
    let known = Known { memory_bytes: words.memory, ceiling_bits: words.ceiling };
    let mut audits = Vec::new();
    for name in &words.files {
        let text = read(name)?;
        audits.extend(audit::audit(name, &text, known, &mut HostLoader::new(world))?);
    }
    Ok(print(&match words.json {
        true => audit::json(&audits),
        false => audit::text(&audits, paint().columns),
    }))
}

fn read(name: &str) -> Result<String, Diagnostic> {
    let wrong = |what: String| Diagnostic::error(&Origin::argument(name), what);
    let mut bytes = Vec::new();
    let taken = match name {
        "-" => std::io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut bytes),
        path => std::fs::File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes)),
    };
    taken.map_err(|error| {
        wrong(format!("cannot be read: {}", plain(&error)))
            .hint("name a file with the pasted text, or - for standard input")
    })?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(
            wrong(format!("longer than {}", units::binary(MOST_BYTES))).hint("paste the result alone")
        );
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

//! `measure`: what is written down of a job while it runs.

use iodyno_model::{Journal, Measure};

use super::pattern::{known, may};
use super::tree::Node;
use super::value::{Read, flag, time};

/// The value of `measure`.
pub(crate) fn read(node: &Node) -> Read<Measure> {
    known(node, &["latency", "submission", "batches", "each", "sample", "row", "journal"])?;
    let journal = may(node, "journal", |node| journal(node).map(Some), None)?;
    Ok(Measure {
        latency: may(node, "latency", flag, true)?,
        submission: may(node, "submission", flag, false)?,
        batches: may(node, "batches", flag, false)?,
        each: may(node, "each", flag, false)?,
        sample_ns: may(node, "sample", time, 0)?,
        row_ns: may(node, "row", time, 0)?,
        journal,
    })
}

fn journal(node: &Node) -> Read<Journal> {
    known(node, &["completions", "starts", "window", "histogram"])?;
    Ok(Journal {
        completions: may(node, "completions", flag, false)?,
        starts: may(node, "starts", flag, false)?,
        window_ns: may(node, "window", time, 0)?,
        histogram_ns: may(node, "histogram", time, 0)?,
    })
}

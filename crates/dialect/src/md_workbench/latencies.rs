//! Files of single latencies (`-L`): when each operation began after the phase, and how long it took.

use std::fmt::Write as _;

use iodyno_model::{JournalEntry, JournalPart, Verb};

use super::view::{PhaseRole, ReportContext, TestPhase};
use crate::quantity::scientific;

/// The heading of each file.
pub const HEADING: &str = "time,runtime";

/// The files of a phase: the verbs, and their paths.
pub fn paths(view: &ReportContext, part: TestPhase) -> Vec<(Verb, String)> {
    let Some(prefix) = view.test.settings.text("L") else { return Vec::new() };
    let kinds: &[(Verb, &str)] = match part.role {
        PhaseRole::Sets | PhaseRole::Hidden => &[],
        PhaseRole::Precreate => &[(Verb::Create, "precreate")],
        PhaseRole::Cleanup => &[(Verb::Unlink, "cleanup")],
        PhaseRole::Benchmark if view.test.flag("read-only") => &[(Verb::Open, "read"), (Verb::Stat, "stat")],
        PhaseRole::Benchmark => {
            &[(Verb::Open, "read"), (Verb::Stat, "stat"), (Verb::Create, "create"), (Verb::Unlink, "delete")]
        }
    };
    let all = if view.test.flag("latency-all") { "-all" } else { "" };
    let (waiting, iteration) = (part.waiting, part.iteration);
    let path =
        |(verb, name): &(Verb, &str)| (*verb, format!("{prefix}-{waiting:.2}-{iteration}-{name}{all}.csv"));
    kinds.iter().map(path).collect()
}

/// The rows of one verb.
pub fn rows(part: &JournalPart, wanted: Verb) -> String {
    let mut rows = String::new();
    for entry in &part.entries {
        let JournalEntry::Done { at_ns, latency_ns, verb, .. } = entry else { continue };
        if *verb == wanted {
            let (began, took) = (at_ns.saturating_sub(*latency_ns) as f64 / 1e9, *latency_ns as f64 / 1e9);
            let _ = writeln!(rows, "{began:.7},{}", scientific(took, 4));
        }
    }
    rows
}

//! An audit as its reader sees it, and as JSON.

use iodyno_model::{FindingKind, units};
use iodyno_report::audit::{Certainty, Claim, Possible, UNSEEN};
use iodyno_report::table::wrapped;
use serde_json::{Value, json};

use super::{Audit, rerun};
use crate::{Translate, advice, finding_pages};

/// Columns by which an explanation is moved in.
const INDENT: usize = 6;

/// All audits for a screen of so many columns.
pub fn text(audits: &[Audit], columns: usize) -> String {
    let columns = columns.clamp(40, 120);
    let texts: Vec<String> = audits.iter().map(|audit| one(audit, columns)).collect();
    texts.join("\n")
}

fn one(audit: &Audit, columns: usize) -> String {
    let head =
        audit.command.clone().unwrap_or_else(|| format!("{}, whose command line is not shown", audit.tool));
    let mut text = format!("{}\n", wrapped(&head, columns, 4));
    if !audit.claims.is_empty() {
        text.push_str("\nWhat is claimed\n");
        audit.claims.iter().for_each(|claim| text.push_str(&item(&claimed(claim), 2, columns)));
    }
    let carried = audit.carried.iter().map(|(name, carried)| format!("{name}: {}", carried.sentence()));
    let lines: Vec<String> = carried.chain(audit.media.iter().cloned()).collect();
    if !lines.is_empty() {
        text.push_str("\nWhat would have had to carry it\n");
        lines.iter().for_each(|line| text.push_str(&item(line, 2, columns)));
    }
    text.push_str(&lies(audit, columns));
    text.push_str("\nWhat to run again\n");
    for (command, why) in &audit.rerun {
        text.push_str(&format!("  {command}\n{}", item(why, INDENT, columns)));
    }
    for note in &audit.notes {
        text.push_str(&format!("\n{}", item(&format!("note: {note}"), 0, columns)));
    }
    text
}

fn lies(audit: &Audit, columns: usize) -> String {
    let mut text = match audit.possible.is_empty() {
        true => "\nNo lie is to be seen in what is shown.\n".to_string(),
        false => "\nWhich lies are possible\n".into(),
    };
    let mut advised: Vec<String> = Vec::new();
    for one in &audit.possible {
        text.push_str(&format!(
            "  {:>2}  {} ({})\n",
            one.kind.number(),
            one.kind.about(),
            one.certainty.word()
        ));
        text.push_str(&item(&one.sentence, INDENT, columns));
        if let Some(advice) = advised_by(audit.tool, one).filter(|advice| !advised.contains(advice)) {
            text.push_str(&item(&format!("→ {advice}"), INDENT, columns));
            advised.push(advice);
        }
    }
    let unseen: Vec<String> =
        UNSEEN.iter().map(|kind| format!("{} ({})", kind.about(), kind.number())).collect();
    let closing = format!(
        "No paste shows {}: a run of iodyno's own watches for them. `iodyno explain N` tells of each lie.",
        unseen.join(", ")
    );
    text.push('\n');
    text + &item(&closing, 2, columns)
}

/// What to do, in the tool's own words.
fn advised_by(tool: &str, one: &Possible) -> Option<String> {
    let translate: Translate = finding_pages::wording(tool).unwrap_or(advice::native);
    advice::translated(one.remedy, translate)
}

fn item(text: &str, indent: usize, columns: usize) -> String {
    format!("{}{}\n", " ".repeat(indent), wrapped(text, columns.saturating_sub(indent + 2), indent + 2))
}

fn claimed(claim: &Claim) -> String {
    let parts = [
        claim.bytes_per_second.map(|rate| format!("{}/s", units::decimal(rate))),
        claim.operations_per_second.map(|rate| format!("{} operations a second", units::count(rate))),
        claim.mean_ns.map(|mean| format!("mean {}", units::duration(mean))),
        claim.longest_ns.map(|longest| format!("longest {}", units::duration(longest))),
        claim.bytes.map(|bytes| units::binary(bytes as u64)),
        claim.seconds.map(|seconds| units::duration(seconds * 1e9)),
        (claim.repeated > 1 && claim.range.is_some()).then(|| format!("from {} values", claim.repeated)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{}: {}", claim.name, parts.join(" · "))
}

/// All audits as one document.
pub fn json(audits: &[Audit]) -> String {
    let results: Vec<Value> = audits.iter().map(result).collect();
    let document = json!({ "schema": "iodyno.audit/1", "results": results });
    format!("{document:#}\n")
}

fn result(audit: &Audit) -> Value {
    let claims: Vec<Value> = audit
        .claims
        .iter()
        .map(|claim| {
            json!({
                "name": claim.name,
                "bytes_per_second": claim.bytes_per_second,
                "operations_per_second": claim.operations_per_second,
                "bytes": claim.bytes,
                "seconds": claim.seconds,
                "latency_mean_ns": claim.mean_ns,
                "latency_max_ns": claim.longest_ns,
            })
        })
        .collect();
    let possible: Vec<Value> = audit
        .possible
        .iter()
        .map(|one| {
            json!({
                "code": one.kind.number(),
                "kind": FindingKind::name(one.kind),
                "certainty": Certainty::word(one.certainty),
                "sentence": one.sentence,
                "advice": advised_by(audit.tool, one),
            })
        })
        .collect();
    let carried: Vec<Value> = audit
        .carried
        .iter()
        .map(|(name, carried)| json!({ "name": name, "bytes_per_second_each_host": carried.rate, "sentence": carried.sentence() }))
        .collect();
    let rerun: Vec<Value> =
        audit.rerun.iter().map(|(command, why)| json!({ "command": command, "why": why })).collect();
    json!({
        "tool": audit.tool,
        "command": audit.command,
        "claims": claims,
        "carried": carried,
        "media": audit.media,
        "possible": possible,
        "rerun": rerun,
        "notes": audit.notes,
        "doubtful": rerun::is_doubtful(&audit.possible),
    })
}

//! Runs of the history as text: a list of them, and what one of them was run on.

use iodyno_model::{Machine, RunStart, TargetFacts, units};

use crate::paint::Paint;
use crate::table::{Table, wrapped};

/// One run in a list.
#[derive(Clone, Debug, Default)]
pub struct RunSummary {
    /// Its number.
    pub id: i64,
    /// When it began, as text.
    pub when: String,
    /// The command line.
    pub command: String,
    pub host: String,
    /// Its figures in a line; or how far it came, where that was not the end.
    pub result: String,
    /// What it is found by.
    pub tags: Vec<String>,
}

/// The runs, a line each.
pub fn list(rows: &[RunSummary], paint: Paint) -> String {
    let mut table = Table::new(6, &["run", "began (UTC)", "command", "host", "tags", "result"]);
    for row in rows {
        let (id, tags) = (row.id.to_string(), row.tags.join(" "));
        let command = shortened(&row.command, (paint.columns / 3).max(20));
        table.row(&[id.as_str(), &row.when, &command, &row.host, &tags, &row.result]);
    }
    table.text(0, paint)
}

/// At most so many letters.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.into(),
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

/// What a run was on: the machine, the ranks, and each target.
pub fn disclosure(started: &RunStart, paint: Paint) -> String {
    let mut text = format!("\n{}\n", paint.heading("what it ran on"));
    let mut say = |name: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("  {name:<20}  {}\n", wrapped(value, paint.columns - 24, 24)));
        }
    };
    machine(&started.machine).iter().for_each(|(name, value)| say(name, value));
    if started.world.ranks() > 1 {
        say("ranks", &format!("{} on {}", started.world.ranks(), started.world.hosts.join(", ")));
    }
    for facts in &started.targets {
        say(&facts.target, &target(facts).join(" · "));
    }
    text
}

fn machine(machine: &Machine) -> Vec<(String, String)> {
    let processor = match machine.cpus {
        0 => machine.processor.clone(),
        cpus => format!("{cpus} × {}", machine.processor),
    };
    let memory = if machine.memory_bytes > 0 { units::binary(machine.memory_bytes) } else { String::new() };
    let own = [
        ("host", &machine.host),
        ("kernel", &machine.kernel),
        ("processors", &processor),
        ("memory", &memory),
        ("clock", &machine.clock),
        ("version", &machine.version),
    ];
    let own = own.into_iter().map(|(name, value)| (name.to_string(), value.clone()));
    own.chain(machine.facts.iter().cloned()).collect()
}

fn target(facts: &TargetFacts) -> Vec<String> {
    let named = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name} {value}"));
    let bytes =
        |name: &str, value: Option<u64>| value.map(|value| format!("{name} {}", units::binary(value)));
    let parts = [
        Some(facts.path.clone()),
        facts.file_system.clone(),
        facts.mount_options.clone(),
        named("on", &facts.source),
        named("disk", &facts.disk),
        facts.model.clone(),
        named("scheduler", &facts.scheduler),
        facts.write_cache.clone(),
        bytes("size", facts.size_bytes),
        bytes("free", facts.free_bytes),
        bytes("read-ahead", facts.read_ahead_bytes),
    ];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_a_line_for_each_run() {
        let row = RunSummary {
            id: 12,
            when: "2026-11-22 00:15:03".into(),
            command: format!("run {}.toml", "x".repeat(80)),
            host: "h".into(),
            result: "read 40 k/s".into(),
            tags: vec!["a".into(), "b".into()],
        };
        let text = list(&[row], Paint::PLAIN);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[1].contains("…") && lines[1].contains("a b"), "{text}");
    }

    #[test]
    fn a_disclosure_leaves_out_what_is_not_known() {
        let mut started = RunStart::default();
        started.machine.kernel = "Linux 6.1".into();
        started.machine.facts = vec![("governor".into(), "performance".into())];
        started.targets =
            vec![TargetFacts { target: "data".into(), path: "/x".into(), ..TargetFacts::default() }];
        let text = disclosure(&started, Paint::PLAIN);
        assert!(text.contains("governor") && text.contains("data") && !text.contains("memory"), "{text}");
    }
}

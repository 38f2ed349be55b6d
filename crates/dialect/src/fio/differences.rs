//! What differs from fio 3.33 on purpose, as the documentation tells it.
//!
//! The list is `differences.toml`, one for the documentation and for the proof (`cargo xtask against fio`), which forgives
//! what it names and nothing else. This file only prints it.

use toml::{Table, Value};

const LIST: &str = include_str!("differences.toml");

/// Two sections: what differs on purpose, each reason once, and what is not finished.
pub fn chapter() -> String {
    let Ok(table) = LIST.parse::<Table>() else { return String::new() };
    let differences = reasons(&table, "difference").join("\n");
    let pending = reasons(&table, "pending").join("\n");
    let mut text = format!("## What the comparison with fio 3.33 finds\n\n{differences}\n");
    if !pending.is_empty() {
        text += &format!("\nNot finished, and skipped by the comparison until it is:\n\n{pending}\n");
    }
    text
}

fn reasons(table: &Table, key: &str) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for entry in table.get(key).and_then(Value::as_array).into_iter().flatten() {
        let why = entry.get("why").and_then(Value::as_str).unwrap_or_default();
        let line = format!("- {why}");
        if !told.contains(&line) {
            told.push(line);
        }
    }
    told
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_list_can_be_read_and_each_reason_stands_once() {
        let text = super::chapter();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("- ")).collect();
        assert!(lines.len() > 5, "{text}");
        assert!(lines.iter().all(|line| line.len() > 20), "{text}");
        assert_eq!(lines.len(), lines.iter().collect::<std::collections::BTreeSet<_>>().len());
    }
}

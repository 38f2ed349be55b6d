//! A comparison as Markdown, for a pull request or a merge request: the verdict first, then what to look at.
//!
//! GitHub's flavour, which GitLab, Gitea and Forgejo read too. Text of users (names of jobs, sentences) cannot make markup.

use iodyno_model::Severity;

use crate::comparison::{Comparison, columns, verdict_of};

/// What the whole came to, for the headline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed,
    /// There was nothing to compare with yet.
    FirstRun,
}

impl Outcome {
    fn headline(self) -> &'static str {
        match self {
            Outcome::Passed => "✅ no figure is worse",
            Outcome::Failed => "❌ failed",
            Outcome::FirstRun => "🆕 no baseline yet",
        }
    }
}

/// The page: `title`, reasons why it failed, and the comparison where there is one.
pub fn page(title: &str, outcome: Outcome, reasons: &[String], comparison: Option<&Comparison>) -> String {
    let mut text = format!("### {}: {}\n", escaped(title), outcome.headline());
    if !reasons.is_empty() {
        text.push('\n');
        reasons.iter().for_each(|reason| text.push_str(&format!("- {}\n", escaped(reason))));
    }
    let Some(comparison) = comparison else { return text };
    text.push_str(&format!("\n{}\n", escaped(&verdict_of(comparison))));
    text.push_str(&figures(comparison));
    text.push_str(&details(comparison));
    text
}

fn figures(comparison: &Comparison) -> String {
    let rows = columns(comparison);
    if rows.is_empty() {
        return String::new();
    }
    let names = (escaped(&comparison.names.0), escaped(&comparison.names.1));
    let mut text = format!(
        "\n| job | figure | {} | {} | difference | interval | |\n|---|---|--:|--:|--:|--:|---|\n",
        names.0, names.1
    );
    for (place, [what, before, after, difference, interval, _, word]) in rows {
        let mark = match () {
            () if word.starts_with("worse") => "❌ ",
            () if word.starts_with("better") => "✅ ",
            () => "",
        };
        let cells = [place, what, before, after, difference, interval, format!("{mark}{word}")];
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

fn details(comparison: &Comparison) -> String {
    let mut text = String::new();
    let doubts =
        [(&comparison.names.0, &comparison.findings.0), (&comparison.names.1, &comparison.findings.1)];
    for (name, findings) in doubts {
        for finding in findings.iter().filter(|finding| finding.severity > Severity::Note) {
            let line = format!("{name}: {}: {} (lie {})", finding.phase, finding.sentence, finding.code);
            text.push_str(&format!("- ⚠️ {}\n", escaped(&line)));
        }
    }
    for contrast in &comparison.contrasts {
        let line = format!("differs: {}: {} → {}", contrast.what, contrast.values.0, contrast.values.1);
        text.push_str(&format!("- {}\n", escaped(&line)));
    }
    for job in &comparison.alone {
        text.push_str(&format!("- {}: only one of them has it\n", escaped(job)));
    }
    let summary = format!(
        "\nAll intervals together hold with {} % confidence; differences of up to {} % count as none.\n",
        comparison.confidence_percent, comparison.margin_percent
    );
    match text.is_empty() {
        true => summary,
        false => {
            format!("\n<details><summary>Doubts and differences</summary>\n\n{text}\n</details>\n{summary}")
        }
    }
}

/// Text that stays text: no table cell ends, no tag begins, nobody is mentioned.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '|' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '#' | '\\' => out.extend(['\\', letter]),
            '@' => out.push_str("@\u{200b}"),
            '\n' | '\r' => out.push(' '),
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Finding, FindingKind};

    use super::*;

    #[test]
    fn a_first_run_has_a_headline_and_nothing_more() {
        assert_eq!(page("a|b", Outcome::FirstRun, &[], None), "### a\\|b: 🆕 no baseline yet\n");
    }

    #[test]
    fn reasons_and_doubts_are_text() {
        let finding = Finding::new(
            FindingKind::CachedReads,
            Severity::Invalid,
            "p".into(),
            "<b> @all | x".into(),
            Vec::new(),
        );
        let comparison = Comparison {
            names: ("old".into(), "new".into()),
            findings: (Vec::new(), vec![finding]),
            confidence_percent: 95.0,
            margin_percent: 10.0,
            ..Comparison::default()
        };
        let text = page("plan", Outcome::Failed, &["`x` is worse".into()], Some(&comparison));
        assert!(text.starts_with("### plan: ❌ failed\n\n- \\`x\\` is worse\n"), "{text}");
        assert!(text.contains("new: p: \\<b\\> @\u{200b}all \\| x (lie 1)"), "{text}");
        assert!(text.contains("nothing to compare"), "{text}");
    }
}

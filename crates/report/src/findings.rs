//! What spoils figures, as text: the verdict over all of it, then each finding with its proof and its advice, and under it
//! what it explains.
//!
//! Where nothing is doubtful there is no verdict: the figures stand.

use iodyno_model::{Finding, Severity};
use iodyno_truth::causes::{self, CauseGroup, FindingsSummary};

use crate::number;
use crate::paint::Paint;
use crate::table::wrapped;

/// Where a finding's text begins.
const INDENT: usize = 11;

/// The findings of a run, worst first. `details`: what another one explains is told in full, too. Findings of one code and
/// advice are said once, with the names of the phases that they concern too.
pub fn text(findings: &[Finding], details: bool, paint: Paint) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", paint.heading("findings"));
    if let Some(told) = causes::verdict(findings) {
        let line = wrapped(&sentence(&told, paint), paint.columns - 4, 4);
        text.push_str(&format!("  {}\n", paint.severity(told.main.severity, &line)));
    }
    let mut groups: Vec<Vec<CauseGroup<'_>>> = Vec::new();
    for told in if details { apart(findings) } else { causes::folded(findings) } {
        let key = |told: &CauseGroup<'_>| {
            let Finding { code, severity, advice, explained_by, .. } = told.finding;
            (*code, *severity, advice.clone(), *explained_by)
        };
        match groups.iter_mut().find(|group| key(&group[0]) == key(&told)) {
            Some(group) => group.push(told),
            None => groups.push(vec![told]),
        }
    }
    groups.iter().for_each(|group| text.push_str(&alike(group, paint)));
    text
}

/// The verdict in a sentence: how many, of what, and what to do with the figures. Nothing where the figures stand.
pub fn verdict(findings: &[Finding]) -> Option<String> {
    causes::verdict(findings).map(|told| sentence(&told, Paint::PLAIN))
}

fn sentence(told: &FindingsSummary<'_>, paint: Paint) -> String {
    let [invalid, doubtful, notes] = told.counts;
    let noted = if notes == 1 { "note" } else { "notes" };
    let counts = [(invalid, "invalid"), (doubtful, "doubtful"), (notes, noted)];
    let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    let figure =
        causes::figure(told.main).map(|figure| format!(" ({})", number::figure(figure, paint.rates)));
    let others = match told.others {
        0 => String::new(),
        1 => ", and 1 other cause".into(),
        others => format!(", and {others} other causes"),
    };
    format!(
        "{}: {}{}{others}; {}",
        counts.collect::<Vec<_>>().join(", "),
        causes::about(told.main),
        figure.unwrap_or_default(),
        match told.main.severity {
            Severity::Invalid => "do not quote these figures",
            _ => "quote these figures only together with this",
        }
    )
}

/// Each finding for itself.
fn apart(findings: &[Finding]) -> Vec<CauseGroup<'_>> {
    let mut told: Vec<CauseGroup<'_>> =
        findings.iter().map(|finding| CauseGroup { finding, explains: Vec::new() }).collect();
    told.sort_by_key(|told| (std::cmp::Reverse(told.finding.severity), told.finding.code));
    told
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Doubtful => "doubtful",
        Severity::Invalid => "invalid",
    }
}

/// Findings of one matter: the first in full, the others by name, and what they explain.
fn alike(group: &[CauseGroup<'_>], paint: Paint) -> String {
    let finding = group[0].finding;
    let figures: Vec<String> =
        finding.figures.iter().map(|figure| number::figure(figure, paint.rates)).collect();
    let line = |text: &str| wrapped(text, paint.columns - INDENT, INDENT);
    let mut lines = vec![paint.aside(&line(&figures.join(" · ")))];
    if group.len() > 1 {
        lines.push(paint.aside(&line(&also(group))));
    }
    lines.push(line(&format!("→ {}", finding.advice)));
    let explains: Vec<&Finding> = group.iter().flat_map(|told| told.explains.iter().copied()).collect();
    if let Some(names) = names(&explains) {
        lines.push(paint.aside(&line(&format!("explains {names} (`details` tells them in full)"))));
    }
    if let Some(cause) = finding.explained_by {
        lines.push(paint.aside(&format!("explained by [{cause}]")));
    }
    let sentence = format!("[{}] {}: {}", finding.code, finding.phase, finding.sentence);
    let word = paint.severity(finding.severity, &format!("{:8}", word(finding.severity)));
    let mut text = format!("  {word} {}\n", line(&sentence));
    lines.iter().for_each(|line| text.push_str(&format!("{:INDENT$}{line}\n", "")));
    text
}

/// What a finding explains: `doubtful [7] an unsteady rate, note [26] …`, each once; none where it explains nothing.
pub(crate) fn names(explains: &[&Finding]) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for finding in explains {
        let name = format!("{} [{}] {}", word(finding.severity), finding.code, causes::about(finding));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// The other phases of a group, each once with how often.
fn also(group: &[CauseGroup<'_>]) -> String {
    let mut names: Vec<(&str, usize)> = Vec::new();
    for told in &group[1..] {
        match names.iter_mut().find(|(name, _)| *name == told.finding.phase) {
            Some((_, times)) => *times += 1,
            None => names.push((&told.finding.phase, 1)),
        }
    }
    let name = |(name, times): &(&str, usize)| match times {
        1 => name.to_string(),
        _ => format!("{name} {times} times"),
    };
    format!("also {}", names.iter().map(name).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Figure, FindingKind};

    use super::*;

    fn finding(code: u8, severity: Severity, explained_by: Option<u8>, figure: Figure) -> Finding {
        let kind = FindingKind::numbered(code).expect("a known number");
        let found = Finding::new(kind, severity, "p".into(), format!("what {code} says"), vec![figure]);
        Finding { advice: format!("do {code}"), explained_by, ..found }
    }

    fn busy() -> Vec<Finding> {
        vec![
            finding(11, Severity::Doubtful, None, Figure::new("processors taken by others", 97.0, "%")),
            finding(7, Severity::Doubtful, Some(11), Figure::new("range", 80.0, "%")),
            finding(26, Severity::Note, Some(11), Figure::new("longest", 2e8, "ns")),
        ]
    }

    #[test]
    fn one_cause_is_one_finding_with_a_verdict_above() {
        assert_eq!(
            text(&busy(), false, Paint::PLAIN),
            "\nfindings\n  \
             2 doubtful, 1 note: a machine shared with other load (processors taken by\n    \
             others 97.0 %); quote these figures only together with this\n  \
             doubtful [11] p: what 11 says\n           \
             processors taken by others 97.0 %\n           \
             → do 11\n           \
             explains doubtful [7] an unsteady rate, note [26] spikes of latency\n           \
             (`details` tells them in full)\n"
        );
    }

    #[test]
    fn details_tell_each_finding_and_its_cause() {
        let told = text(&busy(), true, Paint::PLAIN);
        assert!(
            told.contains("doubtful [7] p: what 7 says\n           range 80.0 %\n           → do 7"),
            "{told}"
        );
        assert_eq!(told.matches("explained by [11]").count(), 2, "{told}");
        assert!(!told.contains("explains"), "{told}");
    }

    #[test]
    fn invalid_figures_are_not_to_be_quoted_and_notes_have_no_verdict() {
        let mut all = busy();
        all.push(finding(1, Severity::Invalid, None, Figure::new("answered by memory", 99.5, "%")));
        assert_eq!(
            verdict(&all).unwrap(),
            "1 invalid, 2 doubtful, 1 note: reads from the page cache (answered by memory 99.5 %), and 1 other \
             cause; do not quote these figures"
        );
        let note = [finding(6, Severity::Note, None, Figure::new("samples", 9.0, ""))];
        assert_eq!(
            text(&note, false, Paint::PLAIN),
            "\nfindings\n  note     [6] p: what 6 says\n           samples 9\n           → do 6\n"
        );
    }
}

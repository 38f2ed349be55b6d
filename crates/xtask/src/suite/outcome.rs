//! What became of a case, read from what its program printed.
//!
//! libtest and libtest-mimic print alike. It refuses to call a case passed that was not run: where the program counted
//! none, the case failed.

use crate::shell;

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseOutcome {
    /// It held; so many of them, where a whole program ran.
    Passed(u64),
    /// It could not be tried here, and why.
    Skipped(String),
    /// It did not hold: what it said.
    Failed(Vec<String>),
}

/// What a program printed of its cases.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CaseCounts {
    /// Cases that held.
    pub passed: u64,
    /// Cases that could not be tried: `NAME: reason`.
    pub skipped: Vec<String>,
    /// Names of those that failed.
    pub failed: Vec<String>,
}

/// What became of a single case.
pub fn of_case(name: &str, ended: &shell::ProcessResult) -> CaseOutcome {
    let said = || ended.lines.clone();
    let Some((passed, failed, ignored)) = ended.lines.iter().rev().find_map(|line| summary(line)) else {
        return CaseOutcome::Failed(with_first(&why_it_ended(ended), said()));
    };
    match (passed, failed, ignored) {
        (1, 0, 0) if ended.success => CaseOutcome::Passed(1),
        (0, 0, 1) if ended.success => CaseOutcome::Skipped(reason(name, &ended.lines)),
        (0, 0, 0) => CaseOutcome::Failed(with_first("its program does not know it", said())),
        _ => CaseOutcome::Failed(said()),
    }
}

/// What became of the cases of a whole program. One that ended without a summary has failed as such.
pub fn of_program(program: &str, ended: &shell::ProcessResult) -> CaseCounts {
    let named = |line: &str, end: &str| {
        let name = line.strip_prefix("test ")?.split_once(" ... ")?;
        name.1.starts_with(end).then(|| name.0.trim().to_string())
    };
    let mut failed: Vec<String> = ended.lines.iter().filter_map(|line| named(line, "FAILED")).collect();
    let ignored = ended.lines.iter().filter_map(|line| named(line, "ignored"));
    let skipped: Vec<String> =
        ignored.map(|name| format!("{name}: {}", reason(&name, &ended.lines))).collect();
    let Some((passed, count, _)) = ended.lines.iter().rev().find_map(|line| summary(line)) else {
        return CaseCounts {
            failed: vec![format!("{program}: {}", why_it_ended(ended))],
            ..CaseCounts::default()
        };
    };
    if failed.len() as u64 != count || (failed.is_empty() && !ended.success) {
        failed.push(format!("{program}: {}", why_it_ended(ended)));
    }
    CaseCounts { passed, skipped, failed }
}

fn why_it_ended(ended: &shell::ProcessResult) -> String {
    match ended.timed_out {
        true => "it hung, and was killed".into(),
        false => format!("it ended before it had counted: {}", ended.last_words()),
    }
}

fn with_first(first: &str, said: Vec<String>) -> Vec<String> {
    std::iter::once(first.to_string()).chain(said).collect()
}

/// Why a case was skipped: in `skipped: NAME: reason`, or behind `ignored` in the harness's own line.
fn reason(name: &str, lines: &[String]) -> String {
    let own =
        lines.iter().find_map(|line| line.split_once("skipped: ")?.1.strip_prefix(name)?.strip_prefix(": "));
    let harness = || {
        let line = lines.iter().find(|line| line.trim_start().starts_with("test ") && line.contains(name))?;
        let rest = line.split_once(" ... ignored")?.1.trim();
        let rest =
            rest.strip_prefix(", ").or_else(|| rest.strip_prefix('(')?.strip_suffix(')')).unwrap_or(rest);
        Some(rest).filter(|rest| !rest.is_empty())
    };
    own.or_else(harness).unwrap_or("it gave no reason").to_string()
}

/// `(passed, failed, ignored)` of a `test result:` line.
fn summary(line: &str) -> Option<(u64, u64, u64)> {
    let counts = line.trim().strip_prefix("test result: ")?.split_once(". ")?.1;
    let count = |word: &str| {
        let field = counts.split(';').find_map(|field| field.trim().strip_suffix(word))?;
        field.trim().parse::<u64>().ok()
    };
    Some((count("passed")?, count("failed")?, count("ignored")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn ended(success: bool, text: &str) -> shell::ProcessResult {
        let lines = text.lines().map(str::to_string).collect();
        shell::ProcessResult { success, timed_out: false, lines, duration: Duration::ZERO }
    }

    fn result(passed: u64, failed: u64, ignored: u64) -> String {
        let word = if failed == 0 { "ok" } else { "FAILED" };
        format!(
            "test result: {word}. {passed} passed; {failed} failed; {ignored} ignored; 0 measured; 9 filtered out"
        )
    }

    #[test]
    fn a_case_passes_only_where_it_was_counted() {
        assert_eq!(of_case("a", &ended(true, &result(1, 0, 0))), CaseOutcome::Passed(1));
        assert!(matches!(of_case("a", &ended(true, &result(0, 0, 0))), CaseOutcome::Failed(_)));
        assert!(matches!(of_case("a", &ended(false, &result(1, 0, 0))), CaseOutcome::Failed(_)));
        let CaseOutcome::Failed(said) = of_case("a", &ended(false, "abort")) else {
            panic!("no summary is no pass")
        };
        assert_eq!(said[0], "it ended before it had counted: abort");
    }

    #[test]
    fn a_skip_keeps_its_reason() {
        let own =
            format!("skipped: a b: no /dev/fuse\ntest a b ... ignored (no /dev/fuse)\n{}", result(0, 0, 1));
        assert_eq!(of_case("a b", &ended(true, &own)), CaseOutcome::Skipped("no /dev/fuse".into()));
        let harness = format!("test a ... ignored, needs a kernel of 2030\n{}", result(0, 0, 1));
        assert_eq!(
            of_case("a", &ended(true, &harness)),
            CaseOutcome::Skipped("needs a kernel of 2030".into())
        );
        let silent = format!("test a ... ignored\n{}", result(0, 0, 1));
        assert_eq!(of_case("a", &ended(true, &silent)), CaseOutcome::Skipped("it gave no reason".into()));
    }

    #[test]
    fn a_whole_program_counts_all_of_its_cases() {
        let text =
            format!("test a ... ok\ntest b::c ... FAILED\ntest d ... ignored, not here\n{}", result(1, 1, 1));
        let counted = of_program("model", &ended(false, &text));
        assert_eq!((counted.passed, counted.skipped.as_slice()), (1, ["d: not here".to_string()].as_slice()));
        assert_eq!(counted.failed, ["b::c"]);
    }

    #[test]
    fn a_program_that_dies_has_failed() {
        let counted = of_program("model", &ended(false, "test a ... ok\nmemory allocation failed"));
        assert_eq!(counted.failed, ["model: it ended before it had counted: memory allocation failed"]);
        let counted = of_program("model", &ended(false, &result(3, 0, 0)));
        assert_eq!(counted.failed.len(), 1);
    }
}

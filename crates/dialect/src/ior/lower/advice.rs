//! Findings in IOR's own options.

use iodyno_model::Finding;

use crate::{advice, advised};

/// Advice by a finding's code; empty advice leaves out what concerns nothing that IOR prints (percentiles, depths).
const BY_CODE: &[(u8, &str)] = &[
    (
        1,
        "read what another node wrote (-C), add --posix.odirect, or make -b or -s so large that the files are larger \
         than memory; -M takes memory away from the cache",
    ),
    (2, "add -e, so that the flush is part of the time, or --posix.odirect"),
    (
        3,
        "write the file with data before it is read (-w -k, then -r); what was only reserved is read as zeros",
    ),
    (4, "write data that does not compress or repeat: -l random"),
    (5, "make -b or -s several times larger than any cache before the storage"),
    (16, "make -t a multiple of the file system's block (4k and more)"),
    (19, ""),
    (24, ""),
    (6, ""),
    (7, "make -b or -s larger, or repeat more often (-i)"),
    (13, ""),
];

/// Advice by a word of the plan's that it names, where one code has several.
const BY_WORD: [(u8, &str, &str); 2] = [
    (
        20,
        "`span`",
        "write the file first, as large as it is read (-w -k, then -r), or make -b, -s or -N smaller",
    ),
    (22, "`intent", "name a file (-o) on the storage you mean"),
];

/// A finding whose advice names IOR's options.
pub fn translate(finding: Finding) -> Option<Finding> {
    let finding = advice::of(finding, advice::IOR)?;
    let named = |(code, word, _): &&(u8, &str, &str)| *code == finding.code && finding.advice.contains(word);
    match BY_WORD.iter().find(named) {
        Some((_, _, advice)) => Some(Finding { advice: (*advice).into(), ..finding }),
        None => advised(finding, BY_CODE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::Severity;

    #[test]
    fn advice_names_options_of_ior() {
        let found = |code: u8, advice: &str| {
            let (severity, advice) = (Severity::Note, advice.to_string());
            let (phase, sentence) = (String::new(), String::new());
            let finding = Finding { code, severity, phase, job: None, sentence, figures: Vec::new(), advice };
            translate(finding).map(|finding| finding.advice)
        };
        assert!(found(1, "set `direct = true`").is_some_and(|advice| advice.contains("--posix.odirect")));
        assert!(found(2, "end the job").is_some_and(|advice| advice.contains("-e")));
        assert_eq!(found(6, "more samples"), None);
        assert_eq!(found(20, "mend what fails first").as_deref(), Some("mend what fails first"));
        assert!(found(20, "lower `span`").is_some_and(|advice| advice.contains("-w -k")));
    }
}

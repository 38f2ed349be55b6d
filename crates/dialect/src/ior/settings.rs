//! What was given about one test, from the command line, directives and scripts.

use iodyno_model::{Diagnostic, Origin};

use super::options::{self, TABLE};
use super::value;
use crate::option::{GivenOptions, ValueRules};

/// The options that were given of a test.
pub type Settings = GivenOptions;

const RULES: ValueRules = ValueRules {
    table: &TABLE,
    whole: value::whole,
    counter: value::counter,
    takes_empty: false,
    hint_names: true,
    initials: &["dataPacketType"],
};

/// What a test begins with.
pub fn none() -> Settings {
    GivenOptions::none(&RULES)
}

/// Sets the comma-separated `KEY=VALUE` of a directive or of a script's line; all that is wrong is reported.
pub fn directives(line: &str, origin: &Origin, settings: &mut Settings, wrong: &mut Vec<Diagnostic>) {
    let line = line.split('#').next().unwrap_or_default();
    for part in line.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        // The options of back ends stand in scripts as on the command line: `--dummy.delay-create=1000`.
        let (part, is_long) = part.strip_prefix("--").map_or((part, false), |part| (part, true));
        let (name, text) = match part.split_once('=') {
            Some((name, text)) => (name.trim(), Some(text.trim())),
            None => (part, None),
        };
        let entry = if is_long { options::long(&TABLE, name) } else { options::key(name) };
        let done =
            match (entry, text) {
                (Some(entry), Some(text)) => settings.set(entry, text, origin),
                (Some(entry), None) if is_long && entry.is_flag() => settings.raise(entry, origin),
                (None, _) if is_long || text.is_some() => Err(options::unknown(name, origin)),
                _ => Err(Diagnostic::error(origin, format!("`{part}`: expected KEY=VALUE"))
                    .hint("e.g. blockSize=4m")),
            };
        wrong.extend(done.err());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> (Settings, Vec<String>) {
        let (mut settings, mut wrong) = (none(), Vec::new());
        directives(line, &Origin::argument(line), &mut settings, &mut wrong);
        (settings, wrong.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn directives_know_no_case_and_end_at_a_comment() {
        let (settings, wrong) =
            said("BlockSize = 4m, fileperproc=1, api=posix, dataPacketType=o # blockSize=1");
        assert_eq!(wrong, Vec::<String>::new());
        assert_eq!((settings.number("blockSize"), settings.flag("filePerProc")), (4 << 20, true));
        assert_eq!((settings.text("api"), settings.text("dataPacketType")), (Some("POSIX"), Some("offset")));
        assert_eq!((settings.number("transferSize"), settings.text("testFile")), (262_144, Some("testFile")));
    }

    #[test]
    fn options_of_back_ends_keep_their_dashes() {
        let (settings, wrong) = said(
            "api=DUMMY, --dummy.delay-create=1000, --dummy.delay-only-rank0, --posix.odirect, interTestDelay=0.5",
        );
        assert_eq!(wrong, Vec::<String>::new());
        assert_eq!(
            (settings.number("dummy.delay-create"), settings.flag("dummy.delay-only-rank0")),
            (1000, true)
        );
        assert!(settings.flag("posix.odirect") && settings.decimal("interTestDelay") == 0.5);
        for (line, words) in [
            ("--dummy.delay-crate=1", "did you mean"),
            ("--dummy.delay-create", "expected KEY=VALUE"),
            ("interTestDelay=-1", "expected a number of at least 0"),
            ("interTestDelay=inf", "expected a number of at least 0"),
        ] {
            let (_, wrong) = said(line);
            assert!(wrong.len() == 1 && wrong[0].contains(words), "{line}: {wrong:?}");
        }
    }

    #[test]
    fn every_wrong_part_is_told() {
        let (_, wrong) = said("blockSize, blokSize=1, segmentCount=x, api=CEPHFS, dualMount=1, dualMount=0");
        assert_eq!(wrong.len(), 5, "{wrong:?}");
        assert!(wrong[0].contains("expected KEY=VALUE") && wrong[1].contains("did you mean `blockSize`"));
        assert!(
            wrong[3].contains("it needs a library that is not loaded") && wrong[4].contains("CPU socket")
        );
    }

    #[test]
    fn what_has_no_effect_is_named_once() {
        let (settings, _) = said("useSharedFilePointer=1,showHelp=0,useSharedFilePointer=1");
        let told: Vec<_> = settings.without_effect().map(|told| told.message).collect();
        assert!(told.len() == 1 && told[0].contains("`useSharedFilePointer`"), "{told:?}");
    }
}

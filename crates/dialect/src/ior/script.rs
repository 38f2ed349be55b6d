//! IOR's scripts: what stands between `IOR START` and `IOR STOP`, a test for each `RUN`.
//!
//! What stands before `IOR START` is prose. A test inherits what the one before said; a second `RUN` with nothing between
//! runs the same test again.

use iodyno_model::{Diagnostic, Origin};

use super::settings::{Settings, directives};

/// Reads a script into tests that begin with the defaults.
///
/// # Errors
/// Everything that is wrong with it, each with its line.
pub fn parse(path: &str, text: &str, defaults: &Settings) -> Result<Vec<Settings>, Vec<Diagnostic>> {
    let (mut tests, mut settings, mut wrong) = (Vec::new(), defaults.clone(), Vec::new());
    let (mut begun, mut pending) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let words = line.split('#').next().unwrap_or_default().split_whitespace();
        let words = words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join(" ");
        match words.as_str() {
            "ior start" if !begun => begun = true,
            _ if !begun => {}
            "ior stop" => break,
            "run" => {
                tests.push(settings.clone());
                pending = false;
            }
            "" => {}
            _ => {
                directives(line, &Origin::file(path, number), &mut settings, &mut wrong);
                pending = true;
            }
        }
    }
    if !begun {
        let none = Diagnostic::error(&Origin::file(path, 1), "no line `IOR START`");
        return Err(vec![none.hint("a script is IOR START, KEY=VALUE lines, RUN, IOR STOP")]);
    }
    // The last test of a script needs no RUN, as in the original.
    if pending || tests.is_empty() {
        tests.push(settings);
    }
    if wrong.is_empty() { Ok(tests) } else { Err(wrong) }
}

#[cfg(test)]
mod tests {
    use super::super::settings::none;
    use super::*;

    const SCRIPT: &str = "Two tests.\n blockSize=1g\n\n IOR START\n\tapi=POSIX # a back end\n  testFile = a, blockSize=4m\n\
                          run\n  #nothing\n filePerProc=1\n RUN\nRun\n  ior stop\nblockSize=x\n";

    fn blocks(script: &str) -> Vec<(i64, i64)> {
        let tests = parse("s", script, &none()).unwrap();
        tests.iter().map(|test| (test.number("blockSize"), test.number("filePerProc"))).collect()
    }

    #[test]
    fn each_run_is_a_test_that_inherits() {
        assert_eq!(blocks(SCRIPT), [(4 << 20, 0), (4 << 20, 1), (4 << 20, 1)]);
    }

    #[test]
    fn the_last_run_may_be_missing() {
        assert_eq!(blocks("ior start\nblockSize=2m"), [(2 << 20, 0)]);
        assert_eq!(blocks("ior start\nrun\nblockSize=2m\nior stop").len(), 2);
        assert_eq!(blocks("IOR START\nIOR STOP"), [(1 << 20, 0)]);
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        let wrong = parse("s.ior", "ior start\nblockSize=1m\n blokSize=2\nrun\ncollective\n", &none());
        let told: Vec<_> = wrong.unwrap_err().iter().map(|wrong| wrong.origin.to_string()).collect();
        assert_eq!(told, ["s.ior:3", "s.ior:5"]);
        assert!(parse("s", "blockSize=1m\nrun\n", &none()).is_err());
    }
}

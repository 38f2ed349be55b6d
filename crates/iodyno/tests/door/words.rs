//! What is said to words that are not known, and to those that ask for help.

use testbed::{Case, Outcome};

use crate::program::{iodyno, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a near miss is suggested", &[], near_misses),
        Case::new("help is a report, and its absence is not", &[], help),
    ]
}

fn near_misses() -> Outcome {
    let wrong = [
        (&["mesure"][..], "did you mean `measure`?"),
        (&["meas"], "did you mean `measure`?"),
        (&["rnu", "x"], "did you mean `run`?"),
        (&["frobnicate"], "possible are"),
        (&["measure", "--quik"], "did you mean `--quick`?"),
        (&["run", "--jsn", "a", "b"], "did you mean `--json`?"),
        (&["plan", "--expnd", "b"], "did you mean `--expand`?"),
        (&["run"], "required arguments were not provided: <FILE>"),
        (&["run", "nowhere.toml"], "nowhere.toml: cannot be read: No such file or directory"),
        (&["measure", "--engine", "iouring", "."], "no engine of that name"),
        (&["measure", "--time", "soon", "."], "--time"),
        (&["measure", "--quick", "--full"], "--full"),
    ];
    for (words, hint) in wrong {
        told(iodyno(words)).refused(&[hint]);
    }
    Ok(())
}

fn help() -> Outcome {
    for words in [
        &["--help"][..],
        &["measure", "--help"],
        &["run", "--help"],
        &["plan", "-h"],
        &["--version"],
        &["engines"],
    ] {
        let said = told(iodyno(words));
        said.expect(0, &[]);
        assert!(!said.out.is_empty() && said.err.is_empty(), "{words:?}: {said}");
    }
    told(iodyno::<&str>([])).expect(2, &["iodyno measure"]);
    Ok(())
}

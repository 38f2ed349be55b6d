//! Workloads are read, printed and documented, and mistakes in them have their place.

use super::operation::FORMS;
use super::*;

const DOCUMENT: &str = include_str!("../../../../docs/crash-workloads.md");

#[test]
fn every_builtin_workload_can_be_read_and_done_on_the_model() {
    let workloads = builtin().unwrap();
    let honest = workloads.iter().filter(|workload| workload.wrong.is_none()).count();
    assert!(honest >= 30, "{honest} honest workloads");
    assert!(workloads.len() > honest);
    let mut names: Vec<_> = workloads.iter().map(|workload| workload.name.clone()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), workloads.len(), "one name, two workloads");
}

#[test]
fn a_line_is_printed_as_it_is_read() {
    for workload in builtin().unwrap() {
        for step in workload.prepare.iter().chain(&workload.steps) {
            assert_eq!(parse_step(&step.to_string()).as_ref(), Ok(step));
        }
    }
    let line = "overwrite a/x 4k 512 rwf-dsync";
    assert_eq!(parse_step(line).unwrap().to_string(), line);
}

#[test]
fn every_operation_and_every_workload_stands_in_the_document() {
    for (word, form) in FORMS {
        let row = format!("| `{} |", format!("{word} {form}").trim_end().replace('|', "\\|") + "`");
        assert!(DOCUMENT.contains(&row), "docs/crash-workloads.md lacks {row}");
    }
    for workload in builtin().unwrap() {
        assert!(
            DOCUMENT.contains(&format!("`{}`", workload.name)),
            "docs/crash-workloads.md lacks {}",
            workload.name
        );
    }
}

#[test]
fn mistakes_have_their_line_and_a_hint() {
    let suite = |steps: &str| {
        format!("# mine\n[[workload]]\nname = \"mine\"\nabout = \"a trial\"\nsteps = [\n{steps}\n]\n")
    };
    for (steps, expected) in [
        ("\"creat x\"", "mine.toml:6: no operation `creat`\n hint: did you mean `create`?"),
        (
            "\"create x\",\n\"fsync y\"",
            "mine.toml:7: there is no `y` then\n hint: make it with an earlier step, create y",
        ),
        (
            "\"append x\"",
            "mine.toml:6: `append` needs more\n hint: append FILE LENGTH [sync|dsync|rwf-dsync|rwf-sync|direct]",
        ),
        (
            "\"create ../x\"",
            "mine.toml:6: `../x` is no path below the directory under test\n hint: write it as in a/x",
        ),
        (
            "\"create x\",\"append x 4q\"",
            "mine.toml:6: `4q` is no number of bytes\n hint: write 4096, 4k or 1m; append FILE LENGTH",
        ),
        (
            "\"create x\",\"append x 17m\"",
            "mine.toml:6: 17m is over 16m\n hint: each state is read as a whole",
        ),
        (
            "\"create x\",\"append x 16m\",\"append x 1\"",
            "mine.toml:6: the file has 16777217 bytes then, over 16m\n hint: each state",
        ),
        ("\"create x 5\"", "mine.toml:6: `5` is too much\n hint: create FILE"),
        (
            "\"fsync @t\"",
            "mine.toml:6: there is no `@t` then\n hint: open it with an earlier step, tmpfile @t DIR",
        ),
        (
            "\"mkdir a\",\"fsync a\"",
            "mine.toml:6: `a` is no regular file\n hint: for a directory write fsync-dir a",
        ),
        (
            "\"create x\",\"append x 100 direct\"",
            "mine.toml:6: direct writes are aligned, and 0 or 100 is no multiple of 4k",
        ),
        (
            "\"create x\",\"setxattr x trusted.y\"",
            "mine.toml:6: `trusted.y` is no extended attribute of users\n hint: write user.NAME",
        ),
        (
            "\"create x\",\"create y\",\"rename-noreplace x y\"",
            "mine.toml:6: `y` is there already\n hint: rename x y replaces it",
        ),
        ("", "mine.toml:5: `mine` has no steps\n hint: steps = "),
    ] {
        let error = read_suite("mine.toml", &suite(steps)).unwrap_err();
        assert!(error.starts_with(expected), "{error}\n instead of\n{expected}");
    }
    let error = read_suite("mine.toml", "[[workload]]\nname = \"mine\"\nstep = []\n").unwrap_err();
    assert!(error.starts_with("mine.toml:3: unknown field `step`"), "{error}");
    assert!(error.ends_with("hint: docs/crash-workloads.md describes these files"), "{error}");
    let twice = suite("\"create x\"").repeat(2);
    assert!(
        read_suite("mine.toml", &twice).unwrap_err().starts_with("mine.toml:10: a second workload `mine`")
    );
}

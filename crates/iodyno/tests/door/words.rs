//! What is said to words that are not known, and to those that ask for help.

use testbed::{Case, Outcome};

use crate::program::{Program, iodyno, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a near miss is suggested", &[], near_misses),
        Case::new("help is a report, and its absence is not", &[], help),
        Case::new("what cannot be printed is an error", &[], full),
        Case::new("a hyphen is no file", &[], hyphen),
        Case::new("links are made once, replace nothing, and are the tools they are named for", &[], links),
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
        &["engines", "io_uring"],
        &["engines", "--help"],
        &["dialects", "--help"],
        &["witnesses", "--help"],
        &["completions", "--help"],
        &["completions", "bash"],
        &["man", "--help"],
        &["man"],
        &["links", "--help"],
    ] {
        let said = told(iodyno(words));
        said.expect(0, &[]);
        assert!(!said.out.is_empty() && said.err.is_empty(), "{words:?}: {said}");
    }
    told(iodyno::<&str>([])).expect(2, &["iodyno measure"]);
    for words in [
        ["engines", "--all"],
        ["dialects", "fio"],
        ["witnesses", "x"],
        ["man", "fio"],
        ["completions", "csh"],
    ] {
        told(iodyno(words)).refused(&[words[1]]);
    }
    told(iodyno(["engines", "iouring"])).refused(&["did you mean `io_uring`?"]);
    Ok(())
}

/// What is printed goes to a disk without room.
fn full() -> Outcome {
    let home = scratch();
    let history = home.path().join("history");
    let started = |words: &[&str]| {
        let mut command = iodyno(words);
        command.current_dir(home.path()).env("IODYNO_HISTORY", &history);
        command
    };
    let run = ["run", "--quiet", "f.toml"];
    std::fs::write(
        home.path().join("f.toml"),
        "[target.n]\nnothing = \"1GiB\"\n[[phase]]\n[[phase.job]]\non = \"n\"\nengine = \"sim\"\ndo = \"read\"\n\
         until = { operations = 10 }\n",
    )?;
    told(started(&run)).expect(0, &[]);
    for words in [
        &["--help"][..],
        &["--version"],
        &["man"],
        &["engines"],
        &["dialects"],
        &["completions", "bash"],
        &["runs"],
        &["runs", "--json"],
        &["runs", "show"],
        &["runs", "path"],
        &["compare", "1", "1"],
        &["report", "--help"],
        &["report", "1", "-o", "-"],
        &["plan", "f.toml"],
        &["fio", "--help"],
        &["io500", "--list"],
        &run,
    ] {
        let said =
            Program::new(started(words)).out(std::fs::File::options().write(true).open("/dev/full")?).run();
        assert_eq!(said.code(), 1, "{words:?}: {said}");
        assert!(said.err.contains("No space left on device"), "{words:?}: {said}");
    }
    Ok(())
}

fn hyphen() -> Outcome {
    let home = scratch();
    for words in [
        &["dd", "if=/dev/zero", "of=/dev/null", "count=1", "--also=json=-"][..],
        &["dd", "if=/dev/zero", "of=/dev/null", "count=1", "--also=csv=-"],
        &["measure", "--quick", "--json", "-", "."],
    ] {
        let mut command = iodyno(words);
        command.current_dir(home.path());
        let said = told(command);
        said.expect(if words[0] == "dd" { 1 } else { 2 }, &["standard output", "name a file"]);
        assert_eq!(crate::program::names(home.path()), Vec::<String>::new(), "{words:?}");
    }
    Ok(())
}

fn links() -> Outcome {
    let folder = scratch();
    let place = |name: &str| folder.path().join(name);
    std::fs::write(place("dd"), "mine").expect("a file");
    let links = || told(iodyno(["links".as_ref(), folder.path().as_os_str()]));
    links().expect(1, &["dd: File exists", "existing files are never replaced"]).one_error();
    assert_eq!(std::fs::read_to_string(place("dd")).expect("it is there"), "mine");
    let names = std::fs::read_dir(folder.path()).expect("a directory").count();
    assert!(names > 10 && place("fio").is_symlink(), "{names} links");
    let mut fio = std::process::Command::new(place("fio"));
    fio.arg("--version");
    let fio = told(fio);
    assert!(fio.expect(0, &[]).out.starts_with("fio-3."), "{fio}");
    // A second time there is nothing to be made.
    assert_eq!(links().expect(1, &[]).err.lines().filter(|line| line.starts_with("error:")).count(), names);
    told(iodyno(["links".as_ref(), place("nowhere").as_os_str()])).expect(1, &["nowhere"]).one_error();
    Ok(())
}

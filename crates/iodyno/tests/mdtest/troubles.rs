//! What goes wrong: it is told, it is no work, and the exit status shows it.

use std::os::unix::fs::symlink;
use std::process::Command;

use testbed::{Case, Need, Outcome};

use crate::program::{IODYNO, dressed, told as run};
use crate::trees::{below, mdtest, mdtest_with, rate};

pub fn cases() -> Vec<Case> {
    let case = |name: &str, body: fn() -> Outcome| Case::new(format!("mdtest_{name}"), &[], body);
    vec![
        case("a_missing_tree_is_a_failure", missing),
        case("what_exists_counts_as_created", existing),
        case("failed_operations_are_no_work", failed),
        case("wrong_options_are_told", wrong),
        case("its_own_name_makes_it_mdtest", own_name),
        case("commands_run_around_each_phase", commands),
        Case::new("mdtest_a_full_file_system_is_told", &[Need::Mount], full),
    ]
}

fn missing() -> Outcome {
    let folder = tempfile::tempdir()?;
    let told = mdtest(&format!("-F -n 1000 -T -E -d {}", folder.path().join("d").display()));
    told.expect(1, &["mdtest_tree.0", "No such file or directory"]);
    assert!(rate(&told, "File stat") <= 0.0, "{told}");
    assert!(below(folder.path()).is_empty());
    Ok(())
}

fn existing() -> Outcome {
    let folder = tempfile::tempdir()?;
    // As mdtest: files and directories that are there count, and nothing has failed.
    for (kind, row) in [("-F -n 10", "File creation"), ("-D -n 20 -z 1 -b 2 -I 5", "Directory creation")] {
        let line = format!("{kind} -d {}", folder.path().display());
        mdtest(&format!("{line} -C")).expect(0, &[]);
        for words in ["threads=4", "threads=4,engine=io_uring,depth=4"] {
            let told = mdtest_with(words, &format!("{line} -C"));
            told.expect(0, &[]);
            assert!(rate(&told, "Tree creation") > 0.0 && rate(&told, row) > 0.0, "{told}");
            assert!(!told.err.contains("File exists"), "{told}");
        }
        mdtest(&format!("{line} -r")).expect(0, &[]);
        assert!(below(folder.path()).is_empty());
    }
    Ok(())
}

fn failed() -> Outcome {
    let folder = tempfile::tempdir()?;
    let line = format!("-F -n 10 -d {}", folder.path().display());
    mdtest(&format!("{line} -C")).expect(0, &[]);
    for item in 0..10 {
        std::fs::remove_file(folder.path().join(format!("test-dir.0-0/mdtest_tree.0/file.mdtest.1.{item}")))?;
    }
    let told = mdtest(&format!("{line} -T --print-all-procs"));
    told.expect(1, &["File stat, iteration 1: 10 operations failed: No such file or directory"]);
    let row = told.out.lines().find(|line| line.starts_with("Test File stat ")).unwrap_or("");
    let rates: Vec<f64> = row[15..].split(',').filter_map(|word| word.parse().ok()).collect();
    assert!(rates.len() == 4 && rates[1] == 0.0 && rates[0] > 0.0, "{told}");
    let told = mdtest(&format!("{line} -r"));
    told.expect(1, &["File removal, iteration 1: 10 operations failed"]);
    assert!(below(folder.path()).is_empty());
    Ok(())
}

fn wrong() -> Outcome {
    for (line, words) in [
        ("-n 10 -q", "no option `-q`"),
        ("-n ten", "expected a whole number"),
        ("-n 10 -a MPIIO", "has no such back end"),
        ("-n 10 -X -e 5", "more is read than was written"),
        ("-n 10 -B 1", "barriers"),
        ("-n 3 -z 2 -b 3", "leave none"),
        ("-n 10 -S -u", "-u does not go with -S"),
        ("-n 10 -d a@b", "add -u"),
        ("-n 10 -d /dev/null", "not a directory"),
        ("-n 10 -C -w 5 --warningAsErrors -E -e 0", "Read bytes is 0"),
    ] {
        let told = mdtest(line);
        told.expect(1, &["ERROR: ", words]);
        assert!(told.out.is_empty(), "{line}: {told}");
    }
    mdtest("-h").expect(0, &["Synopsis mdtest", "-X, --verify-read"]);
    Ok(())
}

fn own_name() -> Outcome {
    let folder = tempfile::tempdir()?;
    let link = folder.path().join("mdtest");
    symlink(IODYNO, &link)?;
    let place = folder.path().join("d").display().to_string();
    let told = run(dressed(Command::new(&link), ["-n", "10", "-d", &place]));
    told.expect(0, &["SUMMARY rate (in ops/sec): (of 1 iterations)", "1 tasks, 10 files/directories"]);
    assert_eq!(told.err, "");
    Ok(())
}

fn commands() -> Outcome {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log");
    let place = folder.path().join("d").display().to_string();
    let (before, after) =
        (format!("echo before >> {}", log.display()), format!("echo after >> {}", log.display()));
    let line = [
        "mdtest",
        "-n",
        "5",
        "-F",
        "-C",
        "-d",
        &place,
        "--run-cmd-before-phase",
        &before,
        "--run-cmd-after-phase",
        &after,
    ];
    run(dressed(Command::new(IODYNO), line)).expect(0, &[]);
    assert_eq!(std::fs::read_to_string(&log)?, "before\nafter\nbefore\nafter\n");
    let broken = ["mdtest", "-n", "5", "-F", "-C", "-d", &place, "--run-cmd-before-phase", "exit 3"];
    assert_eq!(run(dressed(Command::new(IODYNO), broken)).code(), 1);
    Ok(())
}

fn full() -> Outcome {
    let mount = testbed::sandbox::Mount::tmpfs(1 << 20)?;
    let place = mount.path();
    let told = mdtest(&format!("-F -n 1000 -w 4096 -e 4096 -u -d {}", place.display()));
    told.expect(1, &["No space left on device", "File creation"]);
    assert!(rate(&told, "File creation") > 0.0 && rate(&told, "Tree removal") > 0.0, "{told}");
    assert!(below(place).is_empty(), "{:?}", below(place));
    Ok(())
}

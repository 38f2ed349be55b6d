//! Runs that go well: the issue's commands, small.

use testbed::program::Program;
use testbed::{Case, Need, Outcome};

use super::program::{IODYNO, command, ior, names, scratch, told};

pub fn cases() -> Vec<Case> {
    let case = |name: &str, body: fn() -> Outcome| Case::new(name, &[], body);
    vec![
        case("a_shared_file_is_written_and_read", shared),
        case("files_of_ones_own_by_number", own),
        case("a_neighbours_data_is_checked", neighbours),
        case("a_script_of_several_tests", script),
        case("what_one_run_writes_the_next_checks", two_runs),
        case("random_order_and_anywhere", random),
        case("a_deadline_is_worn_out", worn),
        case("json_and_csv_and_tables_beside", formats),
        case("text_of_version_3", version_3),
        case("back_ends", back_ends),
        case("a_dry_run_leaves_nothing", dry),
        case("help_and_names", names_and_directories),
        case("the_programs_of_the_package_say_their_versions", versions),
        case("scripts_hold_options_of_back_ends_and_parts_of_seconds", dashed),
        case("io500_leaves_the_originals_files", io500),
        case("files_dealt_to_two_places_leave_nothing_elsewhere", dealt),
        case("reads_anywhere_are_as_many_as_asked_however_small_the_file", anywhere),
        Case::new("the_end_of_an_aio_context_is_not_measured", &[Need::Tool("strace")], contexts),
    ]
}

fn versions() -> Outcome {
    for (program, begins) in [
        ("ior", "IOR-4.1.0+iodyno (iodyno "),
        ("mdtest", "mdtest-4.1.0+iodyno (iodyno "),
        ("md-workbench", "md-workbench-4.1.0+iodyno (iodyno "),
        ("io500", "iodyno "),
    ] {
        let said = Program::of(IODYNO, [program, "--version"]).run();
        assert!(said.code() == 0 && said.out.starts_with(begins) && said.err.is_empty(), "{said}");
        let help = Program::of(IODYNO, [program, "--help"]).run();
        assert!(help.code() == 0 && help.out.contains("--version") && help.err.is_empty(), "{help}");
    }
    Ok(())
}

fn dashed() -> Outcome {
    let home = scratch();
    let text = "IOR START\napi=DUMMY\n  --dummy.delay-xfer=1000\nwriteFile=1,readFile=0\ntransferSize=4k,blockSize=40k\n\
                interTestDelay=0.01\nverbose=1\nRUN\nIOR STOP\n";
    std::fs::write(home.path().join("script"), text)?;
    let said = ior(home.path(), "-f script");
    said.expect(0, &["delayed 0.01 seconds"]);
    let total: f64 = said.rows("write")[0].iter().rev().nth(1).ok_or("a total")?.parse()?;
    assert!(total >= 0.01, "ten transfers of 1 ms in {total} s");
    std::fs::write(home.path().join("script"), text.replace("delay-xfer", "delay-xfre"))?;
    ior(home.path(), "-f script").expect(1, &["script:3", "did you mean", "dummy.delay-xfer"]);
    Ok(())
}

/// The names of the original's files, and in them what it writes there.
fn io500() -> Outcome {
    let home = scratch();
    let text = "[global]\ndatadir = data\nresultdir = results\ntimestamp-resultdir = FALSE\n[debug]\nstonewall-time = 1\n\
                [ior-easy]\ntransferSize = 64k\nblockSize = 256k\n[ior-hard]\nsegmentCount = 4\n[mdtest-easy]\nn = 20\n\
                [mdtest-hard]\nn = 20\n[ior-rnd4K-easy-read]\nrun = FALSE\n";
    std::fs::write(home.path().join("config.ini"), text)?;
    let mut command = std::process::Command::new(IODYNO);
    command.args(["io500", "config.ini", "--no-save"]).current_dir(home.path());
    let said = Program::new(command).run();
    assert_eq!(said.code(), 0, "{said}");
    // The easy tests, then the moment, then the hard ones.
    let rows: Vec<&str> =
        said.out.lines().filter_map(|line| line.get(9..)?.split_whitespace().next()).collect();
    let place =
        |name: &str| rows.iter().position(|row| *row == name).ok_or_else(|| format!("{name}: {said}"));
    assert!(
        place("mdtest-easy-write")? < place("timestamp")? && place("timestamp")? < place("ior-hard-write")?
    );
    let results = home.path().join("results");
    let read =
        |name: &str| std::fs::read_to_string(results.join(name)).map_err(|error| format!("{name}: {error}"));
    assert_eq!(read("config-orig.ini")?, text);
    let all = read("config.ini")?;
    assert!(
        all.contains("segmentCount = 4") && all.contains("n = 20") && all.contains("drop-caches = FALSE"),
        "{all}"
    );
    let phases = ["ior-easy-write", "ior-easy-read", "ior-hard-write", "ior-hard-read"];
    for (phases, words) in [
        (&phases[..], "Summary of all tests:"),
        (
            &["mdtest-easy-write", "mdtest-hard-read", "mdtest-easy-stat", "mdtest-hard-delete"],
            "SUMMARY rate",
        ),
    ] {
        for phase in phases {
            let log = read(&format!("{phase}.txt"))?;
            assert!(log.contains(words) && log.contains("ommand line"), "{phase}:\n{log}");
        }
    }
    let result = read("result.txt")?;
    assert!(result.contains("[timestamp]\n") && result.contains("[ior-hard-write]\n"), "{result}");
    assert!(read("result_summary.txt")?.contains("timestamp"));
    Ok(())
}

fn shared() -> Outcome {
    let home = scratch();
    let told = ior(home.path(), "-N 4 -t 64k -b 256k -s 16 -i 2");
    told.expect(
        0,
        &["IOR-4.1", "tasks               : 4", "aggregate filesize  : 16 MiB", "Finished            : "],
    );
    assert_eq!((told.rows("write").len(), told.rows("read").len()), (2, 2), "{}", told.out);
    assert!(told.rows("write").iter().chain(&told.rows("read")).all(|row| row.len() == 11), "{}", told.out);
    let summary = told.summary();
    assert!(summary.len() == 2 && summary.iter().all(|row| row.len() == 27), "{summary:?}");
    assert_eq!(summary[0][24], "16.0", "{summary:?}");
    assert!(!told.out.contains("WARNING"), "{}", told.out);
    assert_eq!(names(home.path()), Vec::<String>::new());
    Ok(())
}

fn own() -> Outcome {
    let home = scratch();
    ior(home.path(), "-N 4 -t 64k -b 256k -s 4 -F -C -e -g -k -v").expect(0, &["Max Write: ", "Max Read:  "]);
    let expected: Vec<String> = (0..4).map(|task| format!("testFile.{task:08}")).collect();
    assert_eq!(names(home.path()), expected);
    for name in expected {
        assert_eq!(std::fs::metadata(home.path().join(name))?.len(), 1 << 20);
    }
    Ok(())
}

fn neighbours() -> Outcome {
    let home = scratch();
    for line in [
        "-N 4 -t 64k -b 256k -s 2 -C -W -R -w -r -G 7",
        "-N 4 -t 64k -b 256k -s 2 -F -C -Q 2 -W -R -w -r -l o",
        "-N 4 -t 64k -b 256k -F -Z -Z -R -w -r -l r",
        "-N 3 -t 64k -b 256k -Z -X 3 -R -w -r -l i -z",
    ] {
        let told = ior(home.path(), line);
        told.expect(0, &["write  ", "read  "]);
        assert!(!told.out.contains("WARNING"), "{line}: {}", told.out);
    }
    Ok(())
}

const SCRIPT: &str = "A script.\nIOR START\n  api=POSIX\n  testFile=one, transferSize=64k\n  blockSize=256k\n  \
                      useSharedFilePointer=1\nRUN\n  filePerProc=1 # a file each\n  repetitions=2\nRUN\nIOR STOP\n";

fn script() -> Outcome {
    let home = scratch();
    std::fs::write(home.path().join("s"), SCRIPT)?;
    let told = ior(home.path(), "-N 2 -W -f s -k");
    told.expect(0, &["TestID              : 1", "`useSharedFilePointer` has no effect"]);
    assert_eq!((told.rows("write").len(), told.summary().len()), (3, 4), "{}", told.out);
    assert_eq!(names(home.path()), ["one", "one.00000000", "one.00000001", "s"]);
    Ok(())
}

fn two_runs() -> Outcome {
    let home = scratch();
    ior(home.path(), "-N 4 -t 64k -b 256k -s 2 -w -k -G 11").expect(0, &[]);
    ior(home.path(), "-N 4 -t 64k -b 256k -s 2 -r -R -k -G 11 -C").expect(0, &[]);
    ior(home.path(), "-N 4 -t 64k -b 256k -s 2 -W -k -G 11").expect(0, &[]);
    let wrong = ior(home.path(), "-N 4 -t 64k -b 256k -s 2 -r -R -k -G 12");
    wrong.expect(1, &["Incorrect data on read (32 errors found)", "testFile: bytes 0 to "]);
    ior(home.path(), "-N 4 -t 64k -b 256k -s 2 -r -R -k").expect(1, &["ERROR: -R: ", "-G"]);
    assert_eq!(names(home.path()), ["testFile"]);
    Ok(())
}

fn random() -> Outcome {
    let home = scratch();
    let told = ior(home.path(), "-N 2 -t 4k -b 64k -z -w -r -R -s 3");
    told.expect(0, &["ordering in a file  : random"]);
    let told = ior(home.path(), "-N 2 -t 4k -b 4k -z -z -w -r -s 50 -k --randomPrefill=4k");
    told.expect(0, &["write  ", "read  "]);
    assert_eq!(std::fs::metadata(home.path().join("testFile"))?.len(), 400 << 10);
    let told = ior(home.path(), "-N 2 -t 4k -b 4k -z -z -r -s 50");
    told.expect(0, &["read  "]);
    Ok(())
}

/// 5,000 reads of a file of 256 blocks: each of them is a row of the list.
fn anywhere() -> Outcome {
    let home = scratch();
    ior(home.path(), "-o f -w -k -b 1m -t 4k").expect(0, &[]);
    ior(home.path(), "-o f -r -k -z -z -b 4k -t 4k -s 5000 -O savePerOpDataCSV=op").expect(0, &["read  "]);
    let list = names(home.path()).into_iter().find(|name| name.starts_with("op")).expect("a list");
    assert_eq!(std::fs::read_to_string(home.path().join(list))?.lines().count(), 5001);
    Ok(())
}

fn dealt() -> Outcome {
    let (home, one, two) = (scratch(), scratch(), scratch());
    // From where it runs: the way there may have a blank in it, at which a line is split.
    let beside = |place: &tempfile::TempDir| {
        format!("../{}", place.path().file_name().expect("a name").to_string_lossy())
    };
    let file = format!("-o {}/f@{}/g", beside(&one), beside(&two));
    ior(home.path(), &format!("-N 4 -F {file} -w -k -b 64k -t 4k")).expect(0, &[]);
    assert_eq!(names(one.path()), ["f.00000000", "f.00000002"]);
    assert_eq!(names(two.path()), ["g.00000001", "g.00000003"]);
    ior(home.path(), &format!("-N 4 -F {file} -w -r -b 64k -t 4k -i 2")).expect(0, &["read  "]);
    for place in [&home, &one, &two] {
        assert_eq!(names(place.path()), [""; 0]);
    }
    Ok(())
}

/// The kernel takes tens of milliseconds to end a context: none ends between the first transfer and the last close.
fn contexts() -> Outcome {
    let home = scratch();
    let plain = command(home.path(), "-a AIO -w -r -i 2 -b 1m -t 256k");
    let mut strace = std::process::Command::new("strace");
    strace.args(["-f", "-o", "calls", "-e", "trace=io_setup,io_destroy,io_submit,unlink,unlinkat"]);
    strace.arg(plain.get_program()).args(plain.get_args()).current_dir(home.path());
    told(strace).expect(0, &["read  "]);
    let calls = std::fs::read_to_string(home.path().join("calls"))?;
    let measured: Vec<&str> = calls.lines().skip_while(|line| !line.contains("io_submit(")).collect();
    assert!(measured.len() >= 4, "{calls}");
    assert!(!measured.iter().any(|line| line.contains("io_destroy(")), "{calls}");
    assert!(
        !measured.iter().any(|line| line.contains("io_setup(")),
        "the next phase takes the same: {calls}"
    );
    Ok(())
}

fn worn() -> Outcome {
    let home = scratch();
    let line =
        "-N 2 -t 4k -b 64k -s 100000 -D 1 -O stoneWallingWearOut=1,stoneWallingStatusFile=count -w -k -G 3";
    let told = ior(home.path(), line);
    told.expect(0, &["stonewalling pairs accessed min: ", "WARNING: Using actual aggregate bytes moved = "]);
    let count: u64 = std::fs::read_to_string(home.path().join("count"))?.trim().parse()?;
    let moved = std::fs::metadata(home.path().join("testFile"))?.len();
    assert!(count > 0 && moved >= count * 4096 * 2 - 65536, "{count} {moved}");
    assert!(told.summary()[0][10] != "NA", "{}", told.out);
    let line = "-N 2 -t 4k -b 64k -s 100000 -O stoneWallingStatusFile=count -r -R -k -G 3 -C";
    ior(home.path(), line).expect(0, &["read  "]);
    Ok(())
}

fn formats() -> Outcome {
    let home = scratch();
    let told = ior(
        home.path(),
        "-N 2 -t 64k -b 128k -O summaryFormat=JSON,saveRankPerformanceDetailsCSV=ranks,savePerOpDataCSV=op -i 2 -D 30",
    );
    told.expect(0, &[]);
    let document: serde_json::Value = serde_json::from_str(&told.out)?;
    let results = document["tests"][0]["Results"].as_array().expect("results");
    assert_eq!(results.len(), 4, "{document:#}");
    assert!(results.iter().all(|row| row["bwMiB"].as_f64().is_some_and(|bandwidth| bandwidth > 0.0)));
    assert_eq!(document["summary"][1]["operation"], "read");
    assert_eq!(document["summary"][0]["OPsMean"].as_f64().map(|mean| mean > 0.0), Some(true));
    assert!(document["iodyno"]["findings"].is_array());
    let ranks = std::fs::read_to_string(home.path().join("ranks"))?;
    assert_eq!(ranks.lines().count(), 1 + 2 * 2 * 2, "{ranks}");
    for name in ["op-0-00000.csv", "op-1-00001.csv", "op-0-00001-read.csv"] {
        let operations = std::fs::read_to_string(home.path().join(name))?;
        assert_eq!(operations.lines().count(), 3, "{name}: {operations}");
        assert!(operations.starts_with("time,runtime,tp\n"));
    }
    let told = ior(home.path(), "-N 2 -b 256k -O summaryFormat=CSV -O summaryFile=out.csv");
    told.expect(0, &["Writing output to out.csv"]);
    let table = std::fs::read_to_string(home.path().join("out.csv"))?;
    assert!(table.lines().count() == 3 && table.lines().all(|line| line.split(',').count() == 12), "{table}");
    Ok(())
}

fn version_3() -> Outcome {
    let home = scratch();
    let told = ior(home.path(), "-N 2 -b 256k --also text=3");
    told.expect(0, &["\tordering in a file = sequential offsets", "Max Write: ", "\nFinished: "]);
    assert!(told.rows("write")[0].len() == 9 && told.rows("remove").len() == 1, "{}", told.out);
    Ok(())
}

fn back_ends() -> Outcome {
    let home = scratch();
    for line in [
        "-a MMAP -N 2 -b 256k -w -r -W -R",
        "-a AIO -N 2 -b 1m -t 64k -w -r -W -R --posix.odirect --aio.max-pending=4",
        "-a POSIX --posix.odirect -N 2 -b 256k -w -r -W -R",
        "-a DUMMY -N 2 -b 256k --dummy.delay-xfer=100",
    ] {
        let told = ior(home.path(), line);
        told.expect(0, &["write  ", "read  "]);
        assert_eq!(names(home.path()), Vec::<String>::new(), "{line}");
    }
    Ok(())
}

fn dry() -> Outcome {
    let home = scratch();
    ior(home.path(), "--dryRun -N 2 -F").expect(0, &["dryRun              : 1", "write  "]);
    assert_eq!(names(home.path()), Vec::<String>::new());
    Ok(())
}

fn names_and_directories() -> Outcome {
    let home = scratch();
    ior(home.path(), "-h").expect(0, &["Synopsis ior", "Module POSIX"]);
    std::fs::create_dir(home.path().join("a"))?;
    std::fs::create_dir(home.path().join("b"))?;
    ior(home.path(), "-N 2 -b 256k -F -k -m -i 2 -o a/f@b/f").expect(0, &[]);
    assert_eq!(names(&home.path().join("a")), ["f.00000000.0", "f.00000000.1"]);
    assert_eq!(names(&home.path().join("b")), ["f.00000001.0", "f.00000001.1"]);
    ior(home.path(), "-N 2 -b 256k -F -k -u -o a/u").expect(0, &[]);
    assert_eq!(names(&home.path().join("a/1")), ["u.00000001"]);
    Ok(())
}

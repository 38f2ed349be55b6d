//! md-workbench: the working set stays as large as it is, whoever runs it; what is read was written; what fails shows.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use testbed::{Case, Need, Outcome};

use crate::program::{IODYNO, ProgramOutput, dressed, iodyno, told as run};
use crate::trees::below;

pub fn cases() -> Vec<Case> {
    let case = |name: &str, body: fn() -> Outcome| Case::new(format!("md_workbench_{name}"), &[], body);
    vec![
        case("the_working_set_stays_and_nothing_is_left", whole),
        case("phases_run_one_by_one", phases),
        case("a_stonewall_moves_the_next_iteration_on", stonewall),
        case("content_is_the_owners", content),
        case("what_is_missing_is_a_failure", missing),
        case("waiting_takes_its_time", waiting),
        case("latencies_are_written_down", latencies),
        case("its_own_name_makes_it_md_workbench", own_name),
        Case::new("md_workbench_ranks_are_tasks", &[Need::Tool("mpirun")], ranks),
    ]
}

fn workbench(tasks: u32, place: &Path, line: &str) -> ProgramOutput {
    let also = format!("threads={tasks}");
    let mut command = iodyno(["md-workbench", "--also", &also].into_iter().chain(line.split_whitespace()));
    command.arg("-o").arg(place.join("out")).arg("--run-info-file").arg(place.join("status"));
    command.env("IODYNO_FINDINGS", "0");
    run(command)
}

/// The objects of each data set: how many there are, and the least and the greatest number.
fn sets(place: &Path) -> BTreeSet<(String, usize, u64, u64)> {
    let number =
        |entry: fs::DirEntry| entry.file_name().to_string_lossy()["file-".len()..].parse::<u64>().unwrap();
    let of = |entry: fs::DirEntry| {
        let numbers: Vec<u64> = fs::read_dir(entry.path()).unwrap().flatten().map(number).collect();
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, numbers.len(), *numbers.iter().min().unwrap(), *numbers.iter().max().unwrap())
    };
    fs::read_dir(place.join("out")).into_iter().flatten().flatten().map(of).collect()
}

/// The line of a phase.
fn line<'a>(told: &'a ProgramOutput, name: &str) -> &'a str {
    let begins = format!("{name} process ");
    told.out.lines().rev().find(|line| line.starts_with(&begins)).unwrap_or_else(|| panic!("{name}: {told}"))
}

fn whole() -> Outcome {
    for (tasks, more) in
        [(1, ""), (3, ""), (3, "-O 2 -X"), (2, "-O 0"), (4, "-O -1 -X --posix.odirect -S 4096")]
    {
        let folder = tempfile::tempdir()?;
        let told = workbench(tasks, folder.path(), &format!("-D 3 -P 20 -I 8 -R 3 {more}"));
        told.expect(0, &["MD-Workbench total objects: ", "Total runtime: "]);
        let (of_task, all) = (3 * 8, 3 * 20 * tasks);
        let objects = format!(" objects:{} ", of_task * tasks);
        assert_eq!(told.out.matches("benchmark process ").count(), 3, "{told}");
        assert!(line(&told, "benchmark").contains(&objects), "{told}");
        for name in ["precreate", "cleanup"] {
            assert!(line(&told, name).contains(&format!(" objects:{all} ")), "{told}");
            assert!(line(&told, name).contains(&format!("dsets: {} ", 3 * tasks)), "{told}");
        }
        assert!(told.out.matches("(0 errs)").count() == 5, "{told}");
        assert_eq!(below(folder.path()), BTreeSet::new(), "{told}");
    }
    Ok(())
}

fn phases() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path();
    workbench(2, place, "-D 2 -P 20 -I 8 -R 2 -G 7 -1").expect(0, &["precreate process "]);
    assert_eq!(fs::read_to_string(place.join("status"))?, "pos: 0\n");
    let all = |first: u64| {
        let name = |(task, set)| (format!("{task}_{set}"), 20, first, first + 19);
        [(0, 0), (0, 1), (1, 0), (1, 1)].map(name).into_iter().collect::<BTreeSet<_>>()
    };
    assert_eq!(sets(place), all(0));
    workbench(2, place, "-D 2 -P 20 -I 8 -R 2 -G 7 -2 -X").expect(0, &["(0 errs)"]);
    assert_eq!((fs::read_to_string(place.join("status"))?.as_str(), sets(place)), ("pos: 16\n", all(16)));
    workbench(2, place, "-D 2 -P 20 -I 8 -R 2 -G 7 -2 -X --read-only").expect(0, &["(0 errs)"]);
    assert_eq!((fs::read_to_string(place.join("status"))?.as_str(), sets(place)), ("pos: 16\n", all(16)));
    // Another seed is another run's content.
    workbench(2, place, "-D 2 -P 20 -I 8 -R 1 -G 8 -2 -X --read-only").expect(1, &["(32 errs!!!)"]);
    fs::write(place.join("out/mine"), "")?;
    let told = workbench(2, place, "-D 2 -P 20 -3");
    told.expect(0, &["cleanup process ", "Unable to remove directory "]);
    assert_eq!(below(&place.join("out")), BTreeSet::from(["mine".to_string()]));
    fs::remove_file(place.join("status"))?;
    workbench(2, place, "-D 2 -P 20 -3").expect(1, &["--start-item"]);
    Ok(())
}

/// However far each came: the next iteration begins where all had come to.
fn stonewall() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path();
    let told = workbench(2, place, "-D 1 -P 300 -I 300 -R 2 -w 1 -W -t 1000 -X -1 -2 -S 100");
    told.expect(0, &["stonewall wear out ", " stonewall-iter:"]);
    let iterations = told.out.lines().filter_map(|line| line.split_once(" stonewall-iter:"));
    let moved: u64 =
        iterations.map(|(_, rest)| rest.split(' ').next().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(fs::read_to_string(place.join("status"))?, format!("pos: {moved}\n"), "{told}");
    for (_, count, least, most) in sets(place) {
        assert_eq!((count, least, most), (300, moved, moved + 299), "{told}");
    }
    let told = workbench(2, place, "-w 1");
    told.expect(1, &["-W"]);
    Ok(())
}

/// Words of eight bytes: the owner above, and the signature and the count below.
fn content() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path();
    workbench(3, place, "-D 2 -P 4 -I 3 -R 1 -G 5 -S 20 -1 -2").expect(0, &[]);
    for (task, set, object) in [(0u64, 0, 3), (1, 0, 5), (2, 1, 6)] {
        let bytes = fs::read(place.join(format!("out/{task}_{set}/file-{object}")))?;
        let words = [task << 32 | 5, task << 32 | 6].map(u64::to_le_bytes).concat();
        assert_eq!(bytes, [&words[..], &[16, 17, 18, 19]].concat(), "{task}_{set}");
    }
    // The stamp of an object: its number times the data sets, and the set.
    workbench(3, place, "-D 2 -P 4 -3").expect(0, &[]);
    workbench(3, place, "-D 2 -P 4 -I 3 -R 1 -G 5 -S 16 -1 -2 --dataPacketType o").expect(0, &[]);
    let bytes = fs::read(place.join("out/2_1/file-6"))?;
    assert_eq!(bytes[..8], (2u64 << 32 | (6 * 2 + 1)).to_le_bytes());
    Ok(())
}

fn missing() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path();
    workbench(1, place, "-D 2 -P 20 -1").expect(0, &[]);
    fs::remove_file(place.join("out/0_0/file-3"))?;
    fs::write(place.join("out/0_1/file-4"), "short")?;
    let told = workbench(1, place, "-D 2 -P 20 -I 10 -R 1 -2");
    told.expect(1, &["(2 errs!!!)", "operations failed: No such file or directory; the first on object 3"]);
    // What cannot be looked at is neither read nor replaced; what is short is.
    assert!(line(&told, "benchmark").contains(" objects:18 "), "{told}");
    assert_eq!(fs::read_dir(place.join("out/0_0"))?.count(), 19);
    assert_eq!(fs::read_dir(place.join("out/0_1"))?.count(), 20);
    Ok(())
}

/// Ten times as long as 20 ms, four times: the phase lasts at least 120 ms longer than its operations.
fn waiting() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path();
    let line_of = |more: &str| {
        let told = workbench(
            1,
            place,
            &format!("-a DUMMY --dummy.delay-create 20000 -D 1 -P 4 -I 1 -R 1 -2 --start-item 1 {more}"),
        );
        told.expect(0, &["benchmark process "]);
        line(&told, "benchmark").to_string()
    };
    assert!(!line_of("").contains("waiting_factor"));
    let text = line_of("-t 10");
    let seconds: f64 = text.split("max:").nth(1).unwrap().split('s').next().unwrap().parse().unwrap();
    assert!(text.contains(" waiting_factor:10.00 ") && seconds >= 0.2, "{text}");
    let told = workbench(1, place, "-a DUMMY -D 1 -P 9 -I 1 -R 2 -2 -T --start-item 1");
    told.expect(0, &["waiting_factor:0.06", "waiting_factor:0.12", "waiting_factor:4.00"]);
    assert_eq!(told.out.matches("benchmark process ").count(), 16, "{told}");
    Ok(())
}

fn latencies() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path();
    let lat = place.join("lat").display().to_string();
    workbench(2, place, &format!("-D 2 -P 20 -I 10 -R 2 -L {lat}")).expect(0, &[]);
    let rows = |name: &str| {
        let text = fs::read_to_string(place.join(format!("lat-0.00-{name}.csv"))).unwrap_or_default();
        assert!(text.starts_with("time,runtime\n"), "{name}: {text}");
        text.lines().count() - 1
    };
    let own = ["0-precreate", "2-cleanup", "0-stat", "1-read", "1-create", "0-delete"].map(rows);
    assert_eq!(own, [40, 40, 20, 20, 20, 20]);
    workbench(2, place, &format!("-D 2 -P 20 -I 10 -R 1 -L {lat} --latency-all")).expect(0, &[]);
    assert_eq!(["0-precreate-all", "0-read-all"].map(rows), [80, 40]);
    let told = workbench(2, place, "-D 2 -P 20 -I 10 -R 1 --process-reports");
    assert!(
        told.out.contains("\n0: precreate process ") && told.out.contains("\n1: cleanup process "),
        "{told}"
    );
    Ok(())
}

fn own_name() -> Outcome {
    let folder = tempfile::tempdir()?;
    let link = folder.path().join("md-workbench");
    std::os::unix::fs::symlink(IODYNO, &link)?;
    let mut command = dressed(Command::new(&link), ["-D", "2", "-P", "9", "-I", "3", "-R", "1", "-o", "out"]);
    command.current_dir(folder.path());
    let told = run(command);
    told.expect(0, &["Args: md-workbench \"-D\" \"2\"", "workingset size: 0.067 MiB"]);
    assert!(told.err.is_empty(), "{told}");
    Ok(())
}

fn ranks() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("out").display().to_string();
    let launcher =
        ["-n", "3", "--allow-run-as-root", "--oversubscribe", IODYNO, "md-workbench", "-o", &place];
    let line = "-D 2 -P 200 -I 200 -R 2 -X -w 1 -W -t 60".split(' ');
    let mut command = dressed(Command::new("mpirun"), launcher.into_iter().chain(line));
    command.env("IODYNO_FINDINGS", "0").env("OMPI_MCA_mpi_yield_when_idle", "1");
    let told = run(command);
    told.expect(0, &["Nodemap: 111 MD-Workbench", "(0 errs)", "Total runtime: "]);
    assert_eq!(told.out.matches("benchmark process ").count(), 2, "{told}");
    assert_eq!(below(folder.path()), BTreeSet::new(), "{told}");
    Ok(())
}

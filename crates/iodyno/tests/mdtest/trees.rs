//! What is made and left behind, shared and for each task; what the tables say of it.

use std::collections::BTreeSet;
use std::path::Path;

use testbed::{Case, Need, Outcome};

use crate::program::{IODYNO, ProgramOutput, dressed, iodyno, told as run};

pub fn cases() -> Vec<Case> {
    let case = |name: &str, body: fn() -> Outcome| Case::new(format!("mdtest_{name}"), &[], body);
    let with =
        |name: &str, need: Need, body: fn() -> Outcome| Case::new(format!("mdtest_{name}"), &[need], body);
    vec![
        case("every_phase_does_all_and_nothing_is_left", every_phase),
        case("a_tree_is_the_formula", tree),
        case("a_stride_moves_from_tree_to_tree", stride),
        case("loops_shared_files_and_collective_creation", variants),
        case("a_stonewall_wears_out_and_is_remembered", stonewall),
        case("what_was_written_is_verified", verified),
        case("task_counts_iterations_and_dumps", counts),
        case("further_phases_leave_no_trace", further),
        case("the_dummy_touches_nothing", dummy),
        with("each_items_bytes_are_locked", Need::Tool("strace"), locked),
        with("items_in_flight_together", Need::IoUring, in_flight),
        with("ranks_are_tasks", Need::Tool("mpirun"), ranks),
    ]
}

/// mdtest with four tasks, its findings silent.
pub fn mdtest(line: &str) -> ProgramOutput {
    mdtest_with("threads=4", line)
}

/// mdtest with words of ours.
pub fn mdtest_with(also: &str, line: &str) -> ProgramOutput {
    let words = ["mdtest", "--also", also].into_iter().chain(line.split_whitespace());
    let mut command = iodyno(words);
    command.env("IODYNO_FINDINGS", "0");
    run(command)
}

/// The first figure of a row of the table.
pub fn rate(told: &ProgramOutput, row: &str) -> f64 {
    let line = told.out.lines().rev().find(|line| line.starts_with(&format!("   {row} ")));
    let word = line.and_then(|line| line[3 + row.len()..].split_whitespace().next().map(String::from));
    word.and_then(|word| word.parse().ok()).unwrap_or(-1.0)
}

/// All paths below a directory, relative to it.
pub fn below(root: &Path) -> BTreeSet<String> {
    let (mut found, mut left) = (BTreeSet::new(), vec![root.to_path_buf()]);
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            found.insert(path.strip_prefix(root).unwrap_or(&path).display().to_string());
            if path.is_dir() {
                left.push(path);
            }
        }
    }
    found
}

fn every_phase() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("a/b");
    for more in ["", "-u", "-u -N 1 -Y", "-R -i 2 -F -w 100 -e 100 -y", "-k -F", "-D", "-z 1 -b 3 -L"] {
        let told = mdtest(&format!("-n 60 -d {} {more}", place.display()));
        told.expect(0, &["4 tasks, 240 "]);
        for row in ["Tree creation", "Tree removal"] {
            assert!(rate(&told, row) > 0.0, "{more}: {row}\n{told}");
        }
        for row in ["File creation", "File stat", "File read", "File removal"] {
            assert!(more.contains("-D") || rate(&told, row) > 0.0, "{more}: {row}\n{told}");
        }
        for row in ["Directory creation", "Directory stat", "Directory rename", "Directory removal"] {
            assert!(more.contains("-F") || rate(&told, row) > 0.0, "{more}: {row}\n{told}");
        }
        assert_eq!(below(folder.path()), BTreeSet::new(), "{more}");
    }
    Ok(())
}

fn tree() -> Outcome {
    let folder = tempfile::tempdir()?;
    let line = format!("-F -C -z 2 -b 2 -I 3 -d {}", folder.path().display());
    mdtest_with("threads=2", &line).expect(0, &["2 tasks, 42 files"]);
    let directory = |mut number: u64| {
        let mut path = String::new();
        while number > 0 {
            path = format!("/mdtest_tree.{number}{path}");
            number = (number - 1) / 2;
        }
        format!("test-dir.0-0/mdtest_tree.0{path}")
    };
    let mut wanted: BTreeSet<String> = (0..7).map(directory).chain(["test-dir.0-0".into()]).collect();
    for (task, item) in (0..2).flat_map(|task| (0..21).map(move |item| (task, item))) {
        wanted.insert(format!("{}/file.mdtest.{task}.{item}", directory(item / 3)));
    }
    assert_eq!(below(folder.path()), wanted);
    mdtest_with("threads=2", &line.replace("-C", "-T -E -r")).expect(0, &[]);
    assert_eq!(below(folder.path()), BTreeSet::new());
    mdtest_with("threads=2", &line.replace("-C", "-C -L")).expect(0, &["2 tasks, 24 files"]);
    let found = below(folder.path());
    assert!(
        found.contains("test-dir.0-0/mdtest_tree.0/mdtest_tree.1/mdtest_tree.3/file.mdtest.1.9"),
        "{found:?}"
    );
    assert!(found.contains(&format!("{}/file.mdtest.0.20", directory(6))));
    Ok(())
}

fn stride() -> Outcome {
    let folder = tempfile::tempdir()?;
    let line = format!("-F -n 4 -u -N 1 -C -d {}", folder.path().display());
    mdtest(&line).expect(0, &["Shifting ranks by 1 for each phase."]);
    let found = below(folder.path());
    for task in 0..4 {
        let next = (task + 1) % 4;
        let path = format!("test-dir.0-0/mdtest_tree.{next}.0/file.mdtest.{task}.3");
        assert!(found.contains(&path), "{path} of {found:?}");
    }
    let told = mdtest(&line.replace("-C", "-T -E"));
    told.expect(0, &[]);
    assert!(rate(&told, "File stat") > 0.0 && rate(&told, "File creation") == 0.0, "{told}");
    mdtest(&line.replace("-C", "-r")).expect(0, &[]);
    assert_eq!(below(folder.path()), BTreeSet::new());
    Ok(())
}

fn variants() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path().display();
    mdtest(&format!("-F -n 12 -I 4 -C -d {place}")).expect(0, &["4 tasks, 48 files"]);
    let found = below(folder.path());
    for number in 0..3 {
        assert!(found.contains(&format!("test-dir.0-{number}/mdtest_tree.0/file.mdtest.3.3")), "{found:?}");
    }
    mdtest(&format!("-F -n 12 -I 4 -T -r -d {place}")).expect(0, &[]);
    assert_eq!(below(folder.path()), BTreeSet::new());
    mdtest(&format!("-S -n 5 -C -d {place}")).expect(0, &["4 tasks, 1 file"]);
    let found = below(folder.path());
    assert!(
        found.contains("test-dir.0-0/mdtest_tree.0/file.mdtest.shared.4") && found.len() == 7,
        "{found:?}"
    );
    mdtest(&format!("-S -n 5 -T -E -r -d {place}")).expect(0, &[]);
    mdtest(&format!("-F -c -u -n 5 -C -d {place}")).expect(0, &[]);
    let found = below(folder.path());
    assert!(found.contains("test-dir.0-0/mdtest_tree.3.0/file.mdtest.3.4") && found.len() == 25, "{found:?}");
    mdtest(&format!("-F -c -u -n 5 -T -r -d {place}")).expect(0, &[]);
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    mdtest(&format!("-F -u -n 5 -C -d {}@{}", one.display(), other.display())).expect(0, &[]);
    let found = below(&other);
    assert!(found.contains("test-dir.0-0/mdtest_tree.3.0/file.mdtest.3.4") && found.len() == 13, "{found:?}");
    Ok(())
}

fn stonewall() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (place, status) = (folder.path().join("d"), folder.path().join("status"));
    let line =
        |what: &str| format!("-F -n 100000000 -u {what} -x {} -d {}", status.display(), place.display());
    let told = mdtest(&line("-W 1 -C -T"));
    told.expect(0, &["Continue stonewall hit min:"]);
    let most: u64 = std::fs::read_to_string(&status)?.trim().parse()?;
    assert!(most > 0 && rate(&told, "File stat") > 0.0, "{told}");
    let files = below(&place).into_iter().filter(|path| path.contains("file.mdtest")).count() as u64;
    assert_eq!(files, most * 4, "every task did as much as the fastest");
    mdtest(&line("-T -r")).expect(0, &[]);
    assert_eq!(below(&place), BTreeSet::new());
    Ok(())
}

fn verified() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path().display();
    for packet in ["timestamp", "offset", "incompressible", "random"] {
        let line = |what: &str| {
            format!("-F -n 20 -w 3901 -e 3901 -G 7 --dataPacketType={packet} -N 1 -d {place} {what}")
        };
        mdtest(&line("-C --verify-write -y")).expect(0, &[]);
        mdtest(&line("-E -X")).expect(0, &[]);
        let path = folder.path().join("test-dir.0-0/mdtest_tree.0/file.mdtest.2.13");
        let mut bytes = std::fs::read(&path)?;
        assert_eq!(bytes.len(), 3901);
        bytes[1777] ^= 0x40;
        std::fs::write(&path, bytes)?;
        let told = mdtest(&line("-E -X"));
        told.expect(1, &["ERROR: verifying the data read!", "file.mdtest.2.13"]);
        let truncated = std::fs::OpenOptions::new().write(true).open(&path)?;
        truncated.set_len(3000)?;
        mdtest(&line("-E")).expect(1, &["File read", "1 operations failed"]);
        mdtest(&line("-r")).expect(0, &[]);
    }
    Ok(())
}

fn counts() -> Outcome {
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name).display().to_string();
    let line = format!(
        "-F -n 10 -f 1 -l 4 -s 2 -i 2 -P -d {} --print-all-procs --saveRankPerformanceDetails={} --savePerOpDataCSV={}",
        file("d"),
        file("ranks.csv"),
        file("op")
    );
    let told = mdtest_with(&format!("threads=4,percentiles,json={}", file("j.json")), &line);
    told.expect(
        0,
        &["1 tasks, 10 files", "2 tasks, 20 files", "4 tasks, 40 files", "SUMMARY time (in ms/op)"],
    );
    assert_eq!(told.out.matches("SUMMARY rate").count(), 3, "{told}");
    assert_eq!(told.out.matches("SUMMARY latency (in us)").count(), 3, "{told}");
    let csv = std::fs::read_to_string(file("ranks.csv"))?;
    assert_eq!((csv.lines().count(), csv.matches("all,10,").count()), (1 + 2 * (2 + 3 + 5), 6), "{csv}");
    let rows = std::fs::read_to_string(file("op-File creation-00000.csv"))?;
    assert_eq!(rows.lines().count(), 1 + 3 * 2 * 10, "{rows}");
    assert!(std::fs::read_to_string(file("j.json"))?.contains("File removal"));
    Ok(())
}

fn further() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("d");
    let words = "threads=2,phases=symlink:link:chmod:readdir:rename";
    let told = mdtest_with(words, &format!("-F -n 26 -z 2 -b 3 -d {}", place.display()));
    told.expect(0, &[]);
    for row in ["Symlink creation", "Link removal", "File chmod", "Directory list", "File rename"] {
        assert!(rate(&told, row) > 0.0, "{row}\n{told}");
    }
    assert_eq!(below(folder.path()), BTreeSet::new());
    Ok(())
}

fn dummy() -> Outcome {
    let folder = tempfile::tempdir()?;
    let line = format!("-a DUMMY -n 30 -w 8 -e 8 -z 1 -b 2 -d {}", folder.path().join("d").display());
    let told = mdtest(&format!("{line} --dummy.delay-create=1000"));
    told.expect(0, &["4 tasks, 120 files/directories"]);
    assert!(rate(&told, "File creation") < 4001.0 && rate(&told, "File stat") > 0.0, "{told}");
    assert_eq!(below(folder.path()), BTreeSet::new());
    Ok(())
}

fn in_flight() -> Outcome {
    let folder = tempfile::tempdir()?;
    let line = format!("-n 500 -w 10 -e 10 -d {}", folder.path().join("d").display());
    let told = mdtest_with("threads=2,engine=io_uring,depth=16", &line);
    told.expect(0, &["2 tasks, 1000 files/directories"]);
    assert!(rate(&told, "File removal") > 0.0 && rate(&told, "Directory creation") > 0.0, "{told}");
    assert_eq!(below(folder.path()), BTreeSet::new());
    Ok(())
}

/// A lock for each item that is written and read, shared for reads, and given back.
fn locked() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (calls, place) = (folder.path().join("calls"), folder.path().join("d").display().to_string());
    for (line, writes, reads) in [
        (format!("mdtest --posix.rangelocks -F -n 5 -w 8 -e 8 -d {place}"), 5, 5),
        (format!("mdtest -F -n 5 -w 8 -e 8 -d {place}"), 0, 0),
        (format!("md-workbench --posix.rangelocks -D 1 -P 5 -I 3 -R 1 -o {place}"), 8, 3),
    ] {
        let mut strace = std::process::Command::new("strace");
        strace.args(["-f", "-e", "trace=fcntl", "-o"]).arg(&calls).arg(IODYNO);
        run(dressed(strace, line.split(' '))).expect(0, &[]);
        let calls = std::fs::read_to_string(&calls)?;
        let count = |lock: &str| {
            calls.lines().filter(|call| call.contains("F_OFD_SETLKW") && call.contains(lock)).count()
        };
        let found = ["F_WRLCK", "F_RDLCK", "F_UNLCK"].map(count);
        assert_eq!(found, [writes, reads, writes + reads], "{line}\n{calls}");
    }
    let told = mdtest(&format!("-a DUMMY --posix.rangelocks -n 5 -d {place}"));
    told.expect(1, &["DUMMY has nothing to lock"]);
    Ok(())
}

fn ranks() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("d").display().to_string();
    let launcher = ["-n", "3", "--allow-run-as-root", "--oversubscribe", IODYNO];
    let line = ["mdtest", "--also", "threads=2", "-n", "20", "-u", "-N", "1", "-d", &place];
    let mut command = dressed(std::process::Command::new("mpirun"), launcher.into_iter().chain(line));
    command.env("IODYNO_FINDINGS", "0").env("OMPI_MCA_mpi_yield_when_idle", "1");
    let told = run(command);
    told.expect(0, &["launched with 6 total task(s) on 1 node(s)", "Nodemap: 111111", "6 tasks, 120 files"]);
    assert!(rate(&told, "File stat") > 0.0 && rate(&told, "Tree removal") > 0.0, "{told}");
    assert_eq!(below(folder.path()), BTreeSet::new());
    Ok(())
}

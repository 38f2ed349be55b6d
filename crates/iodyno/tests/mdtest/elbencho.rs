//! elbencho: names, bytes and counts of what is on the file system, files of results that grow, what fails, what time ends.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use testbed::{Case, Outcome};

use crate::program::{ProgramOutput, iodyno, told as run};
use crate::trees::below;

pub fn cases() -> Vec<Case> {
    let case = |name: &str, body: fn() -> Outcome| Case::new(format!("elbencho_{name}"), &[], body);
    vec![
        case("files_lie_where_elbencho_has_them", names),
        case("several_directories_are_dealt", several),
        case("shared_files_are_covered_once", shared),
        case("content_is_salt_plus_offset", content),
        case("mixes_read_their_part", mixes),
        case("files_of_results_grow", results),
        case("what_fails_shows", failures),
        case("time_ends_a_phase_and_all_that_follow", time),
    ]
}

/// Runs in a directory; words that are in capitals stand for it.
fn elbencho(place: &Path, line: &str) -> ProgramOutput {
    let here = place.to_str().unwrap_or_default();
    let words = line.split_whitespace().map(|word| word.replace("HERE", here));
    let mut command = iodyno(std::iter::once("elbencho".to_string()).chain(words));
    command.env("IODYNO_FINDINGS", "0");
    run(command)
}

/// The last figure of a row of a phase.
fn figure(told: &ProgramOutput, phase: &str, row: &str) -> u64 {
    let mut lines = told.out.lines().skip_while(|line| !line.starts_with(phase));
    let line = lines.find(|line| line.contains(row)).unwrap_or_else(|| panic!("{phase}, {row}: {told}"));
    line.split_whitespace().last().and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{line}"))
}

fn names() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path();
    let told = elbencho(place, "-d -w -t 2 -n 3 -N 4 -s 10k -b 4k --lat --log 1 HERE");
    told.expect(0, &["OPERATION RESULT TYPE FIRST DONE LAST DONE", "MKDIRS Elapsed time :"]);
    assert_eq!(
        (figure(&told, "MKDIRS", "Dirs total"), figure(&told, "WRITE", "Files total")),
        (6, 24),
        "{told}"
    );
    // Two blocks of 4 KiB and one of 2 KiB in each.
    assert_eq!(figure(&told, "WRITE", "IOs total"), 72, "{told}");
    let wanted: BTreeSet<String> = (0..2)
        .flat_map(|thread| (0..3).map(move |dir| (thread, dir)))
        .flat_map(|(thread, dir)| (0..4).map(move |file| format!("r{thread}/d{dir}/r{thread}-f{file}")))
        .collect();
    let files: BTreeSet<String> =
        below(place).into_iter().filter(|path| place.join(path).is_file()).collect();
    assert_eq!(files, wanted, "{told}");
    assert!(
        files.iter().all(|path| fs::metadata(place.join(path)).is_ok_and(|file| file.len() == 10_240)),
        "{told}"
    );
    let told = elbencho(place, "--stat -r -F -D -t 2 -n 3 -N 4 -s 10k -b 4k --log 1 HERE");
    told.expect(0, &["RMDIRS Elapsed time"]);
    assert_eq!(
        (figure(&told, "STAT", "Files total"), figure(&told, "READ", "IOs total")),
        (24, 72),
        "{told}"
    );
    assert_eq!(
        (figure(&told, "RMFILES", "Files total"), figure(&told, "RMDIRS", "Dirs total")),
        (24, 6),
        "{told}"
    );
    assert_eq!(below(place), BTreeSet::new(), "{told}");
    let told = elbencho(place, "-w -r -t 2 -n 0 -N 3 -s 64k -b 4k --rand --iodepth 4 HERE");
    assert_eq!(figure(&told, "READ", "Files total"), 6, "{told}");
    let flat: BTreeSet<String> =
        (0..2).flat_map(|thread| (0..3).map(move |file| format!("r{thread}-f{file}"))).collect();
    assert_eq!(below(place), flat, "{told}");
    assert!(
        flat.iter().all(|path| fs::metadata(place.join(path)).is_ok_and(|file| file.len() == 65_536)),
        "{told}"
    );
    Ok(())
}

fn several() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path();
    for name in ["a", "b", "c"] {
        fs::create_dir(place.join(name))?;
    }
    let told = elbencho(place, "-d -w -t 2 -n 4 -N 1 HERE/a HERE/b HERE/c");
    assert_eq!(
        (figure(&told, "MKDIRS", "Dirs total"), figure(&told, "WRITE", "Files total")),
        (8, 8),
        "{told}"
    );
    let all = below(place);
    for thread in 0..2 {
        for dir in 0..4 {
            let path = format!("{}/r{thread}/d{dir}/r{thread}-f0", ["a", "b", "c"][(thread + dir) % 3]);
            assert!(all.contains(&path), "{path}: {all:?}");
        }
    }
    elbencho(place, "-F -D -t 2 -n 4 -N 1 HERE/a HERE/b HERE/c").expect(0, &["RMDIRS"]);
    assert_eq!(
        below(place),
        ["a", "b", "c"].map(String::from).into_iter().collect(),
        "what was made is left"
    );
    // Others' directories are used, and nobody minds that they are there or gone.
    let told = elbencho(place, "-d -w -F -D -t 3 -n 2 -N 2 --dirsharing HERE/a");
    assert_eq!(
        (figure(&told, "MKDIRS", "Dirs total"), figure(&told, "RMDIRS", "Dirs total")),
        (6, 6),
        "{told}"
    );
    told.expect(0, &["RMFILES"]);
    assert_eq!(below(&place.join("a")), BTreeSet::new(), "{told}");
    Ok(())
}

/// Every byte of files was written by one thread or another, whichever way they are dealt.
fn shared() -> Outcome {
    for (line, files) in [
        ("-t 2 -s 1m -b 64k HERE/f[1-1]", 1),
        ("-t 3 -s 1000k -b 64k HERE/f[1-1]", 1),
        ("-t 3 -s 1m -b 64k HERE/f[1-2]", 2),
        ("-t 2 -s 256k -b 64k HERE/f[1-4]", 4),
        ("-t 4 -s 256k -b 64k --backward HERE/f[1-2]", 2),
        ("-t 4 -s 1m -b 64k --strided HERE/f[1-1]", 1),
        ("-t 4 -s 1m -b 4k --rand --iodepth 8 HERE/f[1-1]", 1),
        ("-t 2 -s 256k -b 64k --flock range HERE/f[1-1]", 1),
        ("-t 2 -s 256k -b 64k --trunctosize --mmap HERE/f[1-1]", 1),
    ] {
        let folder = tempfile::tempdir()?;
        let place = folder.path();
        let told = elbencho(place, &format!("-w --verify 3 --log 1 {line}"));
        told.expect(0, &["WRITE Elapsed time"]);
        for file in 1..=files {
            let bytes = fs::read(place.join(format!("f{file}")))?;
            let wrong = bytes.chunks(8).enumerate().find(|(word, found)| {
                let wanted = (*word as u64 * 8 + 3).to_le_bytes();
                **found != wanted[..found.len()]
            });
            assert!(wrong.is_none(), "{line}: f{file}: {wrong:?}\n{told}");
        }
        elbencho(place, &format!("-r --verify 3 {line}")).expect(0, &["READ Elapsed time"]);
        let told = elbencho(place, &format!("-F {line}"));
        told.expect(0, &["RMFILES"]);
        assert_eq!(below(place), BTreeSet::new(), "{told}");
    }
    Ok(())
}

fn content() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path();
    elbencho(place, "-d -w -t 2 -n 1 -N 3 -s 10003 -b 4k --verify 7 --verifydirect HERE")
        .expect(0, &["WRITE Elapsed time"]);
    let path = place.join("r1/d0/r1-f2");
    let mut bytes = fs::read(&path)?;
    let words = bytes.chunks(8).enumerate();
    assert!(
        words.into_iter().all(|(word, found)| *found == (word as u64 * 8 + 7).to_le_bytes()[..found.len()])
    );
    elbencho(place, "-r -t 2 -n 1 -N 3 -s 10003 -b 4k --verify 7 HERE").expect(0, &["READ Elapsed time"]);
    bytes[9000] ^= 1;
    fs::write(&path, &bytes)?;
    let told = elbencho(place, "-r -t 2 -n 1 -N 3 -s 10003 -b 4k --verify 7 HERE");
    assert_ne!(told.code(), 0, "{told}");
    assert!(told.err.contains("thread 1") && told.err.contains("r1-f2"), "{told}");
    // Another salt is another content.
    assert_ne!(elbencho(place, "-r -t 2 -n 1 -N 3 -s 10003 -b 4k --verify 8 HERE").code(), 0);
    Ok(())
}

fn mixes() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path();
    elbencho(place, "-d -w -t 2 -n 1 -N 100 -s 8k -b 4k HERE").expect(0, &["WRITE Elapsed time"]);
    let told = elbencho(place, "-w -t 2 -n 1 -N 100 -s 8k -b 4k --rwmixpct 30 --log 1 HERE");
    told.expect(0, &["RWMIX30 Elapsed time"]);
    let counts = (figure(&told, "RWMIX30", "IOs write"), figure(&told, "RWMIX30", "IOs read"));
    assert_eq!((counts, figure(&told, "RWMIX30", "Files total")), ((280, 120), 200), "{told}");
    let told = elbencho(place, "-w -t 3 --rwmixthr 2 -n 1 -N 100 -s 8k -b 4k --log 1 HERE");
    // Two threads read what was written before; the third writes its own, whose directory is not there.
    assert_ne!(told.code(), 0, "{told}");
    elbencho(place, "-d -t 3 -n 1 HERE").expect(0, &["MKDIRS"]);
    let told = elbencho(place, "-w -t 3 --rwmixthr 2 -n 1 -N 100 -s 8k -b 4k --log 1 HERE");
    let counts = (figure(&told, "MIX-T2", "IOs write"), figure(&told, "MIX-T2", "IOs read"));
    assert_eq!((counts, figure(&told, "MIX-T2", "Files write")), ((200, 400), 100), "{told}");
    Ok(())
}

fn results() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path();
    let line =
        "-w -t 2 -s 256k -b 64k --label x,y --csvfile HERE/c --jsonfile HERE/j --resfile HERE/r HERE/f";
    for _ in 0..2 {
        elbencho(place, line).expect(0, &["WRITE Elapsed time"]);
    }
    let csv = fs::read_to_string(place.join("c"))?;
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines.len() == 3 && lines[0].starts_with("ISO date,label,"), "{csv}");
    assert!(lines[1..].iter().all(|line| line.contains(",x y,file,1,1,2,,,262144,65536,")), "{csv}");
    let json = fs::read_to_string(place.join("j"))?;
    assert_eq!(json.matches("{\"phase_type\":\"WRITE\"").count(), 2, "{json}");
    assert_eq!(fs::read_to_string(place.join("r"))?.matches("COMMAND LINE: \"elbencho\" \"-w\"").count(), 2);
    let told = elbencho(place, "-w -t 2 -s 8m -b 64k --limitwrite 8m --liveint 50 --livecsv stdout HERE/f");
    assert!(told.out.starts_with("ISO Date,Label,Phase,") && told.out.contains(",,WRITE,"), "{told}");
    assert!(told.err.contains("OPERATION   RESULT TYPE"), "{told}");
    Ok(())
}

fn failures() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path();
    let told = elbencho(place, "-w -r -t 1 -N 2 -s 4k HERE");
    assert_ne!(told.code(), 0, "{told}");
    assert!(told.err.contains("ERROR: ") && told.err.contains("No such file"), "{told}");
    assert!(!told.out.contains("READ  "), "what follows a failure is not done: {told}");
    let told = elbencho(place, "-F -t 1 -N 2 HERE");
    assert_ne!(told.code(), 0, "{told}");
    elbencho(place, "-F -t 1 -N 2 --nodelerr HERE").expect(0, &["RMFILES"]);
    let told = elbencho(place, "-w --wrte --block 4q HERE");
    assert!(
        told.code() == 1 && told.err.contains("did you mean `--write`?") && told.err.contains("block: `4q`"),
        "{told}"
    );
    Ok(())
}

fn time() -> Outcome {
    let folder = tempfile::tempdir()?;
    let place = folder.path();
    let told = elbencho(place, "-w -F -t 2 -s 64k -b 64k --limitwrite 64k --infloop --timelimit 1 HERE/f");
    assert_eq!(told.code(), 1, "{told}");
    assert!(told.out.contains("WRITE  ") && !told.out.contains("RMFILES"), "{told}");
    assert!(told.err.contains("Terminating due to phase time limit."), "{told}");
    Ok(())
}

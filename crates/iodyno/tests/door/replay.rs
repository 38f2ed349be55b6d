//! `iodyno replay`: exact on a simulated device, a tree made anew and left as the trace left it, targets that hold data
//! left alone, and what a user reads of it.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use iodyno_model::Verb;
use iodyno_trace::format::Writer;
use iodyno_trace::{
    FileKind, Owners, RecordFlags, Tables, TraceFile, TraceHeader, TraceLevel, TraceRecord, TraceThread,
};
use testbed::{Case, Need, Outcome};

use crate::program::{ProgramOutput, Running, iodyno, names, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("replay_is_exact_in_virtual_time", &[], exact),
        Case::new("replay_says_by_how_much_a_slow_device_is_late", &[], late),
        Case::new("replay_on_a_simulated_device_queues_there", &[], on_device),
        Case::new("replay_makes_the_tree_and_leaves_it_as_the_trace_did", &[], tree),
        Case::new("replay_of_a_tree_at_a_depth_leaves_what_one_at_a_time_does", &[Need::IoUring], deep_tree),
        Case::new("replay_of_a_tree_by_several_workers_that_wait_for_each_other", &[], waits_for_others),
        Case::new("replay_of_a_tree_makes_special_calls_as_they_were_recorded", &[], special),
        Case::new("replay_writes_only_what_was_given_up", &[], refuses),
        Case::new("replay_maps_what_does_not_fit", &[], maps),
        Case::new("replay_verifies_what_it_wrote", &[], verifies),
        Case::new("replay_verifies_a_tree_through_all_that_happens_to_its_files", &[], verifies_tree),
        Case::new("replay_of_a_tree_at_a_depth_is_verified", &[Need::IoUring], verifies_deep_tree),
        Case::new("replay_names_the_byte_of_a_tree_that_another_changed", &[], names_the_byte),
        Case::new("replay_ends_when_it_is_told_to", &[], ends),
        Case::new("replay_is_part_of_a_plan", &[], of_a_plan),
    ]
}

const MS: u64 = 1_000_000;

fn write(home: &Path, level: TraceLevel, tables: Tables, records: &[TraceRecord]) -> PathBuf {
    let path = home.join("t.iot");
    let source = "made by a test".into();
    let header = TraceHeader { source, level, resolution_ns: 1, ..TraceHeader::default() };
    let mut writer = Writer::new(File::create(&path).unwrap(), header).unwrap();
    tables.files.iter().for_each(|file| _ = writer.define_file(file.clone()).unwrap());
    tables.threads.iter().for_each(|thread| _ = writer.define_thread(thread.clone()).unwrap());
    records.iter().for_each(|record| writer.push(record).unwrap());
    writer.finish().unwrap();
    path
}

fn tables(files: &[(&str, FileKind, Option<u64>)], threads: usize) -> Tables {
    let file = |(name, kind, bytes): &(&str, FileKind, Option<u64>)| TraceFile {
        name: (*name).into(),
        kind: *kind,
        bytes: *bytes,
        device: None,
    };
    Tables { files: files.iter().map(file).collect(), threads: vec![TraceThread::default(); threads] }
}

/// So many transfers of 4 KiB, one each ms, reads and writes in turn, each of which took 0.5 ms.
fn device(home: &Path, count: u64) -> PathBuf {
    let record = |number: u64| {
        let verb = if number.is_multiple_of(2) { Verb::Read } else { Verb::Write };
        let latency_ns = Some(MS / 2);
        TraceRecord { latency_ns, ..TraceRecord::new(number * MS, verb, 0, number * 4096, 4096) }
    };
    let records: Vec<_> = (0..count).map(record).collect();
    write(home, TraceLevel::Block, tables(&[("8,0", FileKind::Device, None)], 1), &records)
}

fn replay(home: &Path, words: &[&str]) -> ProgramOutput {
    let mut command = iodyno(["replay", "t.iot", "--quiet", "--no-save", "--witness", "off"]);
    command.args(words).current_dir(home);
    told(command)
}

/// The lines of the certificate.
fn certificate(output: &ProgramOutput) -> String {
    let lines = output.out.lines().skip_while(|line| !line.starts_with("  replay "));
    let lines = lines.take_while(|line| line.starts_with("  ") && !line.trim().is_empty());
    lines.map(|line| format!("{line}\n")).collect()
}

fn exact() -> Outcome {
    let home = scratch();
    device(home.path(), 2000);
    let output = replay(home.path(), &["--engine", "sim", "--set", "service=500us", "--json", "r.json"]);
    output.expect(0, &[]);
    assert_eq!(
        certificate(&output),
        "  replay   faithful: 99 % were issued at most 0 ns late
  issued   2,000 of 2,000 operations, in 2.00 s (recorded: 2.00 s)
  lateness p50 0 ns, p99 0 ns, p99.9 0 ns, max 0 ns; 100.00 % within 100 µs,
           100.00 % within 1 ms (in time: 100 µs)
  rate     ████████████████████████ IOPS recorded, at most 1,000
           ████████████████████████ IOPS issued, at most 1,000, rows of 10.0 ms
  depth    ████████████████████████ in flight recorded, at most 1.00
           ████████████████████████ in flight issued, at most 1.00
  distance sizes 0.000, offsets 0.000 (Kolmogorov-Smirnov: 0 alike, 1 apart)
  results  the trace has none to compare with
",
        "{output}"
    );
    let json = fs::read_to_string(home.path().join("r.json")).unwrap();
    assert!(
        json.contains("\"replay_verdict\": \"faithful\"") && json.contains("\"within_1ms\": 2000"),
        "{json}"
    );
    Ok(())
}

fn late() -> Outcome {
    let home = scratch();
    device(home.path(), 100);
    // Each takes 2 ms and the next is due after 1: number n is n ms late.
    let words = ["--engine", "sim", "--set", "service=2ms", "--depth", "1"];
    let output = replay(home.path(), &words);
    let text = certificate(&output);
    for part in [
        "late: the target could not keep up: 99 of 99 late operations",
        "100 of 100 operations, in 198 ms (recorded: 99.0 ms)",
        "max 99.0 ms; 1.00 % within 100 µs, 2.00 % within 1 ms",
    ] {
        assert!(text.replace("\n           ", " ").contains(part), "{part}: {output}");
    }
    // Twice as slow the same device keeps up.
    let text =
        certificate(&replay(home.path(), &["--engine", "sim", "--set", "service=2ms", "--speed", "0.5"]));
    assert!(text.contains("faithful"), "{text}");
    Ok(())
}

/// Each takes 4 ms at one of two servers and the next is due after 1: number n waits for those before it.
fn on_device() -> Outcome {
    let home = scratch();
    device(home.path(), 100);
    let text = |servers: u32| {
        format!(
            "name = \"slow\"\n[part.front.station]\nservers = {servers}\nservice = \"4ms\"\nvariation = 0\n"
        )
    };
    fs::write(home.path().join("two.toml"), text(2))?;
    fs::write(home.path().join("four.toml"), text(4))?;
    for word in [["--on", "./two.toml"], ["--also", "on=./two.toml"]] {
        let output = replay(home.path(), &[&["data"], &word[..], &["--json", "r.json"]].concat());
        output.expect(0, &["simulated on slow", "faithful", "100 of 100 operations"]);
        let record: serde_json::Value = serde_json::from_slice(&fs::read(home.path().join("r.json"))?)?;
        let part = &record["phases"][0]["parts"][0];
        assert_eq!((&part["name"], &part["requests"]), (&"front".into(), &100.into()), "{part}");
        // 100 of them keep two servers busy for 200 ms; the last one came after 99 and waited for half of that.
        let job = &record["phases"][0]["jobs"][0];
        let most = job["lines"]
            .as_array()
            .ok_or("no lines")?
            .iter()
            .filter_map(|line| line["latency"]["max_ns"].as_u64());
        assert_eq!(most.max(), Some(102 * MS), "{job}");
        fs::remove_file(home.path().join("r.json"))?;
    }
    // Four carry what comes: nobody waits.
    let output = replay(home.path(), &["data", "--on", "./four.toml", "--json", "four.json"]);
    output.expect(0, &["simulated on slow", "faithful"]);
    let record = fs::read_to_string(home.path().join("four.json"))?;
    assert!(record.contains("\"max_ns\": 4000000") && !record.contains("\"max_ns\": 5000000"), "{record}");
    assert!(!home.path().join("data").exists());
    replay(home.path(), &["data", "--on", "hdd-720"]).refused(&["no device of that name"]);
    Ok(())
}

/// A program that reads its configuration, looks for a file in vain, writes a new one and puts it in place.
fn application(home: &Path) -> PathBuf {
    let files = [
        ("/app", FileKind::Directory, Some(0)),
        ("/app/config", FileKind::File, Some(10_000)),
        ("/app/missing", FileKind::File, None),
        ("/app/out.tmp", FileKind::File, None),
        ("/app/out", FileKind::File, Some(5)),
        ("/app/log", FileKind::Directory, None),
        ("/app/current", FileKind::Link, None),
        ("out", FileKind::Link, None),
        ("/app/data", FileKind::File, Some(64 << 10)),
    ];
    let mut at = 0;
    let mut call = |verb, file, (offset, bytes): (u64, u64), result: i64| {
        at += MS;
        let result = Some(result);
        TraceRecord { result, latency_ns: Some(1000), ..TraceRecord::new(at, verb, file, offset, bytes) }
    };
    let other = |record: TraceRecord, other| TraceRecord { other: Some(other), ..record };
    let records = [
        call(Verb::Open, 1, (0, 0), 3),
        call(Verb::Read, 1, (0, 4096), 4096),
        call(Verb::Read, 1, (8192, 4096), 1808),
        call(Verb::Close, 1, (0, 0), 0),
        call(Verb::Open, 2, (0, 0), -2),
        call(Verb::Stat, 2, (0, 0), -2),
        call(Verb::Mkdir, 5, (0, 0o755), 0),
        call(Verb::Create, 3, (0, 0o640), 3),
        call(Verb::Write, 3, (0, 3000), 3000),
        call(Verb::Fsync, 3, (0, 0), 0),
        call(Verb::Close, 3, (0, 0), 0),
        other(call(Verb::Rename, 3, (0, 0), 0), 4),
        other(call(Verb::Symlink, 6, (0, 0), 0), 7),
        // It was open before the recording.
        call(Verb::Write, 8, (1000, 24), 24),
        call(Verb::Mkdir, 5, (0, 0o755), -17),
        call(Verb::Readdir, 0, (0, 0), 6),
    ];
    write(home, TraceLevel::File, tables(&files, 1), &records)
}

fn tree() -> Outcome {
    let home = scratch();
    application(home.path());
    let output = replay(home.path(), &["tree", "--speed", "10"]);
    output.expect(0, &[]);
    let app = home.path().join("tree/app");
    assert_eq!(names(&app), ["config", "current", "data", "log", "out"], "{output}");
    let length = |name: &str| fs::metadata(app.join(name)).unwrap().len();
    assert_eq!((length("config"), length("data"), length("out")), (10_000, 64 << 10, 3000), "{output}");
    assert_eq!(fs::read_link(app.join("current")).unwrap(), Path::new("../app/out"));
    let text = certificate(&output);
    for part in [
        "16 compared, 0 differ",
        "ENOENT, no such file, as recorded",
        "EEXIST, exists already, as recorded",
        "1: opened although the trace did not say so",
    ] {
        assert!(text.contains(part), "{part}: {output}");
    }
    // Made and nothing done: what the trace makes is not there.
    let output = replay(home.path(), &["made", "--prepare"]);
    output.expect(0, &["tree made: made 1 directory, 2 files, 75,536 bytes; found nothing"]);
    assert!(
        !output.out.contains("nothing was counted") && output.out.contains("a tree of 9 names"),
        "{output}"
    );
    assert_eq!(names(&home.path().join("made/app")), ["config", "data"], "{output}");
    let output = replay(home.path(), &["made", "--prepare", "--destroy", "made"]);
    output.expect(0, &["tree made: made nothing; found 1 directory, 2 files, 75,536 bytes"]);
    // What is no longer as it was is told.
    let output = replay(home.path(), &["tree", "--speed", "10", "--destroy", "tree"]);
    let text = certificate(&output);
    assert!(text.contains("mkdir 1 times: EEXIST, exists already, recorded success"), "{output}");
    let output = replay(home.path(), &["gone", "--speed", "10", "--copies", "2", "--remove"]);
    output.expect(0, &[]);
    assert!(!home.path().join("gone").exists(), "{output}");
    Ok(())
}

/// Four files, each made, written in sixteen parts that were in flight together, synced, read, closed and renamed.
fn parallel_writer(home: &Path, owner: u32) -> u64 {
    let names: Vec<String> = (0..8).map(|number| format!("/app/{number}")).collect();
    let mut files: Vec<(&str, FileKind, Option<u64>)> = vec![("/app", FileKind::Directory, None)];
    files.extend(names.iter().map(|name| (name.as_str(), FileKind::File, None)));
    let (mut records, mut at) = (Vec::new(), 0);
    let mut call = |thread, step, latency_ns, verb, file, (offset, bytes): (u64, u64), other| {
        at += step;
        let moves = matches!(verb, Verb::Read | Verb::Write);
        let result = Some(if moves { bytes as i64 } else { 0 });
        records.push(TraceRecord {
            result,
            thread,
            other,
            latency_ns: Some(latency_ns),
            ..TraceRecord::new(at, verb, file, offset, bytes)
        });
    };
    call(0, MS, 1000, Verb::Mkdir, 0, (0, 0o755), None);
    for file in 1..=4 {
        let thread = file % 2;
        call(thread, MS, 1000, Verb::Create, file, (0, 0o644), None);
        for part in 0..16 {
            call(thread, 2000, MS, Verb::Write, file, (part * 4096, 4096), None);
        }
        call(thread, 2 * MS, 1000, Verb::Fsync, file, (0, 0), None);
        for part in 0..16 {
            call(thread, 2000, MS, Verb::Read, file, (part * 4096, 4096), None);
        }
        call(thread, 2 * MS, 1000, Verb::Close, file, (0, 0), None);
        let owners = Owners { user: Some(owner), group: None };
        call(thread, MS, 1000, Verb::Chown, file, (0, owners.bytes()), None);
        call(thread, MS, 1000, Verb::Rename, file, (0, 0), Some(file + 4));
    }
    let count = records.len() as u64;
    write(home, TraceLevel::File, tables(&files, 2), &records);
    count
}

fn deep_tree() -> Outcome {
    let home = scratch();
    // Whoever may give files away does, and others give them to themselves.
    let own = fs::metadata(home.path())?.uid();
    let owner = if own == 0 { 12_345 } else { own };
    let count = parallel_writer(home.path(), owner);
    for mode in ["fast", "original", "dependencies", "think", "depth"] {
        let words = [mode, "--mode", mode, "--depth", "8", "--workers", "1", "--engine", "io_uring"];
        let output = replay(home.path(), &words);
        output.expect(0, &[]);
        let app = home.path().join(mode).join("app");
        assert_eq!(names(&app), ["4", "5", "6", "7"], "{output}");
        for name in names(&app) {
            let facts = fs::metadata(app.join(&name))?;
            assert_eq!((facts.len(), facts.uid()), (64 << 10, owner), "{mode} {name}: {output}");
        }
        let text = certificate(&output);
        assert!(text.contains(&format!("{count} compared, 0 differ")), "{mode}: {output}");
    }
    Ok(())
}

/// Four threads hand files on: what one makes another renames, the next reads and the last removes. And one reads, by a
/// descriptor that it did not open, a file that another makes anew in each round, a little longer.
fn relay(home: &Path, rounds: u64) -> u64 {
    let names: Vec<String> = (0..6).map(|number| format!("/app/{number}")).collect();
    let mut files: Vec<(&str, FileKind, Option<u64>)> = vec![("/app", FileKind::Directory, None)];
    files.extend(names.iter().map(|name| (name.as_str(), FileKind::File, None)));
    files.push(("/app/shared", FileKind::File, None));
    let (mut records, mut at, shared) = (Vec::new(), 0, files.len() as u32 - 1);
    let mut call = |thread, verb, file, bytes: u64, other| {
        at += MS / 100;
        let result = Some(if matches!(verb, Verb::Read | Verb::Write) { bytes as i64 } else { 0 });
        let record = TraceRecord { thread, result, other, ..TraceRecord::new(at, verb, file, 0, bytes) };
        records.push(TraceRecord { latency_ns: Some(1000), ..record });
    };
    for round in 0..rounds {
        let (made, moved) = ((round % 3) as u32 + 1, (round % 3) as u32 + 4);
        call(0, Verb::Create, made, 0o644, None);
        call(0, Verb::Write, made, 5000, None);
        call(0, Verb::Fsync, made, 0, None);
        call(0, Verb::Close, made, 0, None);
        call(1, Verb::Rename, made, 0, Some(moved));
        call(2, Verb::Open, moved, 0, None);
        call(2, Verb::Read, moved, 5000, None);
        call(2, Verb::Close, moved, 0, None);
        call(3, Verb::Unlink, moved, 0, None);
        call(3, Verb::Create, shared, 0o644, None);
        call(3, Verb::Write, shared, 1000 + round, None);
        call(1, Verb::Read, shared, 1000 + round, None);
        call(3, Verb::Close, shared, 0, None);
        call(3, Verb::Unlink, shared, 0, None);
    }
    let count = records.len() as u64;
    write(home, TraceLevel::File, tables(&files, 4), &records);
    count
}

fn waits_for_others() -> Outcome {
    let home = scratch();
    let count = relay(home.path(), 60);
    for (tree, passes, words) in [
        ("threads", 2, &["--loops", "2"][..]),
        ("files", 1, &["--divide", "files", "--workers", "3"]),
        ("turns", 1, &["--divide", "turns", "--workers", "3"]),
        ("deep", 1, &["--depth", "4", "--engine", "posixaio"]),
    ] {
        let output = replay(home.path(), &[&[tree, "--mode", "dependencies"], words].concat());
        output.expect(0, &[&format!("{} compared, 0 differ", thousands(count * passes))]);
        assert!(
            output.out.contains(if words.contains(&"3") { "3 workers" } else { "4 workers" }),
            "{output}"
        );
        let reads = output.out.lines().find(|line| line.trim_start().starts_with("read ")).unwrap();
        let figures: Vec<&str> = reads.split_whitespace().rev().take(2).collect();
        assert_eq!(figures, ["0", "0"], "a read found an older file: {output}");
        assert_eq!(names(&home.path().join(tree).join("app")), Vec::<String>::new(), "{output}");
    }
    let words = ["new", "--mode", "dependencies", "--workers", "2", "--engine", "sim"];
    replay(home.path(), &words).refused(&["on sim each has its own", "one worker, with a depth"]);
    Ok(())
}

/// The modes of fallocate, the names of attributes, pipes, device nodes and clones.
fn special() -> Outcome {
    let home = scratch();
    let names = ["/a", "/b", "/pipe", "/moved", "/disk"].map(|name| (name, FileKind::File, None));
    let attributes = ["user.colour", "security.capability"].map(|name| (name, FileKind::Other, None));
    let mut trace = TreeTrace { names: names.into_iter().chain(attributes).collect(), records: Vec::new() };
    trace.names[2].1 = FileKind::Other;
    trace.names[3].1 = FileKind::Other;
    trace.call(Verb::Create, 0, 0, 0o644);
    trace.call(Verb::Create, 1, 0, 0o644);
    trace.call(Verb::Write, 0, 0, 5000);
    trace.call(Verb::Fallocate, 0, 0, 1 << 20).flags = RecordFlags::KEEPS_SIZE;
    trace.call(Verb::Fallocate, 1, 0, 1 << 20);
    trace.call(Verb::Setxattr, 0, 0, 3).other = Some(5);
    trace.call(Verb::Getxattr, 0, 0, 100).other = Some(5);
    trace.call(Verb::Setxattr, 0, 0, 3).other = Some(6);
    trace.call(Verb::Mkfifo, 2, 0, 0o010_600);
    trace.call(Verb::Open, 2, 0, 0);
    trace.call(Verb::Rename, 2, 0, 0).other = Some(3);
    trace.call(Verb::Stat, 3, 0, 0);
    let clone = trace.call(Verb::Clone, 1, 4096, 8192);
    (clone.other, clone.result) = (Some(0), Some(-95));
    trace.write(home.path());
    let output = replay(home.path(), &["tree", "--mode", "fast"]);
    output.expect(0, &[]);
    let text = certificate(&output).replace("\n           ", " ");
    for part in [
        "1: pipes, sockets and terminals are not replayed",
        "1: attributes outside of `user.` are the system's: not replayed",
        "1: clones of another range: where it lies in the source was not recorded",
    ] {
        assert!(text.contains(part), "{part}: {output}");
    }
    let tree = home.path().join("tree");
    assert_eq!((fs::metadata(tree.join("a"))?.len(), fs::metadata(tree.join("b"))?.len()), (5000, 1 << 20));
    assert!(fs::metadata(tree.join("a"))?.blocks() * 512 >= 1 << 20, "reserved beyond the end: {output}");
    let kind = fs::symlink_metadata(tree.join("moved"))?.file_type();
    assert!(kind.is_fifo(), "{output}");
    let path = std::ffi::CString::new(tree.join("a").into_os_string().into_encoded_bytes()).unwrap();
    // SAFETY: both names are zero-terminated, and no value is wanted.
    let length = unsafe { libc::getxattr(path.as_ptr(), c"user.colour".as_ptr(), std::ptr::null_mut(), 0) };
    assert_eq!(length, 3, "{output}");
    Ok(())
}

fn refuses() -> Outcome {
    let home = scratch();
    device(home.path(), 10);
    let data = home.path().join("data");
    fs::write(&data, vec![7; 1 << 20]).unwrap();
    fs::create_dir(home.path().join("full")).unwrap();
    fs::write(home.path().join("full/x"), "x").unwrap();
    fs::write(home.path().join("text"), "no trace").unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["data"], "it holds 1 MiB, not writing to it"),
        (&["data"], "--destroy data"),
        (&[], "it needs a target"),
        (&["a", "b"], "the trace has 1 files or devices (8,0), and 2 targets are named"),
        (&["--map", "9,9=data"], "`9,9`: the trace has no such file or device"),
        (&["--map", "data"], "expected SRC=DST"),
        (&["/dev/nowhere"], "no such device"),
        (&["data", "--mode", "sideways"], "invalid value 'sideways'"),
        (&["data", "--mode", "fast", "--speed", "2"], "only recorded times can be scaled"),
        (&["data", "--speed", "0"], "expected a number above 0"),
        (&["data", "--skip", "readd"], "`readd` is no verb"),
        (&["--engine", "sim", "--set", "x"], "expected NAME=VALUE"),
        (&["data", "--skip", "read,write"], "nothing in it can be replayed"),
        (&["data", "--prepare"], "this trace makes no tree"),
    ];
    for (words, said) in cases {
        replay(home.path(), words).refused(&[said]);
    }
    for (trace, said) in [
        ("text", "no format that is known begins with"),
        ("none.iot", "No such file"),
        (".", "no regular file"),
    ] {
        let mut command = iodyno(["replay", trace, "--engine", "sim"]);
        command.current_dir(home.path());
        told(command).refused(&[said]);
    }
    assert!(fs::read(&data).unwrap().iter().all(|byte| *byte == 7), "nothing was written");
    replay(home.path(), &["data", "--destroy", "data", "--speed", "10"]).expect(0, &["10 of 10 operations"]);
    assert!(fs::read(&data).unwrap()[4096..8192].iter().any(|byte| *byte != 7), "it was given up");
    application(home.path());
    replay(home.path(), &["full"]).refused(&["it holds 1 files or directories, not replaying in it"]);
    replay(home.path(), &["a", "b"]).refused(&["works in one directory"]);
    replay(home.path(), &["new", "--align", "4k"]).refused(&["keep their places"]);
    replay(home.path(), &["--remap", "linear", "--engine", "sim"]).refused(&["sim has no files"]);
    replay(home.path(), &["new", "--depth", "4", "--engine", "psync"])
        .refused(&["psync makes one operation at a time"]);
    assert_eq!(names(&home.path().join("full")), ["x"]);
    assert!(!home.path().join("new").exists());
    Ok(())
}

fn maps() -> Outcome {
    let home = scratch();
    device(home.path(), 64);
    File::create(home.path().join("small")).unwrap().set_len(64 << 10).unwrap();
    let destroy = ["--destroy", "small"];
    let output = replay(home.path(), &["small", "--skip", "write"]);
    output.refused(&["the trace reaches to 256 KiB, and it has 64 KiB", "--remap"]);
    for (way, said) in
        [("linear", "offsets differ"), ("modulo", "offsets differ"), ("hash", "offsets differ")]
    {
        let output = replay(home.path(), &[&["small", "--remap", way][..], &destroy].concat());
        let text = certificate(&output).replace("\n           ", " ");
        assert!(text.contains("not comparable") && text.contains(said), "{way}: {output}");
        assert!(text.contains("moved to the target's places"), "{way}: {output}");
        assert_eq!(fs::metadata(home.path().join("small")).unwrap().len(), 64 << 10, "{way}");
    }
    maps_a_tree()?;
    let output = replay(home.path(), &["new", "--dry-run", "--skip", "read", "--loops", "3"]);
    output.expect(
        0,
        &["8,0 -> new (new file", "32 operations would be issued, 3 times", "32 (read: left out as asked)"],
    );
    assert!(!home.path().join("new").exists(), "a dry run makes nothing");
    Ok(())
}

/// A file that is there and shorter than it was keeps its length, under its new name too; others are as they were recorded.
fn maps_a_tree() -> Outcome {
    let home = scratch();
    let names = [("/data", Some(1 << 20)), ("/moved", None), ("/own", None), ("/whole", Some(8192))];
    let names = names.map(|(name, bytes)| (name, FileKind::File, bytes)).to_vec();
    let mut trace = TreeTrace { names, records: Vec::new() };
    for part in 0..256 {
        trace.call(if part % 3 == 0 { Verb::Write } else { Verb::Read }, 0, part * 4096, 4096);
    }
    trace.call(Verb::Rename, 0, 0, 0).other = Some(1);
    trace.call(Verb::Read, 1, 1_000_000, 4096);
    // Under the name that is free again the trace makes a file of its own.
    trace.call(Verb::Create, 0, 0, 0o644);
    trace.call(Verb::Write, 0, 1 << 21, 4096);
    trace.call(Verb::Create, 2, 0, 0o644);
    trace.call(Verb::Write, 2, 1 << 20, 4096);
    trace.call(Verb::Read, 3, 4096, 4096);
    trace.call(Verb::Write, 3, 8192, 4096);
    trace.write(home.path());
    let length = |path: &Path| fs::metadata(path).map(|facts| facts.len()).unwrap();
    for way in ["linear", "modulo", "hash"] {
        let tree = home.path().join(way);
        fs::create_dir(&tree)?;
        File::create(tree.join("data"))?.set_len(64 << 10)?;
        let words = [way, "--mode", "fast", "--destroy", way];
        let output = replay(home.path(), &words);
        output.expect(1, &["needs a file of 1048576 bytes here, and it has 65536", "--remap linear"]);
        let output = replay(home.path(), &[&words[..], &["--remap", way, "--verify"]].concat());
        output.expect(0, &["moved to the target's places", "not comparable", "offsets differ"]);
        let reads = output.out.lines().find(|line| line.trim_start().starts_with("read ")).unwrap();
        assert!(reads.ends_with("0       0"), "short or failed: {output}");
        assert_eq!(length(&tree.join("moved")), 64 << 10, "{way}: {output}");
        assert_eq!(length(&tree.join("data")), (1 << 21) + 4096, "{way}: {output}");
        assert_eq!(length(&tree.join("own")), (1 << 20) + 4096, "{way}: {output}");
        assert_eq!(length(&tree.join("whole")), 12_288, "{way}: {output}");
    }
    // With nothing there all is made as it was recorded, and stays where it was.
    let output = replay(home.path(), &["new", "--mode", "fast", "--remap", "linear"]);
    output.expect(0, &[]);
    assert!(!output.out.contains("moved to"), "{output}");
    fs::create_dir(home.path().join("empty"))?;
    File::create(home.path().join("empty/data"))?;
    let words = ["empty", "--mode", "fast", "--remap", "linear", "--destroy", "empty"];
    replay(home.path(), &words).expect(1, &["it is empty, so that no place can be mapped to it"]);
    Ok(())
}

fn verifies() -> Outcome {
    let home = scratch();
    let record = |number: u64| {
        let verb = if number < 16 { Verb::Write } else { Verb::Read };
        TraceRecord::new(number * 1000, verb, 0, number % 16 * 4096, 4096)
    };
    let records: Vec<_> = (0..48).map(record).collect();
    write(home.path(), TraceLevel::Block, tables(&[("8,0", FileKind::Device, None)], 1), &records);
    let output = replay(home.path(), &["file", "--mode", "fast", "--verify", "--engine", "psync"]);
    output.expect(0, &["not comparable"]);
    assert_eq!(fs::metadata(home.path().join("file")).unwrap().len(), 64 << 10);
    Ok(())
}

/// Records of one thread, one each ms.
struct TreeTrace {
    names: Vec<(&'static str, FileKind, Option<u64>)>,
    records: Vec<TraceRecord>,
}

impl TreeTrace {
    fn call(&mut self, verb: Verb, file: u32, offset: u64, bytes: u64) -> &mut TraceRecord {
        let at = (self.records.len() as u64 + 1) * MS;
        self.records
            .push(TraceRecord { latency_ns: Some(1000), ..TraceRecord::new(at, verb, file, offset, bytes) });
        self.records.last_mut().unwrap()
    }

    fn write(self, home: &Path) {
        write(home, TraceLevel::File, tables(&self.names, 1), &self.records);
    }
}

fn verifies_tree() -> Outcome {
    let home = scratch();
    let names = ["/a", "/b", "/hard", "/new", "/before", "/log"];
    let length = |name: &str| (name == "/before").then_some(100_000);
    let names = names.map(|name| (name, FileKind::File, length(name))).to_vec();
    let mut trace = TreeTrace { names, records: Vec::new() };
    trace.call(Verb::Create, 0, 0, 0o644);
    // Odd places and lengths, one over the other.
    trace.call(Verb::Write, 0, 0, 10_000);
    trace.call(Verb::Write, 0, 777, 3001);
    trace.call(Verb::Read, 0, 0, 10_000);
    // Renamed while open, and opened by its new name and by a third.
    trace.call(Verb::Rename, 0, 0, 0).other = Some(1);
    trace.call(Verb::Write, 0, 5000, 100);
    trace.call(Verb::Open, 1, 0, 0);
    trace.call(Verb::Read, 1, 4000, 2000);
    trace.call(Verb::Link, 1, 0, 0).other = Some(2);
    trace.call(Verb::Open, 2, 0, 0);
    trace.call(Verb::Write, 2, 100, 50);
    trace.call(Verb::Read, 0, 0, 10_000);
    // Cut, and grown over the cut: zeros.
    trace.call(Verb::Truncate, 1, 0, 6000);
    trace.call(Verb::Write, 1, 9000, 500);
    trace.call(Verb::Read, 2, 0, 9500);
    trace.call(Verb::Trim, 2, 4096, 1000);
    trace.call(Verb::Read, 1, 0, 9500);
    // The name is made anew while the old file is open: another generation, and the old one is still there.
    trace.call(Verb::Unlink, 1, 0, 0);
    trace.call(Verb::Create, 1, 0, 0o644);
    trace.call(Verb::Write, 1, 0, 4096);
    trace.call(Verb::Read, 1, 0, 4096);
    trace.call(Verb::Close, 1, 0, 0);
    trace.call(Verb::Read, 2, 0, 9500);
    trace.call(Verb::Unlink, 1, 0, 0);
    for _ in 0..3 {
        trace.call(Verb::Create, 3, 0, 0o644);
        trace.call(Verb::Write, 3, 0, 5000);
        trace.call(Verb::Read, 3, 0, 5000);
        trace.call(Verb::Close, 3, 0, 0);
        trace.call(Verb::Unlink, 3, 0, 0);
    }
    // What is appended goes to the end, also of what was there before, which reads as zeros.
    trace.call(Verb::Create, 5, 0, 0o644);
    for _ in 0..3 {
        trace.call(Verb::Write, 5, 0, 700).flags = RecordFlags::APPEND;
    }
    trace.call(Verb::Read, 5, 0, 2100);
    trace.call(Verb::Read, 4, 0, 100_000);
    trace.call(Verb::Write, 4, 50_001, 9);
    trace.call(Verb::Read, 4, 0, 100_000);
    let read: u64 = trace.records.iter().filter(|one| one.verb == Verb::Read).map(|one| one.bytes).sum();
    trace.write(home.path());
    for mode in ["fast", "dependencies"] {
        let output = replay(home.path(), &[mode, "--mode", mode, "--verify"]);
        output.expect(0, &[&format!("{} bytes checked, 0 not judged", thousands(read))]);
        // A file of the user's own is not judged, and what the replay writes into it is.
        fs::remove_dir_all(home.path().join(mode))?;
        fs::create_dir(home.path().join(mode))?;
        fs::write(home.path().join(mode).join("before"), vec![7; 100_000])?;
        let output = replay(home.path(), &[mode, "--mode", mode, "--verify", "--destroy", mode]);
        let checked = thousands(read - 199_991);
        output.expect(0, &[&format!("{checked} bytes checked, 199,991 not judged")]);
    }
    Ok(())
}

fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
    groups.join(",")
}

fn verifies_deep_tree() -> Outcome {
    let home = scratch();
    let own = fs::metadata(home.path())?.uid();
    parallel_writer(home.path(), own);
    for mode in ["fast", "original", "dependencies", "think", "depth"] {
        let words = [mode, "--mode", mode, "--depth", "8", "--verify", "--engine", "io_uring"];
        let output = replay(home.path(), &words);
        output.expect(0, &["262,144 bytes checked, 0 not judged"]);
    }
    Ok(())
}

/// Another program changes a byte of a file between two of its reads; what the replay makes after each of them tells how far
/// it has come.
fn names_the_byte() -> Outcome {
    const READS: usize = 200;
    let home = scratch();
    let marks: Vec<String> = (0..READS).map(|number| format!("/mark{number}")).collect();
    let files: Vec<(&str, FileKind, Option<u64>)> =
        marks.iter().map(String::as_str).chain(["/a"]).map(|name| (name, FileKind::File, None)).collect();
    let file = READS as u32;
    let mut records = vec![
        TraceRecord::new(0, Verb::Create, file, 0, 0o644),
        TraceRecord::new(1, Verb::Write, file, 0, 8192),
    ];
    for number in 0..READS {
        let at = number as u64 * 300 * MS + 2;
        records.push(TraceRecord::new(at, Verb::Read, file, 0, 8192));
        records.push(TraceRecord::new(at, Verb::Create, number as u32, 0, 0o644));
        records.push(TraceRecord::new(at, Verb::Close, number as u32, 0, 0));
    }
    write(home.path(), TraceLevel::File, tables(&files, 1), &records);
    let mut command = iodyno(["replay", "t.iot", "tree", "--verify", "--no-save", "--witness", "off"]);
    command.current_dir(home.path());
    let mut running = Running::start(command);
    let tree = home.path().join("tree");
    running.until("the first read", || tree.join("mark0").exists());
    let changed = fs::OpenOptions::new().read(true).write(true).open(tree.join("a"))?;
    let mut byte = [0];
    changed.read_exact_at(&mut byte, 5000)?;
    changed.write_all_at(&[byte[0] ^ 1], 5000)?;
    let done = (0..READS).filter(|number| tree.join(format!("mark{number}")).exists()).count();
    running.until("a read after the change", || tree.join(format!("mark{}", done + 1)).exists());
    running.signal(libc::SIGINT);
    let output = running.end();
    let text = format!("{}{}", output.out, output.err).replace("\n           ", " ");
    for part in ["bit flip; first at offset 0 of tree", "tree/a: byte 5,000: bit flip"] {
        assert!(text.contains(part), "{part}: {output}");
    }
    Ok(())
}

fn ends() -> Outcome {
    let home = scratch();
    let hour = 3_600_000 * MS;
    let records = [0, 1, hour].map(|at| TraceRecord::new(at, Verb::Read, 0, 0, 4096));
    write(home.path(), TraceLevel::Block, tables(&[("8,0", FileKind::Device, None)], 1), &records);
    let mut command = iodyno(["replay", "t.iot", "--engine", "null", "--no-save", "--witness", "off"]);
    command.args(["--metrics", "m.prom"]).current_dir(home.path());
    let mut running = Running::start(command);
    let file = home.path().join("m.prom");
    running.until("two operations", || fs::read_to_string(&file).is_ok_and(|text| text.contains("read")));
    running.signal(libc::SIGINT);
    let output = running.end();
    let text = certificate(&output).replace("\n           ", " ");
    assert!(text.contains("not comparable: it ended before the trace did, after 2 operations"), "{output}");
    assert!(output.out.contains("stopped by signal 2"), "{output}");
    Ok(())
}

fn of_a_plan() -> Outcome {
    let home = scratch();
    device(home.path(), 50);
    fs::write(
        home.path().join("plan.toml"),
        r#"
name = "replay"
[target.disk]
nothing = "1GiB"
[[phase]]
name = "p"
[[phase.job]]
name = "j"
engine = "sim"
depth = 8
on = "disk"
trace = { path = "t.iot", timing = "depths", certified = true }
"#,
    )
    .unwrap();
    let mut command = iodyno(["run", "--quiet", "--no-save", "plan.toml"]);
    command.current_dir(home.path());
    told(command).expect(0, &["50 of 50 operations", "it kept no recorded times"]);
    Ok(())
}

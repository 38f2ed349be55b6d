//! The engine `rados`, and what lowers to it, against a stand-in of librados that writes down what it is told.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use testbed::program::Program;
use testbed::{Case, Need, Outcome};

use super::program::{command, expect, library, scratch};

/// The stand-in's text.
const LIBRADOS: &str = include_str!("librados.txt");

pub fn cases() -> Vec<Case> {
    let needs = [Need::Tool("rustc")];
    vec![
        Case::new("objects_are_written_whole_or_in_parts", &needs, parts),
        Case::new("every_verb_is_the_call_of_its_name", &needs, verbs),
        Case::new("as_many_are_in_flight_as_the_depth_says", &needs, depth),
        Case::new("errors_and_short_reads_are_told_as_what_they_are", &needs, faults),
        Case::new("who_connects_to_what_is_said_to_the_library", &needs, accounts),
        Case::new("what_cannot_start_says_why", &needs, refusals),
        Case::new("ior_has_an_object_for_each_file", &needs, ior),
        Case::new("mdtest_has_an_object_for_each_file_and_directory", &needs, mdtest),
        Case::new("fio_has_an_object_for_each_file", &needs, fio),
        Case::new("a_pool_has_a_card_and_holds_nothing_afterwards", &needs, card),
        Case::new("a_pool_that_answers_with_old_content_is_eventual", &needs, eventual),
        Case::new("what_a_killed_card_left_in_a_pool_is_removed_by_the_next", &needs, killed),
        Case::new("without_the_library_nothing_starts", &[], no_library),
    ]
}

/// A plan of one phase for each of these verbs, on the same objects.
fn plan(url: &str, verbs: &[&str], more: &str) -> String {
    let target = format!("[target.t]\nbucket = \"{url}\"\n{}\n", more.split(';').next().unwrap_or_default());
    let job = more.split(';').nth(1).unwrap_or_default();
    let phase = |verb: &&str| {
        format!(
            "[[phase]]\nname = \"{verb}\"\n[[phase.job]]\nname = \"{verb}\"\nengine = \"rados\"\non = \"t\"\n\
             do = \"{verb}\"\nuntil = {{ passes = 1 }}\n{job}\n"
        )
    };
    target + &verbs.iter().map(phase).collect::<String>()
}

/// A directory with the stand-in.
fn staged() -> Result<tempfile::TempDir, Box<dyn std::error::Error>> {
    let home = scratch();
    library(home.path(), "librados.so.2", LIBRADOS)?;
    Ok(home)
}

/// The program where the stand-in is the library.
fn beside(home: &Path, line: &str) -> Command {
    let mut command = command(home, line);
    command.env("IODYNO_RADOS", home.join("librados.so.2")).env("CALLS", home.join("calls"));
    command
}

fn card() -> Outcome {
    let home = staged()?;
    let line =
        "measure rados://pool:space/bench --quick --time 20ms --setting client=admin --fail-if errors>0";
    let cells = [
        "GET 4K Q16T1",
        "RANGE 1M Q8T1",
        "PUT 64M Q1T1",
        "its PUTs",
        "LIST",
        "GET after overwrite",
        "Strong as far as this was tried",
        "operations    ",
        "objects were laid out and removed",
    ];
    let said = expect(beside(home.path(), line), 0, &cells);
    let others = ["class A", "in parts of", "s3check", "stale SEEN", "cannot tell"];
    assert!(!others.iter().any(|other| said.out.contains(other)), "{}", said.all());
    let calls = told(home.path());
    let names = |call: &str| {
        let of = calls.iter().filter_map(|line| line.strip_prefix(call));
        of.map(|rest| rest.split_whitespace().next().unwrap_or_default().to_string()).collect::<BTreeSet<_>>()
    };
    let (made, removed) = (names("write_full "), names("remove "));
    let is_own = |name: &String| name.starts_with("bench/iodyno-measure-");
    assert!(!made.is_empty() && removed.iter().chain(&made).all(is_own), "{made:?}");
    // All that was laid out, whatever was written of it again.
    assert!(removed.len() >= 256 + 16 + 2, "{}", removed.len());
    assert!(made.is_subset(&removed), "{:?}", made.difference(&removed));
    let line = "measure rados://pool/bench --setting colour=red";
    expect(beside(home.path(), line), 2, &["--setting colour=red: engine rados: no setting `colour`"]);
    Ok(())
}

const CARD: &str = "measure rados://pool/bench --quick --time 20ms";

fn eventual() -> Outcome {
    let home = staged()?;
    let mut run = beside(home.path(), CARD);
    run.env("STALE", "1");
    expect(run, 0, &["stale SEEN", "the store is eventually consistent"]);
    Ok(())
}

fn killed() -> Outcome {
    let home = staged()?;
    let mut run = Program::new(beside(home.path(), CARD)).start();
    let calls = home.path().join("calls");
    let is_made = |text: String| text.contains("create bench/iodyno-measure-");
    run.until("an object of the run", || std::fs::read_to_string(&calls).is_ok_and(is_made));
    run.signal(libc::SIGKILL);
    run.end();
    let first = told(home.path())
        .into_iter()
        .find_map(|call| call.strip_prefix("create bench/")?.split('/').next().map(String::from));
    let own = first.expect("the run's own prefix");
    // What it left lies there, beside what others have.
    let left = [format!("bench/{own}/4K/0"), format!("bench/{own}/promises/x/0-0/a")];
    let others =
        ["bench/mine".to_string(), "bench/iodyno-measure-else/4K/0".into(), format!("other/{own}/4K/0")];
    let mut run = beside(home.path(), CARD);
    run.env("LEFT", [&left[..], &others[..]].concat().join(","));
    let said = format!("rados://pool/bench/{own}: left by a run that was killed, 2 objects, removed");
    let elsewhere = "rados://pool/bench/iodyno-measure-else: made by another `iodyno measure`";
    expect(run, 0, &[&said, elsewhere, "`rados ls` has the names"]);
    let calls = told(home.path());
    let is_removed = |name: &String| calls.contains(&format!("remove {name}"));
    assert!(left.iter().all(is_removed) && !others.iter().any(is_removed), "{calls:?}");
    Ok(())
}

/// What the stand-in was told, and forgets it.
fn told(home: &Path) -> Vec<String> {
    let calls = std::fs::read_to_string(home.join("calls")).unwrap_or_default();
    let _ = std::fs::remove_file(home.join("calls"));
    calls.lines().map(String::from).collect()
}

/// Those calls that are on objects.
fn on_objects(calls: &[String]) -> Vec<&str> {
    let others = ["client", "cluster", "conf", "set", "pool", "namespace", "close", "shutdown"];
    let is_other = |call: &&str| others.contains(&call.split(' ').next().unwrap_or_default());
    calls.iter().map(String::as_str).filter(|call| !is_other(call)).collect()
}

fn parts() -> Outcome {
    let home = staged()?;
    let run = |more: &str| -> Result<Vec<String>, std::io::Error> {
        let text = plan("rados://pool:space/a/b", &["write", "read"], more);
        std::fs::write(home.path().join("p.toml"), text)?;
        expect(beside(home.path(), "run p.toml"), 0, &["0 failed"].map(|_| "write"));
        Ok(told(home.path()))
    };
    let calls = run("count = 2\nsize = \"8KiB\";block = \"4KiB\"\nverify = true")?;
    let parts = |verb: &str| {
        [("0", 0), ("0", 4096), ("1", 0), ("1", 4096)]
            .map(|(object, at)| format!("{verb} a/b/{object} 4096@{at}"))
    };
    assert_eq!(on_objects(&calls), [parts("write"), parts("read")].concat());
    assert!(calls.contains(&"pool pool".into()) && calls.contains(&"namespace space".into()), "{calls:?}");
    // A write of all of an object leaves nothing of what it was.
    let calls = run("count = 2\nsize = \"8KiB\";block = \"8KiB\"")?;
    let whole = ["write_full a/b/0 8192", "write_full a/b/1 8192", "read a/b/0 8192@0", "read a/b/1 8192@0"];
    assert_eq!(on_objects(&calls), whole);
    let calls = run(
        "count = 1\nsize = \"8KiB\";block = \"8KiB\"\nsettings = { replace = \"off\", busy_poll = \"on\" }",
    )?;
    assert_eq!(on_objects(&calls), ["write a/b/0 8192@0", "read a/b/0 8192@0"]);
    Ok(())
}

fn verbs() -> Outcome {
    let home = staged()?;
    let verbs = [
        "create",
        "open",
        "stat",
        "access",
        "setxattr",
        "getxattr",
        "removexattr",
        "truncate",
        "readdir",
        "unlink",
    ];
    std::fs::write(
        home.path().join("p.toml"),
        plan("rados://pool", &verbs, "count = 1\nsize = \"4KiB\";block = \"4KiB\"\nitem_data = {}"),
    )?;
    expect(beside(home.path(), "run p.toml"), 0, &["unlink"]);
    let calls = told(home.path());
    let (names, calls) = (calls.join("\n"), on_objects(&calls));
    let firsts: Vec<&str> = calls.iter().map(|call| call.split(' ').next().unwrap_or_default()).collect();
    let expected =
        ["create", "read", "stat", "stat", "omap_set", "omap_get", "omap_rm", "truncate", "list", "remove"];
    assert_eq!(firsts, expected, "{names}");
    assert_eq!(calls[0], "create 0 4096");
    assert_eq!(calls[1], "read 0 4096@0");
    Ok(())
}

fn depth() -> Outcome {
    let home = staged()?;
    for busy in ["off", "on"] {
        let settings = format!(
            "count = 64\nsize = \"4KiB\";block = \"4KiB\"\ndepth = 16\nsettings = {{ busy_poll = \"{busy}\" }}"
        );
        std::fs::write(home.path().join("p.toml"), plan("rados://pool", &["write", "read"], &settings))?;
        let mut run = beside(home.path(), "run p.toml");
        run.env("HELD", "16");
        expect(run, 0, &["depth reached: mean 16.0 of 16 asked"]);
        assert_eq!(on_objects(&told(home.path())).len(), 128);
    }
    Ok(())
}

fn faults() -> Outcome {
    let home = staged()?;
    let run = |name: &str, verbs: &[&str], code: i32, words: &[&str]| -> Outcome {
        let more = format!("count = 4\nname = \"{name}.{{item}}\"\nsize = \"8KiB\";block = \"8KiB\"");
        std::fs::write(home.path().join("p.toml"), plan("rados://pool", verbs, &more))?;
        expect(beside(home.path(), "run p.toml"), code, words);
        Ok(())
    };
    run("none", &["read"], 1, &["ENOENT", "first at offset 0 of t"])?;
    run("EIO", &["write"], 1, &["write failed 1 times: EIO"].map(|_| "EIO"))?;
    run("ENOSPC", &["create"], 1, &["ENOSPC"])?;
    let short = |more: &str| {
        plan(
            "rados://pool",
            &["write", "read"],
            &format!("count = 4\nname = \"short.{{item}}\"\nsize = \"8KiB\";block = \"8KiB\"\n{more}"),
        )
    };
    std::fs::write(home.path().join("p.toml"), short(""))?;
    expect(beside(home.path(), "run p.toml"), 0, &["4 of 4 operations of read moved less than asked"]);
    Ok(())
}

fn accounts() -> Outcome {
    let home = staged()?;
    let run = |settings: &str| -> Result<Vec<String>, std::io::Error> {
        let more = format!("size = \"4KiB\";block = \"4KiB\"\nsettings = {{ {settings} }}");
        std::fs::write(home.path().join("p.toml"), plan("rados://pool", &["write"], &more))?;
        expect(beside(home.path(), "run p.toml"), 0, &[]);
        Ok(told(home.path()))
    };
    let calls = run("conf = \"/a/ceph.conf\", client = \"client.me\"")?;
    for call in
        ["client me", "conf /a/ceph.conf", "set client_mount_timeout 30", "namespace ", "close", "shutdown"]
    {
        assert!(calls.iter().any(|said| said == call), "{call}: {calls:?}");
    }
    let calls = run("cluster = \"other\", client = \"me\", connect_timeout_s = 7")?;
    for call in ["cluster other client client.me", "conf -", "set client_mount_timeout 7"] {
        assert!(calls.iter().any(|said| said == call), "{call}: {calls:?}");
    }
    Ok(())
}

fn refusals() -> Outcome {
    let home = staged()?;
    let status =
        |url: &str, verb: &str, more: &str, (code, connect): (i32, i32), words: &[&str]| -> Outcome {
            std::fs::write(
                home.path().join("p.toml"),
                plan(url, &[verb], &format!("size = \"4KiB\";{more}")),
            )?;
            let mut run = beside(home.path(), "run p.toml");
            run.env("CONNECT", connect.to_string());
            let out = expect(run, code, words).all();
            assert!(!out.contains("IOPS"), "{out}");
            Ok(())
        };
    let block = "block = \"4KiB\"\n";
    let run = |url: &str, verb: &str, more: &str, connect: i32, words: &[&str]| {
        status(url, verb, more, (1, connect), words)
    };
    // Before anything is touched.
    let never = |verb: &str, more: &str, words: &[&str]| status("rados://pool", verb, more, (2, 0), words);
    run("rados://none", "write", block, 0, &["cannot use pool none: No such file", "`ceph osd pool ls`"])?;
    run("rados://pool", "write", block, -110, &["client.admin: Connection timed out", "no monitor answers"])?;
    run("rados://pool", "write", block, -2, &["there is no keyring for this client"])?;
    run("rados://pool", "write", block, -13, &["Permission denied", "the key is not this client's"])?;
    let conf = format!("{block}settings = {{ conf = \"missing\" }}");
    run("rados://pool", "write", &conf, 0, &["cannot read the configuration of Ceph in missing"])?;
    never("clone", "", &["engine rados cannot clone objects", "it does: read write"])?;
    never("readdir", "depth = 4", &["rados lists one at a time", "depth = 1"])?;
    never("write", &format!("{block}processes = true"), &["does not work after a fork"])?;
    let timeout = format!("{block}settings = {{ connect_timeout_s = 0 }}");
    never("write", &timeout, &["`connect_timeout_s=0` is no value", "e.g. 30"])
}

const RADOS: &str = "--rados.user=me --rados.conf=ceph.conf --rados.pool=pool";

fn ior() -> Outcome {
    let home = staged()?;
    let line = format!("ior -a RADOS {RADOS} -t 4k -b 8k -N 2 -w -r -R -G 7 -o f");
    expect(beside(home.path(), &line), 0, &["api                 : RADOS", "write  ", "read  "]);
    let calls = told(home.path());
    assert!(calls.contains(&"client me".into()) && calls.contains(&"conf ceph.conf".into()), "{calls:?}");
    let mut calls = on_objects(&calls);
    // Whatever becomes of the phase that removes it, it goes with the run.
    assert_eq!((calls.remove(0), calls.pop(), calls.pop()), ("remove f", Some("remove f"), Some("remove f")));
    let part = |verb: &str| [0, 4096, 8192, 12_288].map(|at| format!("{verb} f 4096@{at}"));
    // Two tasks at once.
    calls.sort_unstable();
    let mut expected = [part("write"), part("read")].concat();
    expected.sort_unstable();
    assert_eq!(calls, expected);
    // An object for each task, kept.
    let line = format!("ior -a RADOS {RADOS} -t 8k -b 8k -N 2 -F -w -k -o f");
    expect(beside(home.path(), &line), 0, &["write  "]);
    let calls = told(home.path());
    let mut calls = on_objects(&calls);
    calls.sort_unstable();
    let own = ["f.00000000", "f.00000001"];
    let expected = [own.map(|name| format!("remove {name}")), own.map(|name| format!("write {name} 8192@0"))];
    assert_eq!(calls, expected.concat());
    for (line, words) in [
        (
            "--rados.user=me --rados.pool=pool",
            ["RADOS conf must be specified", "--rados.conf=/etc/ceph/ceph.conf"],
        ),
        ("--rados.user=me --rados.conf=c", ["RADOS pool must be specified", "`ceph osd pool ls`"]),
        ("--rados.conf=c --rados.pool=pool", ["RADOS user must be specified", "--rados.user=admin"]),
    ] {
        expect(beside(home.path(), &format!("ior -a RADOS {line} -w")), 1, &words);
    }
    let line = format!("ior -a RADOS {RADOS} -t 8k -b 8k -w -e -o f");
    expect(beside(home.path(), &line), 0, &["a write is durable when it is answered: -e changes nothing"]);
    Ok(())
}

fn fio() -> Outcome {
    let home = staged()?;
    let line =
        "fio --name=j --ioengine=rados --pool=pool --conf=ceph.conf --clientname=me --bs=4k --size=16k";
    let run = |more: &str| -> Result<Vec<String>, std::io::Error> {
        expect(beside(home.path(), &format!("{line} {more}")), 0, &["err= 0"]);
        Ok(told(home.path()))
    };
    let calls = run("--rw=write --nrfiles=2 --file_service_type=sequential")?;
    assert!(calls.contains(&"client me".into()) && calls.contains(&"conf ceph.conf".into()), "{calls:?}");
    let object = |name: &'static str| [0, 4096].map(|at| format!("write {name} 4096@{at}"));
    let touched = ["create j.0.0", "create j.0.1"].map(String::from);
    let written = [object("j.0.0"), object("j.0.1")].concat();
    assert_eq!(on_objects(&calls), [&touched[..], &written].concat());
    let calls = run("--rw=write --touch_objects=0 --iodepth=4 --busy_poll=1 --filename=a --verify=crc32c")?;
    assert_eq!(on_objects(&calls).iter().filter(|call| call.starts_with("write a")).count(), 4);
    assert_eq!(on_objects(&calls).iter().filter(|call| call.starts_with("read a")).count(), 4);
    assert!(!calls.iter().any(|call| call.starts_with("create")), "{calls:?}");
    let calls = run("--rw=write --bsrange=4k-8k --bs_unaligned=1 --touch_objects=0 --clustername=other")?;
    assert!(calls.contains(&"cluster other client client.me".into()), "{calls:?}");
    for (more, words) in [
        ("--rw=write --fsync=1", ["has nothing to sync", "leave it out"]),
        ("--rw=write --pool=a/b", ["a pool's name has no", "`ceph osd pool ls`"]),
    ] {
        expect(beside(home.path(), &format!("{line} {more}")), 1, &words);
    }
    let nowhere = "fio --name=j --ioengine=rados --rw=write --bs=4k --size=16k";
    expect(beside(home.path(), nowhere), 1, &["rados pool name must be provided", "pool=NAME"]);
    // The original reads what is not there at full speed, and says err= 0.
    let missing = format!("{line} --rw=read --touch_objects=0 --filename=missing");
    expect(beside(home.path(), &missing), 1, &["No such file or directory"]);
    Ok(())
}

fn mdtest() -> Outcome {
    let home = staged()?;
    let store = "mdtest -a RADOS --rados.user=me --rados.conf=c --rados.pool=pool";
    let line = format!("{store} -I 1 -b 2 -z 1 -w 3901 -e 96 -X -G 7 -d ./a --also threads=2");
    let words = [
        ": rados://pool",
        "2 tasks, 6 files/directories",
        "Directory creation",
        "File read",
        "Tree removal",
        "RADOS: an object has no other name: no directory is renamed",
    ];
    expect(beside(home.path(), &line), 0, &words);
    let calls = told(home.path());
    assert!(["client me", "conf c", "pool pool"].iter().all(|call| calls.contains(&(*call).into())));
    let of = |begin: &str| -> BTreeSet<String> {
        calls.iter().filter_map(|call| call.strip_prefix(begin)).map(String::from).collect()
    };
    let root = "a/test-dir.0-0/mdtest_tree.0/";
    let folders = ["", "mdtest_tree.1/", "mdtest_tree.2/"].map(|below| format!("{root}{below}"));
    let items = |word: &str, end: &str| -> Vec<String> {
        let of =
            |item: usize| [0, 1].map(|task| format!("{}{word}.mdtest.{task}.{item}{end}", folders[item]));
        (0..3).flat_map(of).collect()
    };
    let (dirs, files) = (items("dir", "/"), items("file", ""));
    let all: BTreeSet<String> = folders.iter().chain(&dirs).chain(&files).cloned().collect();
    let made: BTreeSet<String> =
        of("create ").into_iter().map(|made| made.trim_end_matches(" 3901").into()).collect();
    assert_eq!((&made, &of("remove ")), (&all, &all));
    assert_eq!(of("stat "), dirs.iter().chain(&files).cloned().collect());
    // The first bytes are enough to be verified.
    assert_eq!(of("read "), files.iter().map(|name| format!("{name} 96@0")).collect());
    for (line, words) in [
        (format!("{store} -n 1 -U"), ["an object has no other name", "leave -U out"]),
        (format!("{store}/x -n 1"), ["a pool's name has no", "`ceph osd pool ls`"]),
        ("mdtest -a RADOS -n 1".into(), ["RADOS pool must be specified", "--rados.user=admin"]),
    ] {
        expect(beside(home.path(), &line), 1, &words);
    }
    // What is not there is no success, and is in no rate.
    expect(beside(home.path(), &format!("{store} -n 3 -F -T -d ./none")), 1, &["3 operations failed"]);
    expect(beside(home.path(), &format!("{store} -n 1 -F -w 8 -d ./EIO")), 1, &["Input/output error"]);
    Ok(())
}

fn no_library() -> Outcome {
    let home = scratch();
    std::fs::write(
        home.path().join("p.toml"),
        plan("rados://pool", &["write"], "size = \"4KiB\";block = \"4KiB\""),
    )?;
    let mut run = command(home.path(), "run p.toml");
    run.env("IODYNO_RADOS", "libnone.so.9");
    expect(run, 2, &["Ceph's library cannot be used: libnone.so.9", "Debian: librados2", "IODYNO_RADOS="]);
    Ok(())
}

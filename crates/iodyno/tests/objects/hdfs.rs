//! The engine `hdfs`, and what lowers to it, against a stand-in of libhdfs that writes down what it is told.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use testbed::program::Program;
use testbed::{Case, Need, Outcome};

use super::program::{command, expect, library, scratch};

/// The stand-in's text.
const LIBHDFS: &str = include_str!("libhdfs.txt");

pub fn cases() -> Vec<Case> {
    let needs = [Need::Tool("rustc")];
    vec![
        Case::new("files_of_hdfs_are_written_in_order_and_read_anywhere", &needs, order),
        Case::new("every_verb_of_hdfs_is_the_call_of_its_name", &needs, verbs),
        Case::new("hdfs_that_cannot_start_says_why", &needs, refusals),
        Case::new("errors_of_hdfs_are_told_as_what_they_are", &needs, faults),
        Case::new("ior_opens_and_closes_files_of_hdfs", &needs, ior),
        Case::new("mdtest_has_files_and_directories_of_hdfs", &needs, mdtest),
        Case::new("fio_has_chunks_of_files_in_hdfs", &needs, fio),
        Case::new("signals_stay_ours_beside_a_java_machine", &needs, signals),
        Case::new("a_directory_of_hdfs_has_a_card", &needs, card),
        Case::new("what_a_killed_card_left_in_hdfs_is_removed_by_the_next", &needs, killed),
        Case::new("without_hadoop_nothing_starts", &[], no_library),
    ]
}

fn staged() -> Result<tempfile::TempDir, Box<dyn std::error::Error>> {
    let home = scratch();
    library(home.path(), "libhdfs.so", LIBHDFS)?;
    Ok(home)
}

fn beside(home: &Path, line: &str) -> Command {
    let mut command = command(home, line);
    command.env("IODYNO_HDFS", home.join("libhdfs.so")).env("CALLS", home.join("calls"));
    command
}

fn card() -> Outcome {
    let home = staged()?;
    let line = "measure hdfs://node:9000/bench --quick --time 20ms";
    let words = [
        "GET 4K Q1T16",
        "RANGE 1M Q1T8",
        "PUT 64M Q1T1",
        "workers",
        "HEAD",
        "which keeps one request in flight",
        "the mix:",
    ];
    let said = expect(beside(home.path(), line), 0, &words);
    assert!(!said.out.contains("its GETs") && !said.out.contains("first p50"), "{}", said.all());
    let calls = told(home.path());
    let last: Vec<&String> = calls.iter().rev().filter(|call| call.starts_with("delete")).take(2).collect();
    // The directory that was given was not there before either.
    assert!(
        last[1].starts_with("delete /bench/iodyno-measure-") && last[1].matches('/').count() == 2,
        "{last:?}"
    );
    assert_eq!(last[0], "delete /bench");
    Ok(())
}

fn killed() -> Outcome {
    let home = staged()?;
    let line = "measure hdfs://node:9000/bench --quick --time 20ms";
    let mut run = Program::new(beside(home.path(), line)).start();
    let calls = home.path().join("calls");
    let is_made = |text: String| text.contains("open /bench/iodyno-measure-");
    run.until("a file of the run", || std::fs::read_to_string(&calls).is_ok_and(is_made));
    run.signal(libc::SIGKILL);
    run.end();
    let first = told(home.path())
        .into_iter()
        .find_map(|call| call.strip_prefix("open /bench/")?.split('/').next().map(String::from));
    let own = first.expect("the run's own prefix");
    let left = [format!("/bench/{own}/4K/0"), format!("/bench/{own}/4K/1")];
    let others = ["/bench/mine".to_string(), format!("/other/{own}/4K/0")];
    let mut run = beside(home.path(), line);
    run.env("LEFT", [&left[..], &others[..]].concat().join(","));
    let said = format!("hdfs://node:9000/bench/{own}: left by a run that was killed, 2 objects, removed");
    expect(run, 0, &[&said, "GET after PUT", "Strong as far as this was tried"]);
    let calls = told(home.path());
    let is_removed = |name: &String| calls.contains(&format!("delete {name}"));
    assert!(left.iter().all(is_removed) && !others.iter().any(is_removed), "{calls:?}");
    // Its directories go with it, and those that others have files in stay.
    assert!(is_removed(&format!("/bench/{own}/4K")) && is_removed(&format!("/bench/{own}")), "{calls:?}");
    assert!(!is_removed(&"/bench".into()), "{calls:?}");
    Ok(())
}

/// What the stand-in was told, and forgets it.
fn told(home: &Path) -> Vec<String> {
    let calls = std::fs::read_to_string(home.join("calls")).unwrap_or_default();
    let _ = std::fs::remove_file(home.join("calls"));
    calls.lines().map(String::from).collect()
}

/// A plan of one phase for each of these verbs, on the same files.
fn plan(url: &str, verbs: &[&str], target: &str, job: &str) -> String {
    let phase = |verb: &&str| {
        format!(
            "[[phase]]\nname = \"{verb}\"\n[[phase.job]]\nname = \"{verb}\"\nengine = \"hdfs\"\non = \"t\"\n\
             do = \"{verb}\"\nuntil = {{ passes = 1 }}\n{job}\n"
        )
    };
    format!("[target.t]\nbucket = \"{url}\"\n{target}\n{}", verbs.iter().map(phase).collect::<String>())
}

fn write_plan(home: &Path, text: &str) -> std::io::Result<()> {
    std::fs::write(home.join("p.toml"), text)
}

fn order() -> Outcome {
    let home = staged()?;
    let job = "block = \"4KiB\"\nverify = true";
    let target = "count = 2\nsize = \"8KiB\"";
    write_plan(home.path(), &plan("hdfs://node:9000/a", &["write", "read"], target, job))?;
    expect(beside(home.path(), "run p.toml"), 0, &["write", "read"]);
    let calls = told(home.path());
    assert_eq!(calls[..3], ["name node node", "port 9000", "connect"]);
    let written = [
        "open /a/0 w 0 0 0",
        "write /a/0 4096@0",
        "write /a/0 4096@4096",
        "close /a/0",
        "open /a/1 w 0 0 0",
        "write /a/1 4096@0",
        "write /a/1 4096@4096",
        "close /a/1",
    ];
    assert_eq!(calls[3..11], written);
    // Short reads at the ends of blocks are read on.
    assert_eq!(calls[11..14], ["open /a/0 r 0 0 0", "read /a/0 4096@0", "read /a/0 1096@3000"]);
    // A place in the middle cannot be written.
    let job = "block = \"4KiB\"\npick = \"backward\"";
    write_plan(home.path(), &plan("hdfs://node/a", &["write"], "size = \"8KiB\"", job))?;
    expect(beside(home.path(), "run p.toml"), 1, &["EOPNOTSUPP"]);
    let job = "block = \"4KiB\"\nsettings = { user = \"me\", replication = 2, block_bytes = 65536, buffer_bytes = 8192, \
               flush = \"on\", own_connection = \"on\" }\nfinish = \"fsync\"";
    told(home.path());
    write_plan(home.path(), &plan("hdfs://node/a", &["write"], "size = \"4KiB\"", job))?;
    expect(beside(home.path(), "run p.toml"), 0, &[]);
    let calls = told(home.path());
    let expected = [
        "name node node",
        "port 0",
        "user me",
        "own",
        "connect",
        "open /a/0 w 8192 2 65536",
        "write /a/0 4096@0",
        "flush",
        "sync",
        "close /a/0",
        "disconnect",
    ];
    assert_eq!(calls, expected);
    Ok(())
}

fn verbs() -> Outcome {
    let home = staged()?;
    let verbs = ["create", "stat", "access", "open", "readdir", "unlink"];
    let job = "block = \"2KiB\"\nitem_data = {}";
    write_plan(home.path(), &plan("hdfs://node/a", &verbs, "size = \"2KiB\"", job))?;
    expect(beside(home.path(), "run p.toml"), 0, &["unlink"]);
    let calls = told(home.path());
    let expected = [
        "open /a/0 w 0 0 0",
        "write /a/0 2048@0",
        "close /a/0",
        "info /a/0",
        "info /a/0",
        "open /a/0 r 0 0 0",
        "read /a/0 2048@0",
        "close /a/0",
        "info /a",
        "list /a",
        "delete /a/0",
    ];
    assert_eq!(calls[3..], expected, "{calls:?}");
    Ok(())
}

fn refusals() -> Outcome {
    let home = staged()?;
    let block = "block = \"4KiB\"";
    let run = |url: &str, job: &str, (code, connect): (i32, i32), words: &[&str]| -> Outcome {
        write_plan(home.path(), &plan(url, &["write"], "size = \"4KiB\"", job))?;
        let mut run = beside(home.path(), "run p.toml");
        run.env("CONNECT", connect.to_string()).env_remove("CLASSPATH");
        expect(run, code, words);
        Ok(())
    };
    run(
        "hdfs://node/a",
        block,
        (1, 111),
        &["cannot connect to HDFS at node: Connection refused", "hadoop classpath --glob"],
    )?;
    run("hdfs://node:x/a", block, (1, 0), &["no port of a name node", "hdfs://localhost:9000/bench"])?;
    run("hdfs://node/a", &format!("{block}\nprocesses = true"), (2, 0), &["does not survive a fork"])?;
    let odd = format!("{block}\nsettings = {{ replication = 70000 }}");
    run("hdfs://node/a", &odd, (2, 0), &["`replication=70000` is no value", "e.g. 3"])
}

fn faults() -> Outcome {
    let home = staged()?;
    let run = |name: &str, verbs: &[&str], words: &[&str]| -> Outcome {
        let target = format!("name = \"{name}\"\nsize = \"4KiB\"");
        write_plan(home.path(), &plan("hdfs://node/a", verbs, &target, "block = \"4KiB\""))?;
        expect(beside(home.path(), "run p.toml"), 1, words);
        Ok(())
    };
    run("none", &["read"], &["No such file"])?;
    run("EIO", &["write", "read"], &["EIO"])?;
    // What is written may fail when the file is closed.
    run("ENOSPC", &["write"], &["hdfsCloseFile: No space left"])
}

fn ior() -> Outcome {
    let home = staged()?;
    let line = "ior -a HDFS --hdfs.name_node=node:9000 --hdfs.user=me --hdfs.replicas=2 --hdfs.block_size=1m -t 2k -b 4k -w -r -R \
                -e -G 7 -o f";
    expect(beside(home.path(), line), 0, &["api                 : HDFS", "write  ", "read  "]);
    let calls = told(home.path());
    let expected = [
        "name node node",
        "port 9000",
        "user me",
        "connect",
        "delete f",
        "info f",
        "open f w 2048 2 1048576",
        "write f 2048@0",
        "flush",
        "write f 2048@2048",
        "flush",
        "sync",
        "close f",
        "open f r 0 0 0",
        "read f 2048@0",
        "read f 2048@2048",
        "close f",
        "delete f",
    ];
    assert_eq!(calls[..expected.len()], expected, "{calls:?}");
    for (line, words) in [
        ("-w -N 2", ["a file of HDFS has one writer", "add -F"]),
        ("-w -z", ["written from its begin to its end", "leave -z out"]),
    ] {
        expect(beside(home.path(), &format!("ior -a HDFS -t 2k -b 4k {line} -o f")), 1, &words);
    }
    Ok(())
}

fn mdtest() -> Outcome {
    let home = staged()?;
    let line = "mdtest -a HDFS --hdfs.name_node=node:9000 --hdfs.user=me --hdfs.replicas=2 --hdfs.block_size=1m -I 1 -b 2 -z 1 \
                -w 3901 -e 3901 -X -G 7 -y -d";
    let words = [
        ": hdfs://node:9000",
        "Tree creation",
        "Directory stat",
        "File creation",
        "File read",
        "File removal",
        "Tree removal",
        "HDFS: the back end has no rename: no directory is renamed",
    ];
    expect(beside(home.path(), &format!("{line} /a")), 0, &words);
    let calls = told(home.path());
    assert_eq!(calls[..4], ["name node node", "port 9000", "user me", "connect"]);
    let (top, root) = ("/a/test-dir.0-0", "/a/test-dir.0-0/mdtest_tree.0");
    let of =
        |begin: &str| -> Vec<&str> { calls.iter().filter_map(|call| call.strip_prefix(begin)).collect() };
    let folders = [root.into(), format!("{root}/mdtest_tree.1"), format!("{root}/mdtest_tree.2")];
    let dirs: Vec<String> = (0..3).map(|item| format!("{}/dir.mdtest.0.{item}", folders[item])).collect();
    let files: Vec<String> = (0..3).map(|item| format!("{}/file.mdtest.0.{item}", folders[item])).collect();
    assert_eq!(of("mkdir "), [&folders[..], &dirs[..]].concat());
    let looked: Vec<String> = [&dirs[..], &files[..]].concat();
    assert_eq!(of("info ")[..6], looked);
    let first = calls.iter().position(|call| call.starts_with("open")).expect("a file is made");
    let made = [
        format!("open {} w 0 2 1048576", files[0]),
        format!("write {} 3901@0", files[0]),
        "flush".into(),
        "sync".into(),
        format!("close {}", files[0]),
    ];
    assert_eq!(calls[first..first + 5], made);
    // What is in a directory goes before it.
    let mut gone: Vec<String> = [&dirs[..], &files[..]].concat();
    gone.extend([folders[2].clone(), folders[1].clone(), root.into(), top.into()]);
    assert_eq!(of("delete "), gone);
    // Without a root a path is below the user's home, and several tasks have several directories.
    let line = "mdtest -a HDFS -F -n 2 -u -d ./x@y --also threads=2";
    expect(beside(home.path(), line), 0, &[": hdfs://default", "2 tasks, 4 files"]);
    let calls = told(home.path());
    let made = calls.iter().filter_map(|call| call.strip_prefix("mkdir ")).collect::<BTreeSet<_>>();
    assert_eq!(
        made.into_iter().collect::<Vec<_>>(),
        ["x/test-dir.0-0/mdtest_tree.0.0", "y/test-dir.0-0/mdtest_tree.1.0"]
    );
    for gone in ["delete x/test-dir.0-0", "delete y/test-dir.0-0"] {
        assert!(calls.contains(&gone.into()), "{calls:?}");
    }
    for (more, words) in [
        ("-D -U", ["the back end HDFS has no rename", "leave -U out"]),
        ("-F -k", ["an object is no node", "leave -k out"]),
        ("-F -w 1 --verify-write", ["not read back at once", "-X -E"]),
        ("--also phases=readdir", ["objects have none of them", "leave phases= out"]),
        ("--hdfs.name_node=a/b", ["more than HOST:PORT", "--hdfs.name_node=localhost:9000"]),
        ("--hdfs.block_size=2g", ["below 2 GiB", "--hdfs.block_size=128m"]),
    ] {
        expect(beside(home.path(), &format!("mdtest -a HDFS -n 1 {more}")), 1, &words);
    }
    expect(beside(home.path(), "mdtest -a HDFS -n 1 -d /EACCES"), 1, &["Permission denied"]);
    Ok(())
}

fn fio() -> Outcome {
    let home = staged()?;
    let line = "fio --name=j --ioengine=libhdfs --namenode=node --bs=2k --size=8k --chunk_size=4096";
    expect(beside(home.path(), &format!("{line} --rw=read --hdfsdirectory=/d")), 0, &["err= 0"]);
    let calls = told(home.path());
    // Chunks are laid out, and each is opened when the first of it is read.
    assert_eq!(calls[..3], ["name node node", "port 9000", "connect"]);
    assert!(calls.contains(&"open /d/j.0.0_0 w 0 0 4096".into()), "{calls:?}");
    let opened: Vec<&String> =
        calls.iter().filter(|call| call.starts_with("open") && call.contains(" r ")).collect();
    assert_eq!(opened, ["open /d/j.0.0_0 r 0 0 0", "open /d/j.0.0_1 r 0 0 0"]);
    expect(
        beside(home.path(), &format!("{line} --rw=write --port=8020 --single_instance=0 --filename=f")),
        0,
        &["err= 0"],
    );
    let calls = told(home.path());
    assert!(calls.contains(&"port 8020".into()) && calls.contains(&"own".into()), "{calls:?}");
    assert!(calls.contains(&"open /f_0 w 0 0 4096".into()), "{calls:?}");
    // As the original: what is smaller than a chunk is not written at random.
    expect(
        beside(home.path(), &format!("{line} --rw=randwrite --randseed=3 --size=64k")),
        1,
        &["Operation not supported"],
    );
    for (more, words) in [
        ("--rw=write --fsync=1", ["nothing to sync", "leave it out"]),
        ("--rw=read --hdfs_use_direct=1", ["reads directly by itself", "leave it out"]),
    ] {
        expect(beside(home.path(), &format!("{line} {more}")), 1, &words);
    }
    Ok(())
}

fn signals() -> Outcome {
    let home = staged()?;
    let job = "block = \"4KiB\"";
    write_plan(
        home.path(),
        &plan("hdfs://node/a", &["write"], "size = \"4KiB\"", job).replace("passes = 1", "time = \"60s\""),
    )?;
    let mut run = Program::new(beside(home.path(), "run p.toml")).start();
    let calls = home.path().join("calls");
    run.until("a write", || std::fs::read_to_string(&calls).is_ok_and(|text| text.contains("write")));
    run.signal(libc::SIGINT);
    assert_eq!(run.end().code(), 130);
    Ok(())
}

fn no_library() -> Outcome {
    let home = scratch();
    write_plan(home.path(), &plan("hdfs://node/a", &["write"], "size = \"4KiB\"", "block = \"4KiB\""))?;
    let mut run = command(home.path(), "run p.toml");
    run.env("IODYNO_HDFS", "libnone.so.9");
    expect(
        run,
        2,
        &["Hadoop's library cannot be used: libnone.so.9", "IODYNO_HDFS=", "hadoop classpath --glob"],
    );
    Ok(())
}

//! The engine `rados`, IOR and fio against a Ceph of this machine, whose own program counts the objects.

use std::path::Path;
use std::process::Command;

use testbed::ceph::Ceph;
use testbed::program::Program;
use testbed::store::with_keys;
use testbed::{Case, Need, Outcome};

use super::program::{command, expect, is_fetched, scratch};

pub fn cases() -> Vec<Case> {
    let needs = [Need::That(is_fetched)];
    let case = |name: &str, body: fn() -> Outcome| Case::new(name, &needs, body).against();
    vec![
        case("ceph_counts_what_was_written_and_verified_at_depth_16", engine),
        case("ceph_holds_what_ior_and_fio_wrote", dialects),
        case("ceph_is_cleared_after_ctrl_c", interrupted),
        case("ceph_gateway_fails_what_its_profile_says_and_takes_warp_and_ior", gateway),
        case("ceph_is_cleared_of_what_a_killed_card_left", killed),
    ]
}

/// How many objects a pool's namespace has, as Ceph's own program counts them.
fn count(ceph: &Ceph, namespace: &str) -> Result<usize, String> {
    ceph.rados("bench", &["-N", namespace, "ls"]).map(|text| text.lines().count())
}

/// The size of an object, as Ceph's own program says it.
fn size(ceph: &Ceph, name: &str) -> Result<u64, String> {
    let text = ceph.rados("bench", &["stat", name])?;
    let size = text.trim().rsplit("size ").next().and_then(|size| size.parse().ok());
    size.ok_or_else(|| format!("no size: {text}"))
}

fn started() -> Result<Ceph, Box<dyn std::error::Error>> {
    let ceph = Ceph::start()?;
    ceph.pool("bench")?;
    Ok(ceph)
}

/// `iodyno LINE` with the keys that the gateway knows.
fn with(home: &Path, line: &str) -> Command {
    let mut command = command(home, line);
    with_keys(command.env("HOME", home));
    command
}

fn gateway() -> Outcome {
    let ((_ceph, host), home) = (Ceph::start_gateway()?, scratch());
    let run = |line: String, words: &[&str]| expect(with(home.path(), &line), 0, words);
    let more =
        format!("--host={host} --bucket=bucket --obj.size=64KiB --concurrent=4 --duration=2s --benchdata");
    for (name, options) in [
        ("put", ""),
        ("get", "--objects=20"),
        ("stat", "--objects=20"),
        ("list", "--objects=40"),
        ("delete", "--objects=160 --batch=5"),
        ("mixed", "--objects=40"),
        ("multipart-put", "--parts=2 --part.concurrent=2 --part.size=5MiB"),
    ] {
        run(format!("warp {name} {more}={name} {options}"), &["Benchmark data written to", "Cleanup Done."]);
    }
    for name in ["get", "stat"] {
        let line =
            format!("warp {name} {more}={name}-v --objects=20 --versions=2").replace("=bucket", "=versions");
        run(line, &["Cleanup Done."]);
    }
    let ior =
        format!("ior -a S3 --S3.host={host} --S3.bucket-name=bucket -N 2 -t 5m -b 10m -w -r -W -R -o f");
    run(ior, &["api                 : S3", "write  ", "read  "]);
    let mut card = with(home.path(), "measure --quick s3://bucket/card");
    card.env("AWS_ENDPOINT_URL", format!("http://{host}"));
    expect(card, 0, &["GET", "PUT"]);
    // Keys that are removed together are named in any order: sometimes in the expected one.
    let check = format!("s3check s3://bucket/a --endpoint http://{host} --profile radosgw");
    run(check, &["profile radosgw", ", 0 failed, "]);
    Ok(())
}

fn phase(ceph: &Ceph, verb: &str, more: &str) -> String {
    let conf = ceph.configuration();
    format!(
        "[[phase]]\nname = \"{verb}\"\n[[phase.job]]\nname = \"{verb}\"\nengine = \"rados\"\non = \"t\"\ndo = \"{verb}\"\n\
         settings = {{ conf = \"{}\" }}\nuntil = {{ passes = 1 }}\n{more}\n",
        conf.display()
    )
}

fn run(home: &Path, text: &str, words: &[&str]) -> Outcome {
    std::fs::write(home.join("p.toml"), text)?;
    expect(command(home, "run p.toml"), 0, words);
    Ok(())
}

fn engine() -> Outcome {
    let (ceph, home) = (started()?, scratch());
    let target = "[target.t]\nbucket = \"rados://bench:space/run\"\ncount = 64\nsize = \"64KiB\"\n";
    let data = "block = \"16KiB\"\ndepth = 16\nverify = true\n";
    let text = format!(
        "{target}{}{}",
        phase(&ceph, "write", data),
        phase(&ceph, "read", &format!("{data}pick = \"random\"\n"))
    );
    run(home.path(), &text, &["256", "4 MiB", "of 16 asked"])?;
    assert_eq!((count(&ceph, "space")?, count(&ceph, "")?), (64, 0));
    // Each verb on each object, and nothing is left.
    let verbs = ["stat", "open", "setxattr", "getxattr", "removexattr", "truncate", "unlink"];
    let phases: String = verbs.iter().map(|verb| phase(&ceph, verb, "depth = 16")).collect();
    run(home.path(), &format!("{target}{phases}"), &verbs)?;
    assert_eq!(count(&ceph, "space")?, 0);
    // What was laid out for a run goes with it.
    let laid = target.replace("size", "prepare = \"filled\"\nremove = true\nsize");
    let plain = data.replace("verify = true\n", "");
    run(home.path(), &format!("{laid}{}", phase(&ceph, "read", &plain)), &["256"])?;
    assert_eq!(count(&ceph, "space")?, 0);
    // What is not there is no success.
    std::fs::write(home.path().join("p.toml"), format!("{target}{}", phase(&ceph, "read", data)))?;
    expect(command(home.path(), "run p.toml"), 1, &["ENOENT"]);
    Ok(())
}

fn dialects() -> Outcome {
    let (ceph, home) = (started()?, scratch());
    let conf = ceph.configuration().display().to_string();
    let store = format!("--rados.user=admin --rados.conf={conf} --rados.pool=bench");
    let line = format!("ior -a RADOS {store} -t 64k -b 256k -s 2 -N 2 -w -r -W -R -k -o file");
    expect(command(home.path(), &line), 0, &["api                 : RADOS", "write  ", "read  "]);
    assert_eq!((count(&ceph, "")?, size(&ceph, "file")?), (1, 1 << 20));
    let line = format!("ior -a RADOS {store} -t 64k -b 256k -N 2 -F -C -w -r -R -o file");
    expect(command(home.path(), &line), 0, &["write  ", "read  "]);
    assert_eq!(count(&ceph, "")?, 1, "its own objects are removed, and no other");
    ceph.rados("bench", &["rm", "file"])?;
    let line =
        format!("mdtest -a RADOS {store} -I 4 -b 2 -z 1 -w 3901 -e 3901 -N 1 -G 5 -d dir --also threads=2");
    expect(command(home.path(), &format!("{line} -C -T -E -X")), 0, &["File creation", "File read"]);
    // Three directories of the tree, and of each task twelve directories and twelve files.
    assert_eq!(
        (count(&ceph, "")?, size(&ceph, "dir/test-dir.0-0/mdtest_tree.0/file.mdtest.1.3")?),
        (51, 3901)
    );
    expect(command(home.path(), &format!("{line} -r")), 0, &["File removal", "Tree removal"]);
    assert_eq!(count(&ceph, "")?, 0);
    // The same job by the original and by ours: the same objects, of the same size and bytes.
    let job = format!(
        "--name=j --ioengine=rados --conf={conf} --pool=bench --clientname=admin --bs=4k --size=256k --nrfiles=2 \
         --iodepth=16 --rw=randwrite --verify=crc32c --verify_fatal=1 --buffer_pattern=0x5a --output-format=json"
    );
    let original = || {
        let mut fio = Command::new("fio");
        fio.args(job.split_whitespace()).current_dir(home.path());
        fio
    };
    let mut seen = Vec::new();
    for run in [original(), command(home.path(), &format!("fio {job}"))] {
        let told = Program::new(run).run();
        assert_eq!(told.code(), 0, "{}", told.all());
        let number = |name: &str| {
            let line = told.out.lines().find(|line| line.contains(&format!("\"{name}\" :")));
            line.map(|line| line.trim().to_string())
        };
        let sizes = [size(&ceph, "j.0.0")?, size(&ceph, "j.0.1")?];
        seen.push((number("error"), number("total_ios"), number("io_bytes"), sizes, count(&ceph, "")?));
        ceph.rados("bench", &["rm", "j.0.0", "j.0.1"])?;
    }
    assert_eq!(seen[0], seen[1], "fio, and ours");
    assert_eq!((seen[0].3, seen[0].4), ([131_072; 2], 2));
    Ok(())
}

fn interrupted() -> Outcome {
    let (ceph, home) = (started()?, scratch());
    let conf = ceph.configuration().display().to_string();
    let line = format!(
        "ior -a RADOS --rados.user=admin --rados.conf={conf} --rados.pool=bench -t 4k -b 64m -w -o file"
    );
    let mut test = Program::new(command(home.path(), &line)).start();
    test.until("an object of the run", || size(&ceph, "file").is_ok());
    test.signal(libc::SIGINT);
    let told = test.end();
    assert_ne!(told.code(), 0, "{}", told.all());
    assert_eq!(count(&ceph, "")?, 0, "{}", told.all());
    Ok(())
}

fn killed() -> Outcome {
    let (ceph, home) = (started()?, scratch());
    let conf = ceph.configuration().display().to_string();
    let line = format!("measure rados://bench/a --quick --time 100ms --setting conf={conf}");
    let mut run = Program::new(command(home.path(), &line.replace("100ms", "5s"))).start();
    run.until("an object of the run", || count(&ceph, "").is_ok_and(|count| count > 0));
    run.signal(libc::SIGKILL);
    run.end();
    assert_ne!(count(&ceph, "")?, 0);
    let words =
        ["left by a run that was killed", "removed", "LIST after DELETE", "Strong as far as this was tried"];
    expect(command(home.path(), &line), 0, &words);
    assert_eq!(count(&ceph, "")?, 0);
    Ok(())
}

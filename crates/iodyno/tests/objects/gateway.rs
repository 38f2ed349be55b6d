//! versitygw, a gateway of others that keeps objects as files and checks every signature: what `s3check` finds of it, and that
//! warp's commands and mdtest leave nothing behind.

use std::path::Path;
use std::process::Command;

use testbed::gateway::Gateway;
use testbed::program::Program;
use testbed::store::with_keys;
use testbed::{Case, Need, Outcome};

use super::program::{command, expect, fetched, is_fetched, scratch};

pub fn cases() -> Vec<Case> {
    let needs = [Need::That(is_fetched)];
    let case = |name: &str, body: fn() -> Outcome| Case::new(name, &needs, body).against();
    vec![
        case("gateway_of_files_fails_what_its_profile_says", checked),
        case("gateway_of_files_takes_what_warp_sends", warp),
        case("gateway_with_versions_fails_what_its_profile_says", checked_with_versions),
        case("gateway_with_versions_takes_what_warp_sends", warp_with_versions),
        case("gateway_of_files_holds_mdtests_tree", mdtest),
        case("gateway_of_files_has_objects_above_a_gibibyte_laid_out", long),
    ]
}

fn started() -> Result<Gateway, Box<dyn std::error::Error>> {
    Gateway::of_files(&fetched()?.join("bin/versitygw"))
}

/// `iodyno LINE` with the gateway's keys.
fn with(home: &Path, line: &str) -> Command {
    let mut command = command(home, line);
    with_keys(command.env("HOME", home));
    command
}

fn checked() -> Outcome {
    let (gateway, home) = (started()?, scratch());
    gateway.make_bucket("bucket")?;
    let line =
        format!("s3check s3://bucket/a --endpoint {} --strict --profile versitygw", gateway.endpoint());
    expect(with(home.path(), &line), 0, &["profile versitygw", ", 0 failed, 10 failed as expected"]);
    assert_eq!(gateway.files("bucket"), 0);
    Ok(())
}

fn with_versions() -> Result<Gateway, Box<dyn std::error::Error>> {
    Gateway::of_versions(&fetched()?.join("bin/versitygw"))
}

fn checked_with_versions() -> Outcome {
    let (gateway, home) = (with_versions()?, scratch());
    // warp makes a bucket that keeps versions.
    let line = format!(
        "warp stat --host={} --bucket=bucket --objects=2 --versions=2 --concurrent=1 --duration=1s --benchdata=v",
        gateway.host()
    );
    expect(with(home.path(), &line), 0, &["Cleanup Done."]);
    let line = format!(
        "s3check s3://bucket/a --endpoint {} --strict --profile versitygw-versions",
        gateway.endpoint()
    );
    // Now and then it answers a write into a directory that was just made by saying that it is one: what came after that
    // could not run. What could run has to hold.
    let told = Program::new(with(home.path(), &line)).run();
    assert!(told.out.contains(", 0 failed, 11 failed as expected"), "{}", told.all());
    Ok(())
}

fn warp_with_versions() -> Outcome {
    let (gateway, home) = (with_versions()?, scratch());
    for (name, options) in [
        ("get", "--objects=20 --versions=3 --bucket=versions"),
        ("stat", "--objects=20 --versions=3 --bucket=versions"),
        ("list", "--objects=40 --versions=2 --bucket=versions"),
        ("delete", "--objects=160 --versions=2 --batch=5 --bucket=versions"),
        ("retention", "--objects=20 --versions=2 --bucket=locks"),
    ] {
        let line = format!(
            "warp {name} --host={} --obj.size=4KiB --concurrent=4 --duration=2s --benchdata={name} {options}",
            gateway.host()
        );
        expect(with(home.path(), &line), 0, &["Benchmark data written to", "Cleanup Done."]);
        assert_eq!((gateway.files("versions"), gateway.files("locks")), (0, 0), "{name}");
    }
    Ok(())
}

fn warp() -> Outcome {
    let (gateway, home) = (started()?, scratch());
    for (name, options) in [
        ("put", ""),
        ("get", "--objects=20"),
        ("stat", "--objects=20"),
        ("list", "--objects=40"),
        ("delete", "--objects=160 --batch=5"),
        ("mixed", "--objects=40"),
        ("multipart-put", "--parts=2 --part.concurrent=2 --part.size=5MiB"),
        ("get", "--objects=20 --range"),
        ("multipart", "--parts=4"),
    ] {
        let line = format!(
            "warp {name} --host={} --obj.size=64KiB --concurrent=4 --duration=2s {options}",
            gateway.host()
        );
        expect(with(home.path(), &line), 0, &["Benchmark data written to", "Cleanup Done."]);
        assert_eq!(gateway.files("warp-benchmark-bucket"), 0, "{name}");
    }
    Ok(())
}

fn mdtest() -> Outcome {
    let (gateway, home) = (started()?, scratch());
    let line = format!(
        "mdtest -a S3 --S3.host={} -I 2 -b 2 -z 2 -w 3901 -e 3901 -N 1 -G 5 -d a/b --also threads=3",
        gateway.host()
    );
    expect(with(home.path(), &format!("{line} -C -T -E -X")), 0, &["3 tasks, 42 files/directories"]);
    // Three tasks with fourteen files each; directories are directories here.
    assert_eq!(gateway.files("ior"), 42);
    expect(with(home.path(), &format!("{line} -r")), 0, &["Tree removal"]);
    assert_eq!(gateway.files("ior"), 0);
    Ok(())
}

fn long() -> Outcome {
    let (gateway, home) = (started()?, scratch());
    gateway.make_bucket("bucket")?;
    let plan = format!(
        "[target.t]\nbucket = \"s3://bucket/a\"\ncount = 1\nsize = \"1088MiB\"\nprepare = \"filled\"\nremove = true\n\
         [[phase]]\nname = \"get\"\n[[phase.job]]\nname = \"get\"\non = \"t\"\nengine = \"s3\"\ndo = \"read\"\n\
         block = \"64MiB\"\nuntil = {{ passes = 1 }}\nsettings = {{ endpoint = \"{}\" }}\n",
        gateway.endpoint()
    );
    std::fs::write(home.path().join("p.toml"), plan)?;
    expect(with(home.path(), "run p.toml"), 0, &["1.06 GiB"]);
    assert_eq!(gateway.files("bucket"), 0);
    Ok(())
}

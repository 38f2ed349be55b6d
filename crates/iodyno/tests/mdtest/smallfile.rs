//! smallfile: each operation does to the files what it says, cleanup leaves nothing, and what is wrong is one message.

use std::fs;
use std::path::{Path, PathBuf};

use testbed::{Case, Outcome};

use crate::program::{ProgramOutput, iodyno, told};

pub fn cases() -> Vec<Case> {
    let case = |name: &str, body: fn() -> Outcome| Case::new(format!("smallfile_{name}"), &[], body);
    vec![
        case("does_with_each_file_what_it_says_and_cleans_up", whole),
        case("finds_a_wrong_byte_and_a_file_that_is_not_there", wrong_files),
        case("writes_results_and_response_times", results),
        case("what_it_cannot_do_is_one_message_and_nothing_is_made", refused),
    ]
}

fn smallfile(home: &Path, line: &str) -> ProgramOutput {
    let mut command = iodyno(["smallfile", "--top", "top"].into_iter().chain(line.split_whitespace()));
    command.current_dir(home).env("IODYNO_FINDINGS", "0");
    told(command)
}

fn place() -> std::io::Result<tempfile::TempDir> {
    let home = tempfile::tempdir()?;
    fs::create_dir(home.path().join("top"))?;
    Ok(home)
}

/// Everything below a directory that is no directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() && !path.is_symlink() && !path.to_string_lossy().ends_with(".d") {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

/// Every operation in an order in which all of them can be done, in trees in order, by hash and in common.
fn whole() -> Outcome {
    for shape in
        ["--files-per-dir 5 --dirs-per-dir 2", "--hash-into-dirs Y --files-per-dir 4", "--same-dir Y"]
    {
        let home = place()?;
        let home = home.path();
        let (source, target) = (home.join("top/file_srcdir"), home.join("top/file_dstdir"));
        let run = |operation: &str, further: &str| {
            let line = format!(
                "--operation {operation} --files 30 --file-size 5 --record-size 2 --stonewall N {shape} {further}"
            );
            smallfile(home, &line).expect(0, &["total threads = 2", "total files = 60", "100.00% of"]);
        };
        run("create", "--fsync Y --prefix p --suffix s");
        let made = files(&source);
        assert_eq!(made.len(), 60, "{made:?}");
        assert!(made.iter().all(|path| fs::metadata(path).is_ok_and(|facts| facts.len() == 5 << 10)));
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(
            made.iter().map(name).any(|name| name.starts_with("p_") && name.ends_with("_01_30_s")),
            "{made:?}"
        );
        let named = "--prefix p --suffix s";
        for operation in
            ["read", "overwrite", "truncate-overwrite", "read", "stat", "chmod", "readdir", "ls-l"]
        {
            run(operation, named);
        }
        run("append", named);
        assert!(
            files(&source).iter().all(|path| fs::metadata(path).is_ok_and(|facts| facts.len() == 10 << 10))
        );
        run("symlink", named);
        assert!(files(&target).iter().all(|path| path.is_symlink()) && files(&target).len() == 60);
        run("mkdir", named);
        run("rmdir", named);
        run("rename", named);
        assert_eq!((files(&source).len(), files(&target).len()), (0, 120));
        run("delete-renamed", named);
        run("create", named);
        run("delete", named);
        run("create", named);
        run("mkdir", named);
        run("cleanup", named);
        assert_eq!(files(&home.join("top")), Vec::<PathBuf>::new());
        assert!(!source.exists() && !target.exists(), "directories are left");
    }
    Ok(())
}

fn wrong_files() -> Outcome {
    let home = place()?;
    let home = home.path();
    let shape = "--files 12 --threads 1 --file-size-distribution exponential --file-size 4";
    smallfile(home, &format!("--operation create {shape}")).expect(0, &["total files = 12"]);
    smallfile(home, &format!("--operation read {shape}")).expect(0, &["total files = 12"]);
    let mut made = files(&home.join("top"));
    made.sort();
    let mut bytes = fs::read(&made[0])?;
    bytes[700] ^= 1;
    fs::write(&made[0], bytes)?;
    let found = smallfile(home, &format!("--operation read {shape}"));
    found.expect(1, &["status = ERR: ", "at least one thread encountered error"]);
    fs::remove_file(&made[0])?;
    smallfile(home, &format!("--operation stat {shape}")).expect(1, &["status = ERR: "]);
    // What is there already stays as it is.
    fs::write(&made[0], "mine")?;
    smallfile(home, &format!("--operation create {shape}")).expect(1, &["status = ERR: "]);
    assert_eq!(fs::read_to_string(&made[0])?, "mine");
    Ok(())
}

fn results() -> Outcome {
    let home = place()?;
    let home = home.path();
    let line = "--operation create --files 15 --file-size 2 --stonewall N --response-times Y --output-json result.json";
    smallfile(home, line).expect(0, &["total files = 30", "MiB/sec = ", "files/sec = "]);
    let json: serde_json::Value = serde_json::from_str(&fs::read_to_string(home.join("result.json"))?)?;
    assert_eq!(json["params"]["operation"], "create");
    assert_eq!(json["results"]["in-thread"]["01"]["records"], 15);
    assert_eq!(json["results"]["status"], "Success");
    let times = files(&home.join("top/network_shared"));
    assert_eq!(times.len(), 2, "{times:?}");
    for path in times {
        let text = fs::read_to_string(path)?;
        assert_eq!(text.lines().count(), 15);
        assert!(
            text.lines().all(|line| line.split(',').count() == 3 && line.trim_start().starts_with("create,"))
        );
    }
    Ok(())
}

fn refused() -> Outcome {
    let home = place()?;
    let home = home.path();
    fs::write(home.join("bad.yaml"), "operation: create\nfiles: few\n")?;
    for (line, words) in [
        ("--operation swift-put", "OpenStack"),
        ("--operation creat", "did you mean"),
        ("--operation create --record-size 100", "cannot exceed file size"),
        ("--operation create --files 0", "expected 1"),
        ("--yaml-input-file bad.yaml", "bad.yaml:2"),
        ("--yaml-input-file none.yaml", "none.yaml"),
    ] {
        smallfile(home, line).expect(1, &[words]);
        assert_eq!(fs::read_dir(home.join("top"))?.count(), 0, "{line} made something");
    }
    Ok(())
}

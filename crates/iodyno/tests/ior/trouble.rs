//! Runs that cannot go well: wrong words, missing places, full file systems, damage, interruptions.

use std::os::unix::fs::FileExt;

use testbed::program::Running;
use testbed::sandbox::Mount;
use testbed::{Case, Need, Outcome};

use super::program::{IorOutput, command, ior, names, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("wrong_words_are_told_together", &[], wrong),
        Case::new("a_directory_that_is_not_there", &[], missing),
        Case::new("a_full_file_system_ends_cleanly", &[Need::Mount], full),
        Case::new("damage_is_told_byte_for_byte", &[], damage),
        Case::new("a_file_that_is_too_short", &[], short),
        Case::new("ctrl_c_leaves_nothing", &[], interrupted),
        Case::new("called_by_its_name_it_says_no_more", &[], by_name),
    ]
}

fn wrong() -> Outcome {
    let home = scratch();
    let told = ior(home.path(), "-b 1q --blokSize=4k -a DFS -y");
    told.expect(1, &["expected a whole number", "did you mean `blockSize`", "`api=DFS` is not supported"]);
    assert!(told.out.is_empty() && told.err.matches("ERROR: ").count() == 4, "{}", told.err);
    ior(home.path(), "-b 1m -t 300k").expect(1, &["does not consist of transfers"]);
    ior(home.path(), "-f nothing").expect(1, &["nothing: No such file or directory"]);
    assert_eq!(names(home.path()), Vec::<String>::new());
    Ok(())
}

fn missing() -> Outcome {
    let home = scratch();
    let told = ior(home.path(), "-N 2 -b 256k -o nowhere/file");
    told.expect(1, &["ERROR: ", "nowhere/file"]);
    assert!(told.err.to_lowercase().contains("no such file or directory"), "{}", told.err);
    ior(home.path(), "-N 2 -b 256k -r").expect(1, &["ERROR: ", "testFile"]);
    Ok(())
}

fn full() -> Outcome {
    let mount = Mount::tmpfs(4 << 20)?;
    let told = ior(mount.path(), "-N 2 -b 8m -t 64k -w");
    told.expect(1, &["ERROR: ", "WARNING: Using actual aggregate bytes moved = ", "Finished            : "]);
    assert!(told.err.to_lowercase().contains("no space left"), "{}", told.err);
    assert_eq!(names(mount.path()), Vec::<String>::new(), "what it made is removed");
    Ok(())
}

fn damage() -> Outcome {
    let home = scratch();
    ior(home.path(), "-N 2 -t 64k -b 256k -w -k -G 5").expect(0, &[]);
    let path = home.path().join("testFile");
    let file = std::fs::OpenOptions::new().write(true).open(&path)?;
    file.write_all_at(b"damaged!", 300_000)?;
    drop(file);
    let told = ior(home.path(), "-N 2 -t 64k -b 256k -r -R -K -G 5");
    told.expect(
        1,
        &[
            "Incorrect data on read (1 errors found)",
            "testFile: bytes 300000 to 300007",
            "Used Time Stamp 5 (0x5)",
        ],
    );
    assert!(path.exists(), "-K keeps a file with errors");
    // IOR forgets errors beyond 127 in its exit status.
    ior(home.path(), "-N 2 -t 4k -b 256k -r -R -k -G 6").expect(1, &["(128 errors found)"]);
    Ok(())
}

fn short() -> Outcome {
    let home = scratch();
    std::fs::write(home.path().join("testFile"), vec![0; 100_000])?;
    let told = ior(home.path(), "-N 2 -t 64k -b 256k -r -k");
    told.expect(1, &["WARNING: Expected aggregate file size       = 524288"]);
    assert!(told.err.contains("ERROR: read: 7 transfers ended early, and 424288 bytes"), "{}", told.err);
    // A file of one's own is named by its own name.
    std::fs::create_dir(home.path().join("own.00000000"))?;
    let told = ior(home.path(), "-N 1 -F -t 64k -b 256k -r -k -o own");
    told.expect(1, &["own.00000000"]);
    assert!(!told.all().contains("{worker"), "{}", told.err);
    Ok(())
}

fn interrupted() -> Outcome {
    let home = scratch();
    let line = "-N 2 -b 64k -t 4k -s 100000 -O interIODelay=1000 -v";
    let mut running = Running::start(command(home.path(), line));
    let written = || std::fs::metadata(home.path().join("testFile")).is_ok_and(|facts| facts.len() > 0);
    running.until("something written", written);
    running.signal(libc::SIGINT);
    let told = IorOutput(running.end());
    told.expect(130, &["Finished            : "]);
    assert_eq!(names(home.path()), Vec::<String>::new());
    Ok(())
}

fn by_name() -> Outcome {
    use std::os::unix::process::CommandExt;
    let home = scratch();
    let mut named = std::process::Command::new(super::program::IODYNO);
    named.arg0("ior").args(["-N", "2", "-b", "256k"]).current_dir(home.path());
    let told = told(named);
    told.expect(0, &["IOR-4.1"]);
    assert!(told.err.is_empty(), "{}", told.err);
    Ok(())
}

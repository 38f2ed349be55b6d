//! `iodyno crash`: what a crash leaves is judged, shown again, and nothing is left mounted.

use std::fs;

use testbed::{Case, Need, Outcome, wait};

use crate::program::{IODYNO, Program, iodyno, scratch, told};

pub fn cases() -> Vec<Case> {
    let needs = [
        Need::Root,
        Need::Fuse,
        Need::Loop,
        Need::FileSystem("ext4"),
        Need::Tool("mkfs.ext4"),
        Need::Tool("e2fsck"),
    ];
    vec![
        Case::new("crash finds no fault in an honest ext4", &needs, honest),
        Case::new("crash shows what a disk that lies loses, and shows it again", &needs, lying),
        Case::new("crash judges a program by its own check and marks", &needs, own_program),
        Case::new("crash that is interrupted or killed leaves nothing", &needs, ended),
        Case::new("crash refuses what it cannot do in one message", &needs, refused),
    ]
}

fn honest() -> Outcome {
    let out = told(iodyno(["crash", "ext4", "-w", "create-rename-replace,maildir", "-n", "40", "--tap"]));
    assert_eq!((out.code(), out.err.as_str()), (0, ""));
    assert!(out.out.ends_with("ok 1 - ext4: create-rename-replace\nok 2 - ext4: maildir\n"), "{}", out.out);
    Ok(())
}

fn lying() -> Outcome {
    let home = scratch();
    let page = home.path().join("page.html");
    let mut command =
        iodyno(["crash", "ext4", "-w", "create-rename-replace", "-n", "30", "--device", "lying-flush"]);
    command.arg("--html").arg(&page);
    let out = told(command);
    assert_eq!(out.code(), 1, "{}", out.err);
    let text = out.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let again = text.split("To see it again: ").nth(1).ok_or("no command")?;
    let state = again.split("--state ").nth(1).and_then(|rest| rest.split(' ').next()).ok_or("no state")?;
    assert!(
        again.starts_with("iodyno crash ext4 --seed 1 --device lying-flush --workload create-rename-replace")
    );
    let html = fs::read_to_string(&page)?;
    assert!(html.contains("missing write") && html.contains("write log"));
    let image = home.path().join("state.img");
    let mut command =
        iodyno(["crash", "ext4", "--device", "lying-flush", "-w", "create-rename-replace", "--state", state]);
    command.arg("--keep").arg(&image);
    let shown = told(command);
    // Where the file system writes in another order each time the command says so, and leaves no image.
    if shown.code() == 1 {
        assert!(shown.out.contains("1 of 1 states judged"), "{}", shown.out);
        assert_eq!(fs::metadata(&image)?.len(), 64 << 20);
    } else {
        assert!(shown.err.contains("wrote otherwise than when the state was named"), "{}", shown.err);
        assert!(!image.exists());
    }
    Ok(())
}

fn own_program() -> Outcome {
    let home = scratch();
    let script = home.path().join("program.sh");
    fs::write(
        &script,
        format!(
            "set -e\ncd \"$IODYNO_DIR\"\nfor name in a b c; do\n  echo $name > $name\n  sync $name\n  sync .\n  \
             \"{IODYNO}\" crash mark $name\ndone\n"
        ),
    )?;
    let check = "for name in $IODYNO_REACHED; do [ \"$(cat {dir}/$name)\" = $name ] || exit 1; done";
    let run = |device: &str| {
        let mut command =
            iodyno(["crash", "ext4", "-n", "30", "--device", device, "--tap", "--check", check, "--"]);
        command.arg("sh").arg(&script);
        told(command)
    };
    let out = run("honest");
    assert_eq!((out.code(), out.err.as_str()), (0, ""), "{}", out.out);
    let out = run("lying-flush");
    assert_eq!(out.code(), 1);
    assert!(
        out.out.contains("not ok 1 - ext4: command\n# . is unusable: what --check looks at"),
        "{}",
        out.out
    );
    Ok(())
}

/// Directories of commands in the system's temporary one.
fn homes(of: i32) -> Vec<String> {
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(".iodyno-crash-") && name.contains(&format!("-{of}-"))).collect()
}

/// Loop devices of a command, by the directory that it mounts in and by its number.
fn loop_devices(home: &str, of: i32) -> usize {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let files = devices.filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok());
    let own = format!("/memfd:iodyno-crash-state-{of} ");
    files.filter(|file| file.contains(home) || file.starts_with(&own)).count()
}

fn ended() -> Outcome {
    for (signal, leaves_directory) in [(libc::SIGTERM, false), (libc::SIGKILL, true)] {
        let mut running = Program::new(iodyno(["crash", "ext4", "-n", "100000"])).start();
        let pid = running.pid();
        let home = wait::for_some("the directory for mounts", || homes(pid).pop())?;
        running.until("the states", || loop_devices(&home, pid) > 0);
        running.signal(signal);
        assert_eq!(running.end().code(), 128 + signal);
        wait::until("the end of its loop devices", || loop_devices(&home, pid) == 0)?;
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        assert!(!mounts.contains(&home), "{mounts}");
        // Of one that was killed the next command removes it.
        assert_eq!(homes(pid).is_empty(), !leaves_directory);
    }
    Ok(())
}

fn refused() -> Outcome {
    let nowhere = scratch();
    for (words, message) in [
        (&["ext5"][..], "error: ext5: there is no program mkfs.ext5"),
        (&["ext4", "-o", "no_such_option"], "error: mounting ext4 (no_such_option): Invalid argument"),
        (&["ext4", "--device", "liar"], "error: --device: no device liar; there are honest, lying-flush, "),
        (&["ext4", "-w", "nothing"], "error: --workload: there is no workload nothing"),
        (&["ext4", "-n", "0"], "error: --states: expected at least 1"),
        (&["ext4", "--size", "1k"], "error: mkfs: "),
        (&["ext4", "--state", "x", "-w", "maildir"], "error: --state: `x` is no state"),
        (&["ext4", "--suite", "missing.toml"], "error: missing.toml: No such file or directory"),
        (&["ext4", "--", "false"], "error: workload command: the command ended with exit status: 1"),
        (&["mark", "text"], "error: mark: no recording is under way"),
    ] {
        let mut command = iodyno(["crash"]);
        command.args(words).current_dir(nowhere.path());
        told(command).refused(&[message]);
    }
    let mut command = iodyno(["crash", "ext4", "-w", "maildir", "-n", "1"]);
    command.env("TMPDIR", nowhere.path().join("missing"));
    told(command).refused(&["mounts need a directory there"]);
    assert_eq!(fs::read_dir(nowhere.path())?.count(), 0);
    Ok(())
}

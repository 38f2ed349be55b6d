//! Power cuts: storage that keeps its promises is not accused, storage that does not is caught.

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::os::unix::process::ExitStatusExt;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use tempfile::TempDir;
    use testbed::fuse::HeldDirectory;
    use testbed::program::{Program, ProgramOutput, Running};
    use testbed::sandbox::{LoopDevice, LoopOptions, Mount};
    use testbed::{Case, Need, Outcome, free_port};

    const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");
    /// The kernel tells no FUSE file system of syncfs.
    const OF_FUSE: &str =
        "fsync,fdatasync,o_sync,o_dsync,rwf_dsync,msync,create,name,rename,replace,append,double_write,size";

    pub fn cases() -> Vec<Case> {
        let fuse = &[Need::Root, Need::Fuse];
        let of = |name| [Need::Root, Need::Loop, Need::FileSystem(name)];
        let mkfs = |tool| Need::Tool(tool);
        let python = Need::Tool("python3");
        // A file system that goes down stays so while another namespace of mounts has it, of a view say: those cases are alone.
        vec![
            Case::new("what is there is kept, and what is gone is lost", &[], kept_and_lost),
            Case::new("a log goes to another process that has the key", &[], over_tcp),
            Case::new("what cannot be is refused", &[], refusals),
            Case::new("reports of a verdict say the same", &[], reports),
            Case::new("a verdict is kept among the runs", &[], history),
            Case::new("a killed writer's log is judged", &[], killed_writer),
            Case::new("a file system whose fsync does nothing is caught", fuse, lying_file_system),
            Case::new("its honest twin is not", fuse, honest_file_system),
            Case::new("posix with a trigger finds it", fuse, posix_with_a_trigger),
            Case::new(
                "a view loses a row that SQLite did not sync",
                &[Need::Root, Need::Fuse, python],
                sqlite_in_a_view,
            ),
            Case::new(
                "a view works for a user who is not root",
                &[Need::Root, Need::Fuse, Need::Tool("unshare"), Need::Tool("setpriv")],
                view_without_root,
            ),
            Case::new("a view undoes names that were not synced", fuse, names_in_a_view),
            Case::new("orders and words that no view has are refused", &[], view_refusals),
            Case::new(
                "a device that loses flushed writes is caught",
                &[Need::Root, Need::Fuse, Need::Loop],
                lying_device,
            ),
            Case::new("an honest device is not", &[Need::Root, Need::Fuse, Need::Loop], honest_device),
            Case::new(
                "ext4 that goes down keeps its promises",
                &[&of("ext4")[..], &[mkfs("mkfs.ext4")]].concat(),
                || goes_down("ext4", 64 << 20),
            )
            .alone(),
            Case::new(
                "xfs that goes down keeps its promises",
                &[&of("xfs")[..], &[mkfs("mkfs.xfs")]].concat(),
                || goes_down("xfs", 320 << 20),
            )
            .alone(),
        ]
    }

    /// A directory to write to, and one on other storage for the log.
    struct Places {
        target: TempDir,
        log: TempDir,
    }

    impl Places {
        fn new() -> Places {
            let log = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
            Places { target: tempfile::tempdir().expect("a directory"), log: log.expect("a directory") }
        }

        fn target(&self) -> &str {
            self.target.path().to_str().expect("text")
        }

        fn log(&self) -> PathBuf {
            self.log.path().join("log")
        }

        /// Runs `powerfail write TARGET --log LOG` and these words; the log may lie where the target does.
        fn write(&self, target: &str, words: &str) -> ProgramOutput {
            let log = self.log();
            let mut all =
                vec!["powerfail", "write", target, "--log", log.to_str().expect("text"), "--log-on-target"];
            all.extend(words.split_whitespace());
            iodyno(&all).run()
        }

        fn verify(&self, words: &str) -> ProgramOutput {
            let log = self.log();
            let mut all = vec!["powerfail", "verify", log.to_str().expect("text"), self.target()];
            all.extend(words.split_whitespace());
            iodyno(&all).run()
        }

        fn run_directory(&self) -> PathBuf {
            let entries = fs::read_dir(self.target.path()).expect("a directory").flatten();
            entries.map(|entry| entry.path()).next().expect("a directory of a run")
        }
    }

    fn iodyno(words: &[&str]) -> Program {
        let mut command = Command::new(IODYNO);
        command.args(words).env("IODYNO_HISTORY", "off").env("COLUMNS", "140");
        Program::new(command)
    }

    fn kept_and_lost() -> Outcome {
        let places = Places::new();
        places.write(places.target(), "--steps 400 --seed 3").expect(0, &["400 steps have begun"]);
        places.verify("").expect(0, &["every promise was kept", "the writer ended as it was asked"]);
        fs::remove_file(places.run_directory().join("t0/append.dat"))?;
        places.verify("").expect(
            1,
            &[
                "lost: t0/append.dat: nothing of that name",
                "1 promise was broken",
                "POSIX.1-2024 fdatasync()",
                "of the log",
            ],
        );
        Ok(())
    }

    fn over_tcp() -> Outcome {
        let places = Places::new();
        let key = places.log.path().join("key");
        fs::write(&key, "0123456789abcdef\n")?;
        let (log, key) = (places.log(), key.to_str().expect("text").to_string());
        let port = free_port()?;
        let address = format!("127.0.0.1:{port}");
        let words = [
            "powerfail",
            "listen",
            "--address",
            &address,
            "--to",
            log.to_str().expect("text"),
            "--key-file",
            &key,
        ];
        let mut listener: Running = iodyno(&words).start();
        listener.warns("listening");
        let wrong = places.log.path().join("wrong");
        fs::write(&wrong, "another key of 16 bytes")?;
        let to = format!("tcp://{address}");
        let write = |key: &str| {
            iodyno(&["powerfail", "write", places.target(), "--log", &to, "--key-file", key, "--steps", "60"])
                .run()
        };
        write(wrong.to_str().expect("text")).refused(&["the listener has another key"]);
        write(&key).expect(0, &["60 steps have begun"]);
        listener.end().expect(0, &["it has another key", "60 promises in"]);
        places.verify("").expect(0, &["60 promises of 2 threads", "every promise was kept"]);
        Ok(())
    }

    fn refusals() -> Outcome {
        let places = Places::new();
        let file = places.target.path().join("disk");
        fs::write(&file, vec![7; 65536])?;
        let (target, file) = (places.target().to_string(), file.to_str().expect("text").to_string());
        let refused = |words: &[&str], says: &[&str]| {
            iodyno(&[&["powerfail", "write"][..], words].concat()).run().refused(says);
        };
        let inside = format!("{target}/log");
        refused(
            &[&target, "--log", &inside],
            &["the log would lie on the storage under test", "--log-on-target"],
        );
        refused(&[&file, "--log", "-"], &["it would be overwritten", "--destroy"]);
        refused(&[&target, "--log", "-", "--modes", "fua"], &["fua does not work on a directory"]);
        refused(&[&target, "--log", "tcp://127.0.0.1:9"], &["needs a key"]);
        refused(&[&target, "--log", "-", "--trigger", "true"], &["needs the log in a file here"]);
        refused(&["/no/such/place", "--log", "-"], &["/no/such/place"]);
        assert_eq!(fs::read(&file)?, vec![7; 65536], "what was there is overwritten");
        assert_eq!(fs::read_dir(&target)?.count(), 1, "something is left behind");
        let other = places.target.path().join("disk");
        iodyno(&["powerfail", "verify", other.to_str().expect("text"), &target])
            .run()
            .refused(&["no log of"]);
        Ok(())
    }

    fn reports() -> Outcome {
        let places = Places::new();
        places.write(places.target(), "--steps 300 --modes fsync,size").expect(0, &[]);
        let tap = places.verify("--tap");
        tap.expect(0, &["1..2", "ok 1 - ", "fsync: data of a file after its fsync"]);
        fs::File::options().write(true).open(places.run_directory().join("t1/size.dat"))?.set_len(3)?;
        let junit = places.log.path().join("junit.xml");
        let words = format!("--json --junit {}", junit.display());
        let json = places.verify(&words);
        json.expect(
            1,
            &["\"damage\": \"wrong size\"", "\"format\": \"iodyno.powerfail/1\"", "\"kept\": false"],
        );
        let xml = fs::read_to_string(&junit)?;
        assert!(xml.contains(r#"failures="1""#) && xml.contains("wrong size: t1/size.dat"), "{xml}");
        places.verify(&words).refused(&["it exists already"]);
        Ok(())
    }

    fn history() -> Outcome {
        let places = Places::new();
        places.write(places.target(), "--steps 100 --modes fsync").expect(0, &[]);
        fs::remove_file(places.run_directory().join("t0/fsync.dat"))?;
        let kept = places.log.path().join("history.sqlite");
        let run = |words: &[&str]| {
            let mut command = Command::new(IODYNO);
            command.args(words).env("IODYNO_HISTORY", &kept).env("COLUMNS", "140");
            Program::new(command).run()
        };
        let log = places.log();
        run(&["powerfail", "verify", log.to_str().expect("text"), places.target()])
            .expect(1, &["1 promise was broken"]);
        run(&["runs"]).expect(0, &["powerfail verify", "case"]);
        run(&["runs", "show"]).expect(0, &["iodyno powerfail verify", "complete"]);
        Ok(())
    }

    /// Nobody ends it but a signal: what the log has by then is judged.
    fn killed_writer() -> Outcome {
        let places = Places::new();
        let log = places.log();
        let words =
            ["powerfail", "write", places.target(), "--log", log.to_str().expect("text"), "--log-on-target"];
        let mut writer = iodyno(&words).start();
        writer.until("a log of some length", || fs::metadata(&log).is_ok_and(|facts| facts.len() > 20_000));
        writer.signal(libc::SIGKILL);
        assert_eq!(writer.end().status.signal(), Some(libc::SIGKILL));
        places.verify("").expect(0, &["in flight, so kept or not", "every promise was kept"]);
        Ok(())
    }

    /// Kills the server while it is written to, and shows what is durable in its place.
    fn killed_server(held: &HeldDirectory) -> ProgramOutput {
        let places = Places::new();
        let (target, backing) = (held.path().display().to_string(), held.backing().display().to_string());
        let (kill, then) = (
            format!("kill -9 {}", held.server_pid()),
            format!("umount -l {target} && mount --bind {backing} {target}"),
        );
        let log = places.log();
        let log = log.to_str().expect("text");
        let words = ["powerfail", "write", &target, "--log", log, "--log-on-target", "--modes", OF_FUSE];
        let words = [&words[..], &["--trigger", &kill, "--after", "600ops", "--then", &then]].concat();
        iodyno(&words).run()
    }

    fn lying_file_system() -> Outcome {
        let held = HeldDirectory::mount(true)?;
        let judged = killed_server(&held);
        judged
            .expect(1, &["promises were broken", "data of a file after its fsync (POSIX", "wrong size: t0/"]);
        Ok(())
    }

    fn honest_file_system() -> Outcome {
        let held = HeldDirectory::mount(false)?;
        killed_server(&held).expect(0, &["in flight, so kept or not", "every promise was kept"]);
        Ok(())
    }

    fn posix_with_a_trigger() -> Outcome {
        let rules = ["--only", "sync/file"];
        let plain = |words: &[&str]| iodyno(&[&["posix"][..], words, &rules].concat()).run();
        let held = HeldDirectory::mount(true)?;
        let (target, backing) = (held.path().display().to_string(), held.backing().display().to_string());
        plain(&[&target]).expect(0, &["not checked here", "17 rules of what is there after a crash"]);
        plain(&[&target, "--trigger", "true"]).refused(&["--promises"]);
        let inside = format!("{target}/log");
        let wrong = plain(&[&target, "--trigger", "true", "--promises", &inside]);
        wrong.refused(&["the log would lie on the storage under test"]);
        let places = Places::new();
        let log = places.log();
        let (kill, then) = (
            format!("kill -9 {}", held.server_pid()),
            format!("umount -l {target} && mount --bind {backing} {target}"),
        );
        let cut = [
            "--trigger",
            &kill,
            "--after",
            "400ops",
            "--then",
            &then,
            "--promises",
            log.to_str().expect("text"),
        ];
        let found = plain(&[&[target.as_str()][..], &cut].concat());
        found.expect(1, &["promises were broken", "durability was checked before"]);
        Ok(())
    }

    /// Makes a table, or commits a row.
    const CHANGE: &str = "import sqlite3, sys
db = sqlite3.connect('data.db')
db.execute('pragma synchronous=' + sys.argv[1])
db.execute(sys.argv[2])
db.commit()
db.close()
";
    const COUNT: &str = "import sqlite3
print('rows', sqlite3.connect('data.db').execute('select count(*) from t').fetchone()[0])
";

    /// A program that inserts, then a crash, then one that looks.
    fn sqlite_in_a_view() -> Outcome {
        for (synchronous, rows) in [("OFF", "rows 0"), ("FULL", "rows 1")] {
            let home = tempfile::tempdir()?;
            let scripts = tempfile::tempdir()?;
            let (change, count) = (scripts.path().join("change.py"), scripts.path().join("count.py"));
            fs::write(&change, CHANGE)?;
            fs::write(&count, COUNT)?;
            let directory = home.path().display().to_string();
            let (change, count) = (change.display(), count.display());
            let script = format!(
                "cd {directory} && python3 {change} FULL 'create table t(x)' && \
                 python3 {change} {synchronous} 'insert into t values (1)' && \"{IODYNO}\" crash unsynced {directory} && \
                 \"{IODYNO}\" crash drop {directory} > /dev/null && python3 {count}"
            );
            let ran = iodyno(&["crash", "--view", &directory, "--", "sh", "-c", &script]).run();
            ran.expect(0, &[rows, "iodyno: lost"]);
            let is_unsynced = ran.out.contains("/data.db\n");
            assert_eq!(is_unsynced, synchronous == "OFF", "{}", ran.all());
        }
        Ok(())
    }

    /// A user whom nobody else is.
    const USER: u32 = 54321;

    fn view_without_root() -> Outcome {
        let home = tempfile::tempdir()?;
        std::os::unix::fs::chown(home.path(), Some(USER), Some(USER))?;
        let directory = home.path().display().to_string();
        let script = format!(
            "echo kept > kept && sync kept && echo lost > lost && \"{IODYNO}\" crash drop {directory}"
        );
        // A device that everybody may open, as distributions have it.
        let device = home.path().with_extension("fuse").display().to_string();
        let view = format!(
            "mknod -m 666 {device} c 10 229 && mount --bind {device} /dev/fuse && exec setpriv --reuid {USER} --regid {USER} \
             --clear-groups \"{IODYNO}\" crash --view {directory} -- sh -c '{script}'"
        );
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", &view]).current_dir(home.path());
        let ran = Program::new(command).run();
        drop(fs::remove_file(&device));
        if ran.err.contains("no namespace of mounts") || ran.err.contains("FUSE cannot be had") {
            return Err(testbed::Skip::new("users may have no namespaces here, or no /dev/fuse").into());
        }
        ran.expect(0, &["5 ", "/lost"]);
        assert_eq!(
            (fs::read(home.path().join("kept"))?, fs::read(home.path().join("lost"))?),
            (b"kept\n".to_vec(), vec![])
        );
        Ok(())
    }

    fn names_in_a_view() -> Outcome {
        let home = tempfile::tempdir()?;
        let directory = home.path().display().to_string();
        for name in ["removed", "renamed", "old"] {
            fs::write(home.path().join(name), name)?;
        }
        let script = format!(
            "cd {directory} && echo x > durable && sync durable && mkdir d && rm removed && mv renamed elsewhere && \
             echo new > new && mv new old && ls -A && \"{IODYNO}\" crash drop {directory} > /dev/null; ls -A"
        );
        let ran = iodyno(&["crash", "--view", &directory, "--names", "--", "sh", "-c", &script]).run();
        ran.expect(0, &["changes of names"]);
        assert_eq!(ran.out, "d\ndurable\nelsewhere\nold\ndurable\nold\nremoved\nrenamed\n");
        assert_eq!(fs::read(home.path().join("old"))?, b"old");
        assert_eq!(fs::read_dir(home.path())?.count(), 4, "something is left behind");
        Ok(())
    }

    fn view_refusals() -> Outcome {
        let home = tempfile::tempdir()?;
        let directory = home.path().display().to_string();
        iodyno(&["crash", "drop", &directory]).run().refused(&["there is no view of it", "--view"]);
        iodyno(&["crash", "--view", "/no/such", "--", "true"]).run().refused(&["/no/such", "No such file"]);
        iodyno(&["crash", "--view", &directory]).run().refused(&["COMMAND"]);
        Ok(())
    }

    /// A loop device over a file whose server loses what nobody flushed.
    fn cut_device(ignores_flush: bool) -> Result<ProgramOutput, Box<dyn std::error::Error>> {
        let held = HeldDirectory::mount(ignores_flush)?;
        let image = held.path().join("image");
        fs::File::create(&image)?.set_len(4 << 20)?;
        let options = LoopOptions { direct_io: true, ..LoopOptions::default() };
        let device = LoopDevice::over(&image, &options)?;
        let places = Places::new();
        let path = device.path().display().to_string();
        let kill = format!("kill -9 {}", held.server_pid());
        let words = format!("--destroy {path} --after 400ops --grace 5s --trigger");
        let log = places.log();
        let mut all = vec!["powerfail", "write", &path, "--log", log.to_str().expect("text")];
        all.extend(words.split_whitespace());
        all.push(&kill);
        // The device is gone: what it kept lies in the backing file, and is judged there.
        let _ = iodyno(&all).run();
        let kept = held.backing().join("image");
        let words = ["powerfail", "verify", log.to_str().expect("text"), kept.to_str().expect("text")];
        Ok(iodyno(&words).run())
    }

    fn lying_device() -> Outcome {
        cut_device(true)?
            .expect(1, &["blocks written before a completed flush (Linux practice", "were broken"]);
        Ok(())
    }

    fn honest_device() -> Outcome {
        cut_device(false)?.expect(0, &["every promise was kept"]);
        Ok(())
    }

    fn goes_down(file_system: &'static str, bytes: u64) -> Outcome {
        let device = LoopDevice::new(bytes)?;
        device.mkfs(file_system)?;
        let mount = Mount::new(device.path(), file_system, "")?;
        let (path, image) = (mount.path().display().to_string(), device.path().display().to_string());
        let then = format!("umount {path} && mount {image} {path}");
        let places = Places::new();
        let log = places.log();
        let words = ["powerfail", "write", &path, "--log", log.to_str().expect("text")];
        let words = [&words[..], &["--trigger", "goingdown", "--after", "400ops", "--then", &then]].concat();
        iodyno(&words).run().expect(0, &["in flight, so kept or not", "every promise was kept"]);
        assert!(Path::new(&path).join("lost+found").exists() || file_system != "ext4");
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    testbed::run_waiting(linux::cases())
}

#[cfg(not(target_os = "linux"))]
fn main() {}

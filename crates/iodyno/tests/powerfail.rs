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
        vec![
            Case::new("what is there is kept, and what is gone is lost", &[], kept_and_lost),
            Case::new("a log goes to another process that has the key", &[], over_tcp),
            Case::new("what cannot be is refused", &[], refusals),
            Case::new("reports of a verdict say the same", &[], reports),
            Case::new("a killed writer's log is judged", &[], killed_writer),
            Case::new("a file system whose fsync does nothing is caught", fuse, lying_file_system),
            Case::new("its honest twin is not", fuse, honest_file_system),
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
            ),
            Case::new(
                "xfs that goes down keeps its promises",
                &[&of("xfs")[..], &[mkfs("mkfs.xfs")]].concat(),
                || goes_down("xfs", 320 << 20),
            ),
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

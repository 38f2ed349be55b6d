//! The whole program as filebench: every personality runs, counts what was done, and leaves nothing behind.
//!
//! Every case runs the built binary in a directory of its own, bounded in time; no speed is asserted.

// Signals, and what happens between fork and exec.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
#[allow(dead_code)]
#[path = "door/program.rs"]
mod program;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    testbed::run(cases::all())
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}

#[cfg(target_os = "linux")]
mod cases {
    use std::path::Path;

    use testbed::{Case, Outcome};

    use crate::program::{Told, iodyno, names, told};

    /// The cases.
    pub fn all() -> Vec<Case> {
        let case = |name: &str, body: fn() -> Outcome| Case::new(format!("filebench_{name}"), &[], body);
        vec![
            case("every_personality_runs_and_leaves_nothing", personalities),
            case("a_mail_server_of_many_threads_does_not_starve", mail),
            case("all_files_are_made_once_and_all_are_removed", until_done),
            case("what_is_written_whole_is_as_long_as_it_was_to_be", whole),
            case("mistakes_exit_with_a_status", mistakes),
        ]
    }

    fn filebench(arguments: &[&str]) -> Told {
        let mut command = iodyno(["filebench"].iter().chain(arguments));
        command.env("IODYNO_FINDINGS", "0");
        told(command)
    }

    fn script(folder: &Path, text: &str) -> Told {
        let path = folder.join("script.f");
        std::fs::write(&path, text.replace("$dir", &folder.join("data").display().to_string())).unwrap();
        std::fs::create_dir_all(folder.join("data")).unwrap();
        filebench(&["-f", &path.display().to_string()])
    }

    /// Operations of a row of the breakdown.
    fn row(told: &Told, name: &str) -> u64 {
        let line = told.out.lines().find(|line| line.split_whitespace().next() == Some(name));
        let count = line.and_then(|line| line.split_whitespace().nth(1)?.strip_suffix("ops")?.parse().ok());
        count.unwrap_or_else(|| panic!("no row {name}\n{told}"))
    }

    fn personalities() -> Outcome {
        let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites/filebench");
        for name in names(&suite) {
            let folder = tempfile::tempdir()?;
            let directory = format!("dir={}", folder.path().display());
            let mut arguments = vec!["-f", &name, "-D", &directory, "-D", "runtime=0.3", "-D", "nfiles=200"];
            for small in ["ndirs=100", "nthreads=4", "nshadows=8", "ndbwriters=2", "numactivevids=4"] {
                arguments.extend(["-D", small]);
            }
            arguments.extend(["-D", "numpassivevids=4", "-D", "logfilesize=2m"]);
            if std::fs::read_to_string(suite.join(&name))?.contains("set $filesize=1g") || name == "dss.f" {
                arguments.extend(["-D", "filesize=4m"]);
            }
            if name == "oltp.f" {
                arguments.extend(["-D", "nfiles=4"]);
            }
            let told = filebench(&arguments);
            told.expect(0, &["Per-Operation Breakdown", "IO Summary: "]);
            assert!(!told.out.contains("IO Summary:     0 ops"), "{name}: {told}");
            assert_eq!(names(folder.path()), Vec::<String>::new(), "{name}: {told}");
        }
        Ok(())
    }

    fn mail() -> Outcome {
        let folder = tempfile::tempdir()?;
        let directory = format!("dir={}", folder.path().display());
        let told = filebench(&["-f", "varmail", "-D", &directory, "-D", "runtime=2", "-D", "nfiles=60"]);
        told.expect(0, &["Run took 2 seconds"]);
        let (deleted, created) = (row(&told, "deletefile1"), row(&told, "createfile2"));
        assert!(deleted > 100 && created.abs_diff(deleted) <= 80, "{told}");
        assert!(row(&told, "readfile4") > 0);
        Ok(())
    }

    fn until_done() -> Outcome {
        let folder = tempfile::tempdir()?;
        let told = script(
            folder.path(),
            "set mode quit alldone
            define fileset name=made,path=$dir,entries=500,dirwidth=20,size=3k
            define fileset name=gone,path=$dir,entries=500,dirwidth=20,prealloc
            define process name=p {
              thread name=maker,instances=5 {
                flowop createfile name=make,filesetname=made,fd=1
                flowop writewholefile name=fill,fd=1,iosize=1k
                flowop closefile name=close,fd=1
              }
              thread name=remover,instances=5 { flowop deletefile name=remove,filesetname=gone }
            }
            run 20",
        );
        told.expect(0, &["IO Summary: "]);
        for name in ["make", "fill", "close", "remove"] {
            assert_eq!(row(&told, name), 500, "{told}");
        }
        Ok(())
    }

    fn whole() -> Outcome {
        let folder = tempfile::tempdir()?;
        let told = script(
            folder.path(),
            "set mode quit alldone
            define fileset name=kept,path=$dir,entries=20,dirwidth=1000,size=2560k,reuse
            define process name=p { thread name=t,instances=2 {
              flowop createfile name=make,filesetname=kept,fd=1
              flowop writewholefile name=fill,fd=1,iosize=1m
              flowop closefile name=close,fd=1
              flowop openfile name=open,filesetname=kept,fd=1
              flowop readwholefile name=read,fd=1,iosize=1m
              flowop closefile name=shut,fd=1
            } }
            run 20",
        );
        told.expect(0, &["IO Summary: "]);
        assert_eq!((row(&told, "fill"), row(&told, "read")), (20, 20), "{told}");
        for file in std::fs::read_dir(folder.path().join("data/kept"))?.flatten() {
            assert_eq!(file.metadata()?.len(), 2560 << 10, "{:?}", file.path());
        }
        Ok(())
    }

    fn mistakes() -> Outcome {
        let folder = tempfile::tempdir()?;
        let told = script(folder.path(), "define fileset nam=x\nrum 5\n");
        assert_ne!(told.code(), 0);
        for place in ["script.f:1", "script.f:2"] {
            assert!(told.err.contains(place), "{told}");
        }
        assert_eq!(names(&folder.path().join("data")), Vec::<String>::new());
        Ok(())
    }
}

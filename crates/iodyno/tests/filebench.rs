//! The whole program as filebench: every personality runs, counts what was done, and leaves nothing behind.
//!
//! Every case runs the built binary in a directory of its own; no speed is asserted, and no clock is looked at.

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

    use crate::program::{ProgramOutput, Running, iodyno, names, told};

    /// The cases.
    pub fn all() -> Vec<Case> {
        let case = |name: &str, body: fn() -> Outcome| Case::new(format!("filebench_{name}"), &[], body);
        let each = |title: &str, folder: &str, body: fn(&Path, &str) -> Outcome| {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
            let one = |name: String| {
                let (title, folder) = (format!("filebench_{title}_{name}"), folder.clone());
                Case::new(title, &[], move || body(&folder, &name))
            };
            names(&folder).into_iter().map(one).collect::<Vec<Case>>()
        };
        let personalities = each("runs_and_leaves_nothing", "suites/filebench", personality);
        let published = each("runs_in_the_manner_of_its_version", "golden/filebench", published);
        let own = vec![
            case("there_are_scripts", scripts),
            case("a_mail_server_of_many_threads_does_not_starve", mail),
            case("all_files_are_made_once_and_all_are_removed", until_done),
            case("what_is_written_whole_is_as_long_as_it_was_to_be", whole),
            case("files_have_the_mode_that_the_script_says", modes),
            case("a_run_that_waits_takes_its_time", waits),
            case("what_is_printed_is_told_as_it_happens", printed),
            case("a_target_is_any_flowop", targets),
            case("mistakes_exit_with_a_status", mistakes),
            case("appends_of_many_to_one_file_are_all_there", appends),
            case("a_second_run_knows_what_the_first_removed_and_commands_keep_their_places", second_run),
            case("a_seed_is_a_tree_however_many_make_it", seeds),
            case("copies_are_as_long_as_what_they_copy", copies),
            case("what_is_there_already_is_found_by_reuse", reused),
            case("an_interrupted_run_leaves_nothing", interrupted),
            case("an_interrupted_layout_leaves_nothing", layout_interrupted),
            case("a_thousand_threads", thousand),
            case("what_fails_is_named", failing),
            case("counts_are_looked_at_by_hand", by_hand),
            case("a_seed_is_a_row_of_operations", same_operations),
            case("what_any_run_may_be_asked_for", also),
            case("a_tree_that_is_there_is_told_and_kept", there),
        ];
        personalities.into_iter().chain(published).chain(own).collect()
    }

    fn scripts() -> Outcome {
        for (folder, least) in [("suites/filebench", 1), ("golden/filebench", 21)] {
            assert!(names(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder)).len() >= least);
        }
        Ok(())
    }

    fn filebench(arguments: &[&str]) -> ProgramOutput {
        let mut command = iodyno(["filebench"].iter().chain(arguments));
        command.env("IODYNO_FINDINGS", "0");
        told(command)
    }

    fn script(folder: &Path, text: &str) -> ProgramOutput {
        let path = folder.join("script.f");
        std::fs::write(&path, text.replace("$dir", &folder.join("data").display().to_string())).unwrap();
        std::fs::create_dir_all(folder.join("data")).unwrap();
        filebench(&["-f", &path.display().to_string()])
    }

    /// Operations of a row of the breakdown.
    fn row(told: &ProgramOutput, name: &str) -> u64 {
        let line = told.out.lines().find(|line| line.split_whitespace().next() == Some(name));
        let count = line.and_then(|line| line.split_whitespace().nth(1)?.strip_suffix("ops")?.parse().ok());
        count.unwrap_or_else(|| panic!("no row {name}\n{told}"))
    }

    fn personality(suite: &Path, name: &str) -> Outcome {
        let folder = tempfile::tempdir()?;
        let directory = format!("dir={}", folder.path().display());
        let mut arguments = vec!["-f", name, "-D", &directory, "-D", "runtime=0.3", "-D", "nfiles=200"];
        for small in ["ndirs=100", "nthreads=4", "nshadows=8", "ndbwriters=2", "numactivevids=4"] {
            arguments.extend(["-D", small]);
        }
        arguments.extend(["-D", "numpassivevids=4", "-D", "logfilesize=2m"]);
        if std::fs::read_to_string(suite.join(name))?.contains("set $filesize=1g") || name == "dss.f" {
            arguments.extend(["-D", "filesize=4m"]);
        }
        if name == "oltp.f" {
            arguments.extend(["-D", "nfiles=4"]);
        }
        let told = filebench(&arguments);
        told.expect(0, &["Per-Operation Breakdown", "IO Summary: "]);
        assert!(!told.out.contains("IO Summary:     0 ops"), "{name}: {told}");
        assert_eq!(names(folder.path()), Vec::<String>::new(), "{name}: {told}");
        Ok(())
    }

    /// Its seconds, as it says them.
    fn lasted(told: &ProgramOutput) -> u64 {
        let word = told.out.split_once("Run took ").and_then(|(_, rest)| rest.split(' ').next());
        word.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("it did not run\n{told}"))
    }

    /// More files are deleted than there were at first, however long a disk takes for its flushes: one that starves
    /// never comes to its end.
    fn mail() -> Outcome {
        let folder = tempfile::tempdir()?;
        let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites/filebench/varmail.f");
        let watch = "  thread name=watch {\n    flowop delay name=rest,value=0.01\n    \
                     flowop finishoncount name=enough,value=120,target=deletefile1\n  }\n}\n";
        let text = std::fs::read_to_string(suite)?;
        let (before, after) = text.rsplit_once("\n}\n").ok_or("a process that ends")?;
        let file = folder.path().join("mail.f");
        std::fs::write(&file, format!("set mode quit firstdone\n{before}\n{watch}{after}"))?;
        let data = folder.path().join("data");
        std::fs::create_dir(&data)?;
        let (file, directory) = (file.display().to_string(), format!("dir={}", data.display()));
        let told = filebench(&["-f", &file, "-D", &directory, "-D", "runtime=3600", "-D", "nfiles=60"]);
        told.expect(0, &["IO Summary: "]);
        let (deleted, created) = (row(&told, "deletefile1"), row(&told, "createfile2"));
        assert!(deleted >= 120, "{told}");
        assert!(created.abs_diff(deleted) <= 80 && row(&told, "readfile4") > 0, "{told}");
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

    fn modes() -> Outcome {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir()?;
        let told = script(
            folder.path(),
            "set $mode=0600
            set mode quit alldone
            define fileset name=set,path=$dir,entries=20,dirwidth=5,size=1k,prealloc=50,createmode=$mode,reuse
            define fileset name=own,path=$dir,entries=10,dirwidth=100,createmode=600,reuse
            define file name=one,path=$dir,size=1k,prealloc,createmode=0400,readonly,reuse
            define file name=new,path=$dir,createmode=0600,reuse
            define process name=p {
              thread name=a { flowop createfile name=make,filesetname=set,fd=1
                              flowop closefile name=close,fd=1 }
              thread name=b { flowop createfile name=make2,filesetname=own,fd=1,createmode=0440
                              flowop closefile name=close2,fd=1 }
              thread name=c { flowop read name=r,filename=one,iosize=1k,iters=10
                              flowop finishoncount name=f,value=1 }
              thread name=d { flowop write name=w,filename=new,iosize=1k
                              flowop finishoncount name=g,value=1 }
            }
            run 20",
        );
        told.expect(0, &["IO Summary: "]);
        let data = folder.path().join("data");
        let mode = |name: &Path| data.join(name).metadata().map(|facts| facts.permissions().mode() & 0o7777);
        for (name, wanted) in [("set", 0o600), ("own", 0o440), ("one", 0o400), ("new", 0o600)] {
            let all: Vec<_> = match data.join(name).is_file() {
                true => vec![name.to_string()],
                false => files(&data.join(name)).iter().map(|(path, _)| format!("{name}/{path}")).collect(),
            };
            assert_eq!(
                all.len(),
                match name {
                    "set" => 20,
                    "own" => 10,
                    _ => 1,
                },
                "{name}: {told}"
            );
            for path in all {
                assert_eq!(mode(Path::new(&path))?, wanted, "{path}: {told}");
            }
        }
        Ok(())
    }

    fn waits() -> Outcome {
        let folder = tempfile::tempdir()?;
        let told = script(
            folder.path(),
            "define process name=p { thread name=t { flowop block name=b } }
            run 1",
        );
        assert!(lasted(&told) >= 1, "{told}");
        let told = script(
            folder.path(),
            "define fileset name=set,path=$dir,entries=10,dirwidth=20,prealloc
            define process name=p { thread name=t {
              flowop statfile name=s,filesetname=set
              flowop delay name=d,value=60 } }
            run 1",
        );
        assert!(lasted(&told) >= 1, "{told}");
        Ok(())
    }

    fn printed() -> Outcome {
        let folder = tempfile::tempdir()?;
        let told = script(
            folder.path(),
            "define fileset name=set,path=$dir,entries=10,dirwidth=20,prealloc
            define process name=p {
              thread name=t { flowop statfile name=s,filesetname=set
                              flowop print name=often,value=\"in $dir\" }
              thread name=u { flowop print name=once,value=begun
                              flowop delay name=d,value=60 } }
            run 2",
        );
        told.expect(0, &["IO Summary: "]);
        let lines = |name: &str| told.out.lines().filter(|line| line.contains(name)).collect::<Vec<_>>();
        // As it happens, and once more at the end; however often it came by.
        let often = lines(": often: in ").len() as u64;
        assert!(often >= 2 && often < row(&told, "s"), "{told}");
        assert_eq!(lines(": once: begun").len(), 2, "{told}");
        let place = |word: &str| told.out.find(word).unwrap();
        assert!(place("Running...") < place("once: begun"), "{told}");
        assert!(place("once: begun") < place("Run took"), "{told}");
        Ok(())
    }

    fn targets() -> Outcome {
        let folder = tempfile::tempdir()?;
        let set = "define fileset name=set,path=$dir,entries=10,dirwidth=20,size=4k,prealloc\n";
        let told = script(
            folder.path(),
            &format!(
                "{set} set mode quit firstdone
                define process name=p {{
                  thread name=work,instances=2 {{ flowop read name=get,filesetname=set,iosize=1k
                                                 flowop delay name=rest,value=0.001 }}
                  thread name=watch {{ flowop delay name=d,value=0.02
                                      flowop finishoncount name=f,value=50,target=get }} }}
                run 60"
            ),
        );
        told.expect(0, &["IO Summary: "]);
        assert!((50..20_000).contains(&row(&told, "get")), "{told}");
        let told = script(
            folder.path(),
            &format!(
                "{set} eventgen rate=1000
                define process name=p {{
                  thread name=work {{ flowop read name=get,filesetname=set,iosize=1k
                                     flowop delay name=rest,value=0.05 }}
                  thread name=other,instances=2 {{ flowop opslimit name=l,target=get
                                                  flowop delay name=short,value=0.01 }} }}
                run 2"
            ),
        );
        told.expect(0, &["IO Summary: "]);
        assert!(row(&told, "get") > 0 && row(&told, "l") > 0, "{told}");
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

    fn published(scripts: &Path, name: &str) -> Outcome {
        let folder = tempfile::tempdir()?;
        let path = scripts.join(name).display().to_string();
        let directory = format!("dir={}", folder.path().display());
        let time = if name == "removedirs.f" { "runtime=20" } else { "runtime=0.3" };
        let told = filebench(&["-f", &path, "-D", &directory, "-D", time]);
        told.expect(0, &["Per-Operation Breakdown", "IO Summary: "]);
        assert!(!told.out.contains("IO Summary:     0 ops"), "{name}: {told}");
        assert!(!told.out.contains("operations failed"), "{name}: {told}");
        assert_eq!(names(folder.path()), Vec::<String>::new(), "{name}: {told}");
        Ok(())
    }

    fn appends() -> Outcome {
        let folder = tempfile::tempdir()?;
        let told = script(
            folder.path(),
            "define fileset name=log,path=$dir,entries=1,dirwidth=10,size=1k,prealloc,reuse
            define fileset name=set,path=$dir,entries=1,dirwidth=10,size=1k,prealloc,reuse
            define process name=p,instances=2 { thread name=t,instances=4 {
              flowop appendfile name=log,filesetname=log,iosize=100,fd=2
              flowop openfile name=open,filesetname=set,fd=1
              flowop appendfile name=add,fd=1,iosize=10
              flowop closefile name=close,fd=1
            } }
            run 0.5",
        );
        told.expect(0, &["IO Summary: "]);
        let bytes = |set: &str| {
            std::fs::metadata(folder.path().join("data").join(set).join("0")).map(|facts| facts.len())
        };
        assert_eq!(bytes("log")?, 1024 + 100 * row(&told, "log"), "{told}");
        assert_eq!(bytes("set")?, 1024 + 10 * row(&told, "add"), "{told}");
        Ok(())
    }

    fn second_run() -> Outcome {
        let folder = tempfile::tempdir()?;
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/filebench/two-runs.f");
        let text =
            std::fs::read_to_string(path)?.replace("prealloc", "prealloc,reuse").replace("$runtime", "20");
        let text = text
            .replace("set 20=1", "")
            .replace("set $dir=/tmp", "")
            .replace("ls $dir >/dev/null", "ls $dir/gone/d0 $dir/gone");
        let told = script(folder.path(), &text);
        told.expect(0, &["IO Summary: "]);
        let counts: Vec<&str> = told.out.lines().filter(|line| line.starts_with("remove ")).collect();
        assert!(counts.len() == 2 && counts.iter().all(|line| line.contains(" 60ops ")), "{told}");
        assert!(!told.out.contains("operations failed"), "{told}");
        let place = |word: &str| told.err.find(word).unwrap_or_else(|| panic!("no `{word}`: {told}"));
        assert!(place("errand-one") < place("gone/d0") && place("gone/d0") < place("errand-two"), "{told}");
        let left = files(&folder.path().join("data/gone"));
        assert_eq!(left.len(), 0, "all 120 are gone: {left:?}");
        Ok(())
    }

    /// Every file below a directory with its length, sorted.
    fn files(root: &Path) -> Vec<(String, u64)> {
        let mut found = Vec::new();
        let mut open = vec![root.to_path_buf()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                match entry.metadata() {
                    Ok(facts) if facts.is_dir() => open.push(entry.path()),
                    Ok(facts) => {
                        let name = entry.path().strip_prefix(root).map(|path| path.display().to_string());
                        found.push((name.unwrap_or_default(), facts.len()));
                    }
                    Err(_) => {}
                }
            }
        }
        found.sort();
        found
    }

    /// A tree by a seed: its files with their lengths, and the directories that hold some.
    fn tree(words: &str, seed: &str) -> Vec<(String, u64)> {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let path = folder.path().join("script.f");
        let text = format!(
            "set $size=cvar(type=cvar-gamma,parameters=mean:2048;gamma:1.5)
            define fileset name=set,path={},entries=2000,dirwidth=10,size=$size,prealloc=80,reuse,{words}
            define process name=p {{ thread name=t {{ flowop statfile name=s,filesetname=set }} }}
            run 0.05",
            folder.path().display()
        );
        std::fs::write(&path, text).expect("a script");
        filebench(&["-f", &path.display().to_string(), "--seed", seed]).expect(0, &["IO Summary: "]);
        files(&folder.path().join("set"))
    }

    fn seeds() -> Outcome {
        let one = tree("dirgamma=1500", "1");
        assert_eq!(one.len(), 1600);
        assert_eq!(one, tree("dirgamma=1500,paralloc", "1"));
        assert_ne!(one, tree("dirgamma=1500", "2"));
        let levels = |tree: &[(String, u64)]| {
            let mut all: Vec<usize> = tree.iter().map(|(name, _)| name.matches('/').count()).collect();
            all.sort_unstable();
            all.dedup();
            all.len()
        };
        assert!(levels(&one) > 1, "directories draw their depth");
        assert_eq!(levels(&tree("dirgamma=0", "1")), 1, "all alike");
        Ok(())
    }

    fn copies() -> Outcome {
        let folder = tempfile::tempdir()?;
        let told = script(
            folder.path(),
            "set mode quit alldone
            set $size=cvar(type=cvar-gamma,parameters=mean:9000;gamma:1.5)
            define fileset name=from,path=$dir,entries=60,dirwidth=100,size=$size,prealloc,reuse
            define fileset name=to,path=$dir,entries=60,dirwidth=100,size=1,reuse
            define process name=p { thread name=t {
              flowop openfile name=open,filesetname=from,fd=1
              flowop createfile name=create,filesetname=to,fd=2
              flowop readwholefile name=read,fd=1,iosize=4k
              flowop writewholefile name=write,fd=2,srcfd=1,iosize=4k
              flowop closefile name=close1,fd=1
              flowop closefile name=close2,fd=2
            } }
            run 20",
        );
        told.expect(0, &["IO Summary: "]);
        assert_eq!(row(&told, "write"), 60, "{told}");
        let lengths =
            |set: &str| files(&folder.path().join("data").join(set)).into_iter().map(|(_, bytes)| bytes);
        let sources: Vec<u64> = lengths("from").collect();
        assert!(lengths("to").count() == 60 && lengths("to").all(|bytes| sources.contains(&bytes)), "{told}");
        Ok(())
    }

    fn reused() -> Outcome {
        let folder = tempfile::tempdir()?;
        let make = "set mode quit alldone
            define fileset name=kept,path=$dir,entries=50,dirwidth=10,size=1k,reuse
            define process name=p { thread name=t {
              flowop createfile name=make,filesetname=kept,fd=1
              flowop closefile name=close,fd=1
              flowop finishoncount name=some,value=COUNT,target=make
            } }
            run 20";
        let first = script(folder.path(), &make.replace("COUNT", "20"));
        assert_eq!(row(&first, "make"), 20, "{first}");
        let second = script(folder.path(), &make.replace("COUNT", "500"));
        assert_eq!(row(&second, "make"), 30, "{second}");
        assert!(!second.out.contains("operations failed"), "{second}");
        assert_eq!(files(&folder.path().join("data/kept")).len(), 50);
        Ok(())
    }

    /// A run of a script that is interrupted once something holds.
    fn interrupt(folder: &Path, text: &str, when: &str, is: impl Fn() -> bool) -> ProgramOutput {
        let path = folder.join("script.f");
        std::fs::write(&path, text.replace("$dir", &folder.join("data").display().to_string())).unwrap();
        std::fs::create_dir_all(folder.join("data")).unwrap();
        let mut running = Running::start(iodyno(["filebench", "-f", &path.display().to_string()]));
        running.until(when, is);
        running.signal(libc::SIGINT);
        running.end()
    }

    fn interrupted() -> Outcome {
        let folder = tempfile::tempdir()?;
        let named = folder.path().join("data/deep/named");
        let told = interrupt(
            folder.path(),
            "define file name=named,path=$dir/deep,size=64k
            define fileset name=set,path=$dir,entries=100,dirwidth=5,leafdirs=20,prealloc=50
            define process name=p { thread name=t {
              flowop createfile name=create,filesetname=named,fd=1
              flowop writewholefile name=write,fd=1
              flowop closefile name=close,fd=1
              flowop delay name=pause,value=1
            }
            thread name=u { flowop listdir name=l,filesetname=set } }
            run 60",
            "the file",
            || named.exists(),
        );
        assert!(told.out.contains("IO Summary"), "{told}");
        assert_eq!(names(&folder.path().join("data")), Vec::<String>::new(), "{told}");
        Ok(())
    }

    fn layout_interrupted() -> Outcome {
        let folder = tempfile::tempdir()?;
        let set = folder.path().join("data/set");
        let told = interrupt(
            folder.path(),
            "define fileset name=set,path=$dir,entries=5000000,dirwidth=100,size=1k,prealloc
            define process name=p { thread name=t { flowop statfile name=s,filesetname=set } }
            run 60",
            "the tree",
            || set.join("d0/d0").exists(),
        );
        assert_ne!(told.code(), 0, "{told}");
        assert_eq!(names(&folder.path().join("data")), Vec::<String>::new(), "{told}");
        Ok(())
    }

    fn by_hand() -> Outcome {
        let folder = tempfile::tempdir()?;
        let told = script(
            folder.path(),
            "define fileset name=set,path=$dir,entries=20,dirwidth=20,prealloc
            define process name=p { thread name=t { flowop statfile name=look,filesetname=set } }
            create filesets
            create processes
            stats directory $dir/../out
            stats command \"echo beside; sleep 6000\"
            sleep 0.3
            stats clear
            sleep 0.3
            stats snap
            stats dump first.txt
            sleep 0.3
            stats snap
            stats xmldump last.xml
            shutdown processes
            quit",
        );
        told.expect(0, &["Per-Operation Breakdown"]);
        assert_eq!(told.out.matches("IO Summary: ").count(), 2, "a report at each snap: {told}");
        assert!(told.err.contains("beside"), "{told}");
        // What runs beside ends with the run: it would have held both streams open for longer than anybody listens.
        assert!(told.err.contains("beside") && told.out.contains("Run took"), "{told}");
        let first = std::fs::read_to_string(folder.path().join("out/first.txt"))?;
        assert_eq!(first.matches("IO Summary: ").count(), 1, "{first}");
        let last = std::fs::read_to_string(folder.path().join("out/last.xml"))?;
        let count =
            last.split_once("operations=\"").and_then(|(_, rest)| rest.split('"').next()?.parse().ok());
        let rows: Vec<u64> = told
            .out
            .lines()
            .filter(|line| line.starts_with("look "))
            .filter_map(|line| line.split_whitespace().nth(1)?.strip_suffix("ops")?.parse().ok())
            .collect();
        assert_eq!(Some(rows[1]), count, "{last}");
        // A machine that had no time for us in between is told of.
        let late = told.out.contains("WARNING! the report after 0.300 s is made after");
        assert!(rows[0] > 0 && (rows[1] > rows[0] || late), "{rows:?} {told}");
        Ok(())
    }

    /// What a run of one thread leaves behind, by its seed.
    fn left_by(seed: &str) -> Vec<(String, u64)> {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let path = folder.path().join("script.f");
        let text = format!(
            "set mode quit alldone
            set $size=cvar(type=cvar-gamma,parameters=mean:2048;gamma:1.5)
            define fileset name=set,path={},entries=400,dirwidth=10,size=$size,prealloc=50,reuse
            define process name=p {{ thread name=t {{
              flowop deletefile name=delete,filesetname=set
              flowop createfile name=create,filesetname=set,fd=1
              flowop appendfilerand name=append,fd=1,iosize=8k
              flowop closefile name=close,fd=1
              flowop openfile name=open,filesetname=set,fd=1
              flowop write name=write,fd=1,iosize=100,random,workingset=64k
              flowop closefile name=shut,fd=1
              flowop finishoncount name=enough,value=300,target=create
            }} }}
            run 60",
            folder.path().display()
        );
        std::fs::write(&path, text).expect("a script");
        filebench(&["-f", &path.display().to_string(), "--seed", seed]).expect(0, &["IO Summary: "]);
        files(&folder.path().join("set"))
    }

    fn same_operations() -> Outcome {
        let one = left_by("7");
        assert_eq!(one.len(), 200, "as many go as come");
        assert_eq!(one, left_by("7"));
        assert_ne!(one, left_by("8"));
        Ok(())
    }

    fn also() -> Outcome {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("script.f");
        let (data, json) = (folder.path().join("data"), folder.path().join("out.json"));
        let text = format!(
            "define fileset name=set,path={},entries=50,dirwidth=20,prealloc,size=4k
            define process name=p {{ thread name=t {{
              flowop openfile name=open,filesetname=set,fd=1
              flowop readwholefile name=read,fd=1
              flowop closefile name=close,fd=1
            }} }}
            warmup 0.3
            run 0.3",
            data.display()
        );
        std::fs::write(&path, text)?;
        let (path, json_word) = (path.display().to_string(), format!("json={}", json.display()));
        let told = filebench(&["--also", "repeat=3", "--also", &json_word, "-f", &path]);
        told.expect(0, &["IO Summary: "]);
        assert_eq!(told.out.matches("IO Summary: ").count(), 3, "{told}");
        assert!(std::fs::read_to_string(&json)?.contains("\"read\""));
        // What is run before anything is counted is no part of the rates.
        let line = told.out.lines().find(|line| line.starts_with("read ")).unwrap_or_default();
        let number = |place: usize, end: &str| -> Option<f64> {
            line.split_whitespace().nth(place)?.strip_suffix(end)?.parse().ok()
        };
        let (count, rate) = (number(1, "ops").unwrap_or(0.0), number(2, "ops/s").unwrap_or(0.0));
        assert!(rate > count * 2.0, "{line}");
        let told = filebench(&["--also", "fail-if=read.p99 > 1ns", "-f", &path]);
        assert_ne!(told.code(), 0, "{told}");
        assert!(!data.exists() || names(&data).is_empty());
        Ok(())
    }

    fn there() -> Outcome {
        let folder = tempfile::tempdir()?;
        let own = folder.path().join("data/set/own");
        std::fs::create_dir_all(own.parent().unwrap())?;
        std::fs::write(&own, "mine")?;
        let text = "define fileset name=set,path=$dir,entries=50,dirwidth=20,prealloc
            define process name=p,instances=5 { thread name=t,instances=5 { flowop statfile name=s,filesetname=set } }
            run 0.2";
        let told = script(folder.path(), text);
        assert_ne!(told.code(), 0);
        assert_eq!(told.err.matches("exists already").count(), 1, "{told}");
        assert!(told.err.contains("script.f:1") && told.err.contains("reuse"), "{told}");
        assert_eq!(std::fs::read_to_string(own)?, "mine");
        Ok(())
    }

    fn failing() -> Outcome {
        let folder = tempfile::tempdir()?;
        let told = script(
            folder.path(),
            "define fileset name=set,path=$dir,entries=5,dirwidth=100,size=1k,prealloc
            define process name=p { thread name=t { flowop getxattr name=get,filesetname=set } }
            run 1",
        );
        told.expect(1, &["WARNING! 1 operations failed: 1 getxattr: "]);
        Ok(())
    }

    fn thousand() -> Outcome {
        let folder = tempfile::tempdir()?;
        let told = script(
            folder.path(),
            "define fileset name=set,path=$dir,entries=3000,dirwidth=100,size=1k,prealloc=80
            define process name=p,instances=10 { thread name=t,instances=100 {
              flowop openfile name=open,filesetname=set,fd=1
              flowop readwholefile name=read,fd=1
              flowop closefile name=close,fd=1
              flowop delay name=pause,value=1
            } }
            run 1",
        );
        told.expect(0, &["IO Summary: "]);
        assert!(row(&told, "read") >= 100, "{told}");
        Ok(())
    }
}

//! The helper of pjdfstest's suites as their scripts call it: chains, users, groups, masks, names of errors, attributes.
//!
//! Every case runs the built program in a directory of its own and compares what it prints. A suite of our own, written
//! as theirs are, runs under `prove` where that is installed.

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::Command;

    use testbed::program::{Program, ProgramOutput};
    use testbed::{Case, Need, Outcome};

    const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

    pub fn cases() -> Vec<Case> {
        vec![
            Case::new("calls are chained until one fails", &[], chains),
            Case::new("errors have names", &[], errors),
            Case::new("attributes are told in the suites' words", &[], attributes),
            Case::new("descriptors are counted from 0", &[], descriptors),
            Case::new("the mask is 0 unless it is said", &[], masks),
            Case::new("what makes no sense is told on standard error", &[], usage),
            Case::new("names are taken byte for byte", &[], bytes),
            Case::new("it answers to all of its names", &[], names),
            Case::new("it becomes users and groups", &[Need::Root], users),
            Case::new("nodes are made", &[Need::Root], nodes),
            Case::new("a suite runs under prove", &[Need::Tool("prove")], prove),
        ]
    }

    fn scratch() -> tempfile::TempDir {
        let scratch = tempfile::tempdir().unwrap();
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o777)).unwrap();
        scratch
    }

    fn helper(home: &Path, line: &str) -> ProgramOutput {
        let words = line.split(' ').map(|word| if word == "''" { "" } else { word });
        let mut command = Command::new(IODYNO);
        command.arg0("pjdfstest").args(words).current_dir(home);
        Program::new(command).run()
    }

    /// Each line says this, line by line, and ends with 1 where the last is an error.
    #[track_caller]
    fn says(home: &Path, lines: &[(&str, &str)]) {
        for (line, expected) in lines {
            let ProgramOutput { status, out: said, err: talk } = helper(home, line);
            assert_eq!(said.split_whitespace().collect::<Vec<_>>().join(" "), *expected, "{line}: {talk}");
            let failed = expected.rsplit(' ').next().is_some_and(|last| last.starts_with('E'));
            assert_eq!(status.code(), Some(i32::from(failed)), "{line}");
            assert_eq!(talk, "", "{line}");
        }
    }

    fn chains() -> Outcome {
        let home = scratch();
        says(
            home.path(),
            &[
                ("open f O_CREAT,O_RDWR 0644 : write 0 hello : pread 0 3 1 : fstat 0 size", "0 0 ell 5"),
                ("mkdir d 0755 : mkdir d 0755 : rmdir d", "0 EEXIST"),
                ("rmdir d : unlink f", "0 0"),
            ],
        );
        assert_eq!(fs::read_dir(home.path())?.count(), 0);
        Ok(())
    }

    fn errors() -> Outcome {
        let home = scratch();
        let long = "x".repeat(256);
        let too_long = format!("create {long} 0644");
        says(
            home.path(),
            &[
                ("unlink missing", "ENOENT"),
                ("unlink ''", "ENOENT"),
                (&too_long, "ENAMETOOLONG"),
                ("symlink a a", "0"),
                ("stat a size", "ELOOP"),
                ("rmdir a", "ENOTDIR"),
                ("mkdir NULL 0755", "EFAULT"),
                ("chmod DEADCODE 0755", "EFAULT"),
                ("unlinkat BADFD a none", "EBADF"),
                ("open a O_RDONLY|O_NOFOLLOW", "ELOOP"),
                ("unlink a", "0"),
            ],
        );
        Ok(())
    }

    fn attributes() -> Outcome {
        let home = scratch();
        says(
            home.path(),
            &[
                ("create f 0640 : stat f type,mode,nlink,size", "0 regular,0640,1,0"),
                ("chmod f 06755 : lstat f mode", "0 06755"),
                ("mkdir d 0 : lstat d type,mode", "0 dir,00"),
                ("mkfifo p 0600 : lstat p type", "0 fifo"),
                ("symlink f l : lstat l type : stat l type", "0 symlink regular"),
                ("bind s : lstat s type", "0 socket"),
                ("utimensat AT_FDCWD f -5 7 9 0 0 : lstat f atime,atime_ns,mtime,mtime_ns", "0 -5,7,9,0"),
                ("utimensat AT_FDCWD f 0 UTIME_OMIT 0 UTIME_NOW 0 : stat f atime", "0 -5"),
                ("link f g : stat f nlink", "0 2"),
                ("pathconf . _PC_NAME_MAX", "255"),
                ("fstatat AT_FDCWD l AT_SYMLINK_NOFOLLOW type", "symlink"),
                ("truncate f 0x10 : stat f size", "0 16"),
                ("open f O_RDWR : posix_fallocate 0 0 4096 : fstat 0 size", "0 0 4096"),
                ("stat f size,colour,flags,nlink", "4096,unknown,unknown,2"),
            ],
        );
        Ok(())
    }

    fn descriptors() -> Outcome {
        let home = scratch();
        says(
            home.path(),
            &[
                ("mkdir d 0755 : open d O_RDONLY,O_DIRECTORY : openat 0 f O_CREAT,,O_WRONLY| 0644", "0 0 0"),
                ("open d O_RDONLY : openat 0 f O_RDWR : fchmod 1 0600 : fstat 1 mode", "0 0 0 0600"),
                ("open d O_RDONLY : unlinkat 0 f 0 : unlinkat AT_FDCWD d AT_REMOVEDIR", "0 0 0"),
            ],
        );
        Ok(())
    }

    fn masks() -> Outcome {
        let home = scratch();
        says(
            home.path(),
            &[
                ("open a O_CREAT 0777 : stat a mode", "0 0777"),
                ("-U 077 open b O_CREAT 0777 : stat b mode", "0 0700"),
                ("-U 0x3f mkdir c 0777 : stat c mode", "0 0700"),
            ],
        );
        Ok(())
    }

    fn usage() -> Outcome {
        let home = scratch();
        for (line, hint) in [
            ("frobnicate x", "no such call"),
            ("unlink", "0 arguments"),
            ("open f O_WHAT", "`O_WHAT`"),
            ("fchmod 3 0644", "nothing was opened"),
            ("chmod . rwx", "expected a whole number"),
            ("-u nobody unlink f", "expected a number"),
            ("chflags . none", "BSD"),
        ] {
            let ProgramOutput { status, out, err: talk } = helper(home.path(), line);
            assert_eq!(status.code(), Some(1), "{line}");
            assert!(out.is_empty(), "{line}");
            assert!(talk.contains(hint), "{line}: {talk}");
        }
        assert_eq!(fs::read_dir(home.path())?.count(), 0);
        // What stands before it is made and told, as the original does; what stands behind it is not.
        for (line, said, hint) in [
            ("mkdir d 0755 : frobnicate x : rmdir d", "0\n", "no such call"),
            ("stat d type : chmod d", "dir\n", "1 arguments"),
            ("rmdir d : rmdir d : frobnicate", "0\nENOENT\n", ""),
            ("mkdir d 0755 : -1", "0\n", "no such call"),
        ] {
            let ProgramOutput { status, out, err: talk } = helper(home.path(), line);
            assert_eq!((status.code(), &*out), (Some(1), said), "{line}: {talk}");
            assert!(talk.contains(hint) && talk.is_empty() == hint.is_empty(), "{line}: {talk}");
        }
        let ProgramOutput { status, out, err } = helper(home.path(), "--help");
        assert!(status.success() && out.starts_with("usage: ") && err.is_empty(), "{out}{err}");
        assert!(helper(home.path(), "--version").out.starts_with("pjdfstest (iodyno) "));
        Ok(())
    }

    fn bytes() -> Outcome {
        use std::os::unix::ffi::OsStrExt;
        let home = scratch();
        // A dash of word processors, and a byte that is no text.
        for name in ["–t".as_bytes(), b"a\xffb"] {
            let name = std::ffi::OsStr::from_bytes(name);
            let mut command = Command::new(IODYNO);
            command.arg0("fstest").args(["create".as_ref(), name, "0644".as_ref()]).current_dir(home.path());
            assert_eq!(Program::new(command).run().out, "0\n");
            assert!(home.path().join(name).exists());
        }
        Ok(())
    }

    fn names() -> Outcome {
        let home = scratch();
        for name in ["pjdfstest", "fstest"] {
            let link = home.path().join(name);
            symlink(IODYNO, &link)?;
            let said = |mut command: Command| {
                command.args(["unlink", "missing"]).current_dir(home.path());
                Program::new(command).run()
            };
            assert_eq!(said(Command::new(link)).out, "ENOENT\n");
            let mut named = Command::new(IODYNO);
            named.arg(name);
            let said = said(named);
            assert_eq!((said.code(), &*said.out), (1, "ENOENT\n"));
        }
        Ok(())
    }

    fn users() -> Outcome {
        let home = scratch();
        says(
            home.path(),
            &[
                ("-u 65534 -g 65533 create f 0640 : lstat f uid,gid", "0 65534,65533"),
                ("-u 65532 -g 65532 open f O_RDONLY", "EACCES"),
                ("-u 65532 -g 65532,65533 open f O_RDONLY", "0"),
                ("-u 65532 -g 65532 -- chown f -1 65532", "EPERM"),
                // Without groups those of the caller stay: root's.
                ("-u 65534 create g 0644 : lstat g uid,gid", "0 65534,0"),
                ("-u 65534 -g 65533 -- chown f -1 65533 : unlink f", "0 0"),
            ],
        );
        Ok(())
    }

    fn nodes() -> Outcome {
        let home = scratch();
        says(
            home.path(),
            &[
                ("mknod b b 0644 1 2 : lstat b type,mode,major,minor", "0 block,0644,1,2"),
                ("mknod c c 0600 300 70000 : lstat c type,major,minor", "0 char,300,70000"),
                ("mknod f f 0600 0 0 : lstat f type", "0 fifo"),
                ("mknod o o 0600 0 0 : lstat o type", "0 socket"),
                ("mknod d d 0600 0 0", "EPERM"),
                ("-u 65534 -g 65534 mknod x c 0600 1 2", "EPERM"),
            ],
        );
        Ok(())
    }

    /// As suites are written: the plan first, one line for each thing that is tried, and the last line compared.
    const SUITE: &str = r#"#!/bin/sh
n=0
helper=./pjdfstest
expect() {
    wanted="$1"; shift; n=$((n + 1))
    got=$("$helper" "$@" 2>/dev/null | tail -1)
    if printf '%s\n' "$got" | grep -Eq "^(${wanted})\$"; then echo "ok $n"
    else echo "not ok $n - tried '$*', expected $wanted, got $got"; fi
}
echo "1..9"
expect 0 create x 0644
expect regular,0644 lstat x type,mode
expect EEXIST create x 0644
expect 'EPERM|EISDIR' unlink .
expect 0 open x O_WRONLY : write 0 data
expect data open x O_RDONLY : pread 0 10 0
expect 0 rename x y
expect ENOENT lstat x type
expect 0 unlink y
"#;

    fn prove() -> Outcome {
        let home = scratch();
        symlink(IODYNO, home.path().join("pjdfstest"))?;
        fs::write(home.path().join("smoke.t"), SUITE)?;
        let run = || {
            let mut command = Command::new("prove");
            command.args(["--exec", "/bin/sh", "smoke.t"]).current_dir(home.path());
            Program::new(command).run()
        };
        run().expect(0, &["Tests=9"]);
        // A suite that cannot fail shows nothing.
        fs::write(home.path().join("smoke.t"), SUITE.replace("expect ENOENT", "expect EACCES"))?;
        assert_ne!(run().code(), 0);
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    testbed::run(linux::cases())
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}

//! What is said to words that are not known, and to those that ask for help.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use testbed::sandbox::FullDisk;
use testbed::{Case, Need, Outcome};

use crate::program::{IODYNO, Program, dressed, iodyno, names, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a near miss is suggested", &[], near_misses),
        Case::new("help is a report, and its absence is not", &[], help),
        Case::new("every command has help, a version and a manual page", &[], every_command),
        Case::new("data in the place of a text is one message", &[], no_text),
        Case::new("text is as wide as it may be, in the unit that was chosen", &[], widths_and_units),
        Case::new("what cannot be printed is an error", &[], full),
        Case::new("a file of results that finds no room is not left cut", &[Need::Mount], cut),
        Case::new("a hyphen is no file", &[], hyphen),
        Case::new("what fio says before the start is said once", &[], once),
        Case::new("a wrong word of our own is told with its hint", &[], own_words),
        Case::new("words of --also are listed", &[], listed),
        Case::new(
            "under an original's name a person at a terminal gets one line more",
            &[],
            one_line_at_a_terminal,
        ),
        Case::new("a terminal gets no orders from names", &[], orders),
        Case::new("fio's verify headers are those of its version, and both kinds are read", &[], headers),
        Case::new("links are made once, replace nothing, and are the tools they are named for", &[], links),
    ]
}

fn once() -> Outcome {
    for format in ["normal", "json", "terse", "normal,json"] {
        let home = scratch();
        let mut command = iodyno(["fio", "--name=a", "--rw=write", "--size=64k", "--filename=f"]);
        command.args([
            "--ioengine=psync",
            "--iodepth=8",
            "--time_based",
            &format!("--output-format={format}"),
        ]);
        command.current_dir(home.path()).env_remove("IODYNO_ALSO");
        let told = told(command);
        let times = |words: &str| told.out.matches(words).count() + told.err.matches(words).count();
        assert_eq!(times("requires a runtime/timeout setting"), 1, "{format}: {told}");
        assert_eq!(times("queue depth will be capped at 1"), 1, "{format}: {told}");
    }
    Ok(())
}

fn own_words() -> Outcome {
    for (words, wrong, hint) in [
        (
            &["iperf", "-c", "127.0.0.1", "--also", "peers=10.0.0.0/8"][..],
            "error: --also: `peers=` is a server's word",
            "hint: say it where iperf -s runs",
        ),
        (
            &["iperf", "-s", "--also", "peers=x"],
            "error: --also: peers: `x` is no range of addresses",
            "hint: say addresses or ranges like 10.0.0.0/8",
        ),
    ] {
        let mut command = iodyno(words);
        command.env_remove("IODYNO_ALSO");
        told(command).expect(1, &[wrong, hint]);
    }
    Ok(())
}

fn listed() -> Outcome {
    for (tool, has, lacks) in [("fio", "headers=3.33", "phases="), ("mdtest", "phases=NAMES", "headers=")] {
        let said = told(iodyno([tool, "--also", "help"]));
        said.expect(0, &["engine=NAME ", "json=FILE ", has]);
        assert!(!said.out.contains(lacks) && said.err.is_empty(), "{said}");
        assert!(said.out.lines().all(|line| line.chars().count() <= 100), "{said}");
    }
    for (word, message) in [
        ("jsno=f", "there is no word `jsno`; did you mean `json`?"),
        ("frobnicate", "there is no word `frobnicate`"),
        ("json", "`json`: expected json=FILE"),
    ] {
        told(iodyno(["fio", "--also", word])).expect(2, &[message, "hint: --also help lists the words"]);
    }
    // Every command stands in the help text.
    let (help, version) = (told(iodyno(["--help"])), concat!("iodyno ", env!("CARGO_PKG_VERSION"), "\n"));
    for dialect in iodyno_dialect::DIALECTS {
        assert!(help.out.contains(&format!("\n  {:12} ", dialect.name)), "{}: {help}", dialect.name);
    }
    for command in
        ["measure", "run", "plan", "runs", "compare", "report", "engines", "posix", "s3check", "net", "io500"]
    {
        assert!(help.out.contains(&format!("\n  {command:12} ")), "{command}: {help}");
        assert_eq!(told(iodyno([command, "--version"])).out, version, "{command}");
    }
    assert!(help.out.lines().all(|line| line.chars().count() <= 80), "{help}");
    // So it is with the tools that have their own words for it.
    for tool in ["age", "dd", "filebench", "hdparm", "iometer", "iostat", "iozone", "vdbench"] {
        let (help, version) = (told(iodyno([tool, "--help"])), told(iodyno([tool, "--version"])));
        assert!(help.code() == 0 && help.err.is_empty() && help.out.contains("Usage"), "{tool}: {help}");
        assert!(version.code() == 0 && version.out.contains(env!("CARGO_PKG_VERSION")), "{tool}: {version}");
    }
    Ok(())
}

fn near_misses() -> Outcome {
    let wrong = [
        (&["mesure"][..], "did you mean `measure`?"),
        (&["meas"], "did you mean `measure`?"),
        (&["rnu", "x"], "did you mean `run`?"),
        (&["frobnicate"], "possible are"),
        (&["measure", "--quik"], "did you mean `--quick`?"),
        (&["run", "--jsn", "a", "b"], "did you mean `--json`?"),
        (&["plan", "--expnd", "b"], "did you mean `--expand`?"),
        (&["run"], "required arguments were not provided: <FILE>"),
        (&["run", "nowhere.toml"], "nowhere.toml: cannot be read: No such file or directory"),
        (&["measure", "--engine", "iouring", "."], "no engine of that name"),
        (&["measure", "--time", "soon", "."], "--time"),
        (&["measure", "--quick", "--full"], "--full"),
    ];
    for (words, hint) in wrong {
        told(iodyno(words)).refused(&[hint]);
    }
    Ok(())
}

/// What a command writes to a terminal.
fn seen(mut command: Command) -> String {
    let (mut master, slave) = testbed::terminal::pair();
    command.stdin(Stdio::null()).stdout(slave.try_clone().expect("a copy")).stderr(slave);
    let mut child = command.spawn().expect("the program");
    // The program's sides of the terminal are its own: with it goes the last of them.
    drop(command);
    let (mut text, mut chunk) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = master.read(&mut chunk) {
        text.extend_from_slice(&chunk[..count]);
    }
    child.wait().expect("its end");
    String::from_utf8_lossy(&text).into_owned()
}

fn orders() -> Outcome {
    let home = scratch();
    let order = "\u{1b}[2J\u{1b}[?25l\u{7}";
    let job = format!("[a{order}\u{9b}2J]\nioengine=null\nrw=read\nsize=64k\n");
    std::fs::write(home.path().join("job.fio"), &job)?;
    std::fs::write(home.path().join("bad.fio"), format!("{job}bogus{order}=1\n"))?;
    let plan = "name = \"n\\u001b[2J\"\n[target.n]\nnothing = \"1MiB\"\n[[phase]]\nname = \"p\\u001b[?1049h\"\n\
                [[phase.job]]\nname = \"j\\u0007\"\nengine = \"null\"\non = \"n\"\ndo = \"read\"\n";
    std::fs::write(home.path().join("plan.toml"), plan)?;
    for words in
        [&["fio", "job.fio"][..], &["fio", "bad.fio"], &["run", "plan.toml"], &["run", "no\u{1b}[2Jfile"]]
    {
        let mut command = iodyno(words);
        command.current_dir(home.path()).env_remove("IODYNO_ALSO").env("TERM", "xterm");
        let text = seen(command);
        assert!(text.contains("\\x1b"), "{words:?}: {text:?}");
        for order in ["\u{1b}]", "\u{7}", "\u{9b}", "\u{1b}[2J", "\u{1b}[?"] {
            assert!(!text.contains(order), "{words:?}: {order:?} in {text:?}");
        }
        // A pipe has the report as the original writes it; of our own messages nothing is obeyed there either.
        let mut command = iodyno(words);
        command.current_dir(home.path()).env_remove("IODYNO_ALSO");
        let told = told(command);
        assert!(!told.err.lines().any(|line| line.starts_with("error") && line.contains('\u{1b}')), "{told}");
    }
    Ok(())
}

/// A link named as the original prints what the original prints; only a person at a terminal gets a line more.
fn one_line_at_a_terminal() -> Outcome {
    let home = scratch();
    let link = home.path().join("dd");
    std::os::unix::fs::symlink(IODYNO, &link)?;
    let words = ["if=/dev/zero", "of=copy", "bs=4k", "count=4"];
    let command = || {
        let mut command = dressed(Command::new(&link), words);
        command
            .current_dir(home.path())
            .env_remove("IODYNO_ALSO")
            .env("TERM", "xterm")
            .env_remove("NO_COLOR");
        command
    };
    let line = "quote these figures only together with this (IODYNO_FINDINGS=1 prints the findings)";
    let last = |text: &str| text.trim_end().lines().last().unwrap_or_default().to_string();
    let text = seen(command());
    assert!(last(&text).starts_with("\u{1b}[2miodyno: "), "{text:?}");
    assert!(text.contains(line) || text.contains("do not quote these figures (IODYNO_"), "{text:?}");
    let mut plain = command();
    plain.env("TERM", "dumb");
    let text = seen(plain);
    assert!(last(&text).starts_with("iodyno: ") && !text.contains('\u{1b}'), "{text:?}");
    let mut silent = command();
    silent.env("IODYNO_FINDINGS", "0");
    assert!(!seen(silent).contains("iodyno:"));
    // Redirected, it is the original's text and nothing else.
    let told = told(command());
    assert!(told.code() == 0 && told.err.lines().count() == 3 && !told.err.contains("iodyno"), "{told}");
    Ok(())
}

fn help() -> Outcome {
    for words in [
        &["--help"][..],
        &["measure", "--help"],
        &["run", "--help"],
        &["plan", "-h"],
        &["--version"],
        &["engines"],
        &["engines", "io_uring"],
        &["engines", "--help"],
        &["dialects", "--help"],
        &["witnesses", "--help"],
        &["completions", "--help"],
        &["completions", "bash"],
        &["man", "--help"],
        &["man"],
        &["links", "--help"],
    ] {
        let said = told(iodyno(words));
        said.expect(0, &[]);
        assert!(!said.out.is_empty() && said.err.is_empty(), "{words:?}: {said}");
    }
    told(iodyno::<&str>([])).expect(2, &["iodyno measure"]);
    for words in [
        ["engines", "--all"],
        ["dialects", "fio"],
        ["witnesses", "x"],
        ["man", "fioo"],
        ["completions", "csh"],
    ] {
        told(iodyno(words)).refused(&[words[1]]);
    }
    told(iodyno(["engines", "iouring"])).refused(&["did you mean `io_uring`?"]);
    told(iodyno(["completions", "csh"])).refused(&["one of bash, "]);
    Ok(())
}

/// The names in the groups of the help text.
fn commands() -> Vec<String> {
    let help = told(iodyno(["--help"])).out;
    let names = help.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && !name.starts_with('-')).map(String::from).collect()
}

fn every_command() -> Outcome {
    let names = commands();
    assert!(names.len() > 30 && names.iter().any(|name| name == "hdparm"), "{names:?}");
    let home = scratch();
    let written = told({
        let mut command = iodyno(["man", "--all"]);
        command.arg(home.path());
        command
    });
    written.expect(0, &["iodyno-measure.1", "iodyno.1"]);
    for name in &names {
        for word in ["--help", "--version"] {
            let said = told(iodyno([name.as_str(), word]));
            said.expect(0, &[]);
            assert!(!said.out.trim().is_empty() && said.err.is_empty(), "{name} {word}: {said}");
        }
        // A helper of scripts makes system calls and takes no words.
        let is_tool = !matches!(name.as_str(), "pjdfstest" | "fstest")
            && iodyno_dialect::DIALECTS.iter().any(|dialect| dialect.name == name && dialect.drop_in);
        let help = told(iodyno([name.as_str(), "--help"]));
        assert_eq!(help.out.contains("--also help"), is_tool, "{name}: {help}");
        let page = std::fs::read_to_string(home.path().join(format!("iodyno-{name}.1")))?;
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO"]
        {
            assert!(page.contains(&format!(".SH {section}\n")), "{name}: no {section}\n{page}");
        }
        assert_eq!(told(iodyno(["man", name.as_str()])).expect(0, &[]).out, page, "{name}");
    }
    let mut again = iodyno(["man", "--all"]);
    again.arg(home.path());
    told(again).expect(2, &["it exists already"]);
    Ok(())
}

fn no_text() -> Outcome {
    let home = scratch();
    let mut data: Vec<u8> =
        (0..4096u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    data[7] = 0;
    std::fs::write(home.path().join("data"), data)?;
    std::fs::write(home.path().join("job.fio"), "[a]\nrw=read\nsize=4k\n")?;
    for line in [
        "fio data",
        "fio --client=data job.fio",
        "ior -f data",
        "filebench -f data",
        "iometer data",
        "vdbench -f data",
        "io500 data",
        "run data",
        "plan data",
        "iozone -+m data -t 1",
        "measure --hostfile data .",
    ] {
        let mut command = iodyno(line.split(' '));
        command.current_dir(home.path());
        let said = told(command);
        assert!(said.status.code().is_some_and(|code| code > 0), "{line}: {said}");
        let all = said.all();
        assert!(all.contains("data") && all.contains("this is no text: byte "), "{line}: {said}");
        assert!(all.lines().count() <= 2, "{line}: one message and its hint\n{said}");
        assert!(
            all.chars().all(|letter| letter == '\n' || (!letter.is_control() && letter != '\u{fffd}')),
            "{line}"
        );
    }
    Ok(())
}

fn widths_and_units() -> Outcome {
    let home = scratch();
    let text = "[target.a]\nfile = \"a\"\nsize = \"1MiB\"\nprepare = \"filled\"\n[[phase]]\n[[phase.job]]\non = \"a\"\n\
                do = \"read\"\nblock = \"4KiB\"\n";
    crate::program::plan(home.path(), text);
    let printed = |columns: &str, words: &[&str]| {
        let mut command = iodyno(words);
        command.current_dir(home.path()).env("COLUMNS", columns);
        told(command)
    };
    for columns in [60, 80, 120] {
        let help = printed(&columns.to_string(), &["--help"]).out;
        assert!(help.lines().all(|line| line.chars().count() <= columns.min(80)), "{columns}: {help}");
        let said = printed(&columns.to_string(), &["run", "plan.toml"]);
        let wide: Vec<&str> = said.out.lines().filter(|line| line.chars().count() > columns).collect();
        assert!(said.code() == 0 && !said.out.contains('\r') && !said.err.contains('\r'), "{said}");
        // The table of percentiles has seven figures.
        assert!(columns < 80 || wide.is_empty(), "wider than {columns}: {wide:?}");
    }
    for (words, unit) in [
        (&["run", "plan.toml"][..], " MB/s "),
        (&["run", "plan.toml", "--units", "MiB/s"], " MiB/s "),
        (&["--units=Gbit/s", "run", "plan.toml"], " Gbit/s "),
    ] {
        printed("80", words).expect(0, &[unit]);
    }
    printed("80", &["run", "plan.toml", "--units", "knots"])
        .refused(&["--units knots", "MB/s, MiB/s, Gbit/s"]);
    Ok(())
}

/// What is printed goes to a disk without room.
fn full() -> Outcome {
    let home = scratch();
    let history = home.path().join("history");
    let started = |words: &[&str]| {
        let mut command = iodyno(words);
        command.current_dir(home.path()).env("IODYNO_HISTORY", &history);
        command
    };
    let run = ["run", "--quiet", "f.toml"];
    std::fs::write(
        home.path().join("f.toml"),
        "[target.n]\nnothing = \"1GiB\"\n[[phase]]\n[[phase.job]]\non = \"n\"\nengine = \"sim\"\ndo = \"read\"\n\
         until = { operations = 10 }\n",
    )?;
    told(started(&run)).expect(0, &[]);
    for words in [
        &["--help"][..],
        &["--version"],
        &["man"],
        &["engines"],
        &["dialects"],
        &["completions", "bash"],
        &["runs"],
        &["runs", "--json"],
        &["runs", "show"],
        &["runs", "path"],
        &["compare", "1", "1"],
        &["report", "--help"],
        &["report", "1", "-o", "-"],
        &["plan", "f.toml"],
        &["fio", "--help"],
        &["io500", "--list"],
        &["pjdfstest", "mkdir", "made", "0755", ":", "stat", "made", "type"],
        &run,
    ] {
        let said = Program::new(started(words)).out(File::options().write(true).open("/dev/full")?).run();
        assert_eq!(said.code(), 1, "{words:?}: {said}");
        assert!(said.err.contains("No space left on device"), "{words:?}: {said}");
    }
    Ok(())
}

/// There is room for one page of each file, and no more.
fn cut() -> Outcome {
    let fio = ["fio", "--name=a", "--ioengine=null", "--size=1m"];
    let null = ["dd", "if=/dev/zero", "of=/dev/null", "count=1"];
    for (words, file) in [
        (&[&fio[..], &["--also=json=full/r.json"]].concat()[..], "full/r.json"),
        (&[&fio[..], &["--also=html=full/r.html"]].concat(), "full/r.html"),
        (&[&null[..], &["--also=json=full/d.json"]].concat(), "full/d.json"),
        (&["posix", ".", "--only", "mkdir", "--json", "full/p.json"], "full/p.json"),
        (&["posix", ".", "--only", "mkdir", "--junit", "full/p.xml"], "full/p.xml"),
    ] {
        let (home, disk) = (scratch(), FullDisk::tmpfs(4096)?);
        std::os::unix::fs::symlink(disk.path(), home.path().join("full"))?;
        let before = names(disk.path());
        let mut command = iodyno(words);
        command.current_dir(home.path());
        let said = told(command);
        let message = format!("error: {file}: No space left on device");
        said.expect(1, &[&message, "what was written of it is removed"]).one_error();
        assert_eq!(names(disk.path()), before, "{words:?}: {said}");
    }
    Ok(())
}

fn hyphen() -> Outcome {
    let home = scratch();
    for words in [
        &["dd", "if=/dev/zero", "of=/dev/null", "count=1", "--also=json=-"][..],
        &["dd", "if=/dev/zero", "of=/dev/null", "count=1", "--also=csv=-"],
        &["measure", "--quick", "--json", "-", "."],
    ] {
        let mut command = iodyno(words);
        command.current_dir(home.path());
        let said = told(command);
        said.expect(if words[0] == "dd" { 1 } else { 2 }, &["standard output", "name a file"]);
        assert_eq!(names(home.path()), Vec::<String>::new(), "{words:?}");
    }
    Ok(())
}

/// Which headers fio's verification writes, and that both are read; the bytes are those of the files.
fn headers() -> Outcome {
    let folder = scratch();
    let file = folder.path().join("d");
    let fio = |words: &str| {
        let mut command = iodyno(["fio", "--name=j", "--filename=d", "--bs=4k", "--verify=crc32c"]);
        command.args(words.split(' ')).current_dir(folder.path());
        told(command)
    };
    let kinds = || {
        let [state, data] = [&folder.path().join("local-j-0-verify.state"), &file].map(std::fs::read);
        let (state, data) = (state.expect("a state"), data.expect("a file"));
        (state[0], [data[2], data[3]], [data[8194], data[8195]])
    };
    fio("--rw=write --size=16k --do_verify=0").expect(0, &[]);
    assert_eq!(kinds(), (5, [0x81, 5], [0x81, 5]));
    fio("--rw=write --size=8k --do_verify=0 --also headers=3.40").expect(0, &[]);
    assert_eq!(kinds(), (3, [5, 0], [0x81, 5]));
    fio("--rw=read --size=16k").expect(0, &[]);
    let mut data = std::fs::read(&file).expect("a file");
    data[12_290] = 0x82;
    std::fs::write(&file, data).expect("it is written");
    let said = fio("--rw=read --size=16k");
    let wanted =
        "verify: unsupported header version 82, wanted 81: another fio wrote it; verify with that one";
    assert!(said.code() != 0 && said.err.contains(wanted), "{said}");
    let said = fio("--rw=read --size=16k --also headers=old");
    assert!(said.code() != 0 && said.err.contains("expected the version of an original"), "{said}");
    Ok(())
}

fn links() -> Outcome {
    let folder = scratch();
    let place = |name: &str| folder.path().join(name);
    std::fs::write(place("dd"), "mine").expect("a file");
    let links = || told(iodyno(["links".as_ref(), folder.path().as_os_str()]));
    links().expect(1, &["dd: File exists", "existing files are never replaced"]).one_error();
    assert_eq!(std::fs::read_to_string(place("dd")).expect("it is there"), "mine");
    let names = std::fs::read_dir(folder.path()).expect("a directory").count();
    assert!(names > 10 && place("fio").is_symlink(), "{names} links");
    let mut fio = Command::new(place("fio"));
    fio.arg("--version");
    let fio = told(fio);
    assert!(fio.expect(0, &[]).out.starts_with("fio-3."), "{fio}");
    // A second time there is nothing to be made.
    assert_eq!(links().expect(1, &[]).err.lines().filter(|line| line.starts_with("error:")).count(), names);
    told(iodyno(["links".as_ref(), place("nowhere").as_os_str()])).expect(1, &["nowhere"]).one_error();
    Ok(())
}

//! `iodyno vdbench`: its texts in virtual time, its folder of results, and what its validation finds.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use testbed::program::ProgramOutput;
use testbed::{Case, Outcome};

use crate::program::{Running, iodyno, names, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("vdbench's texts of simulated runs are as they were", &[], texts),
        Case::new("vdbench writes and reads trees of files", &[], trees),
        Case::new("vdbench's folder is renewed where a run made it, and else left alone", &[], folders)
            .waits(),
        Case::new("vdbench's journal finds what was changed between two runs", &[], journal).waits(),
        Case::new("vdbench's journal outlives a run that is killed", &[], killed),
        Case::new("vdbench that is interrupted reports what it has", &[], interrupted).waits(),
        Case::new("vdbench's mistakes leave nothing", &[], mistakes),
    ]
}

/// Eight servers of 5 ms each: 1,600 operations a second, each of 5 ms.
const DEVICE: &str = "name = \"store\"\nabout = \"a store of 5 ms\"\n[part.front.station]\nservers = 8\nservice = \"5 ms\"\n\
                      variation = 0\n";
const FILES: [(&str, &str); 6] = [
    ("random", include_str!("../../../../golden/vdbench/random.parm")),
    ("curve", include_str!("../../../../golden/vdbench/curve.parm")),
    ("skew", include_str!("../../../../golden/vdbench/skew.parm")),
    ("streams", include_str!("../../../../golden/vdbench/streams.parm")),
    ("loops", include_str!("../../../../golden/vdbench/loops.parm")),
    ("payload", include_str!("../../../../golden/vdbench/payload.parm")),
];

fn within(home: &Path, line: &str) -> ProgramOutput {
    let mut command = iodyno(line.split_whitespace());
    command.current_dir(home).env_remove("IODYNO_ALSO").env("IODYNO_HISTORY", "off").env("TZ", "UTC");
    told(command)
}

/// The text without times of day and dates, which are another run's.
fn timeless(text: &str) -> String {
    let words = |line: &str| -> String {
        let is_time =
            |word: &str| word.len() == 12 && word.as_bytes()[2] == b':' && word.as_bytes()[8] == b'.';
        let is_stamp =
            |word: &str| word.len() > 20 && word.as_bytes()[2] == b'/' && word.as_bytes()[10] == b'-';
        let parts = line.split(' ').map(|word| match word {
            word if is_time(word) => "HH:MM:SS.mmm",
            word if is_stamp(word) => "MM/DD/YYYY-HH:MM:SS-UTC",
            word => word,
        });
        parts.collect::<Vec<_>>().join(" ")
    };
    let dated = |line: &str| {
        line.len() > 12 && line.as_bytes()[6] == b',' && line[..3].chars().all(char::is_alphabetic)
    };
    let of = |line: &str| match line {
        line if dated(line) => format!("Mon dd, yyyy{}\n", &line[12..]),
        line if line.contains(", created ") => "Vdbench summary report\n".into(),
        line if line.contains("(iodyno ") => "Vdbench distribution\n".into(),
        line => words(line) + "\n",
    };
    text.lines().map(of).collect()
}

/// The parameters without chance: what is drawn is another run's.
fn certain(text: &str) -> String {
    let drawn = [
        ("iorate=1000", "iorate=1000,distribution=deterministic"),
        ("iorate=(100,200)", "iorate=(100,200),distribution=deterministic"),
        ("iorate=curve", "iorate=curve,distribution=deterministic"),
        ("rdpct=70", "rdpct=100"),
        ("(4k,50,8k,50)", "4k"),
    ];
    drawn.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to))
}

fn texts() -> Outcome {
    let home = scratch();
    std::fs::write(home.path().join("store.toml"), DEVICE)?;
    let mut found = String::new();
    for (name, text) in FILES {
        let text = certain(text);
        std::fs::write(home.path().join(format!("{name}.parm")), text)?;
        let line = format!("vdbench -f {name}.parm -o {name} --also on=./store.toml");
        let said = within(home.path(), &line);
        said.expect(0, &["simulated on store", "Vdbench execution completed successfully"]);
        found += &format!("$ {line}\n{}\n", timeless(&said.out));
        if name == "random" {
            for page in ["totals.html", "flatfile.html", "histogram.html", "sd1.html"] {
                let page_text = std::fs::read_to_string(home.path().join(name).join(page))?;
                found += &format!("$ cat {name}/{page}\n{}\n", timeless(&page_text));
            }
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/vdbench/texts.txt");
    if std::env::var_os("IODYNO_BLESS").is_some() {
        std::fs::write(&path, &found)?;
    }
    let wanted = std::fs::read_to_string(&path)?;
    let differs = wanted.lines().zip(found.lines()).position(|(a, b)| a != b);
    assert!(wanted == found, "differs from line {differs:?} on; IODYNO_BLESS=1 rewrites it\n{found}");
    Ok(())
}

/// Every operation, by what was counted: no figure depends on the machine's speed.
fn trees() -> Outcome {
    let home = scratch();
    let text = "create_anchors=yes\nfsd=fsd1,anchor=a/tree,depth=1,width=2,files=4,size=16k\nfwd=format,threads=2\n\
                fwd=fwd1,fsd=fsd1,xfersize=4k,rdpct=50,fileselect=random,threads=2\n\
                rd=rd1,fwd=fwd1,fwdrate=max,format=yes,elapsed=2,interval=1\n\
                rd=rd2,fwd=fwd1,fwdrate=50,operations=(getattr,open),elapsed=2,interval=1\n";
    std::fs::write(home.path().join("p"), text)?;
    for line in ["vdbench -f p", "vdbench -f p -r rd1"] {
        let said = within(home.path(), line);
        said.expect(0, &["Starting RD=format_for_rd1", "Starting RD=rd1", "completed successfully"]);
        let directories = names(&home.path().join("a/tree"));
        assert_eq!(directories, ["vdb_0.dir", "vdb_1.dir"], "{said}");
        let files = names(&home.path().join("a/tree/vdb_0.dir"));
        assert_eq!(files.len(), 4, "{files:?}");
        for file in files {
            assert_eq!(std::fs::metadata(home.path().join("a/tree/vdb_0.dir").join(file))?.len(), 16384);
        }
        let flat = std::fs::read_to_string(home.path().join("output/flatfile.html"))?;
        let row = flat
            .lines()
            .find(|line| line.contains("format_for_rd1") && line.contains("avg_"))
            .ok_or("no row")?;
        assert!(row.split_whitespace().count() > 30, "{row}");
    }
    Ok(())
}

const SMALL: &str = "sd=sd1,lun=data,size=1m,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=0\n\
                     rd=rd1,wd=wd1,iorate=200,elapsed=2,interval=1\n";

fn folders() -> Outcome {
    let home = scratch();
    std::fs::write(home.path().join("p"), SMALL.replace("rdpct=0", "rdpct=100"))?;
    within(home.path(), "vdbench -f p").expect(0, &["Output directory: output"]);
    within(home.path(), "vdbench -f p -o output+").expect(0, &["Output directory: output.001"]);
    let pages = names(&home.path().join("output"));
    for page in [
        "errorlog.html",
        "flatfile.html",
        "histogram.html",
        "logfile.html",
        "parmfile.html",
        "sd1.html",
        "summary.html",
        "totals.html",
        "wd1.html",
    ] {
        assert!(pages.iter().any(|name| name == page), "{page}: {pages:?}");
    }
    let mine = home.path().join("mine");
    std::fs::create_dir(&mine)?;
    std::fs::write(mine.join("letter"), "dear")?;
    within(home.path(), "vdbench -f p -o mine").expect(1, &["mine holds letter", "-o DIR+"]);
    assert_eq!(names(&mine), ["letter"]);
    Ok(())
}

fn journal() -> Outcome {
    let home = scratch();
    std::fs::write(home.path().join("p"), SMALL)?;
    within(home.path(), "vdbench -f p -j").expect(0, &["completed successfully"]);
    assert!(names(home.path()).contains(&"sd1.map".to_string()), "{:?}", names(home.path()));
    within(home.path(), "vdbench -f p -j").expect(1, &["the journal sd1.map exists", "-jr"]);
    within(home.path(), "vdbench -f p -jr")
        .expect(0, &["Starting RD=journal_recovery", "completed successfully"]);
    let file = File::options().write(true).open(home.path().join("data"))?;
    (0..1 << 20).step_by(4096).try_for_each(|place| file.write_all_at(b"changed", place))?;
    let said = within(home.path(), "vdbench -f p -jro");
    said.expect(1, &["Data Validation error", "Vdbench ended with"]);
    let errors = std::fs::read_to_string(home.path().join("output/errorlog.html"))?;
    assert!(errors.contains("journal_recovery on sd1") && errors.contains("lba: 0x"), "{errors}");
    Ok(())
}

fn killed() -> Outcome {
    let home = scratch();
    std::fs::write(
        home.path().join("p"),
        SMALL.replace("elapsed=2", "elapsed=60").replace("iorate=200", "iorate=max"),
    )?;
    let mut command = iodyno(["vdbench", "-f", "p", "-j"]);
    command.current_dir(home.path()).env("IODYNO_HISTORY", "off");
    let mut running = Running::start(command);
    running.until("something is written", || names(home.path()).iter().any(|name| name.ends_with(".live")));
    running.says(" 1 ");
    running.signal(libc::SIGKILL);
    drop(running.end());
    let left = names(home.path());
    assert!(left.iter().any(|name| name.starts_with("sd1.map.") && name.ends_with(".live")), "{left:?}");
    let checked = within(home.path(), "vdbench -f p -jro");
    checked.expect(0, &["Starting RD=journal_recovery", "completed successfully"]);
    let kept = names(home.path());
    assert!(kept.contains(&"sd1.map".into()) && !kept.iter().any(|name| name.ends_with(".live")), "{kept:?}");
    Ok(())
}

fn interrupted() -> Outcome {
    let home = scratch();
    std::fs::write(home.path().join("p"), SMALL.replace("elapsed=2", "elapsed=60"))?;
    let mut command = iodyno(["vdbench", "-f", "p"]);
    command.current_dir(home.path()).env("IODYNO_HISTORY", "off");
    let mut running = Running::start(command);
    running.says("Starting RD=rd1");
    running.says(" 1 ");
    running.signal(libc::SIGINT);
    let said = running.end();
    assert!(said.out.contains(" avg_") && said.out.contains("Vdbench was interrupted"), "{said}");
    assert_ne!(said.code(), 0, "{said}");
    Ok(())
}

fn mistakes() -> Outcome {
    let home = scratch();
    for (text, words) in [
        (SMALL.replace("rdpct", "rdptc"), "p:2: no wd parameter `rdptc`"),
        (SMALL.replace("iorate=200", "iorate=curve,stopcurve=5"), "p:3: `stopcurve=` is not supported"),
        (SMALL.replace("lun=data,", "lun=/dev/no-such-disk,"), "no-such-disk"),
        (SMALL.replace("threads=2", "threads=2,replay=x"), "iodyno replay"),
    ] {
        std::fs::write(home.path().join("p"), text)?;
        let said = within(home.path(), "vdbench -f p");
        said.expect(1, &[words]);
        assert_eq!(names(home.path()), ["p"], "{said}");
    }
    Ok(())
}

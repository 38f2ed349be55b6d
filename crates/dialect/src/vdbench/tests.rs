//! Parameter files become plans, and what is wrong with them is told all at once.

use std::collections::BTreeMap;

use iodyno_model::{Machine, Plan, WorldFacts};

use crate::{Loader, PathFacts, PathKind, Request, Run};

/// Files, a device of 1 GiB, and ranks.
#[derive(Default)]
struct World {
    files: BTreeMap<String, String>,
    hosts: Vec<&'static str>,
    folder: Vec<&'static str>,
}

impl Loader for World {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        self.files
            .get(path)
            .map(|text| text.clone().into_bytes())
            .ok_or_else(|| "no such file or directory".into())
    }
    fn list(&mut self, _path: &str) -> Result<Vec<String>, String> {
        Ok(self.folder.iter().map(ToString::to_string).collect())
    }
    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        self.read("-")
    }
    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
    fn machine(&self) -> Machine {
        Machine::default()
    }
    fn look(&self, path: &str) -> Option<PathFacts> {
        let (kind, bytes) = match path {
            "/dev/sdz" => (PathKind::BlockDevice, 1 << 30),
            "output" if !self.folder.is_empty() => (PathKind::Directory, 0),
            "dir" => (PathKind::Directory, 0),
            path if self.files.contains_key(path) => (PathKind::File, self.files[path].len() as u64),
            _ => return None,
        };
        Some(PathFacts { kind, bytes, ..PathFacts::default() })
    }
    fn now_unix_ns(&self) -> u64 {
        7
    }
    fn world(&self) -> WorldFacts {
        match self.hosts.is_empty() {
            true => WorldFacts::alone("here"),
            false => WorldFacts {
                hosts: self.hosts.iter().map(ToString::to_string).collect(),
                nodes: (0..self.hosts.len() as u32).collect(),
                library: Some("MPI".into()),
                ..WorldFacts::default()
            },
        }
    }
}

fn world(text: &str) -> World {
    World { files: BTreeMap::from([("p".to_string(), text.to_string())]), ..World::default() }
}

fn asked(mut world: World, line: &str) -> Request {
    let words: Vec<String> = line.split_whitespace().map(String::from).collect();
    super::request(&words, &mut world).unwrap_or_else(|wrong| panic!("{wrong:?}"))
}

fn run(text: &str, line: &str) -> Run {
    match asked(world(text), line) {
        Request::Run(run) => *run,
        Request::Refuse { err, .. } => panic!("{err}"),
        _ => panic!("not run"),
    }
}

fn lowered(text: &str) -> Plan {
    run(text, "-f p").plan
}

fn refused(text: &str, line: &str) -> String {
    match asked(world(text), line) {
        Request::Refuse { err, status: 1 } => err,
        _ => panic!("{line}: it was not refused: {text}"),
    }
}

const SMALL: &str = include_str!("../../../../golden/vdbench/random.parm");

/// The plans of the usual kinds of files.
#[test]
fn golden_plans() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/vdbench");
    let mut found = String::new();
    for (name, line) in [
        ("random", "-f p"),
        ("curve", "-f p"),
        ("streams", "-f p"),
        ("loops", "-f p"),
        ("skew", "-f p"),
        ("files", "-f p"),
        ("payload", "-f p"),
        ("validate", "-f p -j -vr"),
        ("validate", "-f p -jr"),
        ("hosts", "-f p"),
    ] {
        let text = std::fs::read_to_string(format!("{root}/{name}.parm")).unwrap();
        let mut there = world(&text);
        there.hosts = if name == "hosts" { vec!["h1", "h2"] } else { Vec::new() };
        // What an earlier run knew of what it wrote.
        if line.contains("-jr") {
            there.files.insert("sd1.map".into(), String::new());
        }
        let shown = match asked(there, line) {
            Request::Run(run) => iodyno_report::plan::print(&run.plan),
            Request::Refuse { err, .. } => err,
            _ => panic!("{name}"),
        };
        found += &format!("$ vdbench {}\n{shown}\n", line.replace("-f p", &format!("-f {name}.parm")));
    }
    golden("golden/vdbench/plans.txt", &found);
}

/// Compares a text with its file, or rewrites that where `IODYNO_BLESS` is set.
fn golden(path: &str, found: &str) {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("IODYNO_BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = wanted.lines().zip(found.lines()).position(|(a, b)| a != b);
    assert!(wanted == found, "{path} differs from line {differs:?} on; IODYNO_BLESS=1 rewrites it:\n{found}");
}

#[test]
fn golden_documents() {
    golden("docs/vdbench.md", &super::options::document());
    golden("golden/vdbench/help.txt", &super::options::help());
}

#[test]
fn runs_come_in_the_order_of_their_loops() {
    let loops = include_str!("../../../../golden/vdbench/loops.parm");
    let Request::Print { out, .. } = asked(world(loops), "-f p -s") else { panic!("nothing printed") };
    let loops: Vec<&str> = out.lines().filter_map(|line| line.split("For loops: ").nth(1)).collect();
    assert_eq!(
        loops,
        [
            "xfersize=4k threads=1",
            "xfersize=4k threads=2",
            "xfersize=4k threads=4",
            "xfersize=8k threads=1",
            "xfersize=8k threads=2",
            "xfersize=8k threads=4",
            "rdpct=0 iorate=100",
            "rdpct=0 iorate=200",
        ]
    );
    let Request::Print { out, .. } = asked(world(SMALL), "-f p -s -r rd*") else { panic!("nothing printed") };
    assert_eq!(out, "Simulating RD=rd1; I/O rate: 1000; For loops: None\n");
    assert!(refused(SMALL, "-f p -r rd2").contains("no run has such a name"));
}

#[test]
fn hosts_are_ranks_over_ssh() {
    let text = include_str!("../../../../golden/vdbench/hosts.parm");
    let Request::Hosts(there) = asked(world(text), "-f p") else { panic!("not sent") };
    let names: Vec<_> = there.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!((names.join(" ").as_str(), there.shell), ("h1 h2", None));
    let mut three = world(text);
    three.hosts = vec!["h1", "h2", "h3"];
    assert!(
        matches!(asked(three, "-f p"), Request::Refuse { err, .. } if err.contains("2 hosts, and 3 ranks"))
    );
    assert!(refused(&text.replace("shell=ssh", "shell=vdbench"), "-f p").contains("daemon of the original"));
    let local = "hd=default,clients=2\nhd=a,system=localhost\n".to_string() + SMALL;
    assert_eq!(lowered(&local).phases.len(), 2);
}

/// A folder that no run of vdbench made stays as it is.
#[test]
fn only_folders_of_results_are_renewed() {
    let with = |names: &[&'static str], line: &str| {
        let mut world = world(SMALL);
        world.folder = names.to_vec();
        asked(world, line)
    };
    let ours = ["flatfile.html", "old.html", "parmfile.html", "summary.html"];
    assert!(matches!(with(&ours, "-f p"), Request::Run(_)));
    assert!(matches!(with(&["letters.txt"], "-f p -o output+"), Request::Run(_)));
    let Request::Refuse { err, .. } = with(&["letters.txt", "summary.html"], "-f p") else {
        panic!("it was run")
    };
    assert!(err.contains("holds letters.txt") && err.contains("-o DIR+"), "{err}");
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    assert!(refused(SMALL, "-f q").contains("q: no such file"));
    let wrong = |from: &str, to: &str, words: &str| {
        assert!(SMALL.contains(from), "{from}");
        let told = refused(&SMALL.replace(from, to), "-f p");
        assert!(told.contains(words), "{from} to {to}: {told}");
        assert!(told.contains("p:") && told.contains("hint"), "{told}");
    };
    wrong("rdpct=70", "rdptc=70", "p:3: no wd parameter `rdptc`");
    wrong("rdpct=70", "rdpct=x", "`rdpct=`: `x` is no number");
    wrong("rdpct=70", "rdpct=170", "`rdpct=170`");
    wrong("xfersize=4k", "xfersize=(4k,50,8k,60)", "percentages that make 110, not 100");
    wrong("xfersize=4k", "xfersize=1000", "no whole sectors");
    wrong("xfersize=4k", "xfersize=(4k", "`(` without `)`");
    wrong("seekpct=100", "seekpct=sideways", "`seekpct=sideways`");
    wrong("sd=sd1,xfer", "sd=sd7,xfer", "no sd=sd7");
    wrong("wd=wd1,iorate", "wd=wd9,iorate", "no wd=wd9");
    wrong("iorate=1000", "iorate=fast", "`iorate=`: `fast` is no number");
    wrong("iorate=1000,", "", "has no iorate=");
    wrong("elapsed=4", "elapsed=1", "at least twice");
    wrong("elapsed=4,interval=1", "elapsed=7,interval=3", "multiples of interval=");
    wrong("lun=data,size=64m", "lun=data", "nothing says how long");
    wrong("lun=data", "lun=dir", "neither a file nor a device");
    wrong("lun=data,size=64m", "lun=/dev/sdz,size=2g", "has only 1073741824 bytes");
    wrong("lun=data", "lun=$lun", "`$lun` has no value");
    wrong("sd=sd1,lun", "include=more\nsd=sd1,lun", "include=more");
    wrong("threads=4", "threads=4,replay=x", "`replay=` is not supported");
    wrong("wd=wd1,sd=sd1", "wd=wd1,iorates,sd=sd1", "`iorates` is no parameter");
    wrong("rd=rd1", "rd=rd1,wd=wd1,iorate=max\nrd=rd1", "rd=rd1 is defined twice");
    let many = SMALL.replace("rdpct=70", "rdptc=70").replace("iorate=1000", "iorat=x,curv=y");
    assert!(refused(&many, "-f p").matches("error: p:").count() >= 2);
}

#[test]
fn variables_and_extra_parameters_come_from_the_command_line() {
    let text = SMALL.replace("lun=data", "lun=$dir/data").replace("1000", "$rate");
    let plan = run(&text, "-f p dir=/mnt rate=50 -e 6 + interval=2").plan;
    assert!(iodyno_report::plan::print(&plan).contains("/mnt/data"));
    assert_eq!(plan.phases.last().unwrap().jobs[0].limit.time_ns, Some(6_000_000_000));
}

/// Mangled files are refused or run, and never more.
#[test]
fn mangled_files_are_survived() {
    let mut state = 1_u64;
    let mut draw = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    let texts = [
        SMALL,
        include_str!("../../../../golden/vdbench/skew.parm"),
        include_str!("../../../../golden/vdbench/files.parm"),
        include_str!("../../../../golden/vdbench/loops.parm"),
    ];
    for text in texts {
        for _ in 0..500 {
            let mut letters: Vec<char> = text.chars().collect();
            for _ in 0..=draw(6) {
                let at = draw(letters.len());
                match draw(4) {
                    0 => drop(letters.remove(at)),
                    1 => letters.insert(at, ['(', ')', ',', '=', '"', '9', '-', '$', 'é', '\n'][draw(10)]),
                    2 => letters.swap(at, 0),
                    _ => letters[at] = ['0', 'k', '*', '%', ' '][draw(5)],
                }
            }
            let mangled: String = letters.into_iter().collect();
            drop(asked(world(&mangled), "-f p"));
        }
    }
}

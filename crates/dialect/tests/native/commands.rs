//! `iodyno plan` and `iodyno run`: arguments and a made-up world in, a request out.

use std::collections::HashMap;
use std::io;

use iodyno_dialect::{Loader, PathFacts, PathKind, Request, native};
use iodyno_model::{Diagnostic, Event, Machine, TargetFacts};
use iodyno_report::{Output, Reporter};

/// A world of a few files.
#[derive(Default)]
struct World {
    files: HashMap<String, String>,
    paths: HashMap<String, PathFacts>,
}

impl Loader for World {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        self.files.get(path).map(|text| text.clone().into_bytes()).ok_or_else(|| "no such file".into())
    }
    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        self.read("-")
    }
    fn variable(&self, _: &str) -> Option<String> {
        None
    }
    fn machine(&self) -> Machine {
        Machine { cpus: 2, memory_bytes: 4 << 30, ..Machine::default() }
    }
    fn look(&self, path: &str) -> Option<PathFacts> {
        self.paths.get(path).cloned()
    }
    fn now_unix_ns(&self) -> u64 {
        0
    }
}

struct Silent;

impl Reporter for Silent {
    fn event(&mut self, _: &Event, _: &mut Output<'_>) -> io::Result<()> {
        Ok(())
    }
}

const PLAN: &str = "[target.data]\nfile = \"d/data.bin\"\nsize = \"1GiB\"\nprepare = \"filled\"\n[[phase]]\n\
                    [[phase.job]]\non = \"data\"\ndo = \"read\"\n[[sweep]]\ndepth = [1, 2]\n";

fn world() -> World {
    let target =
        TargetFacts { file_system: Some("ext4".into()), free_bytes: Some(1 << 20), ..TargetFacts::default() };
    let directory = PathFacts { kind: PathKind::Directory, target, ..PathFacts::default() };
    World {
        files: HashMap::from([("p.toml".into(), PLAN.into()), ("-".into(), PLAN.into())]),
        paths: HashMap::from([("d".into(), directory)]),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn plan(arguments: &[&str]) -> Result<String, Vec<Diagnostic>> {
    native::plan(&words(arguments), &mut world()).map(|request| match request {
        Request::Print { out, status: 0 } => out,
        Request::Print { status, .. } => panic!("status {status}"),
        Request::Run(_) => panic!("a plan was run"),
        Request::Hosts(_) => panic!("a plan was sent away"),
        Request::Refuse { err, .. } => panic!("refused: {err}"),
        _ => panic!("neither planned nor printed"),
    })
}

fn run(arguments: &[&str]) -> Result<iodyno_dialect::Run, Vec<Diagnostic>> {
    let request = native::run(&words(arguments), &mut world(), &|_| Box::new(Silent))?;
    match request {
        Request::Run(run) => Ok(*run),
        Request::Print { out, .. } | Request::Refuse { err: out, .. } => panic!("printed instead: {out}"),
        Request::Hosts(there) => panic!("sent to {:?}", there.hosts),
        _ => panic!("neither run nor printed"),
    }
}

fn message(result: Result<impl Sized, Vec<Diagnostic>>) -> String {
    result.err().expect("it was taken").iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn plan_prints_and_explains() {
    let out = plan(&["p.toml"]).unwrap();
    assert!(out.contains("sweep depth over 1, 2") && out.contains("What it does"), "{out}");
    assert!(out.contains("Creates d/data.bin") && out.contains("only 1 MiB are free"), "{out}");
    let expanded = plan(&["--expand", "p.toml"]).unwrap();
    assert!(expanded.contains("phase 2 \"phase 1\" · depth 2"), "{expanded}");
}

#[test]
fn a_seed_and_a_pasted_dash_are_understood() {
    let out = plan(&["p.toml", "\u{2013}\u{2013}seed", "99"]).unwrap();
    assert!(out.starts_with("plan \"plan\" · seed 99\n"), "{out}");
    assert!(plan(&["-"]).unwrap().starts_with("plan \"plan\" · seed 1\n"));
}

#[test]
fn run_asks_for_files_and_gives_up_only_what_is_named_here() {
    let run = run(&["p.toml", "--json", "r.json", "--csv", "r.csv", "--destroy", "/dev/sdx"]).unwrap();
    let files: Vec<_> = run.files.iter().map(|file| (file.path.as_str(), file.format.as_str())).collect();
    assert_eq!(files, [("r.json", "json"), ("r.csv", "csv")]);
    assert_eq!(run.plan.destroy, ["/dev/sdx"]);
    assert!(run.findings && run.live_ns > 0 && run.error_status == 1);
    assert!(self::run(&["p.toml"]).unwrap().plan.destroy.is_empty());
    assert_eq!(self::run(&["p.toml", "--quiet"]).unwrap().live_ns, 0);
}

#[test]
fn wrong_arguments_are_one_clear_message() {
    assert_eq!(
        message(run(&["gone.toml"])),
        "error: gone.toml: cannot be read: no such file\n hint: name a plan file, e.g. examples/verify.toml"
    );
    assert_eq!(
        message(run(&["p.toml", "--sead", "3"])),
        "error: iodyno run: unexpected argument '--sead' found\n hint: did you mean `--seed`?"
    );
    assert!(
        message(plan(&[])).contains("required arguments were not provided: <FILE>"),
        "{}",
        message(plan(&[]))
    );
}

#[test]
fn help_is_printed() {
    assert!(plan(&["--help"]).unwrap().contains("Usage: iodyno plan"));
}

//! What can be run in a directory: measurements of it, and the plans, job files and scripts that lie there.

use std::fs;

use iodyno_report::tui::Offer;

/// Files that are offered at most.
const FILES: usize = 200;
/// A plan is not longer, bytes.
const PLAN_BYTES: u64 = 1 << 20;

/// How a file of an ending is run: the words before its name, and what it is.
const SCRIPTS: [(&str, &[&str], &str); 5] = [
    ("fio", &["fio"], "a fio job file"),
    ("ior", &["ior", "-f"], "a script of IOR"),
    ("f", &["filebench", "-f"], "a filebench personality"),
    ("icf", &["iometer"], "an IOMeter configuration"),
    ("vdb", &["vdbench", "-f"], "a vdbench parameter file"),
];

/// The offers of the working directory.
pub fn here() -> Vec<Offer> {
    let mut offers = measurements();
    let mut names: Vec<String> = fs::read_dir(".")
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    offers.extend(names.iter().filter_map(|name| file(name)).take(FILES));
    offers
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn measurements() -> Vec<Offer> {
    let of = |line: &[&str], about: &str| Offer {
        words: words(line),
        also: words(&["--live"]),
        explain: [words(&["plan"]), words(line)].concat(),
        about: about.into(),
    };
    vec![
        of(&["measure", ".", "--quick"], "this directory, 15 s"),
        of(&["measure", "."], "this directory, a minute"),
        of(&["measure", ".", "--full"], "this directory, 6 minutes"),
        Offer {
            explain: words(&["plan", "measure", ".", "--quick"]),
            ..of(&["measure", ".", "--quick", "--on", "nvme-ssd"], "a simulated SSD, at once")
        },
    ]
}

fn file(name: &str) -> Option<Offer> {
    let ending = name.rsplit_once('.')?.1;
    if ending == "toml" {
        return is_plan(name).then(|| Offer {
            words: words(&["run", name]),
            also: words(&["--live"]),
            explain: words(&["plan", name]),
            about: "a plan".into(),
        });
    }
    let (_, before, about) = SCRIPTS.iter().find(|(known, _, _)| *known == ending)?;
    let line = [words(before), words(&[name])].concat();
    Some(Offer {
        explain: [words(&["plan"]), line.clone()].concat(),
        words: line,
        also: words(&["--also", "live,save"]),
        about: (*about).into(),
    })
}

/// Whether a file of TOML has phases: other programs have files of this ending too.
fn is_plan(name: &str) -> bool {
    let is_short = fs::metadata(name).is_ok_and(|found| found.len() <= PLAN_BYTES);
    is_short
        && fs::read_to_string(name)
            .is_ok_and(|text| text.lines().any(|line| line.trim_start().starts_with("[[phase")))
}

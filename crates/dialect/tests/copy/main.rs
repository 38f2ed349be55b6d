//! dd, hdparm, bonnie++, dbench, smallfile and postmark: command lines become the plans, and events the texts, that `golden/dd`,
//! `golden/hdparm`, `golden/bonnie`, `golden/dbench`, `golden/smallfile` and `golden/postmark` hold.
//!
//! `IODYNO_BLESS=1` rewrites the golden files and the pages that are generated from the option tables.

mod bonnie;
mod dbench;
mod diskspd;
mod postmark;
mod smallfile;
mod texts;
mod world;

use std::path::PathBuf;

use iodyno_dialect::{DIALECTS, Request};
use world::World;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares with a file of the repository, or rewrites it.
fn golden(path: &str, found: &str) {
    let file = root().join(path);
    if std::env::var_os("IODYNO_BLESS").is_some() {
        std::fs::write(&file, found).unwrap();
    }
    let wanted = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(found, wanted, "{path} differs; IODYNO_BLESS=1 rewrites it");
}

/// What a tool makes of a command line.
fn request(line: &str) -> Request {
    let mut words = line.split(' ').filter(|word| !word.is_empty()).map(String::from);
    let name = words.next().unwrap();
    let dialect = DIALECTS.iter().find(|dialect| dialect.name == name).unwrap();
    (dialect.lower)(&words.collect::<Vec<_>>(), &mut World).unwrap_or_else(|wrong| panic!("{}", wrong[0]))
}

/// Command lines, each followed by its plan or by what is said instead.
fn plans(path: &str) {
    let wanted = std::fs::read_to_string(root().join(path)).unwrap();
    let mut found = String::new();
    let mut in_head = true;
    for line in wanted.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => {
                in_head = false;
                found += &format!("$ {command}\n{}\n", answer(command));
            }
            None if in_head => found += &format!("{line}\n"),
            None => {}
        }
    }
    golden(path, &found);
}

fn answer(command: &str) -> String {
    match request(command) {
        Request::Run(run) => {
            let told = run.messages.iter().map(|note| format!("{note}\n")).collect::<String>();
            told + &iodyno_report::plan::print(&run.plan)
        }
        Request::Print { out, status } => format!("status {status}, on standard output:\n{out}"),
        Request::Hosts(there) => format!("to {:?}\n", there.hosts),
        Request::Refuse { err, status } => {
            format!(
                "status {status}, on standard error:\n{}\n",
                err.lines().take(3).collect::<Vec<_>>().join("\n")
            )
        }
        _ => "neither run nor printed\n".into(),
    }
}

#[test]
fn golden_plans_of_dd() {
    plans("golden/dd/plans.txt");
}

#[test]
fn golden_plans_of_bonnie() {
    plans("golden/bonnie/plans.txt");
}

#[test]
fn golden_plans_of_dbench() {
    plans("golden/dbench/plans.txt");
}

#[test]
fn golden_plans_of_smallfile() {
    plans("golden/smallfile/plans.txt");
}

#[test]
fn golden_plans_of_hdparm() {
    plans("golden/hdparm/plans.txt");
}

#[test]
fn golden_plans_of_diskspd() {
    plans("golden/diskspd/plans.txt");
}

#[test]
fn golden_documents_are_generated() {
    golden("docs/diskspd.md", &iodyno_dialect::diskspd::options::document());
    golden("docs/dd.md", &iodyno_dialect::dd::options::document());
    golden("docs/hdparm.md", &iodyno_dialect::hdparm::options::document());
    golden("docs/iperf3.md", &iodyno_dialect::iperf3::options::document());
    golden("docs/iometer.md", &iodyno_dialect::iometer::options::document());
    golden("docs/iperf.md", &iodyno_dialect::iperf::options::document());
    golden("docs/filebench.md", &iodyno_dialect::filebench::options::document());
    golden("docs/netperf.md", &iodyno_dialect::netperf::options::document());
    golden("docs/postmark.md", &iodyno_dialect::postmark::options::document());
    golden("docs/bonnie.md", &iodyno_dialect::bonnie::options::document());
    golden("docs/dbench.md", &iodyno_dialect::dbench::options::document());
    golden("docs/smallfile.md", &iodyno_dialect::smallfile::options::document());
    golden("docs/warp.md", &iodyno_dialect::warp::options::document());
    golden("docs/lies.md", &iodyno_dialect::finding_pages::document());
}

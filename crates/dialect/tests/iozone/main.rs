//! iozone: command lines become the plans that `golden/iozone` holds.
//!
//! `IODYNO_BLESS=1` rewrites the golden files and `docs/iozone.md`.

use std::path::PathBuf;

use iodyno_dialect::{DIALECTS, Loader, PathFacts, Request};
use iodyno_model::Machine;

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

/// A world with a node list and one file.
struct World;

impl Loader for World {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "nodelist" => {
                Ok(b"# three streams\nn1 /mnt/a iozone\nn2 /mnt/a iozone\nn1 /mnt/b iozone own\n".to_vec())
            }
            "list" => Ok(b"0 65536\n65536 4096 5\n".to_vec()),
            "wrong" => Ok(b"0 65536\n1\n".to_vec()),
            "broken" => Ok(b"n1 /mnt/a iozone\nn2\n-x /mnt/a iozone\n".to_vec()),
            _ => Err("no such file or directory".into()),
        }
    }
    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Err("nothing is read here".into())
    }
    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
    fn machine(&self) -> Machine {
        Machine::default()
    }
    fn look(&self, path: &str) -> Option<PathFacts> {
        (path == "kept").then(|| PathFacts { bytes: 1 << 30, ..PathFacts::default() })
    }
    fn now_unix_ns(&self) -> u64 {
        0
    }
}

fn answer(line: &str) -> String {
    let words: Vec<String> = line.split_whitespace().skip(1).map(String::from).collect();
    let dialect = DIALECTS.iter().find(|dialect| dialect.name == "iozone").unwrap();
    match (dialect.lower)(&words, &mut World) {
        Ok(Request::Run(run)) => short(&run.plan),
        Ok(Request::Hosts(there)) => format!("to {:?}\n", there.hosts),
        Ok(Request::Refuse { err, .. }) => err,
        Ok(_) => "neither run nor sent\n".into(),
        Err(wrong) => wrong.iter().map(|wrong| format!("{wrong}\n")).collect(),
    }
}

/// The plan; of a long one how long it is, with its first and last phase.
fn short(plan: &iodyno_model::Plan) -> String {
    const MOST: usize = 13;
    let phases = plan.phases.len();
    if phases <= MOST {
        return iodyno_report::plan::print(plan);
    }
    let ends = [plan.phases[0].clone(), plan.phases[phases - 1].clone()].to_vec();
    let ends = iodyno_model::Plan { phases: ends, ..plan.clone() };
    format!("{phases} phases, the first and the last:\n{}", iodyno_report::plan::print(&ends))
}

#[test]
fn golden_plans_of_iozone() {
    let path = "golden/iozone/plans.txt";
    let wanted = std::fs::read_to_string(root().join(path)).unwrap();
    let (mut found, mut in_head) = (String::new(), true);
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

#[test]
fn golden_documents_of_iozone() {
    golden("docs/iozone.md", &iodyno_dialect::iozone::options::document());
}

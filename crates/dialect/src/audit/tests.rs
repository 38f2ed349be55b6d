//! Goldens of texts as people paste them, and what holds for every one of them.

use iodyno_model::Machine;

use super::*;
use crate::PathFacts;
use iodyno_report::audit::Certainty;

/// Files that a command names: one job file.
struct Shelf;

impl Loader for Shelf {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "job.fio" => Ok(b"[global]\nioengine=libaio\niodepth=16\nsize=4g\nfilename=/data/f\n[r]\nrw=randread\nbs=4k\n".to_vec()),
            _ => Err("no such file or directory".into()),
        }
    }
    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Err("nothing is typed here".into())
    }
    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
    fn machine(&self) -> Machine {
        Machine::default()
    }
    fn look(&self, _path: &str) -> Option<PathFacts> {
        None
    }
    fn now_unix_ns(&self) -> u64 {
        0
    }
}

fn of(text: &str) -> Vec<Audit> {
    audit("-", text, Known::default(), &mut Shelf).unwrap()
}

/// `golden/audit/NAME.in` and what is read of it.
const CASES: &[&str] =
    &["fio-buffered", "fio-direct", "ior", "mdtest", "dd", "hdparm", "iozone", "iperf3", "mixed", "commands"];

fn file(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/audit").join(name)
}

fn input(name: &str) -> String {
    std::fs::read_to_string(file(&format!("{name}.in"))).unwrap()
}

#[test]
fn texts_are_as_readers_see_them() {
    let known = Known { memory_bytes: Some(64 << 30), ceiling_bits: None };
    let mut wrong = Vec::new();
    for name in CASES {
        let audits = audit("-", &input(name), known, &mut Shelf).unwrap();
        let found = text(&audits, 100);
        let path = file(&format!("{name}.txt"));
        if std::env::var_os("IODYNO_BLESS").is_some() {
            std::fs::write(&path, &found).unwrap();
        }
        if std::fs::read_to_string(&path).unwrap_or_default() != found {
            wrong.push(format!("golden/audit/{name}.txt is not:\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_command_to_run_again_is_one_that_its_dialect_takes() {
    let mut taken = 0;
    for name in CASES {
        for result in of(&input(name)) {
            for (command, _) in &result.rerun {
                let words = pasted::words(command).unwrap();
                let at = words.iter().position(|word| word == "iodyno").unwrap();
                if words[at + 1] == "measure" || words.iter().any(|word| word == "JOBFILE") {
                    continue;
                }
                let tool = TOOLS.iter().find(|tool| **tool == words[at + 1]).unwrap();
                let told = Told {
                    tool,
                    words: words[at + 2..].to_vec(),
                    launcher: words[..at].to_vec(),
                    tasks: Some(4),
                    hosts: Some(2),
                    ..Told::default()
                };
                planned(&told, Known::default(), &mut Shelf).unwrap();
                taken += 1;
            }
        }
    }
    assert!(taken >= CASES.len(), "{taken} commands");
}

#[test]
fn a_command_line_alone_is_enough() {
    let [result] = &of("sudo dd if=/dev/zero of=/mnt/x bs=1M count=1024")[..] else { panic!("one result") };
    assert_eq!(result.command.as_deref(), Some("sudo dd if=/dev/zero of=/mnt/x bs=1M count=1024"));
    let kinds: Vec<u8> = result.possible.iter().map(|one| one.kind.number()).collect();
    assert!(kinds.starts_with(&[2, 4]), "{kinds:?}");
    assert_eq!(result.rerun[0].0, "sudo iodyno dd if=/dev/zero of=/mnt/x bs=1M count=1024 conv=fsync");
}

#[test]
fn a_job_file_is_read_where_it_lies_and_where_it_is_pasted() {
    let pasted = "[global]\nioengine=psync\niodepth=32\nfilename=/dev/nvme0n1\n[r]\nrw=randread\nbs=4k\n";
    let [result] = &of(pasted)[..] else { panic!("one result") };
    assert!(
        result.possible.iter().any(|one| one.kind.number() == 13 && one.certainty == Certainty::Expected)
    );
    assert!(result.rerun[0].1.contains("direct=1"), "{:?}", result.rerun);
    let [named] = &of("$ fio job.fio")[..] else { panic!("one result") };
    assert_eq!((named.asked.depth, named.asked.direct), (Some(16), Some(false)));
    let [missing] = &of("$ fio other.fio")[..] else { panic!("one result") };
    assert!(missing.notes[0].contains("other.fio"), "{:?}", missing.notes);
}

#[test]
fn prose_and_other_tools_are_no_result() {
    for text in ["", "We ran dd and fio and it was fast.\n", "{\"a\": 1}\n", "\u{0}\u{1}garbage", "$ ls -l\n"]
    {
        let wrong = audit("mail.txt", text, Known::default(), &mut Shelf).unwrap_err();
        assert!(wrong.to_string().contains("no result of a known tool"), "{wrong}");
    }
}

#[test]
fn mangled_results_end_in_an_audit_or_a_message() {
    for name in CASES {
        let whole = input(name);
        for cut in (0..whole.len()).step_by(37).filter(|cut| whole.is_char_boundary(*cut)) {
            let _ = audit("-", &whole[..cut], Known::default(), &mut Shelf)
                .map(|found| (text(&found, 80), json(&found)));
            let _ = audit("-", &whole[cut..], Known::default(), &mut Shelf).map(|found| text(&found, 40));
        }
    }
}

#[test]
fn json_has_what_the_text_has() {
    let document: serde_json::Value = serde_json::from_str(&json(&of(&input("dd")))).unwrap();
    assert_eq!(document["schema"], "iodyno.audit/1");
    let result = &document["results"][0];
    assert_eq!((&result["tool"], &result["doubtful"]), (&"dd".into(), &true.into()));
    assert!(result["claims"][0]["bytes_per_second"].as_f64().unwrap() > 1e9);
    assert_eq!(result["possible"][0]["certainty"], "expected");
}

//! fio's command lines and job files: what is printed or refused, to the letter, as `golden/fio` holds it.
//!
//! `IODYNO_BLESS=1` rewrites the golden files and `docs/fio.md`.

mod audit;
mod clients;
mod mangled;
mod shelf;

use std::path::PathBuf;

use iodyno_dialect::Request;
use iodyno_dialect::fio::{DIALECT, options};
use shelf::Shelf;

/// Compares with a file of the repository, or rewrites it.
fn golden(path: &str, found: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("IODYNO_BLESS").is_some() {
        std::fs::write(&file, found).unwrap();
    }
    let wanted = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(found, wanted, "{path} differs; IODYNO_BLESS=1 rewrites it");
}

fn answer(arguments: &[&str], files: &[(&str, &str)]) -> String {
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    match (DIALECT.lower)(&arguments, &mut Shelf::of(files)) {
        Ok(Request::Run(run)) => format!("a run of {} phases\n", run.plan.phases.len()),
        Ok(Request::Print { out, status }) => format!("status {status}, on standard output:\n{out}"),
        Ok(Request::Refuse { err, status }) => format!("status {status}, on standard error:\n{err}"),
        Ok(Request::Hosts(there)) => format!("to {:?}\n", there.hosts),
        Ok(_) => "neither run nor printed\n".into(),
        Err(wrong) => format!("{wrong:?}\n"),
    }
}

#[test]
fn golden_help() {
    let lines: &[&[&str]] = &[
        &["--version"],
        &["--help"],
        &["--cmdhelp=bs"],
        &["--cmdhelp=readwrite"],
        &["--cmdhelp=bls"],
        &["--cmdhelp=completely_else"],
        &["--cmdhelp=percentile_list"],
        &["--cmdhelp=clocksource"],
        &["--enghelp"],
        &["--enghelp=libaio"],
        &["--enghelp=libaio,nowai"],
        &["--enghelp=psync"],
        &["--enghelp=rbd"],
        &["--enghelp=nope"],
        &["--crctest=foo"],
        &[],
    ];
    let mut text = String::from("# What is asked of fio's help, and the answer.\n\n");
    for line in lines {
        text += &format!("$ fio {}\n{}\n", line.join(" "), answer(line, &[]));
    }
    golden("golden/fio/help.txt", &text);
}

#[test]
fn golden_list_of_options() {
    golden("golden/fio/cmdhelp.txt", &answer(&["--cmdhelp=all"], &[]));
}

const WRONG: &[(&str, &str)] = &[
    (
        "values",
        "[global]\nbs=4q\n[a]\niodepth=abc\nruntime=10min\nsize=1.5m\nrw=raed\ndirect=yes\nsize=110%\nnumjobs=4*2\n",
    ),
    ("names", "[a]\niodpeth=4\nsoze=1m\nxyzzy=1\nbs=\nrw\n[b\n[c] d\nsize=1m\n"),
    (
        "engines",
        "[a]\nioengine=libaoi\n[b]\nioengine=rbd\n[c]\nioengine=syslet-rw\n[d]\nhipri\nioengine=libaio\nsize=1m\n",
    ),
    ("refused", "[a]\nzonemode=zbd\nfdp=1\nprofile=act\nrwmixcycle=5\nrbdname=x\n"),
    ("outside", "size=1m\n[a]\ninclude nowhere.fio\n"),
];

#[test]
fn golden_refusals() {
    let mut text = String::from(
        "# Job files and command lines with mistakes, and what is said of them: all at once.\n\n",
    );
    for (name, file) in WRONG {
        let name = format!("{name}.fio");
        text += &format!("$ fio {name}\n{}\n", answer(&["--parse-only", &name], &[(&name, file)]));
    }
    let lines: &[&[&str]] = &[
        &["--name=x", "--bs=4q", "--sze=1m", "--io=3", "--direct"],
        &["--name=x", "--output-format=jsn", "--terse-version=9", "--eta=no", "--status-interval=5x"],
        &["--server", "--client=host", "--trigger=ls", "--idle-prof=system", "--bandwidth-log"],
        &["--debug=proces", "--name="],
        &[
            "--name=x",
            "--size=1m",
            "--sprandom=1",
            "--io_size=2m",
            "--random_generator=tausworthe",
            "--norandommap=0",
        ],
        &["--name=x", "--size=1m", "--sprandom=1", "--rw=randwrite:8", "--bs=12k", "--spr_op=0"],
        &["--name=x", "--size=1m", "--sprandom=1", "--rw=randwrite", "--spr_cs=64k"],
        &["--name=x", "--size=4k", "--rw=write", "--verify=pattern", "--verify_pattern=4294967296"],
        &["missing.fio"],
    ];
    for line in lines {
        text += &format!("$ fio {}\n{}\n", line.join(" "), answer(line, &[]));
    }
    golden("golden/fio/refusals.txt", &text);
}

#[test]
fn golden_document_of_fio() {
    golden("docs/fio.md", &options::document());
}

#[test]
fn five_thousand_sections_and_a_line_of_a_megabyte_are_read() {
    let mut text = String::from("[global]\nrw=randread\nioengine=null\nsize=1m\nbs=4k\n");
    (0..5000).for_each(|index| text += &format!("[job {index}]\noffset={index}k\nstonewall\n"));
    text += &format!("[long]\ndescription={}\n", "x".repeat(1 << 20));
    assert_eq!(answer(&["--parse-only", "j.fio"], &[("j.fio", &text)]), "status 0, on standard output:\n");
    let shown = answer(&["--showcmd", "j.fio"], &[("j.fio", &text)]);
    assert_eq!(shown.matches("--name=").count(), 5001);
}

#[test]
fn only_the_sections_asked_for() {
    let file = ("j.fio", "[global]\nrw=read\n[a]\nbad=1\n[b]\nsize=1m\n[c]\nsize=2m\n");
    let found = answer(&["--section=b", "--section=c", "--parse-only", "j.fio"], &[file]);
    assert_eq!(found, "status 0, on standard output:\n");
    assert!(answer(&["--parse-only", "j.fio"], &[file]).contains("no option `bad`"));
}

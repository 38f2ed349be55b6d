//! `--client`: where it goes, what each host is to do, and mistakes.

use iodyno_dialect::Request;
use iodyno_dialect::fio::DIALECT;
use iodyno_model::WorldFacts;

use crate::shelf::Shelf;
use crate::{answer, golden};

const A: &str =
    "[global]\nsize=1m\ndirectory=/data\n[a]\nrw=read\nflow=1\n[b]\nstonewall\nrw=write\nnumjobs=2\n";
const B: &str = "[c]\nrw=randread\nsize=64k\nfilename_format=$clientuid-$jobnum\nioengine=null\n";

/// The plan on two hosts.
fn printed(line: &[&str]) -> String {
    let world = WorldFacts {
        hosts: vec!["n1".into(), "n2".into()],
        nodes: vec![0, 1],
        library: Some("an MPI".into()),
        ..WorldFacts::default()
    };
    let arguments: Vec<String> = line.iter().map(ToString::to_string).collect();
    match (DIALECT.lower)(&arguments, &mut Shelf::of(&[("a.fio", A), ("b.fio", B)]).within(world)) {
        Ok(Request::Run(run)) => iodyno_report::plan::print(&run.plan),
        Ok(Request::Refuse { err, .. }) => err,
        _ => "something else\n".into(),
    }
}

#[test]
fn golden_clients() {
    let files = [("a.fio", A), ("b.fio", B), ("list", "h1,8765\n# h9\nh2\n")];
    let mut text = String::from("# --client: what goes where.\n\n");
    let lines: &[&[&str]] = &[
        &["--client=h1,h2", "a.fio"],
        &["--client", "h1,8765", "a.fio", "--client=ip4:10.0.0.2", "b.fio"],
        &["--client=list", "a.fio"],
        &["--client=h1", "--client=h2", "--name=x", "--size=1m"],
        &["--client=h1", "--client=h2", "b.fio"],
        &["a.fio", "--client=h1", "b.fio"],
        &["--client=h1:4", "a.fio"],
        &["--client=sock:/tmp/s", "a.fio"],
        &["--client=", "a.fio"],
        &["--client=h1", "missing.fio"],
        &["--client=h1"],
    ];
    for line in lines {
        text += &format!("$ fio {}\n{}\n", line.join(" "), answer(line, &files));
    }
    for line in [
        &["--client=h1,h2", "a.fio"][..],
        &["--client=h1", "a.fio", "--client=h2", "b.fio"],
        &["--client=h1", "b.fio"],
    ] {
        text += &format!("$ fio {}   # one of two ranks\n{}\n", line.join(" "), printed(line));
    }
    golden("golden/fio/clients.txt", &text);
}

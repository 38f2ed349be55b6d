//! `engine=`, `depth=` and `sweep=` of `--also`, in every dialect whose operations reach files: what ran is read from the
//! published record, what the user reads from the text.

use std::path::Path;

use iodyno_dialect::DIALECTS;
use serde_json::Value;
use testbed::{Case, Outcome};

use crate::findings::{furnish, run};
use crate::program::ProgramOutput;

/// Each drop-in that issues operations on files, its words, and why it cannot keep more than one in flight.
const STORAGE: &[(&str, &str, Option<&str>)] = &[
    ("dd", "if=/dev/zero of=HERE/dd bs=4k count=20", Some("waits for the one before")),
    ("fio", "--name=a --rw=randwrite --size=256k --directory=HERE", None),
    ("ior", "-w -r -t 64k -b 256k -o HERE/ior", None),
    ("mdtest", "-n 20 -d HERE/mdtest", None),
    ("md-workbench", "-D 1 -P 20 -I 10 -o HERE/workbench", Some("waits for the one before")),
    (
        "dlio",
        "workload=default ++workload.dataset.data_folder=HERE/data ++workload.workflow.generate_data=True \
         ++workload.workflow.evaluation=False ++workload.dataset.num_files_train=8 ++workload.train.epochs=1 \
         ++workload.train.computation_time=0.001 hydra.run.dir=HERE/out",
        Some("waits for the one before"),
    ),
    ("bonnie++", "-u WHOEVER -d HERE -s 1 -r 0 -f -n 0 -z 7", Some("waits for the one before")),
    ("postmark", "HERE/f.postmark", Some("waits for the one before")),
    ("elbencho", "-w -r -t 2 -s 256k -b 64k HERE/elbencho", None),
    ("iozone", "-s 256k -r 64k -i 0 -i 1 -f HERE/iozone", None),
    ("vdbench", "-f HERE/f.parm -o HERE/output", None),
    ("iometer", "HERE/f.icf -r HERE/results.csv --map C:=HERE", None),
    ("diskspd", "-c256K -d1 -W0 -o1 -r -w50 HERE/diskspd", None),
    ("filebench", "-f HERE/f.f", Some("waits for the one before")),
    ("hdparm", "-t HERE/disk", None),
];
/// Drop-ins that issue none, or whose operations are several calls of one engine.
const OTHERS: &[&str] = &[
    "dbench",
    "smallfile",
    "iostat",
    "iperf3",
    "iperf",
    "netperf",
    "netserver",
    "pjdfstest",
    "fstest",
    "warp",
    "dlio_benchmark",
];

pub fn cases() -> Vec<Case> {
    let engine = |row: &'static (&str, &str, Option<&str>)| {
        Case::new(format!("{} runs on another engine", row.0), &[], move || on_another_engine(row.0, row.1))
    };
    let depth = |row: &'static (&str, &str, Option<&str>)| {
        Case::new(format!("{} keeps a depth or says why not", row.0), &[], move || at_a_depth(row))
    };
    // hdparm's time is its own: three seconds for each point.
    let short = || STORAGE.iter().filter(|row| row.0 != "hdparm");
    let sweep = short().map(|row| {
        Case::new(format!("{} is swept over engines", row.0), &[], move || over_engines(row.0, row.1))
    });
    let own = [
        Case::new("every drop-in takes another engine, or issues no operations on files", &[], complete),
        Case::new("a sweep over depths has one table and its knee", &[], knee),
        Case::new("a sweep over two parameters is a surface", &[], surface),
        Case::new("wrong engines, depths and sweeps are refused", &[], refused),
    ];
    STORAGE.iter().map(engine).chain(short().map(depth)).chain(sweep).chain(own).collect()
}

fn complete() -> Outcome {
    let known: Vec<&str> = STORAGE.iter().map(|row| row.0).chain(OTHERS.iter().copied()).collect();
    let drop_ins = DIALECTS.iter().filter(|dialect| dialect.drop_in).map(|dialect| dialect.name);
    let missing: Vec<&str> = drop_ins.filter(|name| !known.contains(name)).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
    Ok(())
}

fn at_home(
    tool: &str,
    words: &str,
    also: &str,
) -> Result<(ProgramOutput, Value), Box<dyn std::error::Error>> {
    let home = tempfile::tempdir()?;
    furnish(home.path())?;
    std::fs::write(home.path().join("disk"), vec![1; 4 << 20])?;
    let document = home.path().join("record.json");
    let told = run(home.path(), tool, words, &[&format!("--also={also},json={}", document.display())]);
    Ok((told, record(&document)))
}

fn record(path: &Path) -> Value {
    std::fs::read_to_string(path).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// The engine of every job of a record.
fn engines(record: &Value) -> Vec<String> {
    let jobs = record["phases"].as_array().into_iter().flatten().filter_map(|phase| phase["jobs"].as_array());
    jobs.flatten().filter_map(|job| job["engine"].as_str()).map(Into::into).collect()
}

/// The phase, engine and depth of every job of the plan that ran.
fn depths(record: &Value) -> Vec<(String, String, u64)> {
    let phases = record["plan"]["phases"].as_array().cloned().unwrap_or_default();
    // What is no result keeps its depth without a word.
    let phases: Vec<Value> = phases.into_iter().filter(|phase| phase["intent"] != "nothing").collect();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let of = |phase: &Value| {
        let name = text(&phase["name"]);
        let jobs = phase["jobs"].as_array().cloned().unwrap_or_default();
        let row = |job: Value| {
            (name.clone(), text(&job["engine"]), job["depth"]["most"].as_u64().unwrap_or_default())
        };
        jobs.into_iter().map(row).collect::<Vec<_>>()
    };
    phases.iter().flat_map(of).collect()
}

fn on_another_engine(tool: &str, words: &str) -> Outcome {
    let (told, record) = at_home(tool, words, "engine=pvsync2")?;
    assert_eq!(told.code(), 0, "{told}");
    let engines = engines(&record);
    assert!(!engines.is_empty() && engines.iter().all(|engine| engine == "pvsync2"), "{engines:?}\n{told}");
    // A report that names an engine names this one.
    let named = match tool {
        "fio" => told.out.contains("ioengine=pvsync2, iodepth=1"),
        "ior" => told.out.contains("api                 : pvsync2"),
        _ => true,
    };
    assert!(named, "{told}");
    Ok(())
}

fn at_a_depth(row: &(&str, &str, Option<&str>)) -> Outcome {
    let (tool, words, why) = *row;
    let (told, record) = at_home(tool, words, "depth=4")?;
    if let Some(why) = why {
        told.expect(2, &[&format!("error: --also: depth=4: each of its operations {why}"), " hint: "]);
        assert_eq!(record, Value::Null, "{told}");
        return Ok(());
    }
    assert_eq!(told.code(), 0, "{told}");
    let depths = depths(&record);
    assert!(depths.iter().any(|(_, _, depth)| *depth == 4), "{depths:?}\n{told}");
    for (name, engine, depth) in depths {
        match depth {
            4 => assert_eq!(engine, "io_uring", "{name}"),
            _ => assert!(told.err.contains(&name), "{name} keeps depth {depth} and is not named\n{told}"),
        }
    }
    Ok(())
}

fn over_engines(tool: &str, words: &str) -> Outcome {
    let (told, record) = at_home(tool, words, "sweep=engine:psync:pvsync2")?;
    assert_eq!(told.code(), 0, "{told}");
    for text in [" over engine\n", "\n  psync ", "\n  pvsync2 "] {
        assert!(told.out.contains(text), "no `{text}`\n{told}");
    }
    let engines = engines(&record);
    let count = |name: &str| engines.iter().filter(|engine| *engine == name).count();
    assert!(count("psync") >= 1 && count("psync") == count("pvsync2"), "{engines:?}");
    assert_eq!(count("psync") * 2, engines.len(), "{engines:?}");
    Ok(())
}

/// On a simulated device, where every figure is exact.
fn knee() -> Outcome {
    let words = "--name=a --rw=randread --size=1m --filename=HERE/none";
    let (told, _) = at_home("fio", words, "engine=sim,sweep=depth:1:2:4")?;
    assert_eq!(told.code(), 0, "{told}");
    for text in ["group 0 over depth\n", "depth    IOPS", "\n  1      10,000 ", "flat: depth brings no"] {
        assert!(told.out.contains(text), "no `{text}`\n{told}");
    }
    assert!(told.err.contains("note: --also: a sweep is reported as a table over its values"), "{told}");
    Ok(())
}

fn surface() -> Outcome {
    let words = "--name=a --rw=randwrite --size=1m --directory=HERE";
    let (told, record) = at_home("fio", words, "sweep=block:4k:64k,sweep=cached:yes:no")?;
    assert_eq!(told.code(), 0, "{told}");
    for text in ["group 0 over block × cached", "block \\ cached", "\n  4 KiB ", "\n  64 KiB "] {
        assert!(told.out.contains(text), "no `{text}`\n{told}");
    }
    assert_eq!(engines(&record).len(), 4);
    // Whichever comes first, both hold: every point moves as many bytes, in blocks of its own size.
    let (told, record) = at_home("fio", words, "sweep=cached:yes:no,sweep=block:4k:64k")?;
    let phases = record["phases"].as_array().cloned().unwrap_or_default();
    let counts: Vec<u64> =
        phases.iter().filter_map(|phase| phase["jobs"][0]["lines"][0]["operations"].as_u64()).collect();
    assert_eq!(counts, [256, 16, 256, 16], "{told}");
    Ok(())
}

fn refused() -> Outcome {
    let fio = "--name=a --rw=randread --size=256k --directory=HERE";
    for (tool, words, also, message) in [
        ("fio", fio, "engine=iouring", "engine: there is no `iouring`, but null, "),
        ("fio", fio, "depth=0", "depth: `0` is no whole number from 1 to 65536"),
        ("fio", fio, "engine=psync,depth=4", "depth=4: engine psync has at most 1 in flight"),
        ("fio", fio, "sweep=dept:1", "sweep: `dept` cannot be swept; expected one of depth:1:8:32, "),
        ("fio", fio, "sweep=depth", "sweep: no values of depth; expected e.g. depth:1:2"),
        ("fio", fio, "sweep=cached:maybe", "cached: `maybe` is neither yes nor no"),
        (
            "dd",
            "if=/dev/zero of=HERE/dd count=1",
            "sweep=block:4k:8k",
            "sweep=block: its operations are a script",
        ),
        ("iostat", "1 1", "engine=io_uring", "engine=io_uring: it issues no operations on files or devices"),
        ("iperf3", "-c 127.0.0.1", "engine=io_uring", "it issues no operations on files or devices"),
        (
            "ior",
            "-a DUMMY -w -t 4k -b 4k -o HERE/x",
            "depth=2",
            "depth=2: its engine waits for each operation",
        ),
    ] {
        let (told, _) = at_home(tool, words, also)?;
        told.expect(2, &[message, " hint: "]);
        assert!(told.out.is_empty(), "{told}");
    }
    Ok(())
}

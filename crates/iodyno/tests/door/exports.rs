//! Where figures go besides the report: spreadsheets, latency logs, metrics, and every table as CSV.

use std::io::{Read, Write};
use std::net::TcpStream;

use testbed::{Case, Outcome};

use crate::program::{Running, iodyno, names, plan, run, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a run is written in every format at once", &[], formats),
        Case::new("metrics take the place of older metrics only", &[], metrics),
        Case::new("metrics are served while it runs", &[], served),
        Case::new("a drop-in's figures go the same ways", &[], drop_in),
        Case::new("the screen wants a terminal", &[], screen),
    ]
}

/// Three seconds of virtual time.
const PLAN: &str = "[target.n]\nnothing = \"1GiB\"\n[[phase]]\nname = \"p\"\n[[phase.job]]\nname = \"reads\"\n\
                    on = \"n\"\nengine = \"sim\"\ndo = \"read\"\nuntil = { time = \"3s\" }\n";

fn formats() -> Outcome {
    let home = scratch();
    let at = |name: &str| home.path().join(name).to_str().unwrap().to_string();
    let arguments = [
        "--xlsx",
        &at("r.xlsx"),
        "--hdr",
        &at("r.hlog"),
        "--metrics",
        &at("r.prom"),
        "--csv",
        &at("tables/"),
    ];
    run(home.path(), PLAN, &arguments).expect(0, &[]);
    let read = |name: &str| std::fs::read(home.path().join(name));
    assert!(read("r.xlsx")?.starts_with(b"PK\x03\x04"));
    let log = String::from_utf8(read("r.hlog")?)?;
    assert!(
        log.starts_with('#') && log.lines().any(|line| line.starts_with("Tag=") && line.contains("reads")),
        "{log}"
    );
    let metrics = String::from_utf8(read("r.prom")?)?;
    assert!(
        metrics.contains("iodyno_operations_total{") && metrics.contains("iodyno_running 0\n"),
        "{metrics}"
    );
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    let tables = names(&home.path().join("tables"));
    for table in ["about.csv", "results.csv", "percentiles.csv", "series.csv", "workers.csv"] {
        assert!(tables.iter().any(|name| name == table), "{table}: {tables:?}");
    }
    let results = String::from_utf8(read("tables/results.csv")?)?;
    assert!(results.starts_with("phase,repetition,") && results.contains("reads"), "{results}");
    // Nothing else is left, and nothing is overwritten.
    assert_eq!(names(home.path()), ["plan.toml", "r.hlog", "r.prom", "r.xlsx", "tables"]);
    run(home.path(), PLAN, &["--xlsx", &at("r.xlsx")]).refused(&["it exists already"]);
    run(home.path(), PLAN, &["--csv", &at("tables/")]).refused(&["it exists already"]);
    Ok(())
}

fn metrics() -> Outcome {
    let home = scratch();
    let path = home.path().join("m.prom");
    let name = path.to_str().unwrap();
    for _ in 0..2 {
        run(home.path(), PLAN, &["--metrics", name]).expect(0, &[]);
    }
    std::fs::write(&path, "my thesis")?;
    run(home.path(), PLAN, &["--metrics", name]).refused(&["it exists already"]);
    assert_eq!(std::fs::read_to_string(&path)?, "my thesis");
    run(home.path(), PLAN, &["--metrics", "10.1.2.3:9"]).refused(&["others would reach it"]);
    Ok(())
}

fn served() -> Outcome {
    let home = scratch();
    let address = format!("127.0.0.1:{}", testbed::free_port()?);
    let long = PLAN.replace("\"sim\"", "\"null\"").replace("3s", "1h");
    let file = plan(home.path(), &long);
    let mut running = Running::start(iodyno([
        "run",
        file.to_str().unwrap(),
        "--no-save",
        "--quiet",
        "--metrics",
        &address,
    ]));
    let mut page = String::new();
    running.until("a page with operations", || {
        page.clear();
        let Ok(mut stream) = TcpStream::connect(&address) else { return false };
        let asked = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        let read = stream.read_to_string(&mut page);
        asked.is_ok() && read.is_ok() && page.contains("iodyno_operations_total{")
    });
    running.signal(libc::SIGINT);
    running.end();
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("iodyno_running 1\n"), "{page}");
    Ok(())
}

fn drop_in() -> Outcome {
    let home = scratch();
    let mut command = iodyno(["dd", "if=/dev/zero", "of=F", "bs=4k", "count=30"]);
    command.current_dir(home.path()).env("IODYNO_ALSO", "xlsx=r.xlsx,hdr=r.hlog,metrics=r.prom,csv=t/");
    let said = told(command);
    said.expect(0, &["30+0 records out"]);
    assert_eq!(names(home.path()), ["F", "r.hlog", "r.prom", "r.xlsx", "t"]);
    Ok(())
}

fn screen() -> Outcome {
    let home = scratch();
    run(home.path(), PLAN, &["--live"]).refused(&["standard error is no terminal"]);
    told(iodyno(["measure", "--live", home.path().to_str().unwrap()]))
        .refused(&["standard error is no terminal"]);
    Ok(())
}

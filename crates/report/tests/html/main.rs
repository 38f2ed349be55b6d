//! The HTML report in a real browser: nothing is complained about, every chart is drawn, nobody breaks out, nothing is
//! wider than a phone. The pages stay in cargo's directory for tests, to be looked at.

mod browser;
#[path = "../sample/mod.rs"]
mod sample;
mod stories;

use std::path::{Path, PathBuf};

use browser::{HUES_LEAST, Shown};
use iodyno_report::experiment_report::{
    ColumnUnit, ExperimentReport, ReportCell, ReportChart, ReportColumn, ReportSection,
};
use iodyno_report::html::{Page, Run, TracePage};
use iodyno_trace::statistics::TraceStatistics;
use testbed::{Case, Outcome};

type Failed = Box<dyn std::error::Error>;

fn main() -> std::process::ExitCode {
    let with = |name: &str, check: fn(&Path) -> Outcome| {
        Case::new(name, &[], move || check(&browser::find()?)).computes()
    };
    testbed::run(vec![
        with("a_long_run_is_drawn", long),
        with("sweeps_are_curves_and_surfaces", sweeps),
        with("runs_lie_over_each_other", overlay),
        with("passes_have_one_card", passes),
        with("bandwidth_is_told_by_repetition", repetitions),
        with("names_stay_names", hostile),
        with("a_trace_is_drawn", trace),
        with("several_runs_that_are_judged_together_are_drawn", experiment),
        with("a_run_without_anything_is_a_page", empty),
        Case::new("a_long_run_is_small", &[], small),
        Case::new("the_file_needs_nothing_else", &[], offline),
    ])
}

/// Where pages are written.
fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&folder).expect("cargo's directory for tests can be written to");
    folder
}

/// A page, shown on a desk and on a phone, without a complaint; how many charts it has, and its text.
fn shown(browser: &Path, name: &str, runs: Vec<Run>) -> Result<(usize, String), Failed> {
    drawn(browser, name, &Page::of(runs).html())
}

fn drawn(browser: &Path, name: &str, html: &str) -> Result<(usize, String), Failed> {
    std::fs::write(folder().join(format!("{name}.html")), html)?;
    let mut seen = (0, String::new());
    for width in [1280, 500] {
        let shown = browser::show(browser, html, width)?;
        if !shown.complaints.is_empty() || shown.aliens > 0 || shown.beyond > 0 {
            let Shown { complaints, aliens, beyond, .. } = shown;
            return Err(format!("at {width}: {complaints:?}, {aliens} aliens, {beyond} too wide").into());
        }
        if shown.hues.iter().any(|count| *count < HUES_LEAST) {
            return Err(format!("at {width} a chart is empty: {:?}", shown.hues).into());
        }
        println!("{name} at {width}: drawn after {} ms", shown.opened);
        seen = (shown.hues.len(), shown.text);
    }
    Ok(seen)
}

fn expect(charts: usize, least: usize) -> Result<(), Failed> {
    if charts < least { Err(format!("{charts} charts, expected {least}").into()) } else { Ok(()) }
}

fn long(browser: &Path) -> Result<(), Failed> {
    let (charts, document) =
        shown(browser, "long", vec![stories::run("A long run", &stories::long(1.0, 900, 1))])?;
    expect(charts, 4)?;
    for text in [
        "the device ran on credit",
        "measure until the rate is steady",
        "kept",
        "governor",
        "there is no second clock here",
    ] {
        if !document.contains(text) {
            return Err(format!("`{text}` is not on the page").into());
        }
    }
    Ok(())
}

/// A trace's page has a chart for everything over time and one for each distribution.
fn trace(browser: &Path) -> Result<(), Failed> {
    let mut source = sample::recorded::recorded(40_000);
    source.tables.threads[1].name = "</script><img src=x>".into();
    let page = TracePage::of("database.iot", &TraceStatistics::of(&mut source)?);
    let (charts, text) = drawn(browser, "trace", &page.html())?;
    if charts != 8 {
        return Err(format!("{charts} charts, expected 8").into());
    }
    let all = [
        "40,000 operations",
        "Hot spots",
        "Miss ratio of an LRU cache",
        "Between two arrivals",
        "EIO",
        "<img src=x>",
        "12 events were lost",
    ];
    match all.iter().find(|text_| !text.contains(**text_)) {
        Some(missing) => Err(format!("`{missing}` is not on the page").into()),
        None => Ok(()),
    }
}

/// Lines over figures and bars over names, on both kinds of axes; what a user named stays text.
fn experiment(browser: &Path) -> Result<(), Failed> {
    let column = ReportColumn::new;
    let row = |load: f64, mean: Option<f64>| {
        vec![
            ReportCell::text(format!("{load} %")),
            ReportCell::Number(load * 100.0),
            ReportCell::of(mean),
            ReportCell::Number(load * 4096.0),
        ]
    };
    let chart = |title: &str, across, line, bars, logarithmic| ReportChart {
        title: title.into(),
        across,
        lines: vec![line],
        bars,
        logarithmic,
    };
    let section = ReportSection {
        title: "Response time over offered load".into(),
        about: "Poisson arrivals.".into(),
        columns: vec![
            column("load", ColumnUnit::Words),
            column("offered", ColumnUnit::PerSecond),
            column("mean", ColumnUnit::Nanoseconds),
            column("", ColumnUnit::BytesPerSecond),
        ],
        rows: vec![row(10.0, Some(1e5)), row(50.0, Some(2e5)), row(90.0, Some(1e6)), row(100.0, None)],
        charts: vec![chart("response time", 1, 2, false, true), chart("rate", 0, 3, true, false)],
        sentences: vec!["The knee is at depth 8.".into()],
        ..ReportSection::default()
    };
    let report = ExperimentReport {
        format: "iodyno.load-curve/1",
        title: "iodyno load-curve </script><img src=x>".into(),
        facts: vec![("engine".into(), "<b>sim</b>".into())],
        sections: vec![section],
        remarks: vec!["All figures are simulated.".into()],
    };
    let (charts, text) = drawn(browser, "experiment", &report.html())?;
    if charts != 2 {
        return Err(format!("{charts} charts, expected 2").into());
    }
    let all =
        ["<img src=x>", "<b>sim</b>", "The knee is at depth 8.", "1.00 ms", "All figures are simulated."];
    match all.iter().find(|words| !text.contains(**words)) {
        Some(missing) => Err(format!("`{missing}` is not on the page").into()),
        None => Ok(()),
    }
}

fn sweeps(browser: &Path) -> Result<(), Failed> {
    let (charts, document) = shown(browser, "sweeps", vec![stories::run("Sweeps", &stories::sweeps())])?;
    // Histogram and time of what is picked, a curve, a map and the surface beside it.
    expect(charts, 5)?;
    let all = ["knee at depth 16", "the same as a surface", "turn left"];
    match all.iter().find(|text| !document.contains(**text)) {
        Some(missing) => Err(format!("`{missing}` is not on the page").into()),
        None => Ok(()),
    }
}

fn overlay(browser: &Path) -> Result<(), Failed> {
    let runs = [("Run A", 1.0, 1), ("Run B", 1.05, 2), ("Run C", 0.8, 3)];
    let runs = runs.map(|(title, speed, seed)| stories::run(title, &stories::long(speed, 120, seed)));
    let (charts, document) = shown(browser, "overlay", runs.into())?;
    expect(charts, 4)?;
    let all = ["Side by side", "against A", "about the surroundings differ", "mq-deadline"];
    match all.iter().find(|text| !document.contains(**text)) {
        Some(missing) => Err(format!("`{missing}` is not on the page").into()),
        None => Ok(()),
    }
}

/// What the passes came to stands on the page once; each pass can be picked for the charts.
fn passes(browser: &Path) -> Result<(), Failed> {
    let (charts, text) = shown(browser, "passes", vec![stories::run("Passes", &stories::passes())])?;
    expect(charts, 2)?;
    for (word, times) in [("median of 5 passes", 1), ("range 35.4 %", 1), ("1,862", 1), ("repetition 5", 1)] {
        let found = text.matches(word).count();
        if found < times || (word.starts_with("median") && found != times) {
            return Err(format!("`{word}` is {found} times on the page:\n{text}").into());
        }
    }
    Ok(())
}

/// Bandwidth by phase and repetition leads, as bars and as a table.
fn repetitions(browser: &Path) -> Result<(), Failed> {
    let (charts, text) = shown(browser, "repetitions", vec![stories::run("IOR", &stories::repetitions())])?;
    expect(charts, 2)?;
    let all = [
        "MiB/s by phase and repetition",
        "MiB/s123mostleastmean",
        "write100300200300100200",
        "read400800–800400600",
    ];
    if let Some(missing) = all.iter().find(|words| !text.contains(**words)) {
        return Err(format!("`{missing}` is not on the page:\n{text}").into());
    }
    let card = text.find("measured").unwrap_or(0);
    if text.find("MiB/s123") < Some(card) { Ok(()) } else { Err("the cards come first".into()) }
}

fn hostile(browser: &Path) -> Result<(), Failed> {
    let record = stories::hostile();
    let evil = record.name.clone();
    let (charts, text) = shown(browser, "hostile", vec![stories::run(&evil, &record)])?;
    expect(charts, 4)?;
    // All of it can be read, so none of it was taken for markup.
    if text.contains("</script><img src=x onerror=") {
        Ok(())
    } else {
        Err("a name is not there as it is".into())
    }
}

fn empty(browser: &Path) -> Result<(), Failed> {
    shown(browser, "empty", vec![Run::default()])?;
    shown(browser, "nothing", Vec::new()).map(drop)
}

fn small() -> Result<(), Failed> {
    let page = Page::of(vec![stories::run("A long run", &stories::long(1.0, 900, 1))]);
    let (data, whole) = (page.data().len(), page.html().len());
    // What it draws with is some 460 kB; a run of two hours adds less than that.
    if data < 400_000 && whole < 1_000_000 { Ok(()) } else { Err(format!("{data} and {whole} bytes").into()) }
}

fn offline() -> Result<(), Failed> {
    let html = Page::of(vec![stories::run("x", &stories::long(1.0, 20, 1))]).html();
    let outside = ["src=\"http", "href=\"http", "url(", "@import", "import("];
    match outside.iter().find(|word| html.contains(**word)) {
        Some(word) => Err(format!("`{word}` is in the file").into()),
        None => Ok(()),
    }
}

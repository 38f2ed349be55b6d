//! The pages of the folder of results: which there are, how they begin, and the report of skews.

use super::figures::IntervalFigures;
use crate::vdbench::view::ReportContext;

/// Pages that are there from the start.
pub const FIRST: [&str; 8] = [
    "summary.html",
    "totals.html",
    "histogram.html",
    "errorlog.html",
    "skew.html",
    "status.html",
    "sysstd",
    "parmscan.html",
];

/// Pages by which a folder is recognised as one of results.
pub const SIGNS: [&str; 3] = ["summary.html", "parmfile.html", "flatfile.html"];

/// What a page is, by its name.
pub struct Page {
    pub is_html: bool,
}

impl Page {
    pub fn of(path: &str) -> Page {
        Page { is_html: path.ends_with(".html") }
    }
}

/// What the console says first.
pub fn banner() -> String {
    format!(
        "\nVdbench distribution: vdbench50407 (iodyno {})\nFor documentation, see docs/vdbench.md.\n\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// The first lines of a page.
pub fn heading(page: &str, began: &str, view: &ReportContext) -> String {
    if !Page::of(page).is_html {
        return String::new();
    }
    let name = page.trim_end_matches(".html");
    let title = match name {
        "summary" => format!("Vdbench summary report, created {began}\n\n{}", links(view)),
        "totals" => "Run totals\n".into(),
        "histogram" => "Total response time histogram.\n".into(),
        "skew" => "Workload skew report\n".into(),
        _ => String::new(),
    };
    format!("<title>Vdbench {name}</title><pre>\n{title}")
}

/// Links to the other pages.
fn links(_view: &ReportContext) -> String {
    let pages = [
        ("logfile", "logfile"),
        ("Run totals", "totals"),
        ("workload skew report", "skew"),
        ("response time histogram", "histogram"),
        ("errorlog", "errorlog"),
        ("flatfile", "flatfile"),
        ("parameters", "parmfile"),
    ];
    let link = |(what, page): &(&str, &str)| {
        let text = format!("Link to {what}:");
        format!("{text:<32}<A HREF=\"{page}.html\">{page}</A>\n")
    };
    pages.iter().map(link).collect()
}

/// How the operations of a run were divided between workloads and storage; nothing where there is one of each.
pub fn skew(title: &str, of_each: &[(String, IntervalFigures)], requested: &[&str]) -> String {
    let all = of_each.iter().find(|(name, _)| name == "summary");
    let total = all.map_or(0.0, |(_, figures)| figures.requested_rate(requested));
    if of_each.len() <= 3 || total <= 0.0 {
        return String::new();
    }
    let mut text = format!("\nRD={title}\n{:>20} {:>12} {:>10} {:>9}\n", "name", "rate", "resp(ms)", "skew%");
    for (name, figures) in of_each.iter().filter(|(name, _)| name != "summary") {
        let rate = figures.requested_rate(requested);
        let response = figures.together(requested).mean_ms();
        text += &format!("{name:>20} {rate:>12.1} {response:>10.3} {:>9.2}\n", rate * 100.0 / total);
    }
    text
}

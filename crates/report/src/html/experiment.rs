//! The page of a [`ExperimentReport`]: its tables and charts.

use serde::Serialize;

use super::{LIBRARY_VERSION, page, safe_json};
use crate::experiment_report::{ChartData, ExperimentReport, ReportPicture, ReportSection};

/// The scripts of this page, in the order in which its parts need each other.
const SCRIPT: &[&str] = &[
    include_str!("page/words.js"),
    include_str!("page/parts.js"),
    include_str!("page/charts.js"),
    include_str!("page/time.js"),
    include_str!("page/frame.js"),
    include_str!("page/experiment.js"),
];

#[derive(Serialize)]
struct ExperimentPage<'a> {
    version: &'static str,
    library: &'static str,
    title: &'a str,
    facts: &'a [(String, String)],
    sections: Vec<PageSection<'a>>,
    remarks: &'a [String],
}

#[derive(Serialize)]
struct PageSection<'a> {
    title: &'a str,
    about: &'a str,
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
    charts: Vec<ChartData>,
    sentences: &'a [String],
    pictures: &'a [ReportPicture],
}

impl<'a> PageSection<'a> {
    fn of(section: &'a ReportSection) -> Self {
        let (headings, rows) = section.words();
        PageSection {
            title: &section.title,
            about: &section.about,
            headings,
            rows,
            charts: section.chart_data(),
            sentences: &section.sentences,
            pictures: &section.pictures,
        }
    }
}

impl ExperimentReport {
    /// The whole file.
    pub fn html(&self) -> String {
        let told = ExperimentPage {
            version: env!("CARGO_PKG_VERSION"),
            library: LIBRARY_VERSION,
            title: &self.title,
            facts: &self.facts,
            sections: self.sections.iter().map(PageSection::of).collect(),
            remarks: &self.remarks,
        };
        page(&self.title, safe_json(&told), SCRIPT)
    }
}

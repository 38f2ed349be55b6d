//! Results of commands that judge several runs together (`iodyno load-curve`, `limits`, `pts`, `neighbours`): once as values,
//! then as text that fits 80 columns, as JSON, as a page with charts and as a spreadsheet.
//!
//! A figure that cannot be told is none, never a 0.

use iodyno_model::units;
use serde_json::{Map, Value, json};

use crate::curve;
use crate::number::{self, NONE};
use crate::paint::Paint;
use crate::table::{BARS, Table, wrapped};
use crate::tables::TableCell;

/// What the figures of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnUnit {
    Words,
    /// Operations per second.
    PerSecond,
    BytesPerSecond,
    Nanoseconds,
    Percent,
    Bytes,
    /// A pure number.
    Number,
}

impl ColumnUnit {
    /// As JSON, spreadsheets and the page call it.
    pub fn name(self) -> &'static str {
        match self {
            ColumnUnit::Words | ColumnUnit::Number => "",
            ColumnUnit::PerSecond => "1/s",
            ColumnUnit::BytesPerSecond => "bytes/s",
            ColumnUnit::Nanoseconds => "ns",
            ColumnUnit::Percent => "%",
            ColumnUnit::Bytes => "bytes",
        }
    }

    fn text(self, value: f64, paint: Paint) -> String {
        match self {
            ColumnUnit::PerSecond => number::iops(value),
            ColumnUnit::BytesPerSecond => paint.rates.figure(value),
            ColumnUnit::Nanoseconds => number::latency(value),
            ColumnUnit::Percent => number::percent(value),
            ColumnUnit::Bytes => units::binary(value as u64),
            ColumnUnit::Number | ColumnUnit::Words if value.fract() == 0.0 && value.abs() < 1e15 => {
                number::thousands(value as u64)
            }
            ColumnUnit::Number | ColumnUnit::Words => number::significant(value),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ReportColumn {
    pub name: String,
    pub unit: ColumnUnit,
}

impl ReportColumn {
    pub fn new(name: &str, unit: ColumnUnit) -> Self {
        ReportColumn { name: name.into(), unit }
    }

    /// With its unit where the figures do not carry it.
    fn heading(&self, paint: Paint) -> String {
        match self.unit {
            ColumnUnit::BytesPerSecond if self.name.is_empty() => paint.rates.name().into(),
            ColumnUnit::BytesPerSecond => format!("{} {}", self.name, paint.rates.name()),
            _ => self.name.clone(),
        }
    }
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum ReportCell {
    Text(String),
    Number(f64),
    /// It cannot be told.
    None,
}

impl ReportCell {
    pub fn text(text: impl Into<String>) -> Self {
        ReportCell::Text(text.into())
    }

    pub fn of(number: Option<f64>) -> Self {
        number.filter(|number| number.is_finite()).map_or(ReportCell::None, ReportCell::Number)
    }

    fn number(&self) -> Option<f64> {
        match self {
            ReportCell::Number(number) => Some(*number),
            _ => None,
        }
    }
}

/// How columns of a table are drawn on the page.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportChart {
    pub title: String,
    /// The column of the axis across.
    pub across: usize,
    /// The columns of the lines, all of one unit.
    pub lines: Vec<usize>,
    /// Bars over the texts of the axis across, or lines over its figures.
    pub bars: bool,
    /// Whether the axis upwards is logarithmic.
    pub logarithmic: bool,
}

impl ReportChart {
    /// A column as bars over the first one.
    pub fn bars(title: &str, line: usize) -> Self {
        Self::bars_of(title, vec![line])
    }

    /// The same of several columns.
    pub fn bars_of(title: &str, lines: Vec<usize>) -> Self {
        ReportChart { title: title.into(), across: 0, lines, bars: true, logarithmic: false }
    }

    /// Columns as lines over another one.
    pub fn lines(title: &str, across: usize, lines: Vec<usize>) -> Self {
        ReportChart { title: title.into(), across, lines, bars: false, logarithmic: false }
    }

    /// On a logarithmic axis.
    pub fn logarithmic(self) -> Self {
        ReportChart { logarithmic: true, ..self }
    }
}

/// A table with its charts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportSection {
    pub title: String,
    /// What was done, in a sentence.
    pub about: String,
    pub columns: Vec<ReportColumn>,
    pub rows: Vec<Vec<ReportCell>>,
    /// The row that is marked, and how.
    pub mark: Option<(usize, &'static str)>,
    /// The column that text draws as bars beside the figures.
    pub bars: Option<usize>,
    pub charts: Vec<ReportChart>,
    /// What it comes to.
    pub sentences: Vec<String>,
    /// On the page only.
    pub pictures: Vec<ReportPicture>,
}

/// A drawing of the command's own.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct ReportPicture {
    pub about: String,
    pub svg: String,
}

/// A whole report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExperimentReport {
    /// The format's name in JSON: `iodyno.load-curve/1`.
    pub format: &'static str,
    pub title: String,
    /// What was measured, with what and how.
    pub facts: Vec<(String, String)>,
    pub sections: Vec<ReportSection>,
    pub remarks: Vec<String>,
}

/// Columns of the names of facts.
const FACT_COLUMNS: usize = 16;
/// The longest bar, columns.
const BAR_COLUMNS: usize = 24;
/// Room for a bar beside a table, which [`Table`] leaves out where there is none.
const BAR_LEAST: usize = 8;

impl ExperimentReport {
    pub fn text(&self, paint: Paint) -> String {
        let mut text = format!("\n{}\n", paint.heading(&self.title));
        for (name, value) in self.facts.iter().filter(|(_, value)| !value.is_empty()) {
            let value = wrapped(value, paint.columns.saturating_sub(FACT_COLUMNS + 2), FACT_COLUMNS + 2);
            text.push_str(&format!("  {name:FACT_COLUMNS$}{value}\n"));
        }
        for section in &self.sections {
            text.push_str(&section.text(paint));
        }
        if !self.remarks.is_empty() {
            text.push('\n');
        }
        for remark in &self.remarks {
            text.push_str(&format!("{}\n", wrapped(remark, paint.columns, 0)));
        }
        text
    }

    /// Rates per second, times in ns, sizes in bytes.
    pub fn json(&self) -> Value {
        let facts: Map<String, Value> =
            self.facts.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
        json!({
            "format": self.format,
            "title": self.title,
            "facts": facts,
            "sections": self.sections.iter().map(ReportSection::json).collect::<Vec<_>>(),
            "remarks": self.remarks,
        })
    }

    /// The tables for a spreadsheet: what it is about, then each section; names, headings and cells.
    pub fn tables(&self) -> Vec<(String, Vec<String>, Vec<Vec<TableCell>>)> {
        let words = |text: &String| TableCell::Text(text.clone());
        let mut about: Vec<Vec<TableCell>> =
            self.facts.iter().map(|(name, value)| vec![words(name), words(value)]).collect();
        let said = self.sections.iter().flat_map(|section| {
            section.sentences.iter().map(move |sentence| vec![words(&section.title), words(sentence)])
        });
        about.extend(said);
        about.extend(self.remarks.iter().map(|remark| vec![TableCell::Empty, words(remark)]));
        let mut tables = vec![("about".to_string(), vec![self.title.clone(), String::new()], about)];
        tables.extend(
            self.sections.iter().filter(|section| !section.columns.is_empty()).map(ReportSection::table),
        );
        tables
    }
}

impl ReportSection {
    fn text(&self, paint: Paint) -> String {
        if self.columns.is_empty() && self.sentences.is_empty() {
            return String::new();
        }
        let mut text = format!("\n{}\n", paint.heading(&self.title));
        if !self.about.is_empty() {
            text.push_str(&format!("{}\n", paint.aside(&wrapped(&self.about, paint.columns, 0))));
        }
        if !self.columns.is_empty() {
            text.push_str(&self.text_table(paint));
        }
        for sentence in &self.sentences {
            text.push_str(&format!("{}\n", wrapped(sentence, paint.columns, 0)));
        }
        text
    }

    fn text_table(&self, paint: Paint) -> String {
        let mut headings: Vec<String> = self.columns.iter().map(|column| column.heading(paint)).collect();
        let left = self.columns.iter().take_while(|column| column.unit == ColumnUnit::Words).count();
        let bars = self.bars.map(|at| {
            let values = self.rows.iter().filter_map(|row| row[at].number());
            (at, values.fold(0.0, f64::max))
        });
        if bars.is_some() || self.mark.is_some() {
            headings.push(BARS.into());
        }
        let cell = |column: &ReportColumn, value: &ReportCell| match value {
            ReportCell::Text(text) => text.clone(),
            ReportCell::Number(value) => column.unit.text(*value, paint),
            ReportCell::None => NONE.into(),
        };
        let mut cells: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| self.columns.iter().zip(row).map(|(column, value)| cell(column, value)).collect())
            .collect();
        let width = |at: usize| {
            let widths = cells.iter().map(|row| row[at].chars().count());
            widths.chain([headings[at].chars().count()]).max().unwrap_or(0) + 2
        };
        let taken: usize = (0..self.columns.len()).map(width).sum();
        let marked = self.mark.map_or(0, |(_, mark)| mark.chars().count() + 3);
        let room = paint.columns.saturating_sub(taken + marked + 2).clamp(BAR_LEAST, BAR_COLUMNS);
        for (index, row) in cells.iter_mut().enumerate() {
            let bar =
                bars.and_then(|(at, most)| Some(curve::bar(self.rows[index][at].number()?, most, room)));
            let mark = self
                .mark
                .filter(|(at, _)| *at == index)
                .map_or(String::new(), |(_, mark)| format!(" ◄ {mark}"));
            if bars.is_some() || self.mark.is_some() {
                let width = if bars.is_some() { room } else { 0 };
                row.push(format!("{:width$}{mark:marked$}", bar.unwrap_or_default()));
            }
        }
        let mut table = Table::new(left, &headings);
        cells.iter().for_each(|row| table.row(row));
        table.text(2, paint)
    }

    fn json(&self) -> Value {
        let value = |value: &ReportCell| match value {
            ReportCell::Text(text) => Value::from(text.clone()),
            ReportCell::Number(number) => Value::from(*number),
            ReportCell::None => Value::Null,
        };
        json!({
            "title": self.title,
            "about": self.about,
            "columns": self.columns.iter()
                .map(|column| json!({ "name": column.name, "unit": column.unit.name() })).collect::<Vec<_>>(),
            "rows": self.rows.iter().map(|row| row.iter().map(value).collect()).collect::<Vec<Vec<Value>>>(),
            "marked": self.mark.map(|(row, mark)| json!({ "row": row, "mark": mark })),
            "sentences": self.sentences,
        })
    }

    fn table(&self) -> (String, Vec<String>, Vec<Vec<TableCell>>) {
        let heading = |column: &ReportColumn| match column.unit.name() {
            "" => column.name.clone(),
            unit if column.name.is_empty() => unit.into(),
            unit => format!("{}, {unit}", column.name),
        };
        let cell = |value: &ReportCell| match value {
            ReportCell::Text(text) => TableCell::Text(text.clone()),
            ReportCell::Number(number) => TableCell::Number(*number),
            ReportCell::None => TableCell::Empty,
        };
        let rows = self.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
        (self.title.clone(), self.columns.iter().map(heading).collect(), rows)
    }
}

/// What the page is told of a chart.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct ChartData {
    title: String,
    across: String,
    across_unit: &'static str,
    unit: &'static str,
    logarithmic: bool,
    /// Texts below bars; none: lines.
    names: Vec<String>,
    /// Name, and pairs of across and upwards.
    lines: Vec<(String, ChartPoints)>,
}

/// Across and upwards; none: it cannot be told.
type ChartPoints = Vec<(f64, Option<f64>)>;

impl ReportSection {
    pub(crate) fn chart_data(&self) -> Vec<ChartData> {
        let chart = |chart: &ReportChart| {
            let across = &self.columns[chart.across];
            let place = |(index, row): (usize, &Vec<ReportCell>)| match chart.bars {
                true => Some(index as f64),
                false => row[chart.across].number(),
            };
            let line = |at: &usize| {
                let points = self.rows.iter().enumerate();
                let points =
                    points.filter_map(|(index, row)| Some((place((index, row))?, row[*at].number())));
                (self.columns[*at].name.clone(), points.collect())
            };
            let name = |row: &Vec<ReportCell>| match &row[chart.across] {
                ReportCell::Text(text) => text.clone(),
                ReportCell::Number(value) => across.unit.text(*value, Paint::PLAIN),
                ReportCell::None => NONE.into(),
            };
            ChartData {
                title: chart.title.clone(),
                across: across.name.clone(),
                across_unit: across.unit.name(),
                unit: chart.lines.first().map_or("", |at| self.columns[*at].unit.name()),
                logarithmic: chart.logarithmic,
                names: if chart.bars { self.rows.iter().map(name).collect() } else { Vec::new() },
                lines: chart.lines.iter().map(line).collect(),
            }
        };
        self.charts.iter().map(chart).collect()
    }

    /// Headings and cells as text, for the page.
    pub(crate) fn words(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let cell = |(column, value): (&ReportColumn, &ReportCell)| match value {
            ReportCell::Text(text) => text.clone(),
            ReportCell::Number(value) => column.unit.text(*value, Paint::PLAIN),
            ReportCell::None => NONE.into(),
        };
        let rows = self.rows.iter().map(|row| self.columns.iter().zip(row).map(cell).collect());
        (self.columns.iter().map(|column| column.heading(Paint::PLAIN)).collect(), rows.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn staged() -> ExperimentReport {
        let columns = vec![
            ReportColumn::new("load", ColumnUnit::Percent),
            ReportColumn::new("offered", ColumnUnit::PerSecond),
            ReportColumn::new("", ColumnUnit::BytesPerSecond),
            ReportColumn::new("mean", ColumnUnit::Nanoseconds),
        ];
        let row = |load: f64, mean: Option<f64>| {
            vec![
                ReportCell::Number(load),
                ReportCell::Number(load * 100.0),
                ReportCell::Number(load * 409_600.0),
                ReportCell::of(mean),
            ]
        };
        let section = ReportSection {
            title: "response time".into(),
            about: "Poisson arrivals.".into(),
            columns,
            rows: vec![row(10.0, Some(105_000.0)), row(50.0, Some(150_000.0)), row(100.0, None)],
            mark: Some((1, "knee")),
            bars: Some(3),
            charts: vec![ReportChart {
                title: "response time over load".into(),
                across: 1,
                lines: vec![3],
                bars: false,
                logarithmic: true,
            }],
            sentences: vec!["At 50 % it takes 150 µs.".into()],
            pictures: Vec::new(),
        };
        ExperimentReport {
            format: "iodyno.load-curve/1",
            title: "iodyno load-curve sim".into(),
            facts: vec![("engine".into(), "sim".into()), ("empty".into(), String::new())],
            sections: vec![section],
            remarks: vec!["simulated".into()],
        }
    }

    #[test]
    fn text_has_units_bars_and_a_mark() {
        let text = staged().text(Paint::PLAIN);
        let expected = "
iodyno load-curve sim
  engine          sim

response time
Poisson arrivals.
    load  offered  MB/s    mean
  10.0 %    1,000  4.10  105 µs  ████████████████▊
  50.0 %    5,000  20.5  150 µs  ████████████████████████ ◄ knee
   100 %   10,000  41.0       –
At 50 % it takes 150 µs.

simulated
";
        let trimmed: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        assert_eq!(trimmed, expected);
    }

    #[test]
    fn json_and_spreadsheets_have_plain_figures() {
        let report = staged();
        let json = report.json();
        assert_eq!(json["sections"][0]["rows"][0], json!([10.0, 1000.0, 4_096_000.0, 105_000.0]));
        assert_eq!(json["sections"][0]["rows"][2][3], Value::Null);
        let tables = report.tables();
        assert_eq!(tables[1].1, ["load, %", "offered, 1/s", "bytes/s", "mean, ns"]);
        assert_eq!(tables[1].2[2][3], TableCell::Empty);
    }
}

//! Which runs there are, in their order: each `rd=` once for every value of its loops, and once for every rate.
//!
//! Loops are nested in the order in which they are written; rates are the innermost. A curve is a run at its maximum, then
//! one for each of its points.

use iodyno_model::Diagnostic;

use super::command::Command;
use super::definition::{Definition, Definitions, MistakeList, matches, numbers};

/// How fast a run goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum RequestedRate {
    #[default]
    Max,
    /// The maximum of a curve.
    Curve,
    /// Operations per second.
    Number(f64),
    /// So many percent of what an earlier run reached, by its place among the runs.
    Percent { percent: f64, of: usize },
}

/// One run.
#[derive(Clone, Debug, Default)]
pub struct RunPoint {
    /// What it is called in the report.
    pub title: String,
    /// Its definition, with the values of its loops.
    pub definition: Definition,
    pub rate: RequestedRate,
    /// The values of its loops, as they are printed.
    pub loops: String,
    /// Whether it is the first of its definition.
    pub is_first: bool,
}

/// Parameters of a run that are loops over their values.
const LOOPS: &[&str] = &[
    "forxfersize",
    "forthreads",
    "forrdpct",
    "forrhpct",
    "forwhpct",
    "forseekpct",
    "forhitarea",
    "forcompratio",
    "fordepth",
    "forwidth",
    "forfiles",
    "forsizes",
    "fortotalsize",
    "forwss",
    "foroperations",
];
/// Points of a curve where none are named, percent.
const CURVE: [f64; 6] = [10.0, 50.0, 70.0, 80.0, 90.0, 100.0];
/// Runs that one command may come to.
const RUNS_MOST: usize = 100_000;

/// All runs.
pub fn points(all: &Definitions, command: &Command, wrong: &mut MistakeList) -> Vec<RunPoint> {
    let mut points = Vec::new();
    for run in &all.runs {
        let is_wanted = |name: &String| matches(name, &run.name);
        if !command.runs.is_empty() && !command.runs.iter().any(is_wanted) {
            continue;
        }
        for run in singles(run, all) {
            let begins = points.len();
            add(&run, &mut points, wrong);
            if let Some(first) = points.get_mut(begins) {
                first.is_first = true;
            }
            if points.len() > RUNS_MOST {
                wrong.add(
                    &run.origin,
                    format!("more than {RUNS_MOST} runs"),
                    "use fewer values in its loops",
                );
                return Vec::new();
            }
        }
    }
    if points.is_empty() && wrong.0.is_empty() {
        let names: Vec<_> = all.runs.iter().map(|run| run.name.as_str()).collect();
        let hint = format!("there are: {}", names.join(" "));
        wrong.0.push(
            Diagnostic::error(&iodyno_model::Origin::argument("-r"), "no run has such a name").hint(hint),
        );
    }
    points
}

/// `sd=single` is one run for each storage definition.
fn singles(run: &Definition, all: &Definitions) -> Vec<Definition> {
    if run.text("sd") != Some("single") {
        return vec![run.clone()];
    }
    let of = |storage: &Definition| {
        let mut single = run.clone();
        single.name = format!("{}_{}", run.name, storage.name);
        let only = |parameter: &mut super::scan::Parameter| parameter.values = vec![storage.name.clone()];
        single.parameters.iter_mut().filter(|parameter| parameter.keyword == "sd").for_each(only);
        single
    };
    all.storage.iter().map(of).collect()
}

/// The loops of a run in their order: of a keyword that is given twice the last one counts, at its place.
fn loops(run: &Definition) -> Vec<(&str, &[String])> {
    let is_last = |index: usize| {
        let keyword = &run.parameters[index].keyword;
        !run.parameters[index + 1..].iter().any(|later| later.keyword == *keyword)
    };
    let wanted = |(index, parameter): &(usize, &super::scan::Parameter)| {
        LOOPS.contains(&parameter.keyword.as_str()) && is_last(*index)
    };
    let all = run.parameters.iter().enumerate().filter(wanted);
    all.map(|(_, parameter)| (parameter.keyword.as_str(), &parameter.values[..])).collect()
}

fn add(run: &Definition, points: &mut Vec<RunPoint>, wrong: &mut MistakeList) {
    let mut combinations: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for (keyword, values) in loops(run) {
        let values = expanded(run, keyword, values);
        let longer = combinations.iter().flat_map(|before| {
            values.iter().map(move |value| [&before[..], &[(keyword.to_string(), value.clone())]].concat())
        });
        combinations = longer.take(RUNS_MOST + 1).collect();
    }
    let rates = rates(run, wrong);
    for combination in &combinations {
        let mut definition = run.clone();
        for (keyword, value) in &combination[..] {
            let of = |parameter: &&mut super::scan::Parameter| parameter.keyword == *keyword;
            definition
                .parameters
                .iter_mut()
                .filter(of)
                .for_each(|parameter| parameter.values = vec![value.clone()]);
        }
        let shown: Vec<String> = combination.iter().map(|(keyword, value)| shown(keyword, value)).collect();
        let base = points.len();
        for rate in &rates {
            let mut loops = shown.clone();
            let mut title = run.name.clone();
            let rate = match *rate {
                RequestedRate::Percent { percent, of: 0 } => {
                    title = format!("{}_({percent}%)", run.name);
                    RequestedRate::Percent { percent, of: base }
                }
                RequestedRate::Percent { percent, .. } => {
                    RequestedRate::Percent { percent, of: points.len().saturating_sub(1) }
                }
                rate => rate,
            };
            if rates.len() > 1
                && let RequestedRate::Number(number) = rate
            {
                loops.push(format!("iorate={number}"));
            }
            let loops = if loops.is_empty() { "None".into() } else { loops.join(" ") };
            points.push(RunPoint { title, definition: definition.clone(), rate, loops, is_first: false });
        }
    }
}

/// The values of a loop, with its ranges written out.
fn expanded(run: &Definition, keyword: &str, values: &[String]) -> Vec<String> {
    let has_range = values.iter().any(|value| value.len() > 1 && value[1..].contains('-'));
    match run.get(keyword).filter(|_| has_range).and_then(|parameter| numbers(parameter).ok()) {
        Some(numbers) => numbers.iter().map(ToString::to_string).collect(),
        None => values.to_vec(),
    }
}

fn shown(keyword: &str, value: &str) -> String {
    let name = keyword.strip_prefix("for").unwrap_or(keyword);
    let number =
        value.parse::<f64>().ok().filter(|_| ["xfersize", "sizes", "wss", "totalsize"].contains(&name));
    match number {
        Some(bytes) => format!("{name}={}", size(bytes)),
        None => format!("{name}={value}"),
    }
}

/// A number of bytes as it would be written in a parameter file.
pub fn size(bytes: f64) -> String {
    let whole = |power: i32| {
        let units = bytes / 1024_f64.powi(power);
        (units >= 1.0 && units.fract() == 0.0).then_some(units)
    };
    let found = [(4, "t"), (3, "g"), (2, "m"), (1, "k")]
        .iter()
        .find_map(|(power, unit)| Some((whole(*power)?, *unit)));
    found.map_or_else(|| bytes.to_string(), |(units, unit)| format!("{units}{unit}"))
}

/// The rates of a run, of a curve its maximum first. A percentage has no run yet: 0 stands for the curve's maximum, any
/// other number for the run before.
fn rates(run: &Definition, wrong: &mut MistakeList) -> Vec<RequestedRate> {
    let keyword = if run.has("fwdrate") { "fwdrate" } else { "iorate" };
    let Some(parameter) = run.get(keyword) else {
        let hint = "iorate=max, fwdrate=max, a number of operations per second, several, or curve";
        wrong.add(&run.origin, format!("rd={} has no iorate= and no fwdrate=", run.name), hint);
        return Vec::new();
    };
    match parameter.values[0].to_lowercase().as_str() {
        "max" => vec![RequestedRate::Max],
        "curve" => {
            let points = run.numbers("curve");
            let points = if points.is_empty() { CURVE.to_vec() } else { points };
            if points.iter().any(|percent| *percent <= 0.0) {
                wrong.add(run.place("curve"), "a point of a curve is above 0 %", "curve=(10,50,90)");
            }
            let point = |percent: f64| RequestedRate::Percent { percent, of: 0 };
            std::iter::once(RequestedRate::Curve).chain(points.into_iter().map(point)).collect()
        }
        _ => match numbers(parameter) {
            Ok(all) if all.iter().all(|rate| *rate != 0.0) => {
                let of = |rate: f64| match rate < 0.0 {
                    true => RequestedRate::Percent { percent: -rate, of: 1 },
                    false => RequestedRate::Number(rate),
                };
                all.into_iter().map(of).collect()
            }
            Ok(_) => {
                wrong.add(&parameter.origin, "a rate of 0", "at least one operation per second, or max");
                Vec::new()
            }
            Err(fragment) => {
                let hint = "max, curve, or operations per second: 100, (100,200), (100-1000,100)";
                wrong.add(&parameter.origin, format!("`{keyword}=`: {fragment}"), hint);
                Vec::new()
            }
        },
    }
}

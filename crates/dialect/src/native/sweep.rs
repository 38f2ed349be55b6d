//! `[[sweep]]`: one parameter over a list or a range.

use iodyno_model::{Parameter, Sweep, sweep};

use super::fields::{Fields, Wrong};
use super::inline::{known, may, must};
use super::tree::{Node, Value};
use super::value::{Read, bytes, count, flag, number, text, whole_number};

const PARAMETERS: &[(&str, Parameter)] = &[
    ("depth", Parameter::Depth),
    ("workers", Parameter::Workers),
    ("engine", Parameter::Engine),
    ("block", Parameter::BlockBytes),
    ("span", Parameter::SpanBytes),
    ("file", Parameter::FileBytes),
    ("rate", Parameter::Rate),
    ("cached", Parameter::Cached),
    ("read_percent", Parameter::ReadPercent),
];

/// The sweeps of one table: each key is one, in order.
pub(crate) fn read(node: &Node, wrong: &Wrong) -> Vec<Sweep> {
    let fields = Fields::new(node, "a sweep", wrong);
    let mut sweeps: Vec<Sweep> = PARAMETERS
        .iter()
        .filter_map(|(name, parameter)| {
            let origin = fields.entry(name)?.origin.clone();
            let values = fields.get(name, |node| values(node, *parameter))?;
            Some(Sweep { parameter: *parameter, values, origin })
        })
        .collect();
    let place = |sweep: &Sweep| {
        let (name, _) = PARAMETERS.iter().find(|(_, parameter)| *parameter == sweep.parameter)?;
        node.entries().iter().position(|entry| entry.name == *name)
    };
    sweeps.sort_by_key(place);
    if node.entries().is_empty() {
        wrong.error(&node.origin, "the sweep varies nothing", "write e.g. depth = [1, 2, 4, 8]");
    }
    fields.unknown();
    sweeps
}

fn values(node: &Node, parameter: Parameter) -> Read<Vec<sweep::Value>> {
    match &node.value {
        Value::List(items) if !items.is_empty() => items.iter().map(|item| value(item, parameter)).collect(),
        Value::Table(_) => range(node, parameter),
        _ => Err("expected a list, or a range { from = 1, to = 128, times = 2 }".into()),
    }
}

fn value(node: &Node, parameter: Parameter) -> Read<sweep::Value> {
    match parameter {
        Parameter::Engine => text(node).map(sweep::Value::Word),
        Parameter::Cached => flag(node).map(sweep::Value::Flag),
        parameter if parameter.is_bytes() => bytes(node).map(sweep::Value::Number),
        Parameter::ReadPercent => whole_number(node).map(sweep::Value::Number),
        _ => count(node).map(sweep::Value::Number),
    }
}

/// The most values of one range: more is a slip of the pen.
const MOST_VALUES: usize = 10_000;

fn range(node: &Node, parameter: Parameter) -> Read<Vec<sweep::Value>> {
    known(node, &["from", "to", "times", "step"])?;
    let end = |name| match must(node, name, |node| value(node, parameter))? {
        sweep::Value::Number(number) => Ok(number),
        _ => Err("a range needs numbers".to_string()),
    };
    let (from, to) = (end("from")?, end("to")?);
    let step = may(node, "step", |node| bytes(node).map(Some), None)?;
    let times = may(node, "times", |node| number(node).map(Some), None)?;
    let next: Box<dyn Fn(u64) -> u64> = match (step, times) {
        (Some(step), None) if step > 0 => Box::new(move |at| at.saturating_add(step)),
        (None, Some(times)) if times > 1.0 && from > 0 => {
            Box::new(move |at| ((at as f64 * times).round() as u64).max(at.saturating_add(1)))
        }
        _ => return Err("expected exactly one of times (more than 1) and step (at least 1)".into()),
    };
    let all: Vec<_> = std::iter::successors(Some(from), |at| Some(next(*at)))
        .take_while(|at| *at <= to)
        .take(MOST_VALUES + 1)
        .collect();
    match all.len() {
        0 => Err("`from` is larger than `to`".into()),
        len if len > MOST_VALUES => Err(format!("that is more than {MOST_VALUES} values")),
        _ => Ok(all.into_iter().map(sweep::Value::Number).collect()),
    }
}

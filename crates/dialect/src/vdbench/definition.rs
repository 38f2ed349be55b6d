//! Definitions: hosts, storage, file systems, workloads and runs, each with its parameters and those of its `default`.
//!
//! Keywords may be abbreviated as far as they stay unique. It refuses what its table does not know, and names that occur
//! twice.

use iodyno_model::{Diagnostic, Origin};

use super::options::{self, GROUPS, ParameterGroup};
use super::scan::Parameter;
use crate::option::{Kind, Status};

/// One `sd=`, `wd=`, `rd=` … with everything that is said of it. Of a keyword that is given twice the last one counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Definition {
    pub name: String,
    pub parameters: Vec<Parameter>,
    pub origin: Origin,
}

/// Everything that parameter files define.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Definitions {
    pub general: Definition,
    pub hosts: Vec<Definition>,
    pub storage: Vec<Definition>,
    pub file_systems: Vec<Definition>,
    pub workloads: Vec<Definition>,
    pub file_workloads: Vec<Definition>,
    pub runs: Vec<Definition>,
    /// What is accepted without effect, with the reason.
    pub notes: Vec<Diagnostic>,
}

/// Mistakes, each told once.
#[derive(Debug, Default)]
pub struct MistakeList(pub Vec<Diagnostic>);

impl MistakeList {
    pub fn add(&mut self, origin: &Origin, message: impl Into<String>, hint: impl Into<String>) {
        let told = Diagnostic::error(origin, message).hint(hint);
        if !self.0.contains(&told) {
            self.0.push(told);
        }
    }
}

impl Definition {
    /// The last parameter of that name.
    pub fn get(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().rev().find(|parameter| parameter.keyword == name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Its first value.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).map(|parameter| parameter.values[0].as_str())
    }

    pub fn values(&self, name: &str) -> &[String] {
        self.get(name).map_or(&[], |parameter| &parameter.values)
    }

    /// Whether its first value begins with `y`.
    pub fn is_yes(&self, name: &str) -> bool {
        self.text(name).is_some_and(|text| text.to_lowercase().starts_with('y'))
    }

    /// Its numbers; none where it is not given or is no number.
    pub fn numbers(&self, name: &str) -> Vec<f64> {
        self.get(name).map_or_else(Vec::new, |parameter| numbers(parameter).unwrap_or_default())
    }

    pub fn number(&self, name: &str) -> Option<f64> {
        self.numbers(name).first().copied()
    }

    /// Where a parameter stands, or else the definition.
    pub fn place(&self, name: &str) -> &Origin {
        self.get(name).map_or(&self.origin, |parameter| &parameter.origin)
    }
}

/// What an amount with a suffix is worth: bytes; of a time, seconds.
fn amount(text: &str, is_time: bool) -> Option<f64> {
    let suffixes = if is_time { &[("s", 1.0), ("m", 60.0), ("h", 3600.0)][..] } else { &BYTES[..] };
    let lower = text.to_lowercase();
    let found = suffixes.iter().find_map(|(suffix, factor)| {
        let digits = lower.strip_suffix(suffix)?;
        plain(digits).map(|number| number * factor)
    });
    found.or_else(|| plain(&lower))
}

const BYTES: [(&str, f64); 9] = [
    ("kb", 1024.0),
    ("mb", 1_048_576.0),
    ("gb", 1_073_741_824.0),
    ("tb", 1_099_511_627_776.0),
    ("k", 1024.0),
    ("m", 1_048_576.0),
    ("g", 1_073_741_824.0),
    ("t", 1_099_511_627_776.0),
    ("p", 1_125_899_906_842_624.0),
];

/// Digits with a point and a sign; the original's numbers have no exponent.
fn plain(text: &str) -> Option<f64> {
    let fits = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'-');
    text.parse::<f64>().ok().filter(|number| fits && number.abs() < 1e18)
}

/// Values that one list may come to.
const LIST_MOST: usize = 10_000;

/// The numbers of a parameter. `a-b,step` goes from one to the other, `a-b,d` doubles; a percent sign makes it negative.
///
/// # Errors
/// The first value that is no number, as a lower-case fragment.
pub fn numbers(parameter: &Parameter) -> Result<Vec<f64>, String> {
    let is_time = options::is_time(&parameter.keyword);
    let one = |text: &str| match text.strip_suffix('%') {
        Some(percent) => plain(percent).map(|number| -number),
        None => amount(text, is_time),
    };
    let (mut all, mut values) = (Vec::new(), parameter.values.iter().peekable());
    while let Some(value) = values.next() {
        let ends = value.split_once('-').filter(|(low, _)| !low.is_empty());
        let Some((low, high)) = ends.and_then(|(low, high)| one(low).zip(one(high))) else {
            all.push(one(value).ok_or_else(|| format!("`{value}` is no number"))?);
            continue;
        };
        let step = values.next().map_or("1", String::as_str);
        let next: Box<dyn Fn(f64) -> f64> = match (step, one(step)) {
            ("d", _) if low > 0.0 => Box::new(|now| now * 2.0),
            (_, Some(step)) if step > 0.0 => Box::new(move |now| now + step),
            _ => return Err(format!("`{value},{step}`: a step, or `d` to double")),
        };
        let mut now = low;
        while now <= high && all.len() < LIST_MOST {
            all.push(now);
            now = next(now);
        }
    }
    match all.len() {
        0 => Err("an empty range".into()),
        LIST_MOST.. => Err(format!("more than {LIST_MOST} values")),
        _ => Ok(all),
    }
}

/// Sorts parameters into definitions.
pub fn define(parameters: Vec<Parameter>, wrong: &mut MistakeList) -> Definitions {
    let mut reader = DefinitionReader::default();
    for parameter in parameters {
        reader.parameter(parameter, wrong);
    }
    reader.finish(wrong)
}

#[derive(Default)]
struct DefinitionReader {
    all: Definitions,
    /// Which group is being described; none: general parameters.
    group: Option<&'static ParameterGroup>,
    /// By group: what every further definition begins with.
    defaults: Vec<(&'static str, Vec<Parameter>)>,
    is_default: bool,
}

impl DefinitionReader {
    fn list(&mut self, keyword: &str) -> &mut Vec<Definition> {
        match keyword {
            "hd" => &mut self.all.hosts,
            "sd" => &mut self.all.storage,
            "fsd" => &mut self.all.file_systems,
            "wd" => &mut self.all.workloads,
            "fwd" => &mut self.all.file_workloads,
            _ => &mut self.all.runs,
        }
    }

    fn parameter(&mut self, parameter: Parameter, wrong: &mut MistakeList) {
        let rank = self.group.map_or(0, |group| group.rank);
        let starts = GROUPS.iter().find(|group| group.keyword == parameter.keyword && group.rank > 0);
        match starts.filter(|group| parameter.leads && group.rank >= rank) {
            Some(group) => self.begin(group, parameter, wrong),
            None => self.add(parameter, wrong),
        }
    }

    fn begin(&mut self, group: &'static ParameterGroup, parameter: Parameter, wrong: &mut MistakeList) {
        self.group = Some(group);
        let name = parameter.values[0].clone();
        self.is_default = name == "default";
        let origin = parameter.origin.clone();
        if self.is_default {
            return;
        }
        let inherited = self.defaults.iter().find(|(keyword, _)| *keyword == group.keyword);
        let parameters = inherited.map(|(_, parameters)| parameters.clone()).unwrap_or_default();
        let list = self.list(group.keyword);
        let is_twice = list.iter().any(|known| known.name == name);
        list.push(Definition { name: name.clone(), parameters, origin: origin.clone() });
        if is_twice {
            wrong.add(
                &origin,
                format!("{}={name} is defined twice", group.keyword),
                "give each a name of its own",
            );
        }
        if parameter.values.len() > 1 {
            let hint = "hd=LABEL,system=NAME";
            wrong.add(&origin, format!("{}= takes one name", group.keyword), hint);
        }
    }

    fn add(&mut self, parameter: Parameter, wrong: &mut MistakeList) {
        let group = self.group.unwrap_or(&GROUPS[0]);
        let Some(parameter) = judged(group, parameter, &mut self.all.notes, wrong) else { return };
        if self.is_default {
            let keyword = group.keyword;
            match self.defaults.iter_mut().find(|(known, _)| *known == keyword) {
                Some((_, parameters)) => parameters.push(parameter),
                None => self.defaults.push((keyword, vec![parameter])),
            }
        } else if group.rank == 0 {
            self.all.general.parameters.push(parameter);
        } else if let Some(last) = self.list(group.keyword).last_mut() {
            last.parameters.push(parameter);
        }
    }

    fn finish(self, wrong: &mut MistakeList) -> Definitions {
        if self.all.runs.is_empty() && wrong.0.is_empty() {
            let hint = "the last lines say what is run: rd=rd1,wd=wd1,iorate=max,elapsed=30,interval=1";
            wrong.add(&Origin::argument("rd="), "no run is defined", hint);
        }
        self.all
    }
}

/// The parameter with its full keyword, if anything is done about it.
fn judged(
    group: &ParameterGroup,
    parameter: Parameter,
    notes: &mut Vec<Diagnostic>,
    wrong: &mut MistakeList,
) -> Option<Parameter> {
    let origin = parameter.origin.clone();
    let entry = match group.find(&parameter.keyword) {
        Ok(entry) => entry,
        Err((message, hint)) => {
            wrong.add(&origin, message, hint);
            return None;
        }
    };
    match entry.status {
        Status::Refused(why, hint) => {
            wrong.add(&origin, format!("`{}=` is not supported: {why}", entry.name), hint);
            return None;
        }
        Status::Ignored(why) => {
            let note = Diagnostic::note(&origin, format!("`{}=` has no effect: {why}", entry.name));
            if !notes.iter().any(|known| known.message == note.message) {
                notes.push(note);
            }
        }
        Status::Done => {}
    }
    let parameter = Parameter { keyword: entry.name.into(), ..parameter };
    let is_number =
        matches!(entry.kind, Kind::Whole(..) | Kind::Decimal | Kind::Bytes | Kind::Time | Kind::Range);
    if is_number {
        let bounds = if let Kind::Whole(least, most) = entry.kind {
            (least as f64, most as f64)
        } else {
            (-1e18, 1e18)
        };
        match numbers(&parameter) {
            Err(fragment) => {
                wrong.add(&origin, format!("`{}=`: {fragment}", entry.name), entry.help);
                return None;
            }
            Ok(all) if all.iter().any(|number| *number < bounds.0 || *number > bounds.1) => {
                let message = format!("`{}=`: expected {} to {}", entry.name, bounds.0, bounds.1);
                wrong.add(&origin, message, entry.help);
                return None;
            }
            Ok(_) => {}
        }
    }
    Some(parameter)
}

/// Whether a name fits a word with one `*` or `?` for anything.
pub fn matches(pattern: &str, name: &str) -> bool {
    iodyno_model::glob::matches(pattern, name)
}

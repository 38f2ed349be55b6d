//! `cmdprio_*`: I/O priorities that only some of a job's operations carry, as settings of the engines that can.
//!
//! It refuses to guess: a part without a percentage is an error.

use iodyno_model::Setting;

use super::number;
use super::option_reader::OptionReader;

/// Real time: the class where none is said.
const HIGHEST_CLASS: u64 = 1;

/// The settings, where a job gives a part of its operations another priority.
pub fn settings(ask: &mut OptionReader<'_>) -> Vec<Setting> {
    let percent = pair(ask, "cmdprio_percentage", 0).filter(|pair| *pair != (0, 0));
    let split = ask.text("cmdprio_bssplit").and_then(|text| split(ask, text));
    if percent.is_some() && split.is_some() {
        let message = "cmdprio_percentage and cmdprio_bssplit options are mutually exclusive";
        ask.refuse("cmdprio_bssplit", message, "leave out one of them");
    }
    let (part, value) = match (percent, split) {
        (_, Some(split)) => (("cmdprio_bssplit", "priority_split"), split),
        (Some(percent), None) => (("cmdprio_percentage", "priority_percent"), both(percent)),
        // Without a part nothing carries it, in fio too.
        (None, None) => return Vec::new(),
    };
    let set = |theirs: &str, ours: &str, value: String| Setting {
        name: ours.into(),
        value,
        origin: ask.origin(theirs).clone(),
    };
    let mut settings = vec![set(part.0, part.1, value)];
    let class = pair(ask, "cmdprio_class", HIGHEST_CLASS).unwrap_or((HIGHEST_CLASS, HIGHEST_CLASS));
    settings.push(set("cmdprio_class", "priority_class", both(class)));
    for (theirs, ours) in [("cmdprio", "priority"), ("cmdprio_hint", "priority_hint")] {
        settings.extend(pair(ask, theirs, 0).map(|pair| set(theirs, ours, both(pair))));
    }
    settings
}

/// A number for reads and one for writes.
fn pair(ask: &OptionReader<'_>, name: &str, otherwise: u64) -> Option<(u64, u64)> {
    let triple = ask.triple(name)?;
    Some((triple.read.unwrap_or(otherwise), triple.write.unwrap_or(otherwise)))
}

/// As the engine room writes it: one number where both are alike.
fn both((read, write): (u64, u64)) -> String {
    if read == write { read.to_string() } else { format!("{read},{write}") }
}

/// `BYTES/PERCENT[/CLASS/PRIO[/HINT]][:…]` with sizes in bytes.
fn split(ask: &mut OptionReader<'_>, text: &str) -> Option<String> {
    let [read, write, _] = number::directions(text);
    let direction = |part: Option<&str>| match part {
        Some(part) => {
            part.split(':').filter(|entry| !entry.trim().is_empty()).map(|one| entry(ask, one)).collect()
        }
        None => Some(Vec::new()),
    };
    let sides: Option<Vec<Vec<String>>> = [read, write].map(direction).into_iter().collect();
    let Some(sides) = sides else {
        let hint = "for example cmdprio_bssplit=4k/30:64k/10/1/0";
        ask.refuse_value("cmdprio_bssplit", "expected sizes with percentages", hint);
        return None;
    };
    Some(sides.iter().map(|side| side.join(":")).collect::<Vec<_>>().join(","))
}

fn entry(ask: &OptionReader<'_>, text: &str) -> Option<String> {
    let (size, rest) = text.trim().split_once('/')?;
    let numbers = rest.split('/').map(|part| part.trim().parse::<u32>().ok()).collect::<Option<Vec<_>>>()?;
    let fits =
        matches!(numbers[..], [_] | [_, 0..=3, 0..=7] | [_, 0..=3, 0..=7, 0..=1023]) && numbers[0] <= 100;
    let numbers: Vec<_> = numbers.iter().map(u32::to_string).collect();
    fits.then_some(format!("{}/{}", number::bytes(size, ask)?, numbers.join("/")))
}

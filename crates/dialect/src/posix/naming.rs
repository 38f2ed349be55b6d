//! Names of cases and rounds, from the values that they are made for.
//!
//! A name stays the same as long as its rule does. It refuses signs that shells and patterns take for theirs.

use std::collections::BTreeSet;

use iodyno_model::Case;

use super::rules::Rule;

/// One value of each variable.
pub type Combination<'a> = Vec<(&'a str, &'a str)>;

/// Every combination, the last axis running fastest.
pub fn combinations(rule: &Rule) -> Vec<Combination<'_>> {
    let mut all = vec![Combination::new()];
    for axis in &rule.axes {
        let mut longer = Vec::with_capacity(all.len() * axis.values.len());
        for combination in &all {
            for row in &axis.values {
                let mut next = combination.clone();
                next.extend(axis.names.iter().zip(row).map(|(name, value)| (name.as_str(), value.as_str())));
                longer.push(next);
            }
        }
        all = longer;
    }
    all
}

/// The value of a variable; empty where there is none.
pub fn value<'a>(combination: &Combination<'a>, name: &str) -> &'a str {
    combination.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
}

/// The name, with a number if it is taken.
pub fn unlike(name: &str, names: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let free = std::iter::once(name.to_string()).chain(numbered).find(|name| !names.contains(name));
    let free = free.unwrap_or_default();
    names.insert(free.clone());
    free
}

/// A rule's name with the values of a case.
pub fn with(rule: &str, values: &[&str]) -> String {
    let values: Vec<String> = values.iter().map(|value| plain(value)).collect();
    if values.is_empty() { rule.into() } else { format!("{rule}:{}", values.join(",")) }
}

/// Cases of one name get what else makes them different.
pub fn tell_apart(cases: &mut [(Case, &Combination<'_>)], split: &[&str]) {
    let names: Vec<String> = cases.iter().map(|(case, _)| case.name.clone()).collect();
    for index in 0..cases.len() {
        let alike = || (0..names.len()).filter(|other| names[*other] == names[index]);
        if alike().count() < 2 {
            continue;
        }
        let own = cases[index].1;
        let differs = |name: &&&str| alike().any(|other| value(cases[other].1, name) != value(own, name));
        let values: Vec<String> = split.iter().filter(differs).map(|name| plain(value(own, name))).collect();
        let sign = if names[index].contains(':') { ',' } else { ':' };
        cases[index].0.name = format!("{}{sign}{}", names[index], values.join(","));
    }
}

/// More values than this are not told one by one.
const MOST_LISTED: usize = 12;

/// All values of a variable, as a sentence has them.
pub fn listed(members: &[&Combination<'_>], name: &str) -> String {
    let mut values: Vec<&str> = Vec::new();
    for member in members {
        let value = value(member, name);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    match values.as_slice() {
        [] => String::new(),
        [only] => (*only).into(),
        many if many.len() > MOST_LISTED => format!("any {name}"),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

/// A value as part of a name: without what shells and globs take for theirs.
fn plain(value: &str) -> String {
    let kept = |letter: char| letter.is_ascii_alphanumeric() || "_.-+".contains(letter);
    let letters = value.chars().map(|letter| if kept(letter) { letter } else { '-' });
    let name: String = letters.collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "none".into() } else { name.into() }
}

/// What tells a round from the others of its case: `type=fifo who=other`.
pub fn round(rule: &Rule, combination: &Combination<'_>, members: &[&Combination<'_>]) -> String {
    let names = rule.axes.iter().flat_map(|axis| &axis.names);
    let varies = |name: &&String| members.iter().any(|other| value(other, name) != value(combination, name));
    let word = |name: &String| {
        let value = value(combination, name);
        let bare = !value.is_empty() && !value.contains([' ', '\n']);
        if bare { format!("{name}={value}") } else { format!("{name}={value:?}") }
    };
    names.filter(varies).map(word).collect::<Vec<_>>().join(" ")
}

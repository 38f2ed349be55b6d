//! Which of the cases are run: by group, rule or case, and by class.
//!
//! A pattern that picks nothing is an error: it was meant to pick something.

use iodyno_model::{Case, Class, Diagnostic, Origin, glob};

use super::expand::ExpandedSuite;
use super::near_or;
use super::rules::{Rule, class_named};
use crate::native::suggestion;

/// What is wanted.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Names or patterns of groups, rules or cases; none: all.
    pub only: Vec<String>,
    /// The same, of what is left out.
    pub except: Vec<String>,
    /// Classes; none: all.
    pub classes: Vec<String>,
}

/// Whether a pattern means a case: by its group, its rule, or its own name.
pub fn means(pattern: &str, case: &Case) -> bool {
    [&case.group, &case.rule, &case.name].into_iter().any(|name| glob::matches(pattern, name))
}

/// Whether a pattern may mean a case of a rule, as far as that can be seen before it is expanded. Names of rules begin as
/// they are written until the first variable, and names of cases as those of their rules.
pub fn may_mean(pattern: &str, rule: &Rule) -> bool {
    let written = format!("{}/{}", rule.group, rule.id);
    may_begin(pattern, written.split('{').next().unwrap_or_default())
}

/// The same, where the rule's name is known to its end, or as far as it is given.
pub fn may_begin(pattern: &str, name: &str) -> bool {
    let head = pattern.split(['*', '?']).next().unwrap_or_default();
    name.starts_with(head) || head.starts_with(name)
}

/// Takes out what is not wanted, and the features that nobody needs then.
///
/// # Errors
/// Classes that there are not, patterns that mean nothing, and nothing left.
pub fn select(expanded: &mut ExpandedSuite, wanted: &Selection) -> Result<(), Vec<Diagnostic>> {
    let mut wrong = Vec::new();
    let classes: Vec<Class> = wanted.classes.iter().filter_map(|name| class(name, &mut wrong)).collect();
    for (option, patterns) in [("--only", &wanted.only), ("--except", &wanted.except)] {
        for pattern in
            patterns.iter().filter(|pattern| !expanded.cases.iter().any(|case| means(pattern, case)))
        {
            wrong.push(nothing(option, pattern, &expanded.cases));
        }
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    expanded.cases.retain(|case| {
        (wanted.only.is_empty() || wanted.only.iter().any(|pattern| means(pattern, case)))
            && !wanted.except.iter().any(|pattern| means(pattern, case))
            && (classes.is_empty() || classes.contains(&case.class))
    });
    if expanded.cases.is_empty() {
        let wrong = Diagnostic::error(&Origin::argument("posix"), "no rule is left to be checked");
        return Err(vec![wrong.hint("--list tells what there is")]);
    }
    let needed = |name: &String| expanded.cases.iter().any(|case| case.needs.contains(name));
    let features = std::mem::take(&mut expanded.features);
    expanded.features = features.into_iter().filter(|feature| needed(&feature.name)).collect();
    Ok(())
}

fn class(name: &str, wrong: &mut Vec<Diagnostic>) -> Option<Class> {
    let class = class_named(name);
    if class.is_none() {
        let hint = suggestion(name, &["shall", "may", "linux", "filesystem"]);
        let origin = Origin::argument(&format!("--class {name}"));
        wrong.push(Diagnostic::error(&origin, "there is no such class of rules").hint(hint));
    }
    class
}

fn nothing(option: &str, pattern: &str, cases: &[Case]) -> Diagnostic {
    let mut names: Vec<&str> =
        cases.iter().flat_map(|case| [case.group.as_str(), case.rule.as_str()]).collect();
    names.dedup();
    let origin = Origin::argument(&format!("{option} {pattern}"));
    let wrong = Diagnostic::error(&origin, "no group, rule or case has such a name");
    wrong.hint(near_or(pattern, &names, "--list tells what there is"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posix::{expand, rules, suite};

    #[test]
    fn what_may_be_meant_is_never_left_out() {
        let (suite, wrong) = rules::read(&suite::POSIX.rules()).unwrap();
        assert_eq!(wrong, []);
        let all = expand::expand(&suite).unwrap().cases;
        let some = all.iter().step_by(all.len() / 4);
        let names = |case: &Case| [case.group.clone(), case.rule.clone(), case.name.clone()];
        let patterns: Vec<String> = some.flat_map(names).chain(["*-eexist".into(), "re?d*".into()]).collect();
        let (mut kept, mut expanded) = (0, 0);
        for pattern in &patterns {
            let wanted = suite.rules.iter().filter(|rule| may_mean(pattern, rule));
            let part = rules::Suite { rules: wanted.cloned().collect(), ..suite.clone() };
            kept += part.rules.len();
            let meant = |cases: &[Case]| -> Vec<String> {
                cases.iter().filter(|case| means(pattern, case)).map(|case| case.name.clone()).collect()
            };
            let named = |name: &str| may_begin(pattern, name);
            let part = expand::expand_where(&part, Some(&named)).unwrap().cases;
            expanded += part.len();
            assert_eq!(meant(&part), meant(&all), "{pattern}");
        }
        // Otherwise it would be of no use.
        assert!(
            kept * 2 < patterns.len() * suite.rules.len(),
            "{kept} rules for {} patterns",
            patterns.len()
        );
        assert!(
            expanded * 4 < patterns.len() * all.len(),
            "{expanded} cases for {} patterns",
            patterns.len()
        );
    }
}

//! Rules to cases: every combination of values a round, every step with its actor, its call and what must come back.
//!
//! All that can be seen before anything runs is seen here: names that stand for nothing, calls with wrong arguments,
//! rounds that check nothing, variables that change nothing.

use std::collections::BTreeSet;

use iodyno_model::{Action, Actor, Call, Case, Diagnostic, Expect, Feature, Origin, Script, Step};

use super::calls;
use super::dollar;
use super::fill::Scope;
use super::naming::{self, Combination, combinations, value};
use super::rules::{KNOWN_FEATURES, Rule, SAME, StepLine, Suite};
use super::step::{self, ParsedStep, Problem, problem};
use crate::native::suggestion;

/// A suite, ready to be run.
#[derive(Clone, Debug, Default)]
pub struct ExpandedSuite {
    /// What cases need.
    pub features: Vec<Feature>,
    pub cases: Vec<Case>,
}

/// Expands a whole suite.
///
/// # Errors
/// Everything that is wrong with any rule.
pub fn expand(suite: &Suite) -> Result<ExpandedSuite, Vec<Diagnostic>> {
    expand_where(suite, None)
}

/// Expands the cases of those rules whose names are wanted; what is wrong with the others is not told.
///
/// # Errors
/// Everything that is wrong with a rule that is wanted.
pub fn expand_where(suite: &Suite, is_wanted: Wanted<'_>) -> Result<ExpandedSuite, Vec<Diagnostic>> {
    let mut expansion = Expansion { suite, is_wanted, wrong: Vec::new(), seen: BTreeSet::new() };
    let features = suite.features.iter().map(|feature| expansion.feature(feature)).collect();
    let mut cases = Vec::new();
    let mut names = BTreeSet::new();
    let mut owners: Vec<(String, Origin)> = Vec::new();
    for rule in &suite.rules {
        let made = expansion.rule(rule);
        expansion.duplicates(rule, &made, &mut owners);
        for mut case in made {
            case.name = naming::unlike(&case.name, &mut names);
            if is_wanted.is_none_or(|is_wanted| is_wanted(&case.rule)) {
                cases.push(case);
            }
        }
    }
    if expansion.wrong.is_empty() { Ok(ExpandedSuite { features, cases }) } else { Err(expansion.wrong) }
}

/// How many checks a case makes.
pub fn checks(case: &Case) -> u32 {
    case.script.steps.iter().map(checks_of).sum()
}

fn checks_of(step: &Step) -> u32 {
    match &step.action {
        Action::Block(steps) => steps.iter().map(checks_of).sum(),
        Action::Call(call) => call.expect.len() as u32,
        Action::Do(_) => 0,
    }
}

/// Whether the cases of a rule are wanted, by its name with its group's before it; none: all are.
type Wanted<'a> = Option<&'a dyn Fn(&str) -> bool>;

/// What grows while rules are expanded.
struct Expansion<'a> {
    suite: &'a Suite,
    is_wanted: Wanted<'a>,
    wrong: Vec<Diagnostic>,
    /// What was said, so that it is said once and not for every round.
    seen: BTreeSet<String>,
}

/// A case while its rounds are written.
struct Draft<'a> {
    actors: Vec<&'a Actor>,
    needs: BTreeSet<String>,
    rounds: Vec<Step>,
}

impl Expansion<'_> {
    fn say(&mut self, origin: &Origin, (message, hint): Problem) {
        let diagnostic = Diagnostic::error(origin, message).hint(hint);
        if self.seen.insert(diagnostic.to_string()) {
            self.wrong.push(diagnostic);
        }
    }

    fn feature(&mut self, feature: &super::rules::Feature) -> Feature {
        let numbers = self.numbers();
        let scope =
            Scope::new(numbers.iter().map(|(name, number)| (name.as_str(), number.as_str())).collect());
        let mut draft = Draft { actors: Vec::new(), needs: BTreeSet::new(), rounds: Vec::new() };
        let (steps, _) = self.steps(&feature.probe, &scope, &mut draft);
        let script = Script { actors: draft.actors.into_iter().cloned().collect(), steps };
        Feature { name: feature.name.clone(), text: feature.text.clone(), probe: script }
    }

    /// What `{actor}` stands for.
    fn numbers(&self) -> Vec<(String, String)> {
        let actors = self.suite.actors.iter().filter(|actor| actor.uid != SAME);
        actors.map(|actor| (actor.name.clone(), actor.uid.to_string())).collect()
    }

    fn rule(&mut self, rule: &Rule) -> Vec<Case> {
        let numbers = self.numbers();
        let constants: Combination<'_> =
            numbers.iter().chain(&rule.lets).map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let all = combinations(rule);
        let split = self.split(rule, &constants, &all);
        let mut groups: Vec<(Vec<&str>, Vec<&Combination<'_>>)> = Vec::new();
        for combination in &all {
            let key: Vec<&str> = split.iter().map(|name| value(combination, name)).collect();
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, members)) => members.push(combination),
                None => groups.push((key, vec![combination])),
            }
        }
        let mut used = BTreeSet::new();
        let mut cases = Vec::new();
        for (_, members) in &groups {
            if let Some(case) = self.case(rule, &constants, members, &split, &mut used) {
                cases.push((case, members[0]));
            }
        }
        if self.is_wanted.is_none() {
            self.unused(rule, &used);
        }
        naming::tell_apart(&mut cases, &split);
        cases.into_iter().map(|(case, _)| case).collect()
    }

    /// The variables whose values make cases: those that are named so, and those in what a case has once.
    fn split<'r>(
        &mut self,
        rule: &'r Rule,
        constants: &Combination<'_>,
        all: &[Combination<'_>],
    ) -> Vec<&'r str> {
        let mut names: BTreeSet<String> = rule.split.iter().cloned().collect();
        if let Some(first) = all.first() {
            let scope = Scope::new(constants.iter().chain(first).copied().collect());
            for text in [&rule.group, &rule.id].into_iter().chain(&rule.needs) {
                if let Err(problem) = scope.fill(text) {
                    self.say(&rule.origin, problem);
                }
            }
            names.extend(scope.used());
        }
        let variables = rule.axes.iter().flat_map(|axis| &axis.names);
        variables.filter(|name| names.contains(*name)).map(String::as_str).collect()
    }

    fn case(
        &mut self,
        rule: &Rule,
        constants: &Combination<'_>,
        members: &[&Combination<'_>],
        split: &[&str],
        used: &mut BTreeSet<String>,
    ) -> Option<Case> {
        let first = members.first()?;
        let scope = Scope::new(constants.iter().chain(first.iter()).copied().collect());
        let (group, id) = (scope.fill(&rule.group).ok()?, scope.fill(&rule.id).ok()?);
        let named = scope.used();
        let needs = self.needs(rule, &scope);
        used.extend(scope.used());
        let rule_name = format!("{group}/{id}");
        let mut draft = Draft { actors: Vec::new(), needs, rounds: Vec::new() };
        // One that is not wanted is there for its name alone: it is what others are told apart from.
        let is_wanted = self.is_wanted.is_none_or(|is_wanted| is_wanted(&rule_name));
        for combination in members.iter().filter(|_| is_wanted) {
            let scope = Scope::new(constants.iter().chain(combination.iter()).copied().collect());
            let (steps, right) = self.steps(&rule.steps, &scope, &mut draft);
            used.extend(scope.used());
            let label = naming::round(rule, combination, members);
            if right && steps.iter().map(checks_of).sum::<u32>() == 0 && !steps.is_empty() {
                let round = if label.is_empty() { String::new() } else { format!(" in the round {label}") };
                let message = format!("rule `{group}/{id}` checks nothing{round}");
                let hint = "an expectation makes a step a check: chmod f 0644 -> ok";
                self.say(&rule.origin, (message, hint.into()));
            }
            let origin = rule.origin.clone();
            draft.rounds.push(Step { label, action: Action::Block(steps), repeat: 1, origin });
        }
        let told = |name: &&&str| !named.contains(**name) && rule.split.iter().any(|known| known == **name);
        let values: Vec<&str> = split.iter().filter(told).map(|name| value(first, name)).collect();
        let name = naming::with(&rule_name, &values);
        Some(Case {
            name,
            rule: rule_name,
            group,
            text: self.sentence(rule, &rule.text, constants, members, used),
            source: self.sentence(rule, &rule.source, constants, members, used),
            class: rule.class,
            needs: draft.needs.into_iter().collect(),
            alone: rule.alone,
            script: Script { actors: draft.actors.into_iter().cloned().collect(), steps: draft.rounds },
        })
    }

    fn needs(&mut self, rule: &Rule, scope: &Scope<'_>) -> BTreeSet<String> {
        let mut needs = BTreeSet::new();
        let features = self.suite.features.iter().map(|feature| feature.name.as_str());
        let known: Vec<&str> = features.chain(KNOWN_FEATURES.iter().copied()).collect();
        for need in &rule.needs {
            let Ok(need) = scope.fill(need) else { continue };
            for need in need.split_whitespace() {
                if !known.contains(&need) {
                    let message = format!("needs `{need}`: there is no such feature");
                    self.say(&rule.origin, (message, suggestion(need, &known)));
                }
                needs.insert(need.into());
            }
        }
        needs
    }

    /// A sentence of a case; a variable of which the case has several values lists them.
    fn sentence(
        &mut self,
        rule: &Rule,
        text: &str,
        constants: &Combination<'_>,
        members: &[&Combination<'_>],
        used: &mut BTreeSet<String>,
    ) -> String {
        let lists: Vec<(&str, String)> =
            members[0].iter().map(|(name, _)| (*name, naming::listed(members, name))).collect();
        let listed = lists.iter().map(|(name, value)| (*name, value.as_str()));
        let scope = Scope::new(constants.iter().copied().chain(listed).collect());
        let filled = scope.fill(text);
        used.extend(scope.used());
        match filled {
            Ok(sentence) => sentence,
            Err(problem) => {
                self.say(&rule.origin, problem);
                String::new()
            }
        }
    }

    /// Every variable must change something.
    fn unused(&mut self, rule: &Rule, used: &BTreeSet<String>) {
        for axis in rule.axes.iter().filter(|axis| axis.values.len() > 1) {
            if !axis.names.iter().any(|name| used.contains(name)) {
                let message = format!("`for.{}`: the rule does not use it", axis.names.join(","));
                let hint = format!("put it in as {{{}}}, or leave it out", axis.names[0]);
                self.say(&axis.origin, (message, hint));
            }
        }
        for (name, _) in rule.lets.iter().filter(|(name, _)| !used.contains(name)) {
            let message = format!("`let.{name}`: the rule does not use it");
            self.say(&rule.origin, (message, format!("put it in as {{{name}}}, or leave it out")));
        }
    }

    fn duplicates(&mut self, rule: &Rule, made: &[Case], owners: &mut Vec<(String, Origin)>) {
        let names: BTreeSet<&str> = made.iter().map(|case| case.rule.as_str()).collect();
        for name in names {
            match owners.iter().find(|(known, _)| known == name) {
                Some((_, origin)) => {
                    let message = format!("`{name}`: there is a rule of that name already");
                    let hint = format!("it is at {origin}; give this one another id");
                    self.say(&rule.origin, (message, hint));
                }
                None => owners.push((name.into(), rule.origin.clone())),
            }
        }
    }
}

impl<'a> Expansion<'a> {
    /// The steps of a round, and whether all of them are right.
    fn steps(&mut self, lines: &[StepLine], scope: &Scope<'_>, draft: &mut Draft<'a>) -> (Vec<Step>, bool) {
        let (mut round, mut right) = (Round::default(), true);
        for line in lines {
            if let Err(problem) = self.line(&line.text, &line.origin, scope, draft, &mut round) {
                self.say(&line.origin, problem);
                right = false;
            }
        }
        if let Some((who, origin)) = round.waiting.pop() {
            let message = format!("`{who}` is not waited for");
            self.say(&origin, (message, format!("{who}: await -> …, in a later step")));
        }
        (round.steps, right)
    }

    fn line(
        &mut self,
        text: &str,
        origin: &Origin,
        scope: &Scope<'_>,
        draft: &mut Draft<'a>,
        round: &mut Round,
    ) -> Result<(), Problem> {
        let (conditions, rest) = step::conditions(text)?;
        for condition in &conditions {
            let value = scope.value(&condition.name).ok_or_else(|| {
                let message = format!("`[{}=…]`: there is no such variable", condition.name);
                (message, "a condition names a variable of `for` or `let`".to_string())
            })?;
            if !condition.holds(value) {
                return Ok(());
            }
        }
        let filled = scope.fill(rest)?;
        // A value may hold lines of its own, with conditions of their own.
        if filled.contains('\n') || filled.starts_with('[') {
            for line in
                filled.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
            {
                self.line(line, origin, scope, draft, round)?;
            }
            return Ok(());
        }
        if filled.is_empty() {
            return Ok(());
        }
        let parsed = step::parse(&filled, self.suite.vocabulary)?;
        let step = self.call(parsed, origin, draft, round)?;
        round.steps.push(step);
        Ok(())
    }

    fn call(
        &mut self,
        parsed: ParsedStep,
        origin: &Origin,
        draft: &mut Draft<'a>,
        round: &mut Round,
    ) -> Result<Step, Problem> {
        let ParsedStep { who, background, label, call: name, arguments, expect } = parsed;
        let actor = if who.is_empty() { None } else { Some(self.actor(&who, draft)?) };
        if background && actor.is_none() {
            return problem("only an actor can be left to wait", "p1&: CALL, and later p1: await");
        }
        if background && !expect.is_empty() {
            return problem("what is not waited for can be checked later only", format!("{who}: await -> …"));
        }
        calls::check(self.suite.vocabulary, &name, &arguments, &round.labels)?;
        if matches!(name.as_str(), "kill" | "blocked") {
            self.actor(&arguments[0], draft)?;
        }
        round.waiting(&who, &name, background, origin)?;
        for word in arguments.iter().map(String::as_str).chain(expect.iter().flat_map(compared)) {
            let found = dollar::names(word, &round.labels)?;
            draft.needs.extend(found.needs().map(String::from));
        }
        if calls::mounts(&name) {
            draft.needs.insert("mounts".into());
        }
        if !label.is_empty() {
            round.labels.push(label.clone());
        }
        let call = Call { name, arguments, actor, background, expect };
        Ok(Step { label, action: Action::Call(Box::new(call)), repeat: 1, origin: origin.clone() })
    }

    /// The actor's place in the script; one that has an identity needs privileges.
    fn actor(&mut self, name: &str, draft: &mut Draft<'a>) -> Result<usize, Problem> {
        if let Some(known) = draft.actors.iter().position(|actor| actor.name == name) {
            return Ok(known);
        }
        let suite: &'a Suite = self.suite;
        let Some(actor) = suite.actors.iter().find(|actor| actor.name == name) else {
            let names: Vec<&str> = suite.actors.iter().map(|actor| actor.name.as_str()).collect();
            return problem(format!("`{name}:` there is no such actor"), suggestion(name, &names));
        };
        if actor.uid != SAME || actor.gid != SAME || !actor.groups.is_empty() {
            draft.needs.insert("root".into());
        }
        draft.actors.push(actor);
        Ok(draft.actors.len() - 1)
    }
}

/// A round while its steps are written.
#[derive(Default)]
struct Round {
    steps: Vec<Step>,
    labels: Vec<String>,
    /// Actors that nobody has waited for yet.
    waiting: Vec<(String, Origin)>,
}

impl Round {
    fn waiting(&mut self, who: &str, name: &str, background: bool, origin: &Origin) -> Result<(), Problem> {
        let place = self.waiting.iter().position(|(known, _)| known == who);
        match (place, background, name) {
            (None, true, _) => self.waiting.push((who.into(), origin.clone())),
            (Some(place), false, "await") => drop(self.waiting.remove(place)),
            (None, false, "await") => {
                return problem("nothing to wait for", format!("{who}&: CALL, in a step before"));
            }
            (Some(_), ..) => {
                return problem(
                    format!("`{who}` has not answered yet"),
                    format!("{who}: await, in a step before"),
                );
            }
            _ => {}
        }
        if name == "kill" {
            // Nobody answers any more.
            self.waiting.retain(|(known, _)| known != who);
        }
        Ok(())
    }
}

/// The words of an expectation that may hold names.
fn compared(expect: &Expect) -> Vec<&str> {
    match expect {
        Expect::Succeeds | Expect::Fails(_) => Vec::new(),
        Expect::Answers(texts) => texts.iter().map(String::as_str).collect(),
        Expect::Attribute { value, .. } => value.split('|').collect(),
    }
}

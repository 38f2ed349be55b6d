//! TAP as other suites write it, pjdfstest's among them: lines to what they say.
//!
//! Judges nothing. A file that says `1..1` and a bare `ok 1` is how pjdfstest leaves a file out without a word: it is told
//! apart, for it is no pass.

/// One test file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Its name, as far as it is known.
    pub name: String,
    /// How many tests it meant to make; none: it did not say.
    pub planned: Option<u32>,
    /// Why it makes none at all.
    pub skipped: Option<String>,
    /// Its tests, in order.
    pub tests: Vec<TapTest>,
    /// Why it gave up.
    pub bail_out: Option<String>,
}

impl Script {
    /// Whether it says nothing but that one thing was fine, which is what pjdfstest says of files that it leaves out.
    pub fn is_silent(&self) -> bool {
        let silent = |test: &TapTest| test.ok && test.text.is_empty() && test.directive.is_none();
        self.planned == Some(1) && matches!(self.tests.as_slice(), [only] if silent(only))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TapTest {
    pub number: u32,
    /// Whether it passed.
    pub ok: bool,
    /// What it says of itself.
    pub text: String,
    /// TODO or SKIP, with the reason.
    pub directive: Option<(Directive, String)>,
}

/// What a test says of its worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directive {
    /// Its failure is expected.
    Todo,
    /// It was left out.
    Skip,
}

/// Reads TAP: one file's, or what `prove -v` prints of many.
pub fn parse(text: &str, name: &str) -> Vec<Script> {
    let mut scripts: Vec<Script> = Vec::new();
    let headed = text.lines().any(|line| heading(line).is_some());
    for line in text.lines() {
        if let Some(name) = heading(line) {
            scripts.push(Script { name: name.into(), ..Script::default() });
            continue;
        }
        if headed && scripts.is_empty() {
            continue;
        }
        if scripts.is_empty() {
            scripts.push(Script { name: name.into(), ..Script::default() });
        }
        if let Some(script) = scripts.last_mut() {
            read(script, line, headed);
        }
    }
    scripts
        .retain(|script| script.planned.is_some() || !script.tests.is_empty() || script.bail_out.is_some());
    scripts
}

/// `tests/chmod/00.t ....`, as prove begins a file.
fn heading(line: &str) -> Option<&str> {
    let (name, dots) = line.trim_end().split_once(' ')?;
    (name.ends_with(".t") && dots.len() >= 2 && dots.chars().all(|letter| letter == '.')).then_some(name)
}

fn read(script: &mut Script, line: &str, by_prove: bool) {
    if let Some(plan) = line.strip_prefix("1..") {
        let (count, rest) = plan.split_once('#').unwrap_or((plan, ""));
        let Ok(count) = count.trim().parse() else { return };
        script.planned = Some(count);
        if count == 0 {
            script.skipped =
                Some(directive(rest).map_or_else(|| rest.trim().to_string(), |(_, reason)| reason));
        }
        return;
    }
    if let Some(reason) = line.strip_prefix("Bail out!") {
        script.bail_out = Some(reason.trim().into());
        return;
    }
    let (ok, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => match line.strip_prefix("ok") {
            Some(rest) => (true, rest),
            None => return,
        },
    };
    // prove's own verdict on the file, or a word that merely begins so.
    if (rest.trim().is_empty() && by_prove) || !(rest.is_empty() || rest.starts_with(' ')) {
        return;
    }
    let rest = rest.trim_start();
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let number = rest[..digits].parse().unwrap_or(script.tests.len() as u32 + 1);
    let (text, directive) = split(rest[digits..].trim_start());
    script.tests.push(TapTest { number, ok, text: text.trim_start_matches('-').trim().into(), directive });
}

/// What a line says, and the directive at its end.
fn split(rest: &str) -> (&str, Option<(Directive, String)>) {
    for (at, _) in rest.match_indices('#') {
        let escaped = rest[..at].ends_with('\\');
        if let Some(found) = directive(&rest[at + 1..]).filter(|_| !escaped) {
            return (rest[..at].trim_end(), Some(found));
        }
    }
    (rest, None)
}

fn directive(text: &str) -> Option<(Directive, String)> {
    let text = text.trim();
    let word = text.split_whitespace().next()?;
    let kind = match word.to_ascii_lowercase() {
        word if word.starts_with("todo") => Directive::Todo,
        word if word.starts_with("skip") => Directive::Skip,
        _ => return None,
    };
    Some((kind, text[word.len()..].trim().into()))
}

/// What pjdfstest says of a failure: the call, what was expected, what came.
pub fn tried(text: &str) -> Option<(&str, &str, &str)> {
    let rest = text.strip_prefix("tried '")?;
    let (call, rest) = rest.rsplit_once("', expected ")?;
    let (expected, got) = rest.rsplit_once(", got ")?;
    Some((call, expected, got))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_pjdfstest() {
        let text = "1..4\nok 1\nnot ok 2 - tried '-u 65534 chmod f, g 0644', expected EPERM, got 0\n\
                    not ok 3 - tried 'lstat a nlink', expected 3, got 1 # TODO nlink of directories\nok 4 # skip no # room\n";
        let scripts = parse(text, "chmod/00.t");
        let [script] = scripts.as_slice() else { panic!("{scripts:?}") };
        assert_eq!((script.planned, script.tests.len(), script.name.as_str()), (Some(4), 4, "chmod/00.t"));
        let [one, two, three, four] = script.tests.as_slice() else { panic!() };
        assert!(one.ok && one.text.is_empty() && !script.is_silent());
        assert_eq!(tried(&two.text), Some(("-u 65534 chmod f, g 0644", "EPERM", "0")));
        assert_eq!(three.directive, Some((Directive::Todo, "nlink of directories".into())));
        assert!(!three.ok && three.text.ends_with("got 1"));
        assert_eq!(four.directive, Some((Directive::Skip, "no # room".into())));
    }

    #[test]
    fn skips_are_told_apart() {
        assert!(parse("1..1\nok 1\n", "x")[0].is_silent());
        assert!(!parse("1..1\nok 1 - it works\n", "x")[0].is_silent());
        assert_eq!(parse("1..0 # SKIP not here\n", "x")[0].skipped.as_deref(), Some("not here"));
        assert!(parse("no TAP at all\n", "x").is_empty());
    }

    #[test]
    fn many_files_as_prove_prints_them() {
        let text = "tests/chmod/00.t .. \n1..2\nok 1\nok 2\nok\ntests/open/01.t ... \n1..1\nok 1\nok\nAll tests successful.\nFiles=2\n";
        let scripts = parse(text, "all");
        assert_eq!(
            scripts.iter().map(|script| script.name.as_str()).collect::<Vec<_>>(),
            ["tests/chmod/00.t", "tests/open/01.t"]
        );
        assert_eq!(scripts[0].tests.len(), 2);
        assert!(scripts[1].is_silent());
    }
}

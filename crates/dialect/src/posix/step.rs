//! One step of a rule, as it is written: who, what, and what must come back.
//!
//! Knows the language's signs and no call: whether there is such a call is looked up in [`calls`](super::calls).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use iodyno_model::{Expect, word as bytes_word};

use super::vocabulary::Vocabulary;

/// What is wrong with a step, and what to do about it.
pub type Problem = (String, String);

/// An error of a message and a hint.
pub fn problem<T>(message: impl Into<String>, hint: impl Into<String>) -> Result<T, Problem> {
    Err((message.into(), hint.into()))
}

/// A step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedStep {
    /// Who does it; empty: the case's own process.
    pub who: String,
    /// Nobody waits for it.
    pub background: bool,
    /// The name of what comes back.
    pub label: String,
    pub call: String,
    pub arguments: Vec<String>,
    /// What must come back; empty: it belongs to the set-up.
    pub expect: Vec<Expect>,
}

/// When a line is there: a variable, and the values it must (or must not) have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The variable.
    pub name: String,
    /// Whether it must not have one of the values.
    pub not: bool,
    pub values: Vec<String>,
}

impl Condition {
    /// Whether a value of the variable meets it.
    pub fn holds(&self, value: &str) -> bool {
        self.values.iter().any(|known| known == value) != self.not
    }
}

/// The conditions before a step, and the step.
///
/// # Errors
/// A bracket that is not closed, or that holds no comparison.
pub fn conditions(line: &str) -> Result<(Vec<Condition>, &str), Problem> {
    let (mut list, mut rest) = (Vec::new(), line.trim());
    while let Some(inner) = rest.strip_prefix('[') {
        let hint = "a condition is [type=regular|fifo] or [type!=directory]";
        let Some((inner, after)) = inner.split_once(']') else {
            return problem("a condition without its `]`", hint);
        };
        let Some((name, values)) = inner.split_once('=') else {
            return problem(format!("`[{inner}]`: no condition"), hint);
        };
        let not = name.ends_with('!');
        let name = name.trim_end_matches('!').trim().to_string();
        list.push(Condition {
            name,
            not,
            values: values.split('|').map(|value| value.trim().into()).collect(),
        });
        rest = after.trim_start();
    }
    Ok((list, rest))
}

/// Letters, each with whether it stood in quotes; what is no UTF-8 is as [`iodyno_model::word`] writes it.
#[derive(Clone, Debug, Default, PartialEq)]
struct StepWord {
    letters: Vec<(char, bool)>,
    quoted: bool,
}

impl StepWord {
    fn text(&self) -> String {
        self.letters.iter().map(|(letter, _)| *letter).collect()
    }

    fn is(&self, text: &str) -> bool {
        !self.quoted && self.text() == text
    }

    /// The alternatives that bare `|` separate, each with whether it was in quotes.
    fn alternatives(&self) -> Vec<(String, bool)> {
        let mut list = vec![(String::new(), self.letters.is_empty() && self.quoted)];
        for (letter, quoted) in &self.letters {
            match (letter, quoted, list.last_mut()) {
                ('|', false, _) => list.push((String::new(), false)),
                (_, _, Some(last)) => {
                    last.0.push(*letter);
                    last.1 |= *quoted;
                }
                (_, _, None) => {}
            }
        }
        // An empty alternative can only be `""`.
        list.iter_mut().for_each(|(text, quoted)| *quoted |= text.is_empty() && self.quoted);
        list
    }

    /// The end of the name that it begins with.
    fn name_end(&self) -> usize {
        let part =
            |(letter, quoted): &(char, bool)| !quoted && (letter.is_ascii_alphanumeric() || *letter == '_');
        self.letters.iter().take_while(|letter| part(letter)).count()
    }
}

fn words(text: &str) -> Result<Vec<StepWord>, Problem> {
    let mut list = Vec::new();
    let mut letters = text.chars().peekable();
    let mut word: Option<StepWord> = None;
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' => list.extend(word.take()),
            '"' => {
                let word = word.get_or_insert_default();
                word.quoted = true;
                let text = quoted(&mut letters)?;
                word.letters.extend(bytes_word(&text).chars().map(|letter| (letter, true)));
            }
            letter => word.get_or_insert_default().letters.push((letter, false)),
        }
    }
    list.extend(word);
    Ok(list)
}

/// What stands up to the closing quote.
fn quoted(letters: &mut impl Iterator<Item = char>) -> Result<Vec<u8>, Problem> {
    let open = || {
        let hint = "close it; in TOML, steps with escapes or line ends in quotes stand between '''";
        ("a quote that is not closed".to_string(), hint.to_string())
    };
    let mut bytes = Vec::new();
    loop {
        match letters.next().ok_or_else(open)? {
            '"' => return Ok(bytes),
            '\\' => bytes.push(escape(letters)?),
            letter => bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

fn escape(letters: &mut impl Iterator<Item = char>) -> Result<u8, Problem> {
    let wrong = |what: &str| {
        (format!("`\\{what}`: no such escape"), "there are \\n \\t \\\\ \\\" \\0 and \\xNN".to_string())
    };
    match letters.next() {
        Some('n') => Ok(b'\n'),
        Some('t') => Ok(b'\t'),
        Some('0') => Ok(0),
        Some('\\') => Ok(b'\\'),
        Some('"') => Ok(b'"'),
        Some('x') => {
            let digits: String = letters.take(2).collect();
            u8::from_str_radix(&digits, 16).map_err(|_| wrong(&format!("x{digits}")))
        }
        other => Err(wrong(&other.map(String::from).unwrap_or_default())),
    }
}

/// A step without its conditions.
///
/// # Errors
/// It is none.
pub fn parse(text: &str, vocabulary: &Vocabulary) -> Result<ParsedStep, Problem> {
    let mut words = words(text)?;
    let at = words.iter().position(|word| word.is("->"));
    let expect = match at {
        Some(at) => {
            let expectations = words.split_off(at);
            if expectations.len() < 2 {
                return problem("nothing is expected after `->`", "e.g. -> ok, or -> EACCES|EPERM");
            }
            expectations[1..].iter().map(|word| expectation(word, vocabulary)).collect::<Result<_, _>>()?
        }
        None => Vec::new(),
    };
    let mut step = ParsedStep { expect, ..ParsedStep::default() };
    let mut rest = words.as_slice();
    if let [first, after @ ..] = rest
        && !first.quoted
        && let Some(who) = first.text().strip_suffix(':')
    {
        step.background = who.ends_with('&');
        step.who = who.trim_end_matches('&').into();
        rest = after;
    }
    if let [label, equals, after @ ..] = rest
        && equals.is("=")
    {
        step.label = label.text();
        if label.name_end() != step.label.len() || step.label.is_empty() {
            let message = format!("`{}`: no name for what comes back", step.label);
            return problem(message, "letters, digits and _");
        }
        rest = after;
    }
    let [call, arguments @ ..] = rest else {
        return problem("a step without a call", "[COND] WHO: LABEL = CALL ARGUMENT… -> EXPECTATION…");
    };
    step.call = call.text();
    step.arguments = arguments.iter().map(StepWord::text).collect();
    Ok(step)
}

/// Signs between an attribute and its value, longer ones first.
const RELATIONS: &[(&str, &str)] =
    &[("!=", "≠"), ("<=", "≤"), (">=", "≥"), ("=", "="), ("<", "<"), (">", ">")];

fn expectation(word: &StepWord, vocabulary: &Vocabulary) -> Result<Expect, Problem> {
    let end = word.name_end();
    let sign: String =
        word.letters[end..].iter().take_while(|(_, quoted)| !quoted).map(|(letter, _)| *letter).collect();
    if end > 0
        && let Some((written, relation)) = RELATIONS.iter().find(|(written, _)| sign.starts_with(written))
    {
        let name: String = word.letters[..end].iter().map(|(letter, _)| *letter).collect();
        let value: String = word.letters[end + written.len()..].iter().map(|(letter, _)| *letter).collect();
        if value.is_empty() && !word.quoted {
            return problem(format!("`{}`: nothing to compare with", word.text()), "e.g. mode=0644");
        }
        return Ok(Expect::Attribute { name, relation: (*relation).into(), value });
    }
    answers(&word.alternatives(), vocabulary)
}

fn answers(alternatives: &[(String, bool)], vocabulary: &Vocabulary) -> Result<Expect, Problem> {
    let is_error = vocabulary.is_error;
    for (text, quoted) in alternatives {
        let means_more = text == "ok" || is_error(text);
        if *quoted && means_more {
            let message = format!("\"{text}\": the text cannot be told from an answer of that name");
            return problem(
                message,
                format!("without quotes, if {text} is the answer; else choose another text"),
            );
        }
        if !quoted && !means_more && !text.starts_with('$') {
            return Err(unexpected(text, vocabulary));
        }
    }
    let texts: Vec<String> = alternatives.iter().map(|(text, _)| text.clone()).collect();
    Ok(match () {
        () if texts == ["ok"] => Expect::Succeeds,
        () if texts.iter().all(|text| is_error(text)) => Expect::Fails(texts),
        () => Expect::Answers(texts),
    })
}

fn unexpected(text: &str, vocabulary: &Vocabulary) -> Problem {
    let looks_like_error =
        text.len() > 2 && text.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit());
    let hint = match looks_like_error {
        true => crate::native::suggestion(text, &ERRORS.split(' ').collect::<Vec<_>>()),
        false => vocabulary.expected.into(),
    };
    (format!("`{text}`: nothing that can be expected"), hint)
}

/// Whether a text is the name of an error or a signal.
pub fn is_error(text: &str) -> bool {
    static NAMES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| ERRORS.split(' ').collect());
    NAMES.contains(text)
}

/// Errors and signals that an answer can be.
pub const ERRORS: &str = "\
    EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN EWOULDBLOCK ENOMEM EACCES \
    EFAULT ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG \
    ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP \
    ENODATA EOVERFLOW EILSEQ EOPNOTSUPP ENOTSUP EADDRINUSE EADDRNOTAVAIL ECONNREFUSED ECONNRESET \
    ENOTCONN ENOTSOCK EPROTOTYPE EPROTONOSUPPORT ETIMEDOUT EALREADY EINPROGRESS ESTALE EDQUOT ECANCELED \
    EBADFD EFTYPE ENOKEY EUCLEAN SIGBUS SIGSEGV SIGKILL SIGXFSZ SIGPIPE";

//! Steps in the language they were written in: for explanations, and to repeat what failed.
//!
//! What is shown can be put into a file of rules as it stands.

use iodyno_model::{Action, Call, Case, Expect, Script, Step, word_bytes};

/// The steps of a round as lines; `upto` is the last one by index, none: all.
pub fn round(script: &Script, round: &Step, upto: Option<usize>) -> Vec<String> {
    let Action::Block(steps) = &round.action else { return Vec::new() };
    let shown = steps.iter().take(upto.map_or(usize::MAX, |last| last + 1));
    shown.filter_map(|shown| step(script, shown)).collect()
}

/// The round of a case by its label.
pub fn round_named<'a>(case: &'a Case, label: &str) -> Option<&'a Step> {
    case.script.steps.iter().find(|round| round.label == label)
}

/// A step as it could have been written.
pub fn step(script: &Script, step: &Step) -> Option<String> {
    let Action::Call(call) = &step.action else { return None };
    let mut line = String::new();
    if let Some(actor) = call.actor.and_then(|index| script.actors.get(index)) {
        line.push_str(&format!("{}{}: ", actor.name, if call.background { "&" } else { "" }));
    }
    if !step.label.is_empty() {
        line.push_str(&format!("{} = ", step.label));
    }
    line.push_str(&words(call));
    if !call.expect.is_empty() {
        line.push_str(" ->");
        call.expect.iter().for_each(|expect| line.push_str(&format!(" {}", expectation(expect))));
    }
    Some(line)
}

fn words(call: &Call) -> String {
    let arguments = call.arguments.iter().map(|argument| word(argument));
    std::iter::once(call.name.clone()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// A word, in quotes where it needs them.
fn word(text: &str) -> String {
    let plain = |letter: char| !letter.is_whitespace() && !letter.is_control() && !"\"\\".contains(letter);
    let private = |letter: char| ('\u{f780}'..='\u{f7ff}').contains(&letter);
    if !text.is_empty() && text != "->" && text.chars().all(|letter| plain(letter) && !private(letter)) {
        return text.into();
    }
    quoted(text)
}

fn quoted(text: &str) -> String {
    let mut shown = String::from("\"");
    for chunk in word_bytes(text).utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '"' | '\\' => shown.extend(['\\', letter]),
                '\n' => shown.push_str("\\n"),
                '\t' => shown.push_str("\\t"),
                letter if letter.is_ascii_control() => {
                    shown.push_str(&format!("\\x{:02x}", u32::from(letter)))
                }
                letter => shown.push(letter),
            }
        }
        chunk.invalid().iter().for_each(|byte| shown.push_str(&format!("\\x{byte:02x}")));
    }
    shown.push('"');
    shown
}

/// An expectation as it is written.
pub fn expectation(expect: &Expect) -> String {
    match expect {
        Expect::Succeeds => "ok".into(),
        Expect::Fails(errors) => errors.join("|"),
        Expect::Answers(answers) => {
            let answer = |text: &String| match text.as_str() {
                "ok" => "ok".to_string(),
                error if super::step::is_error(error) => error.into(),
                text => quoted(text),
            };
            answers.iter().map(answer).collect::<Vec<_>>().join("|")
        }
        Expect::Attribute { name, relation, value } => {
            let written = match relation.as_str() {
                "≠" => "!=",
                "≤" => "<=",
                "≥" => ">=",
                relation => relation,
            };
            format!("{name}{written}{}", if value.is_empty() { "\"\"".into() } else { word(value) })
        }
    }
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Action, Script, Step};

    use super::super::step;

    #[test]
    fn what_is_shown_is_what_was_written() {
        for line in [
            "chmod f 0644",
            "h = open \"a b\" O_RDWR|O_CREAT 0 -> ok",
            "before = lstat f -> mode=0644 ctime>$before.ctime type=fifo|socket nlink!=1 size>=$PAGE",
            "unlink d/f -> EACCES|EPERM",
            "get f -> \"one\\n\\\"two\\\"\\x00\\xff\" ",
            "put f \"\" -> ok|EPERM",
            "readlink l -> \"a\"|\"b\"",
        ] {
            let parsed = step::parse(line.trim(), &super::super::vocabulary::FILES).unwrap();
            let call = iodyno_model::Call {
                name: parsed.call,
                arguments: parsed.arguments,
                expect: parsed.expect,
                ..iodyno_model::Call::default()
            };
            let action = Action::Call(Box::new(call));
            let step = Step { label: parsed.label, action, repeat: 1, origin: iodyno_model::Origin::Default };
            assert_eq!(super::step(&Script::default(), &step).unwrap(), line.trim());
        }
    }
}

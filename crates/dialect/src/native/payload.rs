//! `payload` and `verify`: what is written and how it is checked.

use iodyno_model::{
    Checksum, Content, HeaderStamp, Payload, PayloadMarks, Stamp, Template, Verify, VerifyWhen,
};

use super::fields::Fields;
use super::tree::Node;
use super::value::{Read, choice, count, flag, text};

/// The payload of a job.
pub(crate) fn read(fields: &Fields<'_>) -> Payload {
    let plain = Payload::default();
    let mut payload = match fields.node("payload") {
        Some(node) if node.word().is_none() => table(&Fields::new(node, "a payload", fields.wrong())),
        Some(_) => Payload { content: fields.or("payload", content, plain.content.clone()), ..plain },
        None => plain,
    };
    payload.verify = match fields.node("verify") {
        Some(node) if node.word().is_none() => {
            Some(checks(&Fields::new(node, "a verification", fields.wrong())))
        }
        Some(_) => fields.or("verify", flag, false).then(Verify::default),
        None => None,
    };
    payload
}

pub(super) fn content(node: &Node) -> Read<Content> {
    match node.word() {
        Some(word) if word.starts_with("0x") => pattern(&word[2..]).map(Content::Pattern),
        _ => choice(&[
            ("random", Content::Random),
            ("zeros", Content::Zero),
            ("scrambled", Content::Scrambled),
            ("carried", Content::Carried),
            ("marked", Content::Marked(PayloadMarks::default())),
        ])(node)
        .map_err(|error| format!("{error}, or a pattern such as \"0xdeadbeef\"")),
    }
}

fn pattern(digits: &str) -> Read<Vec<u8>> {
    let expected = || "expected an even number of hexadecimal digits after 0x".to_string();
    if digits.is_empty() || digits.len() % 2 == 1 || !digits.is_ascii() {
        return Err(expected());
    }
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| expected());
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn table(fields: &Fields<'_>) -> Payload {
    let mut payload = Payload::default();
    fields.fill(&mut payload);
    if let Content::Marked(marked) = &mut payload.content {
        fields.fill(marked);
    }
    fields.unknown();
    payload
}

fn checks(fields: &Fields<'_>) -> Verify {
    let when = [
        ("on read", VerifyWhen::OnRead),
        ("after writes", VerifyWhen::AfterWrites),
        ("never", VerifyWhen::Never),
    ];
    let batch = fields.or("batch", count, 0);
    let backlog = fields.get("backlog", count).map(|writes| VerifyWhen::Backlog { writes, batch });
    let when = backlog.unwrap_or_else(|| fields.or("when", choice(&when), VerifyWhen::OnRead));
    let mut verify = Verify { when, ..Verify::default() };
    fields.fill(&mut verify);
    fields.entry("when");
    fields.unknown();
    verify
}

/// `block`, `content`, `nothing`, a pattern, or the name of a checksum behind a header.
pub(super) fn stamp(node: &Node) -> Read<Stamp> {
    Ok(match text(node)?.as_str() {
        "block" => Stamp::Block,
        "content" => Stamp::Content,
        "nothing" => Stamp::Nothing,
        word if word.starts_with("0x") => {
            Stamp::Pattern(Template { bytes: pattern(&word[2..])?, offsets: Vec::new() })
        }
        name => match Checksum::named(name) {
            Some(checksum) => Stamp::Header(HeaderStamp::new(checksum)),
            None => {
                let names: Vec<_> = Checksum::ALL.iter().map(|checksum| checksum.name()).collect();
                return Err(format!(
                    "expected block, content, nothing, a pattern such as \"0xdeadbeef\", or a checksum: {}",
                    names.join(" ")
                ));
            }
        },
    })
}

//! `payload` and `verify`: what is written and how it is checked.

use iodyno_model::{
    Checksum, Content, Dedupe, HeaderStamp, Marked, Marks, Payload, Refresh, Stamp, Template, Verify,
    VerifyWhen,
};

use super::fields::Fields;
use super::tree::Node;
use super::value::{Read, bytes, choice, count, flag, small, some_bytes, text, whole, whole_percent};

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

fn content(node: &Node) -> Read<Content> {
    match node.word() {
        Some(word) if word.starts_with("0x") => pattern(&word[2..]).map(Content::Pattern),
        _ => choice(&[
            ("random", Content::Random),
            ("zeros", Content::Zero),
            ("scrambled", Content::Scrambled),
            ("carried", Content::Carried),
            ("marked", Content::Marked(Marked::default())),
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
    let plain = Payload::default();
    let mut payload = Payload {
        content: fields.or("content", content, plain.content),
        compress_percent: fields.or("compress", whole_percent, 0),
        compress_chunk_bytes: fields.or("compress_chunk", bytes, 0),
        dedupe_percent: fields.or("dedupe", whole_percent, 0),
        dedupe_chunk_bytes: fields.or("dedupe_chunk", bytes, 0),
        dedupe: Dedupe::Few,
        refresh: if fields.flag("same_in_every_write") { Refresh::Once } else { Refresh::EachWrite },
        seed: fields.get("seed", whole),
        verify: None,
    };
    if let Content::Marked(marked) = &mut payload.content {
        marked.marks = fields.or("marks", choice(MARKS), Marks::Counted);
        marked.signature = fields.or("signature", small, 0);
    }
    fields.unknown();
    payload
}

const MARKS: &[(&str, Marks)] = &[
    ("counted", Marks::Counted),
    ("placed", Marks::Placed),
    ("drawn", Marks::Drawn),
    ("drawn once", Marks::DrawnOnce),
];

fn checks(fields: &Fields<'_>) -> Verify {
    let when = [
        ("on read", VerifyWhen::OnRead),
        ("after writes", VerifyWhen::AfterWrites),
        ("never", VerifyWhen::Never),
    ];
    let batch = fields.or("batch", count, 0);
    let backlog = fields.get("backlog", count).map(|writes| VerifyWhen::Backlog { writes, batch });
    let verify = Verify {
        stamp: fields.or("stamp", stamp, Stamp::Block),
        when: backlog.unwrap_or_else(|| fields.or("when", choice(&when), VerifyWhen::OnRead)),
        interval_bytes: fields.or("interval", some_bytes, 0),
        fatal: fields.flag("fatal"),
        wrong_is_read: fields.flag("wrong_is_read"),
        helpers: fields.or("helpers", small, 0),
        only: fields.flag("only"),
        dump: fields.flag("dump"),
        ..Verify::default()
    };
    fields.entry("when");
    fields.unknown();
    verify
}

/// `block`, `content`, `nothing`, a pattern, or the name of a checksum behind a header.
fn stamp(node: &Node) -> Read<Stamp> {
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

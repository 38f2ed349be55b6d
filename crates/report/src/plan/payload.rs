//! Buffer content and its verification in words.

use iodyno_model::{Content, Dedupe, HeaderStamp, Payload, Stamp, Template, TrimBack, Verify, VerifyWhen};

use super::exact::many;
use super::phrase::{phrases, word};

/// The lines of a payload that is not the default, without their indent.
pub(crate) fn lines(payload: &Payload) -> Vec<String> {
    let mut lines = Vec::new();
    let plain = Payload { verify: None, ..payload.clone() };
    if plain != Payload::default() {
        lines.push(format!("payload {}", content(payload)));
    }
    lines.extend(payload.verify.as_ref().map(verify));
    lines
}

fn content(payload: &Payload) -> String {
    let mut words = vec![match &payload.content {
        Content::Random => "random".to_string(),
        Content::Zero => "zeros".into(),
        Content::Pattern(pattern) => format!("pattern 0x{}", hexadecimal(pattern)),
        Content::Repeated(template) => format!("pattern {} in each write", words_of(template)),
        Content::Carried => "what was read".into(),
        Content::Scrambled => "scrambled".into(),
        Content::Marked(marked) => format!("{}, signature {}", word(&marked.marks), marked.signature),
    }];
    words.extend(phrases(payload, "compress_percent compress_chunk_bytes dedupe_percent"));
    if payload.dedupe_percent > 0 {
        words.extend(repeated(payload.dedupe));
    }
    words.extend(phrases(payload, "dedupe_chunk_bytes refresh seed"));
    words.join(" · ")
}

fn repeated(dedupe: Dedupe) -> Option<String> {
    match dedupe {
        Dedupe::Few => None,
        Dedupe::Own => Some("of the job's own".into()),
        Dedupe::WorkingSet { percent, shared } => {
            let whose = if shared { "all jobs' one" } else { "a" };
            Some(format!("of {whose} working set of {percent} %"))
        }
        Dedupe::Mixed { few_percent, own_percent } => {
            let rest = if few_percent + own_percent > 0.0 { "the rest" } else { "all" };
            let parts = [(few_percent, "of a few"), (own_percent, "of a few of the file's own")];
            let parts = parts.into_iter().filter(|(percent, _)| *percent > 0.0);
            let mut parts: Vec<_> =
                parts.map(|(percent, what)| format!("{percent} % of these {what}")).collect();
            parts.push(format!("{rest} alike at each place of all files"));
            Some(parts.join(", "))
        }
    }
}

/// Bytes in hexadecimal; of many, the first and how many they are.
fn hexadecimal(bytes: &[u8]) -> String {
    const SHOWN: usize = 512;
    if bytes.len() > SHOWN {
        return format!("{}… ({} in all)", hexadecimal(&bytes[..32]), many(bytes.len() as u64, "byte"));
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A template as its bytes, `offset` where offsets go.
fn words_of(template: &Template) -> String {
    let mut words = Vec::new();
    let mut from = 0;
    let hex = |bytes: &[u8]| (!bytes.is_empty()).then(|| format!("0x{}", hexadecimal(bytes)));
    for offset in &template.offsets {
        let at = (*offset as usize).clamp(from, template.bytes.len());
        words.extend(hex(&template.bytes[from..at]));
        words.push("offset".into());
        from = (at + 8).min(template.bytes.len());
    }
    words.extend(hex(&template.bytes[from..]));
    words.join(" + ")
}

fn verify(verify: &Verify) -> String {
    let stamp = match &verify.stamp {
        Stamp::Block => "stamps".to_string(),
        Stamp::Header(header) => header_words(header),
        Stamp::Pattern(template) => format!("the pattern {}", words_of(template)),
        Stamp::Content => "content".into(),
        Stamp::Nothing => "nothing".into(),
    };
    let mut words = vec![format!("verify {stamp}"), when(verify.when)];
    words.extend(phrases(verify, "only only_counts policy interval_bytes pattern_interval_bytes"));
    words.extend(verify.trim.as_ref().map(trim));
    let rest = "helpers helper_cpus first_worker fatal wrong_is_read dump layout map map_live";
    words.extend(phrases(verify, rest));
    if let Some(state) = &verify.state {
        words.extend(state.load.then(|| format!("as far as {} says", state.path)));
        words.extend(state.save.then(|| format!("state kept in {}", state.path)));
    }
    words.join(" · ")
}

fn header_words(header: &HeaderStamp) -> String {
    let mut text = format!("{} headers", header.checksum.name());
    if header.offset_bytes > 0 {
        text.push_str(&format!(" at byte {}", header.offset_bytes));
    }
    if let Some(pattern) = &header.pattern {
        text.push_str(&format!(" and the pattern {}", words_of(pattern)));
    }
    if !header.seed_checked {
        text.push_str(", any seed");
    }
    if !header.number_checked {
        text.push_str(", any number");
    }
    text
}

fn trim(trim: &TrimBack) -> String {
    let zero = if trim.reads_zero { ", which must read as zeros" } else { "" };
    format!("{} % trimmed, looked for after every {}{zero}", trim.percent, many(trim.every_writes, "write"))
}

fn when(when: VerifyWhen) -> String {
    match when {
        VerifyWhen::OnRead => "whatever is read".into(),
        VerifyWhen::AfterWrites => "all that was written, after the writes".into(),
        VerifyWhen::Never => "not by this job".into(),
        VerifyWhen::Backlog { writes, batch: 0 } => {
            format!("after every {} all of them", many(writes, "write"))
        }
        VerifyWhen::Backlog { writes, batch } => {
            format!("as {} wait the oldest {batch} of them, and the rest at the end", many(writes, "write"))
        }
    }
}

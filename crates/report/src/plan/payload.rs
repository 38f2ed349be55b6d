//! Buffer content and its verification in words.

use iodyno_model::{Content, Payload, Refresh, Stamp, Verify, VerifyWhen};

use super::exact::{bytes, many};

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
        Content::Pattern(pattern) => {
            format!("pattern 0x{}", pattern.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
        Content::Carried => "what was read".into(),
        Content::Scrambled => "scrambled".into(),
    }];
    if payload.compress_percent > 0 {
        words.push(format!("{} % compresses away", payload.compress_percent));
    }
    if payload.compress_chunk_bytes > 0 {
        words.push(format!("in chunks of {}", bytes(payload.compress_chunk_bytes)));
    }
    if payload.dedupe_percent > 0 {
        words.push(format!("{} % repeat an earlier block", payload.dedupe_percent));
    }
    if payload.refresh == Refresh::Once {
        words.push("the same in every write".into());
    }
    words.extend(payload.seed.map(|seed| format!("seed {seed}")));
    words.join(" · ")
}

fn verify(verify: &Verify) -> String {
    let stamp = match &verify.stamp {
        Stamp::Block => "stamps".to_string(),
        Stamp::Foreign(name) => format!("{name} stamps"),
        Stamp::Content => "content".into(),
    };
    let mut words = vec![format!("verify {stamp}"), when(verify.when)];
    if verify.interval_bytes > 0 {
        words.push(format!("one for every {}", bytes(verify.interval_bytes)));
    }
    if verify.helpers > 0 {
        words.push(format!("by {}", many(verify.helpers.into(), "helper")));
    }
    if verify.fatal {
        words.push("the first bad block ends it".into());
    }
    words.join(" · ")
}

fn when(when: VerifyWhen) -> String {
    match when {
        VerifyWhen::OnRead => "whatever is read".into(),
        VerifyWhen::AfterWrites => "all that was written, after the writes".into(),
        VerifyWhen::Backlog { writes, batch: 0 } => {
            format!("after every {} all of them", many(writes, "write"))
        }
        VerifyWhen::Backlog { writes, batch } => {
            format!("after every {} the last {batch} of them, and the rest at the end", many(writes, "write"))
        }
    }
}

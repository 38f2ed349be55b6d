//! What is in the buffers: content, how often it changes, how far it compresses and repeats.
//!
//! Ours neither compresses nor repeats unless a job asks for something else; fio's own nearly constant data comes with
//! `--also data=fio`.

use iodyno_model::{Content, Dedupe, Payload, Refresh};

use super::ask::Ask;
use super::template;
use crate::Loader;

/// The content of a job's buffers, without verification.
pub fn payload(ask: &mut Ask<'_>, loader: &mut dyn Loader) -> Payload {
    let compress = ask.whole("buffer_compress_percentage").unwrap_or(0).clamp(0, 100) as u8;
    let dedupe_percent = ask.whole("dedupe_percentage").unwrap_or(0).clamp(0, 100) as u8;
    let mut payload = Payload { compress_percent: compress, dedupe_percent, ..Payload::default() };
    if compress > 0 {
        let chunk = ask.whole("buffer_compress_chunk").unwrap_or(512).max(0);
        payload.compress_chunk_bytes = chunk as u64;
    }
    if dedupe_percent > 0 {
        payload.dedupe = dedupe(ask);
    }
    let refills = ask.flag("refill_buffers", false) || compress > 0 || dedupe_percent > 0;
    content(ask, refills, &mut payload, loader);
    payload
}

fn content(ask: &mut Ask<'_>, refills: bool, payload: &mut Payload, loader: &mut dyn Loader) {
    if let Some(text) = ask.text("buffer_pattern") {
        match template::parse(text, loader) {
            Ok(template) => payload.content = Content::Repeated(template),
            Err(reason) => {
                ask.refuse("buffer_pattern", format!("`buffer_pattern={text}`: {reason}"), template::HINT);
            }
        }
        if payload.compress_percent == 0 && payload.dedupe_percent == 0 {
            payload.refresh = Refresh::Once;
        }
        return;
    }
    if ask.flag("zero_buffers", false) {
        payload.content = Content::Zero;
        payload.refresh = Refresh::Once;
        return;
    }
    // What fio leaves in its buffers is nearly constant; ours is new in each write.
    if !refills && loader.also("data").as_deref() == Some("fio") {
        match ask.flag("scramble_buffers", true) {
            true => payload.content = Content::Scrambled,
            false => payload.refresh = Refresh::Once,
        }
    }
}

fn dedupe(ask: &Ask<'_>) -> Dedupe {
    let shared = ask.flag("dedupe_global", false);
    match ask.word("dedupe_mode") {
        Some("working_set") => Dedupe::WorkingSet {
            percent: ask.whole("dedupe_working_set_percentage").unwrap_or(5).clamp(1, 100) as f64,
            shared,
        },
        _ if shared => Dedupe::Few,
        _ => Dedupe::Own,
    }
}

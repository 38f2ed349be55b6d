//! What is in the buffers: content, how often it changes, how far it compresses and repeats.
//!
//! fio fills a buffer once and then changes a few words of it in each write (`scramble_buffers`), which compressors and
//! some devices take for nearly nothing. So does ours; `--also data=unique` writes data that neither compress nor repeat.

use iodyno_model::{Content, Dedupe, Payload, Refresh, Verify};

use super::option_reader::OptionReader;
use super::{JobContext, template};
use crate::Loader;

/// What a job's buffers hold, and how it is checked.
pub fn payload(
    ask: &mut OptionReader<'_>,
    found: &JobContext,
    verify: Option<Verify>,
    loader: &mut dyn Loader,
) -> Payload {
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
    // Whoever verifies gets new data in each write, unless the job says otherwise.
    let refills = ask.flag("refill_buffers", verify.is_some()) || compress > 0 || dedupe_percent > 0;
    content(ask, found, refills, &mut payload, loader);
    Payload { verify, ..payload }
}

fn content(
    ask: &mut OptionReader<'_>,
    found: &JobContext,
    refills: bool,
    payload: &mut Payload,
    loader: &mut dyn Loader,
) {
    if let Some(template) = template::of(ask, "buffer_pattern", found.block_bytes_most(), loader) {
        if !template.offsets.is_empty() {
            let hint = "%o is for verify_pattern, whose bytes are made anew for each write";
            ask.refuse("buffer_pattern", "buffer_pattern: %o has no meaning here", hint);
        }
        payload.content = Content::Repeated(template);
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
    let writes = found.direction.writes || found.replay.is_some();
    if writes && !refills && loader.also("data").as_deref() != Some("unique") {
        match ask.flag("scramble_buffers", true) {
            true => payload.content = Content::Scrambled,
            false => payload.refresh = Refresh::Once,
        }
    }
}

fn dedupe(ask: &OptionReader<'_>) -> Dedupe {
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

//! What is in the buffers: content, how often it changes, how far it compresses and repeats.
//!
//! Ours neither compresses nor repeats unless a job asks for something else; fio's own nearly constant data comes with
//! `--also data=fio`.

use iodyno_model::{Content, Payload, Refresh};

use super::ask::Ask;
use crate::Loader;

/// The content of a job's buffers.
pub fn payload(ask: &mut Ask<'_>, loader: &mut dyn Loader) -> Payload {
    let scrambled = loader.also("data").as_deref() == Some("fio");
    let refills = ask.flag("refill_buffers", false);
    let mut payload = Payload::default();
    if ask.flag("zero_buffers", false) {
        payload.content = Content::Zero;
        payload.refresh = Refresh::Once;
    } else if scrambled && !refills {
        if ask.flag("scramble_buffers", true) {
            payload.content = Content::Scrambled;
        } else {
            payload.refresh = Refresh::Once;
        }
    }
    payload
}

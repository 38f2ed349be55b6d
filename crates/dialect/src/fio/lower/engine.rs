//! Engines by fio's names: which of ours they are, what they can, and their own options.

use iodyno_model::{Depth, Setting};

use super::ask::Ask;

/// An engine of a job.
#[derive(Clone, Debug)]
pub struct Engine {
    /// The engine room's name.
    pub name: &'static str,
    /// fio's name.
    pub word: String,
    /// Whether it hands over without waiting.
    pub asynchronous: bool,
    /// Whether it touches no file.
    pub diskless: bool,
    /// Whether it moves nothing, so that no size is needed.
    pub sizeless: bool,
    /// Whether a file must have its length before it is written.
    pub cannot_extend: bool,
    /// Its options.
    pub settings: Vec<Setting>,
}

/// fio's name, ours, whether asynchronous.
const ENGINES: [(&str, &str, bool); 9] = [
    ("psync", "psync", false),
    ("sync", "psync", false),
    ("vsync", "pvsync", false),
    ("pvsync", "pvsync", false),
    ("pvsync2", "pvsync", false),
    ("libaio", "libaio", true),
    ("io_uring", "io_uring", true),
    ("posixaio", "posixaio", true),
    ("mmap", "mmap", false),
];

impl Engine {
    /// What a job says.
    pub fn of(ask: &mut Ask<'_>) -> Engine {
        let word = ask.word("ioengine").unwrap_or("psync").to_string();
        let plain = |name, asynchronous| Engine {
            name,
            word: word.clone(),
            asynchronous,
            diskless: false,
            sizeless: false,
            cannot_extend: name == "mmap",
            settings: Vec::new(),
        };
        if word == "null" {
            return Engine { diskless: true, ..plain("null", true) };
        }
        match ENGINES.iter().find(|known| known.0 == word) {
            Some((_, name, asynchronous)) => plain(name, *asynchronous),
            None => {
                let known: Vec<_> = ENGINES.iter().map(|known| known.0).collect();
                ask.refuse(
                    "ioengine",
                    format!("engine `{word}` is not served yet"),
                    format!("null {}", known.join(" ")),
                );
                plain("psync", false)
            }
        }
    }
}

/// `iodepth` and how operations are handed over and taken back.
pub fn depth(ask: &Ask<'_>) -> Depth {
    let most = ask.count("iodepth").unwrap_or(1).max(1);
    let batch = match ask.count("iodepth_batch") {
        Some(0) => most,
        Some(batch) => batch.min(most),
        None => 0,
    };
    Depth {
        most,
        submit_batch: batch,
        reap_least: ask.count("iodepth_batch_complete_min").unwrap_or(1).min(most),
        low: ask.count("iodepth_low").filter(|low| *low < most).unwrap_or(0),
        ..Depth::default()
    }
}

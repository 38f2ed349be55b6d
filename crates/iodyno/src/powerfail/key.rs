//! The key of a log over TCP: from a file or the environment, never from a command line, which everybody can read.

use clap::Args;
use iodyno_crash::powerfail::channel::SharedKey;
use iodyno_model::Diagnostic;
use iodyno_model::origin::plain;

use super::wrong;

/// The variable that may hold the key.
const VARIABLE: &str = "IODYNO_POWERFAIL_KEY";

#[derive(Args, Clone, Debug)]
pub struct KeyArgs {
    /// File with the key that writer and listener share [default: $IODYNO_POWERFAIL_KEY]
    #[arg(long, value_name = "FILE")]
    key_file: Option<String>,
}

impl KeyArgs {
    /// # Errors
    /// There is no key, or it is too short.
    pub fn key(&self) -> Result<SharedKey, Diagnostic> {
        const HINT: &str =
            "make one: head -c 32 /dev/urandom | base64 > KEY, and give --key-file KEY to both ends";
        let (place, bytes) = match &self.key_file {
            Some(path) => {
                let read = std::fs::read(path);
                (path.as_str(), read.map_err(|error| wrong(path, plain(&error), HINT))?)
            }
            None => match std::env::var(VARIABLE) {
                Ok(key) if !key.is_empty() => (VARIABLE, key.into_bytes()),
                _ => return Err(wrong("--key-file", "a log over TCP needs a key that both ends have", HINT)),
            },
        };
        SharedKey::new(&bytes).map_err(|why| wrong(place, why, HINT))
    }
}

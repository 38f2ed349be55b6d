//! Secrets taken out of words and files before anybody reads them: in their place stands `***`, and the engine's store of
//! secrets has what it stands for.
//!
//! A word that stays anywhere (a report, the history, a message, another host's command line) is one that this file let
//! through.

use std::io::{self, Read};

use iodyno_dialect::secrets::{self, SecretPlace};
use iodyno_engine::{Failure, secrets as kept};
use iodyno_model::{Diagnostic, Origin, Plan, SecretKind};

/// Read at once from standard input, bytes.
const CHUNK_BYTES: usize = 64 << 10;

/// The words of this process's command line. Those that held a secret are overwritten where the system keeps them.
///
/// # Errors
/// A secret that cannot be kept.
pub fn of_process() -> Result<Vec<String>, Failure> {
    kept::hide_environment();
    let words = std::env::args_os()
        .map(|word| word.into_string().unwrap_or_else(|word| word.to_string_lossy().into_owned()));
    let mut words: Vec<String> = words.collect();
    let places = secrets::in_words(&words);
    if places.is_empty() {
        return Ok(words);
    }
    let parts: Vec<_> = places
        .iter()
        .map(|(number, place)| {
            // A word that is no text is longer than what was read of it.
            let to_end = place.range.end == words[*number].len();
            (*number, place.range.start..if to_end { usize::MAX } else { place.range.end })
        })
        .collect();
    let outcome = replace_all(&mut words, &places);
    kept::overwrite_arguments(&parts);
    kept::are_in_words();
    outcome.map(|()| words)
}

fn replace_all(words: &mut [String], places: &[(usize, SecretPlace)]) -> Result<(), Failure> {
    // From the end, so that a word's earlier places stay where they are.
    for (number, place) in places.iter().rev() {
        replace(&mut words[*number], place)?;
    }
    Ok(())
}

/// Puts what stands for it in the place of a secret, and overwrites the text that held it.
fn replace(text: &mut String, place: &SecretPlace) -> Result<(), Failure> {
    let standing = kept::keep(place.kind, &text[place.range.clone()]);
    let (before, behind) = (&text[..place.range.start], &text[place.range.end..]);
    let clean = [before, standing.as_deref().unwrap_or("***"), behind].concat();
    kept::wipe(&mut std::mem::replace(text, clean).into_bytes());
    standing.map(drop)
}

/// What a job file or script said, without its secrets. A variable (`${NAME}`) in a secret's place is looked up here: the
/// dialect that would do so must not see its value.
///
/// # Errors
/// A secret that cannot be kept.
pub fn out_of_file(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // Job files are text; what is none is for its reader to refuse.
        Err(other) => return Ok(other.into_bytes()),
    };
    for place in secrets::in_text(&text).into_iter().rev() {
        let said = &text[place.range.clone()];
        let place = match said.contains("${") {
            true => {
                let value = with_variables(said);
                let end = place.range.start + value.len();
                let longer = [&text[..place.range.start], &value, &text[place.range.end..]].concat();
                kept::wipe(&mut value.into_bytes());
                kept::wipe(&mut std::mem::replace(&mut text, longer).into_bytes());
                SecretPlace { range: place.range.start..end, ..place }
            }
            false => place,
        };
        if !place.range.is_empty() {
            replace(&mut text, &place).map_err(|failure| failure.message)?;
        }
    }
    Ok(text.into_bytes())
}

/// A variable that is not set is empty, as it is in job files.
fn with_variables(text: &str) -> String {
    let (mut done, mut rest) = (String::with_capacity(1024), text);
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((name, after)) = behind.split_once('}') else { break };
        done.push_str(before);
        let value = std::env::var(name).unwrap_or_default();
        done.push_str(&value);
        kept::wipe(&mut value.into_bytes());
        rest = after;
    }
    done + rest
}

/// All that comes, without a copy of it in memory that was given back.
///
/// # Errors
/// As of the reader.
pub fn read_all(mut reader: impl Read) -> io::Result<Vec<u8>> {
    let (mut all, mut chunk) = (Vec::new(), vec![0; CHUNK_BYTES]);
    loop {
        let read = reader.read(&mut chunk);
        let count = match read {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if all.capacity() - all.len() < count {
            let mut more: Vec<u8> = Vec::with_capacity((all.len() + count) * 2);
            more.extend_from_slice(&all);
            kept::wipe(&mut all);
            all = more;
        }
        all.extend_from_slice(&chunk[..count]);
    }
    kept::wipe(&mut chunk);
    Ok(all)
}

/// What is computed of the access key that a text stands for; of the environment's where that one is not kept.
pub fn with_access_key<T>(standing: &str, compute: impl FnOnce(&str) -> T) -> T {
    let of_environment = || std::env::var("AWS_ACCESS_KEY_ID").unwrap_or_default();
    kept::with(SecretKind::AccessKey, standing, |key| compute(key.unwrap_or(&of_environment())))
}

/// Words that were stored hold stand-ins, which keep their numbers.
///
/// # Errors
/// As of the store of secrets.
pub fn recall(words: &[String]) -> Result<(), Failure> {
    let places = secrets::in_words(words);
    places.iter().try_for_each(|(number, place)| {
        kept::keep(place.kind, &words[*number][place.range.clone()]).map(drop)
    })
}

/// Says that a plan's keys were not stored, and where they are looked for.
pub fn note(plan: &Plan, origin: &Origin) -> Option<Diagnostic> {
    let message = "its keys were not stored: those of the environment are used";
    let note = Diagnostic::note(origin, message);
    kept::are_missing(plan).then(|| {
        note.hint("AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, where there was one, AWS_SESSION_TOKEN")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_loses_its_secrets_and_nothing_else() {
        let said =
            "[j]\nhttp_s3_key=of-the-file ; c\nhttp_host=h\nhttp_s3_sse_customer_key=${NO_SUCH_VARIABLE}\n";
        let clean = String::from_utf8(out_of_file(said.into()).unwrap()).unwrap();
        assert_eq!(clean, "[j]\nhttp_s3_key=*** ; c\nhttp_host=h\nhttp_s3_sse_customer_key=\n");
        assert_eq!(out_of_file(vec![0xff, 0xfe]).unwrap(), [0xff, 0xfe]);
        assert_eq!(with_variables("a${NO_SUCH_VARIABLE}b${c"), "ab${c");
        let long: Vec<u8> = (0..200_000u32).map(|number| number as u8).collect();
        assert_eq!(read_all(long.as_slice()).unwrap(), long);
    }
}

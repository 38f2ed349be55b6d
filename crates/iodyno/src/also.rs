//! Our own words beside an original's command line: `--also WORDS` and the environment's `IODYNO_ALSO`.
//!
//! In a drop-in every option belongs to the original; these words are taken out before its dialect sees the rest.
//! They ask for nothing that changes what the original does; a word that is not known is refused, never ignored.
//! A dialect that understands a word asks its loader for it.

use iodyno_dialect::{ReportFile, Run};
use iodyno_model::{Diagnostic, Origin};

const WORDS: &str = "the words are destroy=DEVICE, json=FILE, csv=FILE, data=fio, live, ranks and witness=off, with commas between them";

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Also {
    /// Devices that may be written to although somebody may still need them, by the very names that are used.
    pub destroy: Vec<String>,
    /// Format and path of each result file.
    pub files: Vec<(&'static str, String)>,
    /// Whether the witnesses stay at home.
    pub unwatched: bool,
    /// Words that the dialect itself understands, with their values.
    pub wishes: Vec<(String, String)>,
}

impl Also {
    /// Takes our words out of the arguments; the environment's come first.
    ///
    /// # Errors
    /// The first word that is none of ours.
    pub fn take(arguments: &[String], environment: Option<&str>) -> Result<(Also, Vec<String>), Diagnostic> {
        let (mut also, mut others) = (Also::default(), Vec::new());
        also.words("IODYNO_ALSO", environment.unwrap_or(""))?;
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.strip_prefix("--also") {
                Some("") => {
                    let none = || refused("--also", "no words follow");
                    also.words("--also", rest.next().ok_or_else(none)?)?;
                }
                Some(words) if words.starts_with('=') => also.words("--also", &words[1..])?,
                _ => others.push(argument.clone()),
            }
            if argument == "--" {
                others.extend(rest.by_ref().cloned());
            }
        }
        Ok((also, others))
    }

    fn words(&mut self, place: &str, words: &str) -> Result<(), Diagnostic> {
        words.split(',').filter(|word| !word.is_empty()).try_for_each(|word| self.word(place, word))
    }

    fn word(&mut self, place: &str, word: &str) -> Result<(), Diagnostic> {
        match word.split_once('=') {
            Some((_, "")) => return Err(refused(place, &format!("`{word}` names nothing"))),
            Some(("destroy", device)) => self.destroy.push(device.into()),
            Some(("json", path)) => self.files.push(("json", path.into())),
            Some(("csv", path)) => self.files.push(("csv", path.into())),
            Some(("witness", "off")) => self.unwatched = true,
            Some(("data", "fio")) => self.wishes.push(("data".into(), "fio".into())),
            None if word == "ranks" => self.files.push(("ranks", "/dev/stderr".into())),
            None if word == "live" => self.wishes.push(("live".into(), String::new())),
            _ => return Err(refused(place, &format!("`{word}` is no word of it"))),
        }
        Ok(())
    }

    /// Adds what was asked for to a run.
    pub fn join(self, run: &mut Run) {
        run.plan.destroy.extend(self.destroy);
        let file = |(format, path): (&str, String)| ReportFile { path, format: format.into() };
        run.files.extend(self.files.into_iter().map(file));
    }
}

fn refused(place: &str, what: &str) -> Diagnostic {
    Diagnostic::error(&Origin::argument(place), what).hint(WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(line: &str, environment: Option<&str>) -> Result<(Also, String), String> {
        let arguments: Vec<String> = line.split_whitespace().map(Into::into).collect();
        let taken = Also::take(&arguments, environment).map_err(|wrong| wrong.message)?;
        Ok((taken.0, taken.1.join(" ")))
    }

    #[test]
    fn only_our_words_are_taken() {
        let (also, rest) =
            take("a --also=destroy=/dev/x,json=r b --also csv=c --alsoran -- --also=q", Some("witness=off"))
                .unwrap();
        assert_eq!(rest, "a b --alsoran -- --also=q");
        let files = vec![("json", "r".to_string()), ("csv", "c".to_string())];
        assert_eq!(also, Also { destroy: vec!["/dev/x".into()], files, unwatched: true, wishes: Vec::new() });
        assert_eq!(take("a", None), Ok((Also::default(), "a".into())));
    }

    #[test]
    fn what_is_no_word_is_refused() {
        for line in ["--also=html=f", "--also=witness=on", "--also", "--also destroy=", "--also=destroy"] {
            assert!(take(line, None).is_err(), "{line}");
        }
        assert!(take("", Some("lively")).unwrap_err().contains("`lively`"));
    }
}

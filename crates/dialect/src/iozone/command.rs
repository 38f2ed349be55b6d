//! Words of a command line, as iozone's getopt takes them: letters together, `-+` and a letter, values behind or next.
//!
//! It knows which options take a value, and refuses what the table refuses; what values mean is judged in
//! [`super::settings`].

use iodyno_model::{Diagnostic, Origin};

use super::options::TABLE;

/// One option as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its name in the table.
    pub name: &'static str,
    /// Its value; of `-F` the first of several.
    pub value: String,
    /// Further values.
    pub more: Vec<String>,
    /// Where it stands.
    pub origin: Origin,
}

/// The options of a command line, in its order.
///
/// # Errors
/// All that is no option, is refused, or lacks its value.
pub fn parse(arguments: &[String]) -> Result<Vec<Word>, Vec<Diagnostic>> {
    let mut parser = Parser { rest: arguments.iter(), words: Vec::new(), wrong: Vec::new(), streams: 0 };
    while let Some(argument) = parser.rest.next() {
        match argument.strip_prefix('-') {
            Some(letters) if letters.starts_with('+') => parser.plus(argument),
            Some(letters) if !letters.is_empty() => parser.letters(letters),
            _ => parser.stray(argument),
        }
    }
    if parser.wrong.is_empty() { Ok(parser.words) } else { Err(parser.wrong) }
}

struct Parser<'a> {
    rest: std::slice::Iter<'a, String>,
    words: Vec<Word>,
    wrong: Vec<Diagnostic>,
    /// The most streams named so far: as many names follow `-F`.
    streams: usize,
}

impl Parser<'_> {
    fn stray(&mut self, argument: &str) {
        let message = "iozone takes options alone";
        self.wrong
            .push(Diagnostic::error(&Origin::argument(argument), message).hint("-f FILE names the file"));
    }

    fn plus(&mut self, argument: &str) {
        self.option(&argument[1..], argument, None);
    }

    fn letters(&mut self, letters: &str) {
        for (at, letter) in letters.char_indices() {
            let behind = &letters[at + letter.len_utf8()..];
            let name = letter.to_string();
            let valued = TABLE.find(&name).is_some_and(|entry| !entry.value.is_empty());
            self.option(&name, &format!("-{name}"), (valued && !behind.is_empty()).then_some(behind));
            if valued {
                return;
            }
        }
    }

    fn option(&mut self, name: &str, typed: &str, behind: Option<&str>) {
        let origin = Origin::argument(typed);
        let entry = match TABLE.check(name, &origin) {
            Ok(entry) => entry,
            Err(wrong) => {
                // What follows a refused option is its value all the same.
                if behind.is_none() && TABLE.find(name).is_some_and(|entry| !entry.value.is_empty()) {
                    self.rest.next();
                }
                return self.wrong.push(wrong);
            }
        };
        let mut word = Word { name: entry.name, value: String::new(), more: Vec::new(), origin };
        if !entry.value.is_empty() {
            let Some(value) = behind.map(String::from).or_else(|| self.rest.next().cloned()) else {
                let message = format!("`{typed}` needs a value");
                let hint = format!("{typed} {}", entry.value);
                return self.wrong.push(Diagnostic::error(&word.origin, message).hint(hint));
            };
            word.origin = Origin::argument(&format!("{typed} {value}"));
            word.value = value;
        }
        match entry.name {
            "t" | "u" => self.streams = self.streams.max(word.value.parse().unwrap_or(0)),
            "F" => self.names(&mut word),
            _ => {}
        }
        self.words.push(word);
    }

    /// As many names as there are streams.
    fn names(&mut self, word: &mut Word) {
        if self.streams == 0 {
            let message = "-F needs to know how many names follow";
            return self.wrong.push(Diagnostic::error(&word.origin, message).hint("say -t N before -F"));
        }
        while word.more.len() + 1 < self.streams {
            match self.rest.next() {
                Some(name) if !name.starts_with('-') => word.more.push(name.clone()),
                _ => {
                    let message = format!("{} names for {} streams", word.more.len() + 1, self.streams);
                    let hint = "name a file for each stream";
                    return self.wrong.push(Diagnostic::error(&word.origin, message).hint(hint));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Result<Vec<Word>, Vec<Diagnostic>> {
        parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    fn shown(line: &str) -> String {
        let words = words(line).unwrap();
        let one = |word: &Word| match word.value.as_str() {
            "" => word.name.to_string(),
            value => format!(
                "{}={value}{}",
                word.name,
                word.more.iter().map(|name| format!(",{name}")).collect::<String>()
            ),
        };
        words.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn letters_stand_together_and_values_behind_or_next() {
        assert_eq!(shown("-Ra"), "R a");
        assert_eq!(shown("-Rab output.wks"), "R a b=output.wks");
        assert_eq!(shown("-i0 -i 1 -s64m -+n -+m list -C"), "i=0 i=1 s=64m +n +m=list C");
        assert_eq!(shown("-t 2 -F a b -x"), "t=2 F=a,b x");
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let wrong = words("-+H there -%  file -s -t").unwrap_err();
        let told: Vec<_> = wrong.iter().map(|wrong| wrong.message.as_str()).collect();
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(words("-F a b").unwrap_err()[0].hint.is_some());
        assert!(words("-t 3 -F a b -C").unwrap_err()[0].message.contains("2 names for 3 streams"));
    }

    #[test]
    fn mangled_lines_are_refused_or_taken_and_never_more() {
        let letters: Vec<char> = "-+aAbFst0129krigRm ,x".chars().collect();
        let mut state = 7u64;
        for _ in 0..5000 {
            let mut line = String::new();
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                line.push(letters[(state >> 33) as usize % letters.len()]);
            }
            let _ = words(&line);
        }
    }
}

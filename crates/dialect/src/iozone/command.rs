//! The options of a command line, as iozone's getopt takes them: letters together, `-+` and a letter, values behind or next.
//!
//! It knows which options take a value, and refuses what the table refuses; what values mean is judged in
//! [`super::settings`].

use iodyno_model::{Diagnostic, Origin};

use super::options::TABLE;
use crate::option::{Arguments, GivenOption, Syntax, Token};

/// One option as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionValue {
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
pub fn parse(arguments: &[String]) -> Result<Vec<OptionValue>, Vec<Diagnostic>> {
    let rest = Arguments::new(&TABLE, SYNTAX, arguments);
    let mut parser = Parser { rest, words: Vec::new(), wrong: Vec::new(), streams: 0 };
    while let Some(token) = parser.rest.next() {
        let taken = match token {
            Ok(Token::Option(given)) => parser.option(given),
            Ok(Token::Operand(argument)) => Err(stray(argument)),
            Ok(Token::Separator) => TABLE.check("-", &Origin::argument("--")).map(|_| ()),
            Err(misfit) => Err(misfit.diagnostic(&TABLE, "iozone -h lists the options")),
        };
        parser.wrong.extend(taken.err());
    }
    if parser.wrong.is_empty() { Ok(parser.words) } else { Err(parser.wrong) }
}

/// Long names are the aliases alone: `--help`, `--version`.
const SYNTAX: Syntax = Syntax {
    long: Some(|table, name| table.find(name).filter(|entry| entry.aliases.contains(&name))),
    plus_names: true,
    ..Syntax::GETOPT
};

struct Parser<'a> {
    rest: Arguments<'a>,
    words: Vec<OptionValue>,
    wrong: Vec<Diagnostic>,
    /// The most streams named so far: as many names follow `-F`.
    streams: usize,
}

fn stray(argument: &str) -> Diagnostic {
    Diagnostic::error(&Origin::argument(argument), "iozone takes options alone")
        .hint("-f FILE names the file")
}

impl Parser<'_> {
    fn option(&mut self, given: GivenOption<'_>) -> Result<(), Diagnostic> {
        let typed = format!("-{}", given.entry.name);
        let entry = TABLE.check(given.entry.name, &Origin::argument(&typed))?;
        let value = given.value.unwrap_or_default().to_string();
        let origin = Origin::argument(&given.value.map_or(typed.clone(), |value| format!("{typed} {value}")));
        let mut word = OptionValue { name: entry.name, value, more: Vec::new(), origin };
        match entry.name {
            "t" | "u" => self.streams = self.streams.max(word.value.parse().unwrap_or(0)),
            "F" => self.names(&mut word)?,
            _ => {}
        }
        self.words.push(word);
        Ok(())
    }

    /// As many names as there are streams.
    fn names(&mut self, word: &mut OptionValue) -> Result<(), Diagnostic> {
        if self.streams == 0 {
            let message = "-F needs to know how many names follow";
            return Err(Diagnostic::error(&word.origin, message).hint("say -t N before -F"));
        }
        while word.more.len() + 1 < self.streams {
            let Some(name) = self.rest.shift().filter(|name| !name.starts_with('-')) else {
                let message = format!("{} names for {} streams", word.more.len() + 1, self.streams);
                return Err(Diagnostic::error(&word.origin, message).hint("name a file for each stream"));
            };
            word.more.push(name.to_string());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Result<Vec<OptionValue>, Vec<Diagnostic>> {
        parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    fn shown(line: &str) -> String {
        let words = words(line).unwrap();
        let one = |word: &OptionValue| match word.value.as_str() {
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
        assert_eq!(shown("--help --version"), "h v");
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let wrong = words("-+H there -%  file -s -t").unwrap_err();
        let told: Vec<_> = wrong.iter().map(|wrong| wrong.message.as_str()).collect();
        assert_eq!(told.len(), 3, "{told:?}");
        let long = words("--foo").unwrap_err();
        assert!(long[0].to_string().starts_with("error: --foo: iozone has no option `foo`"), "{long:?}");
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

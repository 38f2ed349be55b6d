//! dd's command line as values: operands, numbers, symbols, and GNU's words for what is wrong with them.

use super::number::{Number, number};
use super::options::SETTERS;
use super::quote::Marks;
use crate::option::{Arguments, Misfit, Spelling, Syntax, Table, Token, Word, switch};

/// What the command line says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Operands {
    /// `if=`; none: standard input.
    pub input: Option<String>,
    /// `of=`; none: standard output.
    pub output: Option<String>,
    /// `bs=` in bytes.
    pub block_bytes: Option<u64>,
    /// `ibs=` in bytes.
    pub input_block_bytes: Option<u64>,
    /// `obs=` in bytes.
    pub output_block_bytes: Option<u64>,
    /// `cbs=` in bytes.
    pub record_bytes: Option<u64>,
    /// `count=`.
    pub count: Option<Number>,
    /// `skip=`.
    pub skip: Number,
    /// `seek=`.
    pub seek: Number,
    /// Symbols of `conv=`.
    pub conversions: Vec<&'static str>,
    /// Symbols of `iflag=`.
    pub input_flags: Vec<&'static str>,
    /// Symbols of `oflag=`.
    pub output_flags: Vec<&'static str>,
    /// `status=`; none: everything but progress.
    pub level: Option<&'static str>,
    /// What is said before the copy begins, without `dd: `.
    pub warnings: Vec<String>,
    /// Whether the last number has a factor of `0x`.
    is_zero_times: bool,
}

/// Symbols of `conv=` that change bytes: what they change is gathered into writes, also with `bs=`.
const CONVERTING: [&str; 8] = ["ascii", "ebcdic", "ibm", "block", "unblock", "lcase", "ucase", "swab"];

/// Why there is nothing to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlyExit {
    /// `--help`.
    Help,
    /// `--version`.
    Version,
    /// An error that points to `--help`.
    Usage(String),
    Error(String),
}

/// What is wrong with an operand's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Wrong {
    /// It is no number, or 0 where that makes no sense.
    Number,
    /// It is more than fits.
    TooLarge,
    /// It has no such symbol: what the symbols are, and this one.
    Symbol(&'static str, String),
}

/// Parses the command line.
///
/// # Errors
/// What is to be printed instead of copying.
pub fn parse(arguments: &[String], marks: Marks) -> Result<Operands, EarlyExit> {
    let mut operands = Operands::default();
    for argument in operands_of(arguments)? {
        operands.set(argument, marks)?;
    }
    operands.check_combinations()?;
    Ok(operands)
}

const SWITCHES: Table =
    Table { tool: "dd", spelling: Spelling::Dashed, entries: &[switch("help", ""), switch("version", "")] };

/// Options may stand anywhere before `--`, and the first one decides; what is left are operands.
fn operands_of(arguments: &[String]) -> Result<Vec<&str>, EarlyExit> {
    let mut operands = Vec::new();
    let syntax = Syntax { is_abbreviated: true, ..Syntax::GETOPT };
    let mut rest = Arguments::new(&SWITCHES, syntax, arguments);
    while let Some(token) = rest.next() {
        match token {
            Ok(Token::Option(given)) if given.entry.name == "help" => return Err(EarlyExit::Help),
            Ok(Token::Option(_)) => return Err(EarlyExit::Version),
            Ok(Token::Operand(operand)) => operands.push(operand),
            Ok(Token::Separator) => operands.extend(std::iter::from_fn(|| rest.shift())),
            Err(Misfit::Unknown { argument, is_long: true, .. }) => {
                return Err(EarlyExit::Usage(format!("unrecognized option '{argument}'")));
            }
            Err(misfit) => return Err(EarlyExit::Usage(misfit.getopt(&SWITCHES))),
        }
    }
    Ok(operands)
}

/// Adds the symbols of a list, each once.
pub(super) fn add_symbols(
    known: &mut Vec<&'static str>,
    list: &str,
    symbols: &'static [Word],
    what: &'static str,
) -> Result<(), Wrong> {
    for symbol in list.split(',') {
        let word = symbols.iter().find(|word| word.name == symbol);
        let name = word.ok_or_else(|| Wrong::Symbol(what, symbol.into()))?.name;
        // What was said last counts of a level.
        known.retain(|known| *known != name);
        known.push(name);
    }
    Ok(())
}

impl Operands {
    /// The size of a read, in bytes.
    pub fn read_bytes(&self) -> u64 {
        self.block_bytes.or(self.input_block_bytes).unwrap_or(512)
    }

    /// The size of a write, in bytes.
    pub fn write_bytes(&self) -> u64 {
        self.block_bytes.or(self.output_block_bytes).unwrap_or(512)
    }

    /// Whether reads are gathered until a write is full: always, unless `bs=` says that blocks pass as they are.
    pub fn gathers(&self) -> bool {
        self.block_bytes.is_none() || CONVERTING.iter().any(|symbol| self.converts(symbol))
    }

    /// Whether warnings are wanted.
    pub fn speaks(&self) -> bool {
        self.level != Some("none")
    }

    /// Whether `conv=` has the symbol.
    pub fn converts(&self, symbol: &str) -> bool {
        self.conversions.contains(&symbol)
    }

    fn set(&mut self, argument: &str, marks: Marks) -> Result<(), EarlyExit> {
        let unrecognized = || EarlyExit::Usage(format!("unrecognized operand {}", marks.word(argument)));
        let (name, value) = argument.split_once('=').ok_or_else(unrecognized)?;
        let known = SETTERS.iter().find(|setter| setter.entry.answers_to(name)).ok_or_else(unrecognized)?;
        // None of them has bounds.
        known.apply(self, value, |_| Wrong::Number).map_err(|wrong| match wrong {
            Wrong::Number => EarlyExit::Error(format!("invalid number: {}", marks.word(value))),
            Wrong::TooLarge => {
                let value = marks.word(value);
                EarlyExit::Error(format!("invalid number: {value}: Value too large for defined data type"))
            }
            Wrong::Symbol(what, symbol) => {
                EarlyExit::Usage(format!("invalid {what}: {}", marks.word(&symbol)))
            }
        })?;
        if std::mem::take(&mut self.is_zero_times) {
            let (zero, twice) = (marks.word("0x"), marks.word("00x"));
            self.warnings
                .push(format!("warning: {zero} is a zero multiplier; use {twice} if that is intended"));
        }
        Ok(())
    }

    /// A number of blocks or bytes.
    pub(super) fn number(&mut self, text: &str) -> Result<Number, Wrong> {
        let number = number(text)?;
        self.is_zero_times = number.zero_times;
        Ok(number)
    }

    /// The size of a block, bytes.
    pub(super) fn block_size(&mut self, text: &str) -> Result<u64, Wrong> {
        match self.number(text)?.value {
            0 => Err(Wrong::Number),
            bytes if bytes == i64::MAX as u64 => Err(Wrong::TooLarge),
            bytes => Ok(bytes),
        }
    }

    fn check_combinations(&mut self) -> Result<(), EarlyExit> {
        let both = |a: &str, b: &str| self.converts(a) && self.converts(b);
        let one_of = |text: &str| Err(EarlyExit::Error(format!("cannot combine {text}")));
        if both("ascii", "ebcdic") || both("ascii", "ibm") || both("ebcdic", "ibm") {
            return one_of("any two of {ascii,ebcdic,ibm}");
        }
        let any = |symbols: &[&str]| symbols.iter().any(|symbol| self.converts(symbol));
        if self.record_bytes.is_some() && any(&["block", "ebcdic", "ibm"]) && any(&["unblock", "ascii"]) {
            return one_of("block and unblock");
        }
        for (a, b) in [("lcase", "ucase"), ("excl", "nocreat")] {
            if both(a, b) {
                return one_of(&format!("{a} and {b}"));
            }
        }
        for flags in [&self.input_flags, &self.output_flags] {
            if flags.contains(&"direct") && flags.contains(&"nocache") {
                return one_of("direct and nocache");
            }
        }
        if self.output_flags.contains(&"append") && !self.converts("notrunc") {
            self.warnings.push("you probably want conv=notrunc with oflag=append".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Operands, EarlyExit> {
        let arguments: Vec<String> = line.split_whitespace().map(Into::into).collect();
        parse(&arguments, Marks::Plain)
    }

    #[test]
    fn the_last_of_several_wins_and_symbols_add_up() {
        let operands = read("bs=1 count=2 count=3 bs=2 conv=sync conv=noerror status=none,noxfer").unwrap();
        assert_eq!((operands.block_bytes, operands.count.unwrap().value), (Some(2), 3));
        assert_eq!(operands.conversions, ["sync", "noerror"]);
        assert_eq!(operands.level, Some("noxfer"));
        assert!(!operands.gathers() && read("ibs=512").unwrap().gathers());
    }

    #[test]
    fn what_is_wrong_in_gnus_words() {
        let usage = |text: &str| Err(EarlyExit::Usage(text.into()));
        let error = |text: &str| Err(EarlyExit::Error(text.into()));
        assert_eq!(read("x"), usage("unrecognized operand 'x'"));
        assert_eq!(read("--foo bs=4q"), usage("unrecognized option '--foo'"));
        assert_eq!(read("--help=3"), usage("option '--help' doesn't allow an argument"));
        assert_eq!(read("-x"), usage("invalid option -- 'x'"));
        assert_eq!(read("bs=4q --he"), Err(EarlyExit::Help));
        assert_eq!(read("bs=4q xx"), error("invalid number: '4q'"));
        assert_eq!(read("bs=0"), error("invalid number: '0'"));
        assert_eq!(read("bs=8E"), error("invalid number: '8E': Value too large for defined data type"));
        assert_eq!(read("conv=notrunc,"), usage("invalid conversion: ''"));
        assert_eq!(read("oflag=fullblock"), usage("invalid output flag: 'fullblock'"));
        assert_eq!(read("conv=excl,nocreat"), error("cannot combine excl and nocreat"));
        assert_eq!(read("iflag=direct,nocache"), error("cannot combine direct and nocache"));
        assert_eq!(read("conv=ebcdic,unblock cbs=3"), error("cannot combine block and unblock"));
        assert_eq!(read("conv=ascii,ibm"), error("cannot combine any two of {ascii,ebcdic,ibm}"));
        assert!(read("conv=block,unblock").is_ok(), "without cbs= neither is done");
    }
}

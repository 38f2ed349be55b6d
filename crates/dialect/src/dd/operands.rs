//! dd's command line as values: operands, numbers, symbols, and GNU's words for what is wrong with them.

use super::number::{Bad, Number, number};
use super::options::TABLE;
use super::quote::Marks;
use crate::option::{Entry, Status};

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
}

/// Why there is nothing to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instead {
    /// `--help`.
    Help,
    /// `--version`.
    Version,
    /// An error that points to `--help`.
    Usage(String),
    /// An error.
    Error(String),
}

/// Reads the command line.
///
/// # Errors
/// What is to be printed instead of copying.
pub fn parse(arguments: &[String], marks: Marks) -> Result<Operands, Instead> {
    let mut operands = Operands::default();
    for argument in operands_of(arguments)? {
        operands.take(argument, marks)?;
    }
    operands.check_combinations()?;
    Ok(operands)
}

/// Options may stand anywhere before `--`, and the first one decides; what is left are operands.
fn operands_of(arguments: &[String]) -> Result<Vec<&str>, Instead> {
    let mut operands = Vec::new();
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        match argument.strip_prefix('-') {
            Some("-") => {
                operands.extend(rest);
                break;
            }
            Some(long) if long.starts_with('-') => return Err(long_option(argument)),
            Some(short) if !short.is_empty() => {
                let letter = short.chars().next().unwrap_or('-');
                return Err(Instead::Usage(format!("invalid option -- '{letter}'")));
            }
            _ => operands.push(argument),
        }
    }
    Ok(operands)
}

fn long_option(argument: &str) -> Instead {
    let (name, value) =
        argument.split_once('=').map_or((argument, None), |(name, value)| (name, Some(value)));
    let known = ["--help", "--version"].into_iter().find(|known| known.starts_with(name) && name.len() > 2);
    match (known, value) {
        (Some(known), Some(_)) => Instead::Usage(format!("option '{known}' doesn't allow an argument")),
        (Some("--help"), None) => Instead::Help,
        (Some(_), None) => Instead::Version,
        (None, _) => Instead::Usage(format!("unrecognized option '{argument}'")),
    }
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
        self.block_bytes.is_none()
    }

    /// Whether warnings are wanted.
    pub fn speaks(&self) -> bool {
        self.level != Some("none")
    }

    /// Whether `conv=` has the symbol.
    pub fn converts(&self, symbol: &str) -> bool {
        self.conversions.contains(&symbol)
    }

    fn take(&mut self, argument: &str, marks: Marks) -> Result<(), Instead> {
        let unrecognized = || Instead::Usage(format!("unrecognized operand {}", marks.word(argument)));
        let (name, value) = argument.split_once('=').ok_or_else(unrecognized)?;
        let entry = TABLE.find(name).ok_or_else(unrecognized)?;
        match entry.name {
            "if" => self.input = Some(value.into()),
            "of" => self.output = Some(value.into()),
            "conv" => symbols(entry, value, "conversion", marks, &mut self.conversions)?,
            "iflag" => symbols(entry, value, "input flag", marks, &mut self.input_flags)?,
            "oflag" => symbols(entry, value, "output flag", marks, &mut self.output_flags)?,
            "status" => {
                let mut levels = Vec::new();
                symbols(entry, value, "status level", marks, &mut levels)?;
                self.level = levels.last().copied();
            }
            name => self.take_number(name, value, marks)?,
        }
        Ok(())
    }

    fn take_number(&mut self, name: &str, value: &str, marks: Marks) -> Result<(), Instead> {
        let invalid = |why: &str| Instead::Error(format!("invalid number: {}{why}", marks.word(value)));
        const TOO_LARGE: &str = ": Value too large for defined data type";
        let number = number(value).map_err(|bad| match bad {
            Bad::Invalid => invalid(""),
            Bad::Overflow => invalid(TOO_LARGE),
        })?;
        if number.zero_times {
            let (zero, twice) = (marks.word("0x"), marks.word("00x"));
            self.warnings
                .push(format!("warning: {zero} is a zero multiplier; use {twice} if that is intended"));
        }
        match name {
            "count" => self.count = Some(number),
            "skip" => self.skip = number,
            "seek" => self.seek = number,
            _ if number.value == 0 => return Err(invalid("")),
            _ if number.value == i64::MAX as u64 => return Err(invalid(TOO_LARGE)),
            "bs" => self.block_bytes = Some(number.value),
            "ibs" => self.input_block_bytes = Some(number.value),
            "obs" => self.output_block_bytes = Some(number.value),
            _ => {}
        }
        Ok(())
    }

    fn check_combinations(&mut self) -> Result<(), Instead> {
        let both = |a: &str, b: &str| self.converts(a) && self.converts(b);
        let one_of = |text: &str| Err(Instead::Error(format!("cannot combine {text}")));
        if both("ascii", "ebcdic") || both("ascii", "ibm") || both("ebcdic", "ibm") {
            return one_of("any two of {ascii,ebcdic,ibm}");
        }
        for (a, b) in [("block", "unblock"), ("lcase", "ucase"), ("excl", "nocreat")] {
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
        self.refuse_conversions()
    }

    fn refuse_conversions(&self) -> Result<(), Instead> {
        let refused = super::options::CONVERSIONS.iter().filter(|word| self.converts(word.name));
        for word in refused {
            if let Status::Refused(why, hint) = word.status {
                return Err(Instead::Error(format!(
                    "conv={} is not supported: {why}\n hint: {hint}",
                    word.name
                )));
            }
        }
        Ok(())
    }
}

fn symbols(
    entry: &Entry,
    list: &str,
    what: &str,
    marks: Marks,
    into: &mut Vec<&'static str>,
) -> Result<(), Instead> {
    for symbol in list.split(',') {
        let unknown = || Instead::Usage(format!("invalid {what}: {}", marks.word(symbol)));
        let word = entry.word(symbol).ok_or_else(unknown)?;
        if !into.contains(&word.name) || entry.name == "status" {
            into.push(word.name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Operands, Instead> {
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
        let usage = |text: &str| Err(Instead::Usage(text.into()));
        let error = |text: &str| Err(Instead::Error(text.into()));
        assert_eq!(read("x"), usage("unrecognized operand 'x'"));
        assert_eq!(read("--foo bs=4q"), usage("unrecognized option '--foo'"));
        assert_eq!(read("--help=3"), usage("option '--help' doesn't allow an argument"));
        assert_eq!(read("-x"), usage("invalid option -- 'x'"));
        assert_eq!(read("bs=4q --he"), Err(Instead::Help));
        assert_eq!(read("bs=4q xx"), error("invalid number: '4q'"));
        assert_eq!(read("bs=0"), error("invalid number: '0'"));
        assert_eq!(read("bs=8E"), error("invalid number: '8E': Value too large for defined data type"));
        assert_eq!(read("conv=notrunc,"), usage("invalid conversion: ''"));
        assert_eq!(read("oflag=fullblock"), usage("invalid output flag: 'fullblock'"));
        assert_eq!(read("conv=excl,nocreat"), error("cannot combine excl and nocreat"));
        assert_eq!(read("iflag=direct,nocache"), error("cannot combine direct and nocache"));
        let Err(Instead::Error(refused)) = read("conv=lcase") else { panic!("lcase was accepted") };
        assert!(refused.starts_with("conv=lcase is not supported: ") && refused.contains("\n hint: "));
    }
}

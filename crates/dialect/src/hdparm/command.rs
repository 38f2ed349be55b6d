//! hdparm's command line, in any order, as getopt_long takes it.

use iodyno_model::Origin;

use super::options::{self, SETTERS, TABLE};
use crate::option::{Arguments, Entry, Misfit, Syntax, Token, setter};

/// What the command line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// `-T`.
    pub cached: bool,
    /// `-t`.
    pub device: bool,
    /// `--direct`.
    pub direct: bool,
    /// `--offset`, in GiB.
    pub offset_gib: Option<u64>,
    pub devices: Vec<String>,
}

/// Why nothing is timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlyExit {
    /// A text is printed instead.
    Print(String),
    /// The command line is wrong: the text for standard error.
    Wrong(String),
}

/// Parses a command line.
///
/// # Errors
/// A text to print instead, or what is wrong.
pub fn parse(arguments: &[String]) -> Result<Command, EarlyExit> {
    let mut command = Command::default();
    let mut rest = Arguments::new(&TABLE, Syntax::GETOPT, arguments);
    while let Some(token) = rest.next() {
        match token {
            Ok(Token::Option(given)) => command.set(given.entry, given.value.unwrap_or_default())?,
            Ok(Token::Operand(device)) => command.devices.push(device.into()),
            Ok(Token::Separator) => {
                command.devices.extend_from_slice(rest.rest());
                break;
            }
            Err(Misfit::Unfinished { entry, .. }) => command.set(entry, "")?,
            Err(misfit) => {
                return Err(EarlyExit::Wrong(format!(
                    "{}: unknown flag\n\n{}",
                    misfit.name(),
                    options::help()
                )));
            }
        }
    }
    match command.devices.is_empty() || !(command.cached || command.device) {
        true => {
            let help = options::help();
            Err(EarlyExit::Wrong(format!("hdparm: nothing to time: name -t or -T, and a device\n\n{help}")))
        }
        false => Ok(command),
    }
}

impl Command {
    fn set(&mut self, entry: &Entry, value: &str) -> Result<(), EarlyExit> {
        TABLE.check(entry.name, &Origin::Default).map_err(|refused| {
            let hint = refused.hint.map(|hint| format!(" hint: {hint}\n")).unwrap_or_default();
            EarlyExit::Wrong(format!("hdparm: {}\n{hint}", refused.message))
        })?;
        let wrong = |_| EarlyExit::Wrong(format!("hdparm: --offset: `{value}`: expected a number of GiB\n"));
        setter(SETTERS, entry).map_or(Ok(()), |setter| setter.apply(self, value, wrong))
    }
}

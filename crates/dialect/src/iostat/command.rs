//! iostat's command line: options in any order, names of devices, then the interval and the count.
//!
//! It knows nothing of the machine: what a device is called there is `device.rs`'s business.

use super::options::{SETTERS, TABLE};
use crate::option::Status;

/// The unit of amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Sectors of 512 bytes.
    Sectors,
    /// 1024 bytes.
    Kilo,
    /// 1024 × 1024 bytes.
    Mega,
}

/// A group of devices: `-g NAME`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceGroup {
    /// What it is called.
    pub name: String,
    /// Its devices as they were typed, and whether their partitions are meant too; none: all.
    pub devices: Vec<(String, bool)>,
}

/// What the command line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// `-c`.
    pub cpu: bool,
    /// `-d`.
    pub disks: bool,
    /// Something that only devices have was asked for.
    pub asks: bool,
    /// `-x`.
    pub extended: bool,
    /// `-s`.
    pub short: bool,
    /// `-y`.
    pub without_first: bool,
    /// `-z`.
    pub without_idle: bool,
    /// `-t`.
    pub timed: bool,
    /// `-o JSON`.
    pub json: bool,
    /// `-k` or `-m`.
    pub unit: Option<Unit>,
    /// `--human`.
    pub human: bool,
    /// `--pretty`.
    pub pretty: bool,
    /// `--compact`.
    pub compact: bool,
    /// `--dec`.
    pub decimals: Option<usize>,
    /// `-p` without a device: the partitions of all devices.
    pub all_partitions: bool,
    /// `ALL`: those that were never used, too.
    pub unused: bool,
    /// Named devices before any group, and whether their partitions are meant too.
    pub devices: Vec<(String, bool)>,
    /// `-g`.
    pub groups: Vec<DeviceGroup>,
    /// `-H`.
    pub only_groups: bool,
    /// `-N`.
    pub mapped: bool,
    /// `-j`: the kind of persistent names.
    pub persistent: Option<String>,
    /// Seconds between reports.
    pub interval: Option<u64>,
    /// Reports.
    pub count: Option<u64>,
}

/// Why nothing is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlyExit {
    /// `--help`.
    Help,
    /// `-V`.
    Version,
    /// The command line is wrong, and what about it.
    Wrong(String),
}

/// A command line that is wrong.
pub fn wrong<T>(what: impl Into<String>) -> Result<T, EarlyExit> {
    Err(EarlyExit::Wrong(what.into()))
}

/// Parses a command line. It is not getopt's: an option with a value is a word of its own, and letters in a group have
/// none.
///
/// # Errors
/// What keeps it from being followed.
pub fn parse(arguments: &[String]) -> Result<Command, EarlyExit> {
    let mut command = Command::default();
    let mut words = arguments.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        match word {
            "-p" => {
                let list = words.next_if(|next| !next.starts_with('-') && number(next).is_none());
                command.set("p", list.unwrap_or_default())?;
            }
            "-g" | "-j" | "-o" | "-f" | "+f" => {
                let Some(value) = words.next() else { return wrong(format!("`{word}` needs a value")) };
                command.set(&word[1..], value)?;
            }
            _ if word.starts_with("--") => command.long(&word[2..])?,
            _ if word.starts_with('-') => word[1..].chars().try_for_each(|letter| command.letter(letter))?,
            "ALL" => (command.unused, command.asks) = (true, true),
            _ => match number(word) {
                Some(value) => command.number(word, value)?,
                None => command.device(word, false),
            },
        }
    }
    match command.only_groups && command.groups.is_empty() {
        true => wrong("-H says how a group is shown, and there is none: name one with -g"),
        false => Ok(command),
    }
}

/// A whole number, if every character is a digit.
fn number(word: &str) -> Option<Option<u64>> {
    let digits = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| word.parse().ok())
}

impl Command {
    fn device(&mut self, name: &str, partitions: bool) {
        self.asks = true;
        let list = self.groups.last_mut().map_or(&mut self.devices, |group| &mut group.devices);
        list.push((name.into(), partitions));
    }

    /// `-p`, with the devices that it names.
    pub fn partitions_of(&mut self, list: &str) {
        self.asks = true;
        self.all_partitions |= list.is_empty();
        list.split(',').filter(|name| !name.is_empty()).for_each(|name| match name {
            "ALL" => (self.all_partitions, self.unused) = (true, true),
            name => self.device(name, true),
        });
    }

    /// `-k` or `-m`.
    pub fn unit(&mut self, unit: Unit) -> Result<(), EarlyExit> {
        match self.unit.replace(unit).is_some_and(|before| before != unit) {
            true => wrong("-k and -m: one unit is enough"),
            false => Ok(()),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), EarlyExit> {
        let Some(setter) = SETTERS.iter().find(|setter| setter.entry.name == name) else { return Ok(()) };
        if let Status::Refused(why, hint) = setter.entry.status {
            return wrong(format!("`-{name}` is not supported: {why}\n hint: {hint}"));
        }
        let range = |_| EarlyExit::Wrong(format!("`--{name}={value}`: expected 0, 1 or 2 digits"));
        setter.apply(self, value, range)
    }

    fn long(&mut self, word: &str) -> Result<(), EarlyExit> {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match TABLE.find(name).filter(|entry| name.len() > 1 && entry.is_flag() != word.contains('=')) {
            Some(entry) => self.set(entry.name, value),
            None => unknown(&format!("--{word}"), word),
        }
    }

    fn letter(&mut self, letter: char) -> Result<(), EarlyExit> {
        let name = letter.to_string();
        match TABLE.find(&name).filter(|entry| entry.is_flag() || letter == 'p') {
            Some(entry) => self.set(entry.name, ""),
            None => unknown(&format!("-{letter}"), &name),
        }
    }

    fn number(&mut self, word: &str, value: Option<u64>) -> Result<(), EarlyExit> {
        match (value, self.interval, self.count) {
            (Some(0), Some(_), _) => return wrong("0 reports"),
            (Some(_), Some(_), Some(_)) => {
                return wrong(format!("`{word}`: there is an interval and a count already"));
            }
            (Some(value), Some(_), None) => self.count = Some(value),
            // More than the kernel's counters can stand for, and less than ns overflow at.
            (Some(value), None, _) if value <= 1 << 32 => self.interval = Some(value),
            (..) => return wrong(format!("`{word}` is too large")),
        }
        Ok(())
    }

    /// Whether the processors' time is shown: only `-d` alone takes it away.
    pub fn shows_cpu(&self) -> bool {
        self.cpu || !self.disks
    }

    /// Whether devices are shown: only `-c` takes them away, where nothing asks for them.
    pub fn shows_disks(&self) -> bool {
        self.disks || self.asks || !self.cpu
    }
}

fn unknown<T>(written: &str, name: &str) -> Result<T, EarlyExit> {
    let near = TABLE.suggest(name).map(|near| format!("\n hint: did you mean `--{near}`?"));
    wrong(format!("`{written}`: no such option{}", near.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, EarlyExit> {
        parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    /// Found by trying the original.
    #[test]
    fn what_is_shown_is_what_the_original_shows() {
        for (line, cpu, disks) in [
            ("", true, true),
            ("-c", true, false),
            ("-d", false, true),
            ("-x", true, true),
            ("-xd", false, true),
            ("-c -x", true, true),
            ("-c -k", true, false),
            ("-c -g g", true, false),
            ("-c -p", true, true),
            ("-c ALL", true, true),
            ("-c vda", true, true),
            ("-p sda", true, true),
            ("-cd", true, true),
        ] {
            let wanted = parsed(line).unwrap();
            assert_eq!((wanted.shows_cpu(), wanted.shows_disks()), (cpu, disks), "{line}");
        }
    }

    #[test]
    fn names_interval_and_count_stand_in_any_order() {
        let wanted = parsed("1 vda 5 -p 5vda,sdb -x").unwrap();
        assert_eq!((wanted.interval, wanted.count), (Some(1), Some(5)));
        let names: Vec<_> =
            [("vda", false), ("5vda", true), ("sdb", true)].map(|(n, p)| (n.into(), p)).into();
        assert_eq!(wanted.devices, names);
        let wanted = parsed("-p 1 3").unwrap();
        assert_eq!((wanted.all_partitions, wanted.interval, wanted.count), (true, Some(1), Some(3)));
        let wanted = parsed("-H -g a sda sdb -g b -p sdc").unwrap();
        assert_eq!(wanted.groups[0].devices.len(), 2);
        assert_eq!(wanted.groups[1], DeviceGroup { name: "b".into(), devices: vec![("sdc".into(), true)] });
        assert!(parsed("-").is_ok() && parsed("-ymx vda 1 1").is_ok() && parsed("0").is_ok());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let bad =
            ["-q", "--foo", "--dec=3", "-o XML", "-o", "-g", "-j", "-H", "-k -m", "1 2 3", "1 0", "-1", "--"];
        for line in bad.into_iter().chain(["-f /tmp", "+f /tmp", "99999999999999999999", "9999999999999"]) {
            assert!(matches!(parsed(line), Err(EarlyExit::Wrong(_))), "{line}");
        }
        assert_eq!(parsed("-x -V --foo"), Err(EarlyExit::Version));
        assert_eq!(parsed("-x --version"), Err(EarlyExit::Version));
        assert_eq!(parsed("--help -q"), Err(EarlyExit::Help));
    }
}

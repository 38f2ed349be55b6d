//! The command lines of netperf and netserver, parsed: no meaning beyond what an option says.
//!
//! Letters may be joined and values may follow at once, as getopt has it. Of two values with a comma either may be left
//! out. Nothing is looked up here but files of output selectors, which the loader reads.

use crate::Loader;
use crate::option::{Arguments, Entry, Misfit, Setter, Status, Syntax, Table, Token, ValuePlace, setter};
use crate::quantity::BY_CASE;

use super::options::{GLOBAL, GLOBAL_SETTERS, SERVER, SERVER_SETTERS, TEST, TEST_SETTERS};
use super::report::selectors;
use super::test::{NetperfTest, Protocol};

/// What is sent of a file at most, bytes: so much all buffers hold together.
pub(super) const FILL_MOST: usize = 64 << 20;

/// Two values, ours and theirs (or send and receive), each where it was given.
pub(super) type Pair<T> = (Option<T>, Option<T>);

/// What netperf is to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Command {
    /// Where netserver is, and its port.
    pub(super) host: String,
    pub(super) port: u16,
    /// Our own address and port, where they were named.
    pub(super) local: Option<String>,
    pub(super) local_port: Option<u16>,
    /// 4 or 6; 0: either.
    pub(super) family: u8,
    pub(super) test: NetperfTest,
    /// Seconds; negative: bytes or transactions.
    pub(super) length: i64,
    /// How often an interim result is printed.
    pub(super) demo_s: Option<f64>,
    pub(super) units: Option<char>,
    pub(super) bare: bool,
    pub(super) verbosity: u32,
    pub(super) brand: String,
    /// Whether the use of processors is measured: ours, theirs.
    pub(super) cpu: (bool, bool),
    pub(super) repeat: Option<(u32, u32)>,
    pub(super) level: Option<(u32, f64)>,
    pub(super) result_only: bool,
    pub(super) wait_s: f64,
    pub(super) keepalive: bool,
    pub(super) processors: Pair<u32>,
    pub(super) tos: Pair<u32>,
    /// Of the sockets, for the queueing discipline.
    pub(super) priority: Pair<u32>,
    pub(super) word: Option<String>,
    pub(super) alone: bool,
    /// Operations in a burst and ns between bursts.
    pub(super) pace: Option<(u32, u64)>,
    pub(super) fill: Option<Vec<u8>>,
    pub(super) fill_name: String,
    /// Buffers that go out in turn.
    pub(super) width: Option<u64>,
    pub(super) align: Pair<i64>,
    pub(super) offset: Pair<i64>,
    /// Behind `--`.
    pub(super) burst: u32,
    /// When an answer that does not come is given up, ms.
    pub(super) patience_ms: Option<u64>,
    pub(super) request: Pair<u64>,
    pub(super) send: Pair<u64>,
    pub(super) receive: Pair<u64>,
    pub(super) our_buffers: Pair<u64>,
    pub(super) their_buffers: Pair<u64>,
    pub(super) nodelay: (bool, bool),
    pub(super) cork: bool,
    pub(super) data_host: Option<String>,
    pub(super) data_local: Option<String>,
    pub(super) data_ports: Pair<u16>,
    pub(super) congestion: Pair<String>,
    pub(super) bound: bool,
    pub(super) dont_fragment: bool,
    pub(super) fastopen: bool,
    /// `k`, `o` or `O` with its output selectors.
    pub(super) selectors: Option<(char, String)>,
    pub(super) output: Output,
    pub(super) uuid: Option<String>,
    /// The command line as it was typed.
    pub(super) line: String,
}

/// How results are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Output {
    /// The test's own table.
    #[default]
    Table,
    /// `NAME=value` (`-k`).
    Names(Vec<usize>),
    /// Commas (`-o`).
    Commas(Vec<usize>),
    /// Columns, a block for each list (`-O`).
    Columns(Vec<Vec<usize>>),
}

/// What ends netperf before it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EarlyExit {
    /// A text that was asked for, for standard output, and the exit status.
    Print(String, i32),
    /// What is wrong, for standard error, and the exit status.
    Refuse(String, i32),
}

/// A value that an option does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InvalidValue {
    /// The part of it that is wrong, what is wrong with it, and what to do about it.
    Value(String, &'static str, &'static str),
    /// Something else ends netperf.
    Early(EarlyExit),
}

/// An option that was found, with its value where it has one.
type Found<'a> = (&'static Entry, &'a str);

/// Sets what an option sets.
fn set<S>(
    setters: &'static [Setter<S, InvalidValue>],
    to: &mut S,
    (entry, value): Found<'_>,
) -> Result<(), EarlyExit> {
    let of_bounds = |_| nonsense(value, "expected a whole number", "for example 1");
    let done = setter(setters, entry).map_or(Ok(()), |setter| setter.apply(to, value, of_bounds));
    done.map_err(|error| match error {
        InvalidValue::Value(text, what, hint) => wrong(&format!("-{} {text}: {what}", entry.name), hint),
        InvalidValue::Early(early) => early,
    })
}

const SYNTAX: Syntax = Syntax { stops_at_operand: true, long: None, ..Syntax::GETOPT };

/// Before `--`: a rate may follow `-c` and `-C`.
const GLOBAL_SYNTAX: Syntax = Syntax {
    place: |entry| match entry.name {
        "c" | "C" => ValuePlace::Next(|word| word.starts_with(|first: char| first.is_ascii_digit())),
        _ => ValuePlace::of(entry),
    },
    ..SYNTAX
};

/// Behind it: whom it concerns may follow `-D`, selectors `-k`, `-o` and `-O`.
const TEST_SYNTAX: Syntax = Syntax {
    place: |entry| match entry.name {
        "D" => ValuePlace::Next(|word| {
            !word.is_empty()
                && word.chars().all(|letter| matches!(letter, 'L' | 'R' | 'l' | 'r' | ',' | '0' | '1'))
        }),
        "k" | "o" | "O" => ValuePlace::AttachedOrNext(|word| !word.starts_with('-')),
        _ => ValuePlace::of(entry),
    },
    ..SYNTAX
};

/// Every option with its value; what is no option ends them, as does `--`, and is left.
fn options<'a>(
    table: &'static Table,
    syntax: Syntax,
    arguments: &'a [String],
) -> Result<(Vec<Found<'a>>, &'a [String]), EarlyExit> {
    let (mut found, tool) = (Vec::new(), table.tool);
    let mut rest = Arguments::new(table, syntax, arguments);
    for token in rest.by_ref() {
        let given = match token {
            Ok(Token::Option(given)) => given,
            Ok(Token::Separator | Token::Operand(_)) => break,
            Err(Misfit::Unknown { argument: argument @ ("--help" | "--version"), .. }) => {
                found.extend(
                    table.find(if argument == "--help" { "h" } else { "V" }).map(|entry| (entry, "")),
                );
                break;
            }
            Err(misfit) => {
                let hint = match misfit {
                    Misfit::Unknown { .. } => format!(" hint: `{tool} -h` shows them all\n"),
                    _ => String::new(),
                };
                return Err(EarlyExit::Refuse(format!("{tool}: {}\n{hint}", misfit.getopt(table)), 1));
            }
        };
        let name = given.entry.name;
        if let Status::Refused(why, hint) = given.entry.status {
            return Err(EarlyExit::Refuse(
                format!("{tool}: -{name} is not supported: {why}\n hint: {hint}\n"),
                1,
            ));
        }
        found.push((given.entry, given.value.unwrap_or_default()));
    }
    Ok((found, rest.rest()))
}

/// netperf's command line.
///
/// # Errors
/// A text to print instead, or what is wrong.
pub(super) fn netperf(arguments: &[String], loader: &mut dyn Loader) -> Result<Command, EarlyExit> {
    let mut command = Command {
        host: "localhost".into(),
        port: 12865,
        length: 10,
        verbosity: 1,
        line: std::iter::once("netperf")
            .chain(arguments.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join(" "),
        ..Command::default()
    };
    let split = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let (global, test) = (&arguments[..split], arguments.get(split + 1..).unwrap_or_default());
    let (found, left) = options(&GLOBAL, GLOBAL_SYNTAX, global)?;
    if let Some(left) = left.first() {
        return Err(wrong(
            &format!("`{left}`: nothing but options is expected"),
            "options of the test follow --",
        ));
    }
    for (entry, value) in found {
        match entry.name {
            "F" => command.fill(value, loader)?,
            _ => set(GLOBAL_SETTERS, &mut command, (entry, value))?,
        }
    }
    let (found, left) = options(&TEST, TEST_SYNTAX, test)?;
    if let Some(left) = left.first() {
        return Err(wrong(
            &format!("`{left}`: nothing but options is expected behind --"),
            "-- -h shows them all",
        ));
    }
    found.into_iter().try_for_each(|found| set(TEST_SETTERS, &mut command, found))?;
    command.test.check().map_err(|(what, hint)| wrong(&what, hint))?;
    if let Some((letter, value)) = command.selectors.take() {
        command.output = command.written(letter, &value, loader)?;
    } else if command.test.omni {
        command.output = Output::Columns(vec![selectors::usual(&command.test, command.cpu)]);
    }
    Ok(command)
}

/// A message of netperf's.
pub(super) fn wrong(what: &str, hint: &str) -> EarlyExit {
    EarlyExit::Refuse(format!("netperf: {what}\n hint: {hint}\n"), 1)
}

impl Command {
    /// The output that was asked for, by the letter and its selectors, once the test is known.
    fn written(&self, letter: char, value: &str, loader: &mut dyn Loader) -> Result<Output, EarlyExit> {
        let lists = lists(letter, value, &self.test, self.cpu, loader)?;
        Ok(match letter {
            'k' => Output::Names(lists.concat()),
            'o' => Output::Commas(lists.concat()),
            _ => Output::Columns(lists),
        })
    }

    fn fill(&mut self, value: &str, loader: &mut dyn Loader) -> Result<(), EarlyExit> {
        let (ours, theirs) = value.split_once(',').unwrap_or((value, ""));
        if !theirs.is_empty() {
            let hint = "name our own file alone: netserver reads no file that a peer names";
            return Err(wrong(&format!("-F ,{theirs} is not supported"), hint));
        }
        self.fill_name = ours.into();
        // A device has no end: what these hold is known, others cannot be read whole.
        match (ours, loader.look(ours).map(|about| about.kind)) {
            ("/dev/urandom" | "/dev/random", _) => return Ok(()),
            ("/dev/zero", _) => {
                self.fill = Some(vec![0; 4096]);
                return Ok(());
            }
            (_, None | Some(crate::PathKind::File)) => {}
            _ => return Err(wrong(&format!("-F {ours}: it is no regular file"), "name a file to send")),
        }
        // More than all buffers together can hold is never sent.
        let mut bytes =
            loader.read(ours).map_err(|why| wrong(&format!("-F {ours}: {why}"), "name a file to send"))?;
        bytes.truncate(FILL_MOST);
        self.fill = (!bytes.is_empty()).then_some(bytes);
        Ok(())
    }
}

/// A value, or a part of one, that is not what an option takes.
pub(super) fn nonsense(text: &str, what: &'static str, hint: &'static str) -> InvalidValue {
    InvalidValue::Value(text.into(), what, hint)
}

/// The host of `HOST,FAMILY`; the family counts for all.
pub(super) fn host(value: &str, of_all: &mut u8) -> Result<String, InvalidValue> {
    let (host, family) = value.split_once(',').unwrap_or((value, ""));
    *of_all = match family.to_ascii_lowercase().as_str() {
        "" => *of_all,
        "4" | "inet" | "af_inet" => 4,
        "6" | "inet6" | "af_inet6" => 6,
        "0" | "unspec" | "af_unspec" => 0,
        _ => {
            return Err(InvalidValue::Early(wrong(&format!("`{family}`: no family of addresses"), "4 or 6")));
        }
    };
    Ok(host.split('/').next().unwrap_or(host).into())
}

pub(super) fn unknown_test(name: &str) -> InvalidValue {
    let near =
        super::test::nearest(name).map(|near| format!("\n hint: did you mean {near}?")).unwrap_or_default();
    InvalidValue::Early(EarlyExit::Refuse(
        format!(
            "The test you requested ({name}) is unknown to this netperf.\nPlease verify that you have the correct test \
             name, \nand that test family has been compiled into this netperf.{near}\n"
        ),
        1,
    ))
}

/// Both of `A,B`; one alone is both.
pub(super) fn two<T: Clone>(
    value: &str,
    parse: fn(&str) -> Result<T, InvalidValue>,
) -> Result<Pair<T>, InvalidValue> {
    let one = |text: &str| if text.is_empty() { Ok(None) } else { parse(text).map(Some) };
    match value.split_once(',') {
        Some((first, second)) => Ok((one(first)?, one(second)?)),
        None => one(value).map(|both| (both.clone(), both)),
    }
}

/// Both of `A,B`; one alone is the first.
pub(super) fn two_given<T: Clone>(
    value: &str,
    parse: fn(&str) -> Result<T, InvalidValue>,
) -> Result<Pair<T>, InvalidValue> {
    two(value, parse).map(|(first, second)| (first, second.filter(|_| value.contains(','))))
}

pub(super) fn two_words(value: &str) -> Pair<String> {
    let (first, second) = value.split_once(',').unwrap_or((value, value));
    let word = |text: &str| (!text.is_empty()).then(|| text.to_string());
    (word(first), word(second))
}

/// Whom `-D` concerns: ours, theirs.
pub(super) fn whom(value: &str) -> (bool, bool) {
    let Some((ours, theirs)) = value.split_once(',') else {
        let ours = !matches!(value, "R" | "r" | "0");
        return (ours, matches!(value, "" | "1" | "R" | "r"));
    };
    let is_on = |text: &str| !text.is_empty() && text != "0";
    (is_on(ours), is_on(theirs))
}

pub(super) fn units(value: &str) -> Result<char, InvalidValue> {
    let letter = value.chars().next().filter(|letter| value.len() == 1 && "GMKgmkx".contains(*letter));
    letter.ok_or_else(|| nonsense(value, "no unit", "one of G M K g m k x"))
}

/// One of several words or numbers for a protocol.
fn either(letter: char, value: &str, known: &[(Protocol, [&str; 2])]) -> Result<Protocol, InvalidValue> {
    let lower = value.to_ascii_lowercase();
    match known.iter().find(|(_, words)| words.contains(&lower.as_str())) {
        Some((protocol, _)) => Ok(*protocol),
        None => {
            let hint = known.iter().map(|(_, words)| words[0]).collect::<Vec<_>>().join(" or ");
            Err(InvalidValue::Early(wrong(&format!("-{letter} {value} is not supported"), &hint)))
        }
    }
}

pub(super) fn protocol(value: &str) -> Result<Protocol, InvalidValue> {
    let known =
        [(Protocol::Tcp, ["tcp", "6"]), (Protocol::Udp, ["udp", "17"]), (Protocol::Sctp, ["sctp", "132"])];
    either('T', value, &known)
}

pub(super) fn socket_type(value: &str) -> Result<Protocol, InvalidValue> {
    either('t', value, &[(Protocol::Tcp, ["stream", "1"]), (Protocol::Udp, ["dgram", "2"])])
}

/// A number with K, M, G (powers of 1024) or k, m, g (of 1000) behind it.
pub(super) fn size(text: &str) -> Result<u64, InvalidValue> {
    let hint = "K, M and G are powers of 1024, k, m and g of 1000";
    let bytes = BY_CASE.fraction(text).filter(|bytes| *bytes <= f64::from(i32::MAX));
    bytes.map(|bytes| bytes as u64).ok_or_else(|| nonsense(text, "expected a number of bytes", hint))
}

pub(super) fn whole(text: &str) -> Result<u64, InvalidValue> {
    text.parse().map_err(|_| nonsense(text, "expected a whole number", "for example 1"))
}

pub(super) fn signed(text: &str) -> Result<i64, InvalidValue> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    size(digits).map(|number| sign * i64::try_from(number).unwrap_or(i64::MAX))
}

pub(super) fn port(text: &str) -> Result<u16, InvalidValue> {
    text.parse().map_err(|_| nonsense(text, "expected a port", "a number from 0 to 65535"))
}

/// A class of traffic by its number or name.
pub(super) fn class(text: &str) -> Result<u32, InvalidValue> {
    let hint = "say 0 to 255, or a name: ef, af11, cs1";
    crate::iperf::command::tos(text).ok_or_else(|| nonsense(text, "no such class", hint))
}

pub(super) fn byte(text: &str) -> Result<u32, InvalidValue> {
    let number = match text.strip_prefix("0x") {
        Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok(),
        None => text.parse().ok(),
    };
    let number = number.filter(|number| *number <= 255);
    number.ok_or_else(|| nonsense(text, "expected a byte", "0 to 255, or 0x00 to 0xff"))
}

pub(super) fn seconds(text: &str) -> Result<f64, InvalidValue> {
    let number: Option<f64> = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| nonsense(text, "expected a number of seconds", "for example 0.5"))
}

/// A time in ms, or with `u`, `m` or `s` behind it, as ns.
pub(super) fn interval(text: &str) -> Result<u64, InvalidValue> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "u" | "us" => 1e3,
        "" | "m" | "ms" => 1e6,
        "s" => 1e9,
        _ => return Err(nonsense(text, "no time", "a number of ms, or 10u, 10m, 1s")),
    };
    seconds(digits).map(|number| (number.max(0.0) * unit) as u64)
}

/// The selectors of a value: nothing (the test's own), `?`, `all`, a list with commas, or a file of such lists.
fn lists(
    letter: char,
    value: &str,
    test: &NetperfTest,
    cpu: (bool, bool),
    loader: &mut dyn Loader,
) -> Result<Vec<Vec<usize>>, EarlyExit> {
    match value {
        "" => Ok(vec![selectors::usual(test, cpu)]),
        "?" => Err(EarlyExit::Print(selectors::all_names(if letter == 'O' { "\n" } else { "," }), 1)),
        "all" => Ok(selectors::blocks()),
        _ if value.contains(',') || selectors::find(value).is_some() => Ok(vec![selectors::list(value)?]),
        _ => {
            let bytes = loader.read(value).map_err(|why| {
                wrong(&format!("output selectors `{value}`: {why}"), "? shows what there is")
            })?;
            let text = String::from_utf8_lossy(&bytes);
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
            lines.take(4).map(selectors::list).collect()
        }
    }
}

/// What netserver is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerCommand {
    pub(super) port: u16,
    pub(super) host: Option<String>,
    pub(super) family: u8,
    pub(super) foreground: bool,
    pub(super) once: bool,
    /// One command's several clients count as one.
    pub(super) crowd: bool,
    pub(super) word: Option<String>,
}

/// netserver's command line.
///
/// # Errors
/// A text to print instead, or what is wrong.
pub(super) fn netserver(arguments: &[String]) -> Result<ServerCommand, EarlyExit> {
    let (found, left) = options(&SERVER, SYNTAX, arguments)?;
    if let Some(left) = left.first() {
        return Err(EarlyExit::Refuse(format!("netserver: `{left}`: nothing but options is expected\n"), 1));
    }
    let mut command = ServerCommand { port: 12865, ..ServerCommand::default() };
    found.into_iter().try_for_each(|found| set(SERVER_SETTERS, &mut command, found))?;
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Nowhere;
    use super::*;

    fn of(line: &str) -> Result<Command, EarlyExit> {
        let arguments: Vec<String> = line.split_whitespace().map(String::from).collect();
        netperf(&arguments, &mut Nowhere)
    }

    #[test]
    fn options_mean_what_getopt_makes_of_them() {
        let command =
            of("-H10.0.0.1,4 -p 5000,6 -tTCP_RR -l5 -cC -P0 -v 2 -D -0.2 -- -r 100,4K -b 8 -D -o").unwrap();
        assert_eq!(
            (command.host.as_str(), command.family, command.port, command.local_port),
            ("10.0.0.1", 4, 5000, Some(6))
        );
        assert_eq!(
            (command.test.name, command.length, command.cpu, command.bare),
            ("TCP_RR", 5, (true, true), true)
        );
        assert_eq!(
            (command.request, command.burst, command.nodelay),
            ((Some(100), Some(4096)), 8, (true, true))
        );
        assert!(matches!(command.output, Output::Commas(list) if list.len() == 26));
        assert_eq!(command.demo_s, Some(0.2));
        let command =
            of("-c 100 -l -1000 -i 30,3 -I 95,5 -T 1 -- -m ,2k -D L -k THROUGHPUT,P99_LATENCY").unwrap();
        assert_eq!((command.length, command.repeat, command.level), (-1000, Some((3, 30)), Some((95, 5.0))));
        assert_eq!(
            (command.processors, command.send, command.nodelay),
            ((Some(1), None), (None, Some(2000)), (true, false))
        );
    }

    #[test]
    fn wrong_words_are_told_with_their_place() {
        let text = |line: &str| match of(line).unwrap_err() {
            EarlyExit::Refuse(text, status) => (text, status),
            EarlyExit::Print(text, status) => (text, status),
        };
        assert!(text("-q").0.starts_with("netperf: invalid option -- 'q'"));
        assert!(text("-- -q").0.starts_with("netperf: invalid option -- 'q'"));
        assert!(text("--quiet").0.starts_with("netperf: invalid option -- '-'\n hint: "));
        assert!(text("-l").0.contains("requires an argument"));
        assert!(text("-t FOO").0.starts_with("The test you requested (FOO) is unknown"));
        assert!(text("-y 300").0.contains("expected a byte"));
        assert!(text("-Y cs9").0.contains("no such class"));
        assert!(text("-f z").0.contains("no unit") && text("-l x").0.contains("-l x"));
        assert_eq!(text("-- -k ?").1, 1);
        assert!(text("-- -k ?").0.contains("SOCKET_TYPE,PROTOCOL"));
        assert!(text("-F ,secret").0.contains("no file that a peer names"));
        assert_eq!(text("-h").1, 0);
        assert_eq!((text("-- -O ?").0.lines().count(), text("-- -O ?").1), (175, 1));
        assert_eq!(text("-- -o ?").0.lines().count(), 1);
        // A newcomer's words work, too; as the value of an option they are one.
        assert_eq!((text("--help"), text("-l 5 --version")), (text("-h"), text("-V")));
        assert_eq!(text("-- --help"), text("-- -h"));
        assert_eq!(of("-B --help").unwrap().brand, "--help");
        assert!(text("--helpless").0.contains("invalid option"));
    }

    #[test]
    fn netserver_listens_everywhere_unless_told() {
        let arguments = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
        let command = netserver(&arguments("-D -4 -p 7000 -1 -Z secret")).unwrap();
        assert_eq!((command.port, command.family, command.foreground, command.once), (7000, 4, true, true));
        assert_eq!(netserver(&arguments("-L ::1,6")).unwrap().host.as_deref(), Some("::1"));
        assert!(matches!(netserver(&arguments("stray")), Err(EarlyExit::Refuse(..))));
        for (words, letter) in [("--help", "-h"), ("--version", "-V")] {
            let text = netserver(&arguments(words));
            assert!(matches!(text, Err(EarlyExit::Print(_, 0))) && text == netserver(&arguments(letter)));
        }
    }
}

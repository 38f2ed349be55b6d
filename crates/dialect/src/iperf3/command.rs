//! iperf3's command line, as `getopt_long` reads it: letters together, values attached or apart, words shortened.
//!
//! It looks at nothing: keys, passwords and the machine come later.

use iodyno_model::Origin;

use super::amount;
use super::options::{SETTERS, TABLE, is_client_only, is_server_only};
use crate::option::{Arguments, GivenOption, OutOfBounds, Status, Syntax, Token, setter};

const SYNTAX: Syntax = Syntax { is_abbreviated: true, ..Syntax::GETOPT };

/// Why a command line leads to no test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlyExit {
    /// `-h`.
    Help,
    /// `-v`.
    Version,
    /// Something is wrong; the words that follow `iperf3: parameter error - `.
    Parameter(String),
    /// An option that cannot be; the whole message without `iperf3: `.
    Option(String),
}

/// What the command line says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Command {
    /// `-s`.
    pub server: bool,
    /// `-c`.
    pub host: Option<String>,
    /// `-p`.
    pub port: u16,
    /// `-f`.
    pub format: char,
    /// `-i`, s.
    pub interval_s: f64,
    /// `-I`.
    pub pid_file: Option<String>,
    /// `-F`.
    pub file: Option<String>,
    /// `--nstreams`: what an SCTP association asks for.
    pub sctp_streams: Option<u16>,
    /// `-X`: addresses of an SCTP association's near end.
    pub sctp_near: Vec<String>,
    /// How long that is, where it is sent and its length is known.
    pub file_bytes: u64,
    /// `-A`: ours and the server's.
    pub affinity: Option<(u32, Option<u32>)>,
    /// `-B`.
    pub bind: Option<String>,
    /// `--bind-dev`, or what stands behind a `%`.
    pub device: Option<String>,
    /// `-V`.
    pub verbose: bool,
    /// `-J`, or what implies it.
    pub json: bool,
    /// `--json-stream`.
    pub json_stream: bool,
    /// `--json-stream-full-output`.
    pub json_full: bool,
    /// `--logfile`.
    pub log_file: Option<String>,
    /// `--timestamps`.
    pub timestamps: Option<String>,
    /// `--rcv-timeout`, ms.
    pub receive_timeout_ms: u64,
    /// `--snd-timeout`, ms; 0: the system's.
    pub send_timeout_ms: u64,
    /// `--cntl-ka`.
    pub keepalive: Option<String>,
    /// `-m`.
    pub mptcp: bool,
    /// `-d`.
    pub debug: bool,
    /// `-D`.
    pub daemon: bool,
    /// `-1`.
    pub one_off: bool,
    /// `--server-bitrate-limit`: bits per second, and over how many seconds.
    pub rate_limit: Option<(u64, u64)>,
    /// `--idle-timeout`, s.
    pub idle_timeout_s: Option<u64>,
    /// `--server-max-duration`, s.
    pub most_time_s: Option<u64>,
    /// `--rsa-private-key-path`.
    pub private_key: Option<String>,
    /// `--authorized-users-path`.
    pub users: Option<String>,
    /// `--time-skew-threshold`, s.
    pub skew_s: u64,
    /// `--use-pkcs1-padding`.
    pub pkcs1: bool,
    /// `--connect-timeout`, ms; 0: the system's.
    pub connect_timeout_ms: u64,
    /// `--cport`.
    pub near_port: u16,
    /// `-4`, `-6`.
    pub family: Option<u8>,
    /// `--username`.
    pub user: Option<String>,
    /// `--rsa-public-key-path`.
    pub public_key: Option<String>,
    /// `-T`.
    pub title: Option<String>,
    /// What is agreed with the server.
    pub test: super::settings::Params,
    /// `-b` was given.
    pub rate_given: bool,
    /// The names of the options that were given, as the table has them.
    pub given: Vec<&'static str>,
}

/// What is wanted, or why there is nothing to do.
///
/// # Errors
/// See [`EarlyExit`].
pub fn parse(arguments: &[String]) -> Result<Command, EarlyExit> {
    let mut command = Command {
        port: 5201,
        format: 'a',
        interval_s: 1.0,
        receive_timeout_ms: 120_000,
        skew_s: 10,
        ..Command::default()
    };
    for token in Arguments::new(&TABLE, SYNTAX, arguments) {
        match token.map_err(|misfit| EarlyExit::Option(misfit.getopt(&TABLE)))? {
            Token::Option(given) => set(given, &mut command)?,
            Token::Separator => {}
            Token::Operand(argument) => {
                return Err(parameter(format!(
                    "unexpected argument `{argument}`: options begin with a dash"
                )));
            }
        }
    }
    consistent(command)
}

/// An address of ours; a name would have to be looked up, and may have many.
pub(super) fn near_address(value: &str) -> Result<String, EarlyExit> {
    let is_address = |letter: char| letter.is_ascii_hexdigit() || ".:".contains(letter);
    match value.contains(['.', ':']) && value.chars().all(is_address) {
        true => Ok(value.into()),
        false => Err(parameter(format!("-X wants an address: `{value}` is none"))),
    }
}

fn parameter(text: impl Into<String>) -> EarlyExit {
    EarlyExit::Parameter(text.into())
}

fn set(given: GivenOption<'_>, command: &mut Command) -> Result<(), EarlyExit> {
    let entry = given.entry;
    if let Status::Refused(..) = entry.status {
        let refused = TABLE.check(entry.name, &Origin::Default).err();
        let (what, hint) = refused.map(|refused| (refused.message, refused.hint)).unwrap_or_default();
        let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        return Err(parameter(format!("{what}{hint}")));
    }
    command.given.push(entry.name);
    let value = given.value.unwrap_or_default();
    let out_of_bounds = |range: OutOfBounds| beyond(value, range.least, range.most, range.what);
    setter(SETTERS, entry).map_or(Ok(()), |setter| setter.apply(command, value, out_of_bounds))
}

/// A letter of `-f`.
pub(super) fn unit_of(value: &str) -> Result<char, EarlyExit> {
    let letter = value.chars().next().filter(|letter| "kmgtKMGT".contains(*letter));
    letter.ok_or_else(|| parameter("bad format specifier (valid formats are in the set [kmgtKMGT])"))
}

pub(super) fn interval(value: &str) -> Result<f64, EarlyExit> {
    let seconds = value.parse().ok().filter(|s: &f64| *s == 0.0 || (0.1..=60.0).contains(s));
    seconds.ok_or_else(|| parameter("invalid report interval (min = 0.1, max = 60 seconds)"))
}

pub(super) fn affinity(value: &str) -> Result<(u32, Option<u32>), EarlyExit> {
    let (ours, theirs) = value.split_once(',').map_or((value, None), |(a, b)| (a, Some(b)));
    let bad = |_| parameter("bad -A affinity specifier: expected N or N,M");
    let theirs = theirs.map(str::parse).transpose().map_err(bad)?;
    Ok((ours.parse().map_err(bad)?, theirs))
}

/// Bits per second and over how many seconds; none: no limit.
pub(super) fn limit(value: &str) -> Result<Option<(u64, u64)>, EarlyExit> {
    let (limit, seconds) = value.split_once('/').unwrap_or((value, "5"));
    let limit = rate(limit, "server bitrate limit")?;
    Ok(Some((limit, number(seconds, 1, 3600, "averaging time in seconds")?)).filter(|_| limit > 0))
}

pub(super) fn rate_and_burst(value: &str) -> Result<(u64, u32), EarlyExit> {
    let (rate, burst) = value.split_once('/').map_or((value, None), |(rate, burst)| (rate, Some(burst)));
    let bad = || parameter(format!("`{value}`: expected a rate such as 100M"));
    let rate = amount::rate(rate).ok_or_else(bad)?;
    Ok((rate, burst.map_or(Ok(0), |burst| number(burst, 1, 1000, "burst"))? as u32))
}

pub(super) fn rate(value: &str, option: &str) -> Result<u64, EarlyExit> {
    amount::rate(value).ok_or_else(|| parameter(format!("{option}: expected a rate such as 100M")))
}

pub(super) fn size(value: &str, what: &str) -> Result<u64, EarlyExit> {
    amount::size(value).ok_or_else(|| parameter(format!("`{value}`: expected {what} such as 64K or 10M")))
}

pub(super) fn parallel(value: &str) -> Result<u32, EarlyExit> {
    let streams = value.parse().ok().filter(|count| (1..=128).contains(count));
    streams.ok_or_else(|| parameter("number of parallel streams too large (maximum = 128)"))
}

pub(super) fn window(value: &str) -> Result<u64, EarlyExit> {
    let bytes = amount::size(value).filter(|bytes| *bytes <= 512 << 20);
    bytes.ok_or_else(|| parameter("socket buffer size too large (maximum = 536870912 bytes)"))
}

pub(super) fn tos(value: &str) -> Result<u32, EarlyExit> {
    let tos = based(value).filter(|tos| *tos <= 255);
    tos.ok_or_else(|| parameter("bad TOS value (must be between 0 and 255 inclusive)"))
}

pub(super) fn class(value: &str) -> Result<u32, EarlyExit> {
    dscp(value).ok_or_else(|| parameter("bad DSCP value (0 to 63, or a name such as ef, af11, cs1)"))
}

pub(super) fn flow_label(value: &str) -> Result<u32, EarlyExit> {
    let label = based(value).filter(|label| (1..=0xf_ffff).contains(label));
    label.ok_or_else(|| parameter("bad flow label (must be between 1 and 1048575 inclusive)"))
}

fn beyond(value: &str, least: u64, most: u64, what: &str) -> EarlyExit {
    parameter(format!("`{value}`: expected a {what} between {least} and {most}"))
}

fn number(value: &str, least: u64, most: u64, what: &str) -> Result<u64, EarlyExit> {
    let number = value.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| beyond(value, least, most, what))
}

/// Decimal, `0x` hexadecimal or `0` octal.
fn based(value: &str) -> Option<u32> {
    match (value.strip_prefix("0x").or(value.strip_prefix("0X")), value.strip_prefix('0')) {
        (Some(digits), _) => u32::from_str_radix(digits, 16).ok(),
        (None, Some(digits)) if !digits.is_empty() => u32::from_str_radix(digits, 8).ok(),
        _ => value.parse().ok(),
    }
}

/// The traffic class byte of a DSCP. Source of the names: RFC 2474, 2597, 3246, 5865, 8622.
fn dscp(value: &str) -> Option<u32> {
    let name = value.to_ascii_lowercase();
    let class = |digits: &str| digits.parse::<u32>().ok();
    let code = match name.as_str() {
        "ef" => Some(46),
        "le" => Some(1),
        "voice-admit" | "va" => Some(44),
        _ if name.starts_with("cs") => class(&name[2..]).filter(|class| *class < 8).map(|class| class * 8),
        _ if name.starts_with("af") => class(&name[2..])
            .filter(|pair| (1..=4).contains(&(pair / 10)) && (1..=3).contains(&(pair % 10)))
            .map(|pair| pair / 10 * 8 + pair % 10 * 2),
        _ => based(&name).filter(|code| *code < 64),
    }?;
    Some(code << 2)
}

pub(super) fn behind_percent(value: &str) -> (String, Option<String>) {
    match value.split_once('%') {
        // A link-local address keeps its zone: the name service needs it.
        Some((host, device)) if !host.to_ascii_lowercase().starts_with("fe80") => {
            (host.to_string(), Some(device.to_string()))
        }
        _ => (value.to_string(), None),
    }
}

fn consistent(mut command: Command) -> Result<Command, EarlyExit> {
    if command.server && command.host.is_some() {
        return Err(parameter("cannot be both server and client"));
    }
    if !command.server && command.host.is_none() {
        return Err(parameter("must either be a client (-c) or server (-s)"));
    }
    if !command.server && command.given.iter().any(|name| is_server_only(name)) {
        return Err(parameter("some option you are trying to set is server only"));
    }
    if command.server && command.given.iter().any(|name| is_client_only(name)) {
        return Err(parameter("some option you are trying to set is client only"));
    }
    if command.private_key.is_some() != command.users.is_some() {
        return Err(parameter(
            "you must specify a path to a valid RSA private key and a user credential file",
        ));
    }
    if command.user.is_some() != command.public_key.is_some() {
        return Err(parameter("you must specify a username and a path to a valid RSA public key"));
    }
    if command.file.is_some() {
        one_way(&command.test)?;
    }
    command.json_stream |= command.json_full;
    command.json |= command.json_full;
    test_of(&mut command)?;
    Ok(command)
}

/// A file goes one way, through one stream.
fn one_way(test: &super::settings::Params) -> Result<(), EarlyExit> {
    match test {
        test if test.udp => Err(parameter("cannot transfer file using UDP")),
        test if test.bidir => {
            Err(parameter("cannot transfer file both ways at once: leave --bidir or -F out"))
        }
        test if test.parallel > 1 => {
            Err(parameter("cannot transfer file over several streams: leave -P or -F out"))
        }
        _ => Ok(()),
    }
}

fn test_of(command: &mut Command) -> Result<(), EarlyExit> {
    let test = &mut command.test;
    let ends = [command.given.contains(&"time"), test.bytes > 0, test.blocks > 0];
    if ends.iter().filter(|end| **end).count() > 1 {
        return Err(parameter("only one test end condition (-t, -n, -k) may be specified"));
    }
    if !command.sctp_near.is_empty() && !test.sctp {
        return Err(parameter("-X gives addresses to an SCTP association: add --sctp, or use -B"));
    }
    if test.sctp {
        let of_tcp = ["udp", "mptcp", "set-mss", "congestion"];
        if let Some(name) = of_tcp.into_iter().find(|name| command.given.contains(name)) {
            return Err(parameter(format!("--{name} cannot be had over SCTP: leave one of them out")));
        }
    }
    if test.reverse && test.bidir {
        return Err(parameter("cannot be both reverse and bidirectional"));
    }
    if !command.given.contains(&"time") && test.bytes == 0 && test.blocks == 0 {
        test.time_s = 10;
    }
    if test.udp && !command.rate_given {
        test.rate = 1 << 20;
    }
    test.parallel = test.parallel.max(1);
    if test.pacing_timer == 0 {
        test.pacing_timer = 1000;
    }
    test.affinity = command.affinity.and_then(|(_, theirs)| theirs);
    if test.udp && test.block_bytes != 0 && !(16..=65_507).contains(&test.block_bytes) {
        return Err(parameter("block size invalid (minimum = 16 bytes, maximum = 65507 bytes)"));
    }
    if test.block_bytes > 1 << 20 {
        return Err(parameter("block size too large (maximum = 1048576 bytes)"));
    }
    if test.udp && test.zerocopy {
        test.zerocopy = false;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Command, EarlyExit> {
        parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn command_lines() {
        let command =
            of("-c h%eth0 -ub 100M/10 -P4 -t 5 --bidir -O 1 --get-server --dscp af11 -i .5 -fm -w 64K")
                .unwrap();
        assert_eq!((command.host.as_deref(), command.device.as_deref()), (Some("h"), Some("eth0")));
        let test = &command.test;
        assert_eq!((test.rate, test.burst, test.parallel, test.time_s), (100_000_000, 10, 4, 5));
        assert!(test.udp && test.bidir && test.get_server_output);
        assert_eq!((test.omit_s, test.tos, test.window), (1, 40, 65_536));
        assert_eq!((command.interval_s, command.format), (0.5, 'm'));
        let server = of("-s -1 -p 5999 --timestamps --server-bitrate-limit 1G/3").unwrap();
        assert_eq!((server.port, server.one_off, server.rate_limit), (5999, true, Some((1_000_000_000, 3))));
        assert_eq!(server.timestamps.as_deref(), Some("%c "));
        assert_eq!(of("-c h -u").unwrap().test.rate, 1 << 20);
        assert_eq!(of("-c h -n 64M").unwrap().test.time_s, 0);
        assert_eq!(
            (dscp("ef"), dscp("CS3"), dscp("0x0a"), dscp("af99"), dscp("64")),
            (Some(184), Some(96), Some(40), None, None)
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong = |line| match of(line) {
            Err(EarlyExit::Parameter(text) | EarlyExit::Option(text)) => text,
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(wrong("-c x -s"), "cannot be both server and client");
        assert_eq!(wrong(""), "must either be a client (-c) or server (-s)");
        assert_eq!(wrong("-c x -D"), "some option you are trying to set is server only");
        assert_eq!(wrong("-s -R"), "some option you are trying to set is client only");
        assert_eq!(wrong("-c x -P 200"), "number of parallel streams too large (maximum = 128)");
        assert_eq!(wrong("-c x -t 1 -n 5"), "only one test end condition (-t, -n, -k) may be specified");
        assert_eq!(wrong("-c x -F a -u"), "cannot transfer file using UDP");
        assert!(wrong("-c x -F a -P 2").contains("several streams"));
        assert!(wrong("-c x --sctp -M 900").contains("--set-mss cannot be had over SCTP"));
        assert!(of("-c x --sctp -N").is_ok());
        let near = of("-c x --sctp -X 10.0.0.1 -X ::1").unwrap().sctp_near;
        assert_eq!(near, ["10.0.0.1", "::1"]);
        assert!(
            wrong("-c x --sctp -X host").contains("`host`") && wrong("-c x -X 10.0.0.1").contains("--sctp")
        );
        assert_eq!(of("-c x --sctp --nstreams 3").unwrap().sctp_streams, Some(3));
        assert!(wrong("--nonsense").starts_with("unrecognized option '--nonsense'"));
        assert!(wrong("-c x --re").contains("ambiguous"));
        assert_eq!(wrong("-c"), "option requires an argument -- 'c'");
        assert_eq!(of("-h"), Err(EarlyExit::Help));
        assert_eq!(of("-v"), Err(EarlyExit::Version));
        // No argument breaks it, whatever it is.
        for text in ["-", "--", "-é", "--=", "-t=", "-b/", "-A,", "-c%", "-l-1", "-S0x", "-w1e400"] {
            let _ = of(text);
        }
    }
}

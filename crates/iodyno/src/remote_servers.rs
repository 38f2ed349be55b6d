//! Servers of ours on other hosts, started by the user's own ssh for one command.
//!
//! Each is this very program at the same path there, reads its secret from standard input, and says its port in its first
//! line. They end by themselves when the command's connections do; what of ssh is left then is ended here.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use iodyno_dialect::Abroad;
use iodyno_engine::clock;
use iodyno_model::{Diagnostic, Origin};

use crate::conversation;
use crate::loader::plain;
use crate::session::{OutputPolicy, say};

/// Names the program that is used instead of ssh; it is called as ssh is.
const SSH: &str = "IODYNO_SSH";
/// How long all of them may take to be there, ns.
const START_NS: u64 = 60_000_000_000;
/// How long they have to end by themselves, ns.
const PARTING_NS: u64 = 3_000_000_000;
const GLANCE_NS: u64 = 20_000_000;

/// Starts the servers, and carries the conversation with them; the exit status.
pub fn answer(abroad: Abroad, policy: &OutputPolicy) -> u8 {
    match start(&abroad) {
        Ok(servers) => {
            let ports: Vec<u16> = servers.iter().map(|server| server.port).collect();
            let status = conversation::answer((abroad.then)(&ports), policy);
            part(servers);
            status
        }
        Err(wrong) => {
            say(wrong);
            2
        }
    }
}

struct RemoteServer {
    child: Child,
    port: u16,
}

impl Drop for RemoteServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(abroad: &Abroad) -> Result<Vec<RemoteServer>, Diagnostic> {
    let unknown = |error: std::io::Error| Diagnostic::error(&Origin::Default, plain(&error));
    let program = std::env::current_exe().map_err(unknown)?;
    let ssh = std::env::var(SSH).unwrap_or_else(|_| "ssh".into());
    let words: Vec<String> = std::iter::once(program.to_string_lossy().into_owned())
        .chain(abroad.arguments.iter().cloned())
        .map(|word| quoted(&word))
        .collect();
    let line = words.join(" ");
    let spawn = |host: &String| one(&ssh, host, &line, &abroad.input);
    let begun: Vec<(Child, Receiver<String>)> = abroad.hosts.iter().map(spawn).collect::<Result<_, _>>()?;
    let mut servers: Vec<RemoteServer> = Vec::new();
    let mut lines = Vec::new();
    for (child, said) in begun {
        servers.push(RemoteServer { child, port: 0 });
        lines.push(said);
    }
    let until = clock::monotonic() + START_NS;
    for ((server, said), host) in servers.iter_mut().zip(lines).zip(&abroad.hosts) {
        let left = clock::duration(until.saturating_sub(clock::monotonic()));
        let first = said.recv_timeout(left).unwrap_or_default();
        server.port = port_of(&first).ok_or_else(|| {
            Diagnostic::error(&Origin::argument(host), "no server could be started there").hint(format!(
                "`{ssh} {host} {} --version` must work without a password, on every host",
                quoted(&program.to_string_lossy())
            ))
        })?;
    }
    Ok(servers)
}

fn one(ssh: &str, host: &str, line: &str, input: &str) -> Result<(Child, Receiver<String>), Diagnostic> {
    let failed = |error: std::io::Error| {
        Diagnostic::error(&Origin::argument(ssh), plain(&error))
            .hint(format!("install ssh, or name it by {SSH}"))
    };
    let mut words = ssh.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("ssh"));
    command.args(words).args(["-o", "BatchMode=yes", host, line]);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that has ended already is missed where its first line is.
        let _ = stdin.write_all(input.as_bytes());
    }
    let (tell, said) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            let mut lines = BufReader::new(stdout).lines();
            let first = lines.next().and_then(Result::ok).unwrap_or_default();
            // Nobody may be waiting any more.
            let _ = tell.send(first);
            // What follows is read, so that nobody waits for a reader.
            lines.for_each(drop);
        });
    }
    Ok((child, said))
}

/// The port in a server's first line: `Starting netserver at [::]:12865, …`.
fn port_of(line: &str) -> Option<u16> {
    let address = line.split(" at ").nth(1)?.split(',').next()?;
    address.rsplit_once(':')?.1.trim().parse().ok().filter(|port| *port > 0)
}

/// A word as the shell there takes it.
pub fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-=:".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// They end by themselves; what does not is ended.
fn part(mut servers: Vec<RemoteServer>) {
    let until = clock::monotonic() + PARTING_NS;
    while clock::monotonic() < until
        && servers.iter_mut().any(|server| matches!(server.child.try_wait(), Ok(None)))
    {
        clock::sleep_ns(GLANCE_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_in_the_first_line() {
        let line =
            "Starting netserver at [::]:41234, at every address: -L 127.0.0.1 keeps it to this machine";
        assert_eq!(port_of(line), Some(41234));
        assert_eq!((port_of("Permission denied"), port_of(""), port_of("x at :0")), (None, None, None));
    }

    #[test]
    fn words_reach_the_other_shell_whole() {
        assert_eq!(
            (quoted("/opt/x"), quoted("a b"), quoted("it's")),
            ("/opt/x".into(), "'a b'".into(), "'it'\\''s'".into())
        );
    }
}

//! The only way in which a test starts a program, hears it, signals it and collects its end.
//!
//! Why one way: a program that hangs must not hang its test, must say all that it said until then, and must leave
//! nothing behind, also when the test itself is killed. So each runs in a process group of its own, dies with the thread
//! that started it, hears the signals of its test whatever the caller's shell ignores, and is waited for as
//! [`wait`](crate::wait) waits. Waiting panics, so that the failure names the line of the case; [`Program::outcome`]
//! and [`Running::outcome`] return the sentence instead.
//! It refuses to tell how long a program took: what a program did is judged by what it said and left.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::wait;

/// A program that was not started yet.
#[derive(Debug)]
pub struct Program {
    command: Command,
    input: Stdio,
    out: Option<Stdio>,
    err: Option<Stdio>,
}

impl Program {
    /// The program of a command, with nothing on its standard input.
    pub fn new(command: Command) -> Program {
        Program { command, input: Stdio::null(), out: None, err: None }
    }

    /// The program at a path or of a name, with these arguments.
    pub fn of<A: AsRef<OsStr>>(
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Program {
        let mut command = Command::new(program);
        command.args(arguments);
        Program::new(command)
    }

    /// Gives it a standard input; a pipe's other end is [`Running::input`].
    pub fn input(self, input: impl Into<Stdio>) -> Program {
        Program { input: input.into(), ..self }
    }

    /// Lets its standard output go elsewhere; nothing of it is heard then.
    pub fn out(self, out: impl Into<Stdio>) -> Program {
        Program { out: Some(out.into()), ..self }
    }

    /// Lets its standard error go elsewhere; nothing of it is heard then.
    pub fn err(self, err: impl Into<Stdio>) -> Program {
        Program { err: Some(err.into()), ..self }
    }

    /// Starts it, listening to both of its streams.
    ///
    /// # Panics
    /// When it cannot be started.
    #[track_caller]
    pub fn start(self) -> Running {
        self.launch().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// When it cannot be started or does not end.
    #[track_caller]
    pub fn run(self) -> ProgramOutput {
        self.outcome().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// A sentence, when it cannot be started or does not end.
    pub fn outcome(self) -> Result<ProgramOutput, String> {
        self.launch()?.outcome()
    }

    /// Runs an original that is known to hang at times to its end, or gives it up early.
    ///
    /// # Errors
    /// A sentence, when it cannot be started or does not end.
    pub fn outcome_of_an_original(self) -> Result<ProgramOutput, String> {
        self.launch()?.ended(|what, look| wait::for_an_original(what, look))
    }

    /// Starts it.
    ///
    /// # Errors
    /// A sentence, when it cannot be started.
    pub fn launch(mut self) -> Result<Running, String> {
        let name = self.command.get_program().to_string_lossy().into_owned();
        self.command.stdin(self.input).process_group(0);
        self.command.stdout(self.out.unwrap_or_else(Stdio::piped));
        self.command.stderr(self.err.unwrap_or_else(Stdio::piped));
        bind_to_its_test(&mut self.command);
        let mut child = self.command.spawn().map_err(|error| format!("cannot run {name}: {error}"))?;
        let streams = (Stream::of(child.stdout.take()), Stream::of(child.stderr.take()));
        Ok(Running { name, child, collected: false, out: streams.0, err: streams.1 })
    }
}

/// It hears Ctrl-C though a shell in the background ignores it for its children, and ends with who started it.
fn bind_to_its_test(command: &mut Command) {
    let bind = || {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGPIPE] {
            // SAFETY: restoring the default action touches no memory.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        #[cfg(target_os = "linux")]
        // SAFETY: the call sets an attribute of this process and touches no memory.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure only makes system calls.
    unsafe { command.pre_exec(bind) };
}

/// The status of a program that has ended, or why it cannot be told.
type Ended = std::io::Result<ExitStatus>;
/// A look whether it has.
type Look<'a> = &'a mut dyn FnMut() -> Option<Ended>;

/// A program that was started. It is killed with all that it started when this is dropped before its end was collected.
#[derive(Debug)]
pub struct Running {
    name: String,
    child: Child,
    collected: bool,
    out: Stream,
    err: Stream,
}

impl Running {
    /// Starts a command with nothing on its standard input, listening to both of its streams.
    ///
    /// # Panics
    /// When it cannot be started.
    #[track_caller]
    pub fn start(command: Command) -> Running {
        Program::new(command).start()
    }

    /// Its process id, which is the id of its process group as well.
    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Whether it has not ended yet.
    pub fn is_there(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// What it has said on standard output so far.
    pub fn out(&self) -> String {
        self.out.text()
    }

    /// What it has said on standard error so far.
    pub fn err(&self) -> String {
        self.err.text()
    }

    /// The pipe to its standard input, where it was given one; it is closed when it is dropped.
    pub fn input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Writes to its standard input, which stays open.
    ///
    /// # Panics
    /// When it has none that is a pipe, or when it does not read any more.
    #[track_caller]
    pub fn tell(&mut self, bytes: &[u8]) {
        let input = self.child.stdin.as_mut().expect("a pipe as its standard input");
        input
            .write_all(bytes)
            .and_then(|()| input.flush())
            .unwrap_or_else(|error| panic!("{}: {error}", self.name));
    }

    /// Sends a signal to it alone.
    ///
    /// # Panics
    /// When it was collected already.
    #[track_caller]
    pub fn signal(&self, signal: i32) {
        // SAFETY: the child is ours and was not waited for.
        assert_eq!(unsafe { libc::kill(self.pid(), signal) }, 0, "{} is not there", self.name);
    }

    /// Sends a signal to it and to all of its process group, as a terminal does.
    ///
    /// # Panics
    /// When nobody of them is there any more.
    #[track_caller]
    pub fn signal_all(&self, signal: i32) {
        // SAFETY: the group was made for this child and holds only what it started.
        assert_eq!(unsafe { libc::kill(-self.pid(), signal) }, 0, "nobody of {} is there", self.name);
    }

    /// Waits until something is true of the world, while it runs.
    ///
    /// # Panics
    /// When it ended before, or when that never came true.
    #[track_caller]
    pub fn until(&mut self, what: &str, mut is: impl FnMut() -> bool) {
        let mut ended = None;
        let waited = wait::until(what, || {
            // The end is looked at first: what it did last is seen all the same.
            ended = self.child.try_wait().ok().flatten();
            is() || ended.is_some()
        });
        if ended.is_some() && !is() {
            panic!("{} ended ({}) before {what}\n{}", self.name, ended.unwrap_or_default(), self.heard());
        }
        waited.unwrap_or_else(|error| panic!("{error}\n{}", self.heard()));
    }

    /// Waits until it has said this on standard output.
    ///
    /// # Panics
    /// When it ended without, or never said it.
    #[track_caller]
    pub fn says(&mut self, word: &str) {
        let out = self.out.heard.clone();
        self.until(word, || text(&out).contains(word));
    }

    /// Waits until it has said this on standard error.
    ///
    /// # Panics
    /// When it ended without, or never said it.
    #[track_caller]
    pub fn warns(&mut self, word: &str) {
        let err = self.err.heard.clone();
        self.until(word, || text(&err).contains(word));
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end.
    #[track_caller]
    pub fn end(self) -> ProgramOutput {
        self.outcome().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// A sentence with all that it said, when it does not end.
    pub fn outcome(self) -> Result<ProgramOutput, String> {
        self.ended(|what, look| wait::for_some(what, look))
    }

    fn ended(
        mut self,
        wait_for: fn(&str, Look<'_>) -> Result<Ended, String>,
    ) -> Result<ProgramOutput, String> {
        let name = self.name.clone();
        let ended = wait_for(&format!("the end of {name}"), &mut || self.child.try_wait().transpose());
        let status =
            ended.map_err(|error| self.given_up(error))?.map_err(|error| format!("{name}: {error}"))?;
        // What it started may hold its streams longer than it lives.
        let closed = format!("{name} ended, and the end of its streams");
        wait::until(&closed, || self.out.is_closed() && self.err.is_closed())
            .map_err(|error| self.given_up(error))?;
        // What it left behind after a good end is not cleared away: whether there is anything is for tests to find out.
        self.collected = true;
        Ok(ProgramOutput { status, out: self.out.text(), err: self.err.text() })
    }

    /// Kills it with all that it started, and says what it said.
    fn given_up(&mut self, error: String) -> String {
        self.kill_all();
        self.collected = true;
        format!("{error}\n{}", self.heard())
    }

    fn heard(&self) -> String {
        format!("--- stdout\n{}\n--- stderr\n{}", self.out(), self.err())
    }

    fn kill_all(&mut self) {
        // The tree is looked at before its root is gone: orphans belong to somebody else.
        let descendants = descendants(self.pid());
        for pid in std::iter::once(-self.pid()).chain(descendants) {
            // SAFETY: a signal to this program's own group and to processes that it started touches no memory.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.collected {
            self.kill_all();
        }
    }
}

/// The processes that a process started, and theirs, also those that left its group; none where there is no `/proc`.
fn descendants(root: i32) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
    let links: Vec<(i32, i32)> = pids.filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&one) = found.get(next) {
        found.extend(links.iter().filter(|(_, parent)| *parent == one).map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}

fn parent(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything; after it come the state and the parent.
    stat.rsplit(") ").next()?.split(' ').nth(1)?.parse().ok()
}

/// One of its streams: what was heard, and the thread that listens until it is closed.
#[derive(Debug)]
struct Stream {
    heard: Arc<Mutex<Vec<u8>>>,
    listener: JoinHandle<()>,
}

impl Stream {
    fn of(stream: Option<impl Read + Send + 'static>) -> Stream {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ear = Arc::clone(&heard);
        let listener = std::thread::spawn(move || {
            let (Some(mut stream), mut room) = (stream, [0; 65536]) else { return };
            while let Ok(bytes @ 1..) = stream.read(&mut room) {
                ear.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&room[..bytes]);
            }
        });
        Stream { heard, listener }
    }

    fn is_closed(&self) -> bool {
        self.listener.is_finished()
    }

    fn text(&self) -> String {
        text(&self.heard)
    }
}

fn text(heard: &Mutex<Vec<u8>>) -> String {
    String::from_utf8_lossy(&heard.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
}

/// What a program said, and how it ended.
#[derive(Debug, Clone, Default)]
pub struct ProgramOutput {
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl ProgramOutput {
    /// The exit status; a death by a signal counts as 128 + n, as in a shell.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// Both streams, one after the other.
    pub fn all(&self) -> String {
        format!("{}{}", self.out, self.err)
    }

    /// It ended with this status, said these things on either stream, and nothing of ours that is no message.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn expect(&self, code: i32, words: &[&str]) -> &ProgramOutput {
        assert_eq!(self.code(), code, "{self}");
        let all = self.all();
        // Reports are wrapped; words are not.
        let flat = all.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in words {
            assert!(flat.contains(word), "`{word}` was not said:\n{self}");
        }
        assert!(!all.contains("panicked") && !all.contains("os error"), "{self}");
        self
    }

    /// It was refused: nothing reported, one clear message, and a hint.
    ///
    /// # Panics
    /// When it was not.
    #[track_caller]
    pub fn refused(&self, words: &[&str]) -> &ProgramOutput {
        self.expect(2, words).one_error();
        assert!(self.out.is_empty(), "{self}");
        self
    }

    /// Exactly one error was told, with a hint.
    ///
    /// # Panics
    /// When that is not so.
    #[track_caller]
    pub fn one_error(&self) -> &ProgramOutput {
        let count = |mark: &str| self.err.lines().filter(|line| line.starts_with(mark)).count();
        assert_eq!((count("error:"), count(" hint:")), (1, 1), "{self}");
        self
    }
}

impl std::fmt::Display for ProgramOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n--- stdout\n{}\n--- stderr\n{}", self.status, self.out, self.err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Program {
        Program::of("sh", ["-c", script])
    }

    #[test]
    fn both_streams_and_the_end_are_told() {
        let said = shell("echo out; echo err >&2; exit 3").run();
        assert_eq!((said.code(), &*said.out, &*said.err), (3, "out\n", "err\n"));
        said.expect(3, &["out", "err"]);
        assert_eq!(shell("kill -KILL $$").run().code(), 128 + libc::SIGKILL);
        shell("echo 'error: no'; echo ' hint: so'; exit 2").run().expect(2, &["error: no hint: so"]);
        shell("echo 'error: no' >&2; echo ' hint: so' >&2; exit 2").run().refused(&["no"]);
        assert!(Program::of("/no/such/program", [""; 0]).outcome().is_err());
    }

    #[test]
    fn a_running_one_is_heard_told_and_signalled() {
        let script = "trap 'echo caught; exit 7' TERM; read word; echo \"$word\"; echo so >&2; read more";
        let mut running = shell(script).input(Stdio::piped()).start();
        running.tell(b"hello\n");
        running.says("hello");
        running.warns("so");
        assert!(running.is_there());
        running.signal(libc::SIGTERM);
        // A shell hears it when what it waits for has come.
        drop(running.input());
        running.end().expect(7, &["caught"]);
    }

    #[test]
    fn nothing_that_it_started_outlives_it() {
        let mut running = shell("setsid sleep 1000 & sleep 1000 & echo started; wait").start();
        running.says("started");
        let root = running.pid();
        wait::until("both children", || descendants(root).len() >= 2).expect("they were started");
        let all = descendants(root);
        drop(running);
        wait::until("their end", || all.iter().all(|pid| ended(*pid))).expect("all are gone");
    }

    /// Gone, or dead and not yet collected by who inherited it.
    fn ended(pid: i32) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    }

    #[test]
    #[should_panic(expected = "ended (exit status: 0) before the moon")]
    fn an_end_before_what_is_awaited_is_told() {
        shell("echo all").start().until("the moon", || false);
    }
}

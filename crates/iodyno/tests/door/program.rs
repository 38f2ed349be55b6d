//! Starting the program, bounded in time, and looking at what it said and left.

use std::ffi::OsStr;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Longer than any case takes on a busy machine of two cores.
const PATIENCE: Duration = Duration::from_secs(50);

/// The built program.
pub const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

/// What it said and how it ended.
#[derive(Debug)]
pub struct Told {
    pub status: ExitStatus,
    pub out: String,
    pub err: String,
}

impl Told {
    /// The exit status; a death by a signal counts as 128 + n, as in a shell.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// It ended with this status, and said these things on stdout and stderr together.
    #[track_caller]
    pub fn expect(&self, code: i32, words: &[&str]) -> &Told {
        assert_eq!(self.code(), code, "{self}");
        let all = format!("{}{}", self.out, self.err);
        // Reports are wrapped; words are not.
        let flat = all.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in words {
            assert!(flat.contains(word), "`{word}` was not said:\n{self}");
        }
        assert!(!all.contains("panicked") && !all.contains("os error"), "{self}");
        self
    }

    /// It was refused: nothing reported, one clear message, and a hint.
    #[track_caller]
    pub fn refused(&self, words: &[&str]) -> &Told {
        self.expect(2, words).one_error();
        assert!(self.out.is_empty(), "{self}");
        self
    }

    /// Exactly one error was told, with a hint.
    #[track_caller]
    pub fn one_error(&self) -> &Told {
        let count = |mark: &str| self.err.lines().filter(|line| line.starts_with(mark)).count();
        assert_eq!((count("error:"), count(" hint:")), (1, 1), "{self}");
        self
    }
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n--- stdout\n{}\n--- stderr\n{}", self.status, self.out, self.err)
    }
}

/// The program with arguments, its voice undisturbed by the caller's environment and terminal.
pub fn iodyno<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    dressed(Command::new(IODYNO), arguments)
}

/// A command for the program, dressed the same way.
pub fn dressed<S: AsRef<OsStr>>(mut command: Command, arguments: impl IntoIterator<Item = S>) -> Command {
    command.args(arguments).env_remove("IODYNO_FINDINGS").env_remove("COLUMNS").stdin(Stdio::null());
    // A shell in the background ignores Ctrl-C for its children, and iodyno respects that; its quiet answer to a
    // closed pipe must not depend on the test's own either.
    let default_signals = || {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGPIPE] {
            // SAFETY: restoring the default action touches no memory.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure only makes system calls.
    unsafe { command.pre_exec(default_signals) };
    command
}

/// A running program.
pub struct Running {
    child: Child,
    voice: Option<[std::thread::JoinHandle<()>; 2]>,
    heard: [Arc<Mutex<Vec<u8>>>; 2],
}

impl Running {
    /// Starts it, listening to both of its streams.
    #[track_caller]
    pub fn start(mut command: Command) -> Running {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let heard = [(); 2].map(|()| Arc::default());
        let voice = [listen(child.stdout.take(), &heard[0]), listen(child.stderr.take(), &heard[1])];
        Running { child, voice: Some(voice), heard }
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Whether it has not ended yet.
    pub fn is_there(&mut self) -> bool {
        self.child.try_wait().expect("waiting").is_none()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        // SAFETY: the child is ours and was not waited for.
        assert_eq!(unsafe { libc::kill(self.pid(), signal) }, 0);
    }

    /// Waits until something is true of the world.
    #[track_caller]
    pub fn until(&mut self, what: &str, mut is: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !is() {
            let ended = self.child.try_wait().expect("waiting");
            assert!(ended.is_none(), "it ended ({ended:?}) before {what}");
            assert!(begun.elapsed() < PATIENCE, "{what} never came");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until it has said this on standard output.
    #[track_caller]
    pub fn says(&mut self, word: &str) {
        let heard = Arc::clone(&self.heard[0]);
        self.until(word, || text(&heard).contains(word));
    }

    /// Waits for its end.
    #[track_caller]
    pub fn end(mut self) -> Told {
        let status = patiently(&mut self.child);
        let voice = self.voice.take().expect("listened once");
        voice.into_iter().for_each(|voice| voice.join().expect("listening"));
        let [out, err] = [0, 1].map(|stream| text(&self.heard[stream]));
        Told { status, out, err }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After a normal end both are refused, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn listen(
    stream: Option<impl Read + Send + 'static>,
    heard: &Arc<Mutex<Vec<u8>>>,
) -> std::thread::JoinHandle<()> {
    let heard = Arc::clone(heard);
    std::thread::spawn(move || {
        let (mut stream, mut room) = (stream.expect("a pipe"), [0; 65536]);
        while let Ok(bytes @ 1..) = stream.read(&mut room) {
            heard.lock().expect("a listener").extend_from_slice(&room[..bytes]);
        }
    })
}

fn text(heard: &Mutex<Vec<u8>>) -> String {
    String::from_utf8_lossy(&heard.lock().expect("a listener")).into_owned()
}

#[track_caller]
fn patiently(child: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("waiting") {
            return status;
        }
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("it did not end within {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Starts a command and waits for its end.
#[track_caller]
pub fn told(command: Command) -> Told {
    Running::start(command).end()
}

/// `iodyno measure` at its shortest, of a path.
pub fn quick(path: impl AsRef<Path>) -> Vec<String> {
    let path = path.as_ref().display().to_string();
    ["measure", "--quick", "--time", "50ms", "--size", "16MiB", &path].map(String::from).to_vec()
}

/// A directory on the build's own file system, which is usually a disk; /tmp often is none.
pub fn scratch() -> TempDir {
    let mut builder = tempfile::Builder::new();
    builder.prefix("door-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a scratch directory")
}

/// Writes a plan into a directory.
pub fn plan(home: &Path, text: &str) -> PathBuf {
    let path = home.join("plan.toml");
    std::fs::write(&path, text).expect("writing a plan");
    path
}

/// Runs a plan, quietly, in a directory.
#[track_caller]
pub fn run(home: &Path, text: &str, arguments: &[&str]) -> Told {
    let path = plan(home, text);
    let mut command = iodyno(["run", "--quiet"]);
    command.arg(path).args(arguments).current_dir(home);
    told(command)
}

/// Names in a directory, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let listed = std::fs::read_dir(directory).expect("a directory");
    let mut names: Vec<_> =
        listed.map(|entry| entry.expect("a name").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A fingerprint of a file's or device's content.
pub fn fingerprint(path: &Path) -> u64 {
    let (mut hasher, mut chunk) = (DefaultHasher::new(), vec![0; 1 << 20]);
    let mut file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    loop {
        match file.read(&mut chunk).expect("reading") {
            0 => return hasher.finish(),
            bytes => chunk[..bytes].hash(&mut hasher),
        }
    }
}

/// Writes a file of this many MiB that does not repeat.
pub fn noise(path: &Path, mib: u32) {
    let mut state = 1u64;
    let words = (0..mib << 17).map(|_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state
    });
    let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    std::fs::write(path, bytes).expect("writing noise");
}

//! `iodyno studio`: a page on which people design, run, watch and compare measurements, served by this program itself.
//!
//! ```text
//!   browser ─► http ─► gate ─► routes ─┬─ designs: explained, read and written, here
//!                                      ├─ runs: this program again, with the words that a user would type
//!                                      └─ results: the history
//! ```
//! Nothing is run that a command would not run: every run is one, with its words shown. It refuses addresses that others reach
//! unless that is said, and whoever comes without the key.

mod command_line;
mod compare;
mod designs;
mod explanation;
mod export;
mod folder;
mod import;
mod machine;
mod results;
mod routes;
mod running;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clap::Parser;
use iodyno_engine::signal;
use iodyno_model::{Diagnostic, Origin};
use iodyno_studio::admission::{Admission, Gate, secured};
use iodyno_studio::http::{HttpRequest, Response, serve};

use crate::loader::plain;
use crate::runs::{ended, one, parsed, print};
use crate::session::say;
use running::Runs;

/// Between two looks whether somebody said stop.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Parser)]
#[command(name = "iodyno studio", about = "Design, run, watch and compare measurements in a browser",
    disable_version_flag = true, after_help = AFTER)]
pub struct StudioArgs {
    /// Address and port; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: String,
    /// Let other machines reach it, over an address that is no loopback: unencrypted, so only in a network that you trust
    #[arg(long)]
    remote: bool,
}

const AFTER: &str = "It prints an address with a key that opens it once; each use prints the next. Runs are this program's own \
commands: what they refuse is refused here, and a device is overwritten only where its name is typed. Ctrl-C ends it, and what \
it runs. What was designed lies in $XDG_DATA_HOME/iodyno/studio; docs/studio.md.";

/// What all requests share.
pub struct Studio {
    gate: Mutex<Gate>,
    pub runs: Runs,
    /// Where designs and reports lie.
    pub folder: PathBuf,
}

/// Does `iodyno studio ARGUMENTS…`; the exit status.
pub fn answer(arguments: &[String]) -> u8 {
    match parsed::<StudioArgs>("iodyno studio", arguments) {
        Ok(words) => ended(open(&words).map_err(one)),
        Err(status) => status,
    }
}

fn open(words: &StudioArgs) -> Result<u8, Diagnostic> {
    let wrong = |what: String| Diagnostic::error(&Origin::argument(&words.listen), what);
    let address = words.listen.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let address: SocketAddr = address.as_deref().unwrap_or(&words.listen).parse().map_err(|_| {
        wrong("expected an address and a port".into())
            .hint("--listen 127.0.0.1:0; port 0 is any that is free")
    })?;
    if !address.ip().is_loopback() && !words.remote {
        let hint =
            "from another machine: ssh -L 8080:127.0.0.1:PORT, or --remote in a network that you trust";
        return Err(wrong("others would reach it, too".into()).hint(hint));
    }
    let folder = folder::place()?;
    let listener = TcpListener::bind(address)
        .map_err(|error| wrong(plain(&error)).hint("another port, or 0 for any that is free"))?;
    let socket = listener.local_addr().map_err(|error| wrong(plain(&error)))?;
    let gate = Gate::new(socket, word().map_err(&wrong)?, word().map_err(&wrong)?);
    let url = gate.url();
    let studio = Arc::new(Studio { gate: Mutex::new(gate), runs: Runs::default(), folder });
    signal::install();
    signal::ignore_pipes();
    let served = Arc::clone(&studio);
    serve("studio", listener, move |request| served.answer(request)).map_err(|error| wrong(plain(&error)))?;
    print(&format!("{url}\n"));
    if socket.ip().is_unspecified() {
        say(format_args!("from another machine: an address of this one in the place of {}", socket.ip()));
    }
    say("open it in a browser; the key in it works once. Ctrl-C ends the studio and what it runs");
    while signal::interruptions().0 == 0 {
        std::thread::sleep(LOOK);
    }
    studio.runs.end();
    Ok(0)
}

impl Studio {
    /// The answer to a request, if it is let in.
    fn answer(&self, request: &HttpRequest) -> Response {
        let mut gate = self.gate();
        let admission = gate.admit(request, word);
        let token = gate.token().to_string();
        let next = gate.url();
        drop(gate);
        match admission {
            Ok(Admission::In) => routes::answer(self, request, &token),
            Ok(Admission::Entered(response)) => {
                let opened = response.headers.iter().any(|(name, _)| *name == "Set-Cookie");
                if opened {
                    say(format_args!("opened; for another browser: {next}"));
                }
                response
            }
            Ok(Admission::Refused(response)) => response,
            Err(why) => secured(Response::refused(503, &why)),
        }
    }

    fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A word that nobody can guess.
fn word() -> Result<String, String> {
    use std::io::Read;
    let mut bytes = [0; 20];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| format!("no chance is to be had here: {}", plain(&error)))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

//! `iodyno powerfail listen`: keeps the log of one writer.

use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use clap::Args;
use iodyno_crash::powerfail::channel::{ListenerChannel, SharedKey};
use iodyno_crash::powerfail::log_reader::PromiseRecord;
use iodyno_model::Diagnostic;
use iodyno_model::origin::plain;

use super::key::KeyArgs;
use super::wrong;
use crate::option_values::positive_time;
use crate::session::say;
use crate::sink::unwritable;

/// The port where none is named.
pub const PORT: u16 = 7471;
/// A connection that does not greet for so long is none.
const GREETING: Duration = Duration::from_secs(10);

#[derive(Args)]
pub struct ListenArgs {
    /// Address, and port where it is not 7471
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "127.0.0.1", value_parser = address)]
    address: SocketAddr,
    /// The log: a new file
    #[arg(long, value_name = "FILE")]
    to: String,
    #[command(flatten)]
    key: KeyArgs,
    /// A writer that says nothing for so long is gone
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = positive_time)]
    silence: u64,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let alone = || text.parse::<IpAddr>().ok().map(|address| SocketAddr::new(address, PORT));
    text.parse()
        .ok()
        .or_else(alone)
        .ok_or_else(|| "expected an address, e.g. 192.0.2.7 or 0.0.0.0:7000".into())
}

pub fn answer(words: &ListenArgs) -> Result<u8, Diagnostic> {
    let key = words.key.key()?;
    let place = words.address.to_string();
    let socket = TcpListener::bind(words.address);
    let socket = socket.map_err(|error| wrong(&place, plain(&error), "name a free port of this host"))?;
    let made = File::options().write(true).create_new(true).open(&words.to);
    let mut file = made.map_err(|error| unwritable(&words.to, &error))?;
    let address = socket.local_addr().unwrap_or(words.address);
    say(format_args!("listening at {address}; a writer there says --log tcp://{address}"));
    let channel = match greeted(&socket, &key) {
        Ok(channel) => channel,
        Err(error) => {
            drop(std::fs::remove_file(&words.to));
            return Err(wrong(&place, plain(&error), "start it again"));
        }
    };
    kept(words, channel, &mut file)
}

/// The first writer that has the key; others are sent away.
fn greeted(socket: &TcpListener, key: &SharedKey) -> io::Result<(TcpStream, ListenerChannel)> {
    loop {
        let (stream, peer) = socket.accept()?;
        let own = stream.try_clone()?;
        stream.set_read_timeout(Some(GREETING))?;
        match ListenerChannel::open(stream, key) {
            Ok(channel) => {
                say(format_args!("{peer} writes"));
                return Ok((own, channel));
            }
            Err(error) => say(format_args!("warning: {peer} was sent away: {}", plain(&error))),
        }
    }
}

fn kept(
    words: &ListenArgs,
    (stream, mut channel): (TcpStream, ListenerChannel),
    file: &mut File,
) -> Result<u8, Diagnostic> {
    let silence = stream.set_read_timeout(Some(Duration::from_nanos(words.silence)));
    silence.map_err(|error| wrong("--silence", plain(&error), "name another time"))?;
    let mut trouble = None;
    let end = loop {
        let mut keep = |lines: &[u8]| file.write_all(lines).inspect_err(|error| trouble = Some(plain(error)));
        match channel.take(&mut keep) {
            Ok(true) => {}
            Ok(false) => break "the writer is gone".to_string(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                break "nothing comes any more: the writer is taken for gone".to_string();
            }
            Err(error) => break plain(&error),
        }
    };
    if let Some(why) = trouble {
        return Err(wrong(&words.to, format!("the log cannot be kept: {why}"), "make room where it goes"));
    }
    let text = std::fs::read(&words.to).map_err(|error| unwritable(&words.to, &error))?;
    match PromiseRecord::read(&text) {
        Ok(record) => {
            let promises = record.count();
            say(format_args!("{end}; {promises} promises in {}", words.to));
            say(format_args!("now: iodyno powerfail verify {} TARGET", words.to));
            Ok(0)
        }
        Err(fault) => {
            Err(wrong(&words.to, format!("{end}; {}", fault.message), "let the writer begin again"))
        }
    }
}

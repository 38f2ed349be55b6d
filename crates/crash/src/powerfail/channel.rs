//! Entries over TCP: each message carries a keyed hash, and is answered once it is kept.
//!
//! ```text
//! listener                                   writer
//!   iodyno-powerfail/1 CHALLENGE\n     ──►
//!                                      ◄──   iodyno-powerfail/1 CHALLENGE HMAC\n     hello
//!   HMAC\n                             ──►                                          the listener has the key, too
//!                                      ◄──   BYTES HMAC\n and so many bytes          a message of lines
//!   kept HMAC\n                        ──►                                          they are in the file
//! ```
//!
//! The hashes of a connection are made with a key of its own, of both challenges, and count the messages: nothing that was
//! recorded of another connection is taken. What is sent can be read on the way: promises are no secrets.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::entry::MAGIC;

/// Of a message; longer ones are refused.
const MOST_BYTES: usize = 1 << 16;
/// Of a line of the protocol.
const MOST_LINE: u64 = 256;
/// Bytes of a challenge and of a connection's key.
const CHALLENGE_BYTES: usize = 32;

/// The key that both ends have.
#[derive(Clone)]
pub struct SharedKey(Vec<u8>);

impl SharedKey {
    /// Bytes of the shortest key.
    pub const LEAST: usize = 16;

    /// White space around it does not count.
    ///
    /// # Errors
    /// It is too short.
    pub fn new(bytes: &[u8]) -> Result<SharedKey, String> {
        let key = bytes.trim_ascii();
        if key.len() < SharedKey::LEAST {
            return Err(format!("a key of {} bytes; at least {} are needed", key.len(), SharedKey::LEAST));
        }
        Ok(SharedKey(key.to_vec()))
    }
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("any length is a key")
}

fn of_parts(key: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = keyed(key);
    for part in parts {
        mac.update(&(part.len() as u64).to_le_bytes());
        mac.update(part);
    }
    mac
}

fn hash(key: &[u8], parts: &[&[u8]]) -> String {
    of_parts(key, parts).finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares in constant time.
fn is_hash(key: &[u8], parts: &[&[u8]], hash: &str) -> bool {
    let bytes: Option<Vec<u8>> = (hash.is_ascii() && hash.len().is_multiple_of(2))
        .then(|| {
            (0..hash.len() / 2).map(|at| u8::from_str_radix(&hash[2 * at..2 * at + 2], 16).ok()).collect()
        })
        .flatten();
    bytes.is_some_and(|bytes| of_parts(key, parts).verify_slice(&bytes).is_ok())
}

fn challenge() -> io::Result<String> {
    let mut bytes = [0; CHALLENGE_BYTES];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

/// One end of a connection with its own key, and messages counted.
struct Peer {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
    key: Vec<u8>,
    messages: u64,
}

impl Peer {
    fn new(stream: TcpStream) -> io::Result<Peer> {
        stream.set_nodelay(true)?;
        let writer = stream.try_clone()?;
        Ok(Peer { reader: BufReader::new(stream), writer, key: Vec::new(), messages: 0 })
    }

    fn join(&mut self, key: &SharedKey, listener: &str, writer: &str) {
        let own = of_parts(&key.0, &[b"connection", listener.as_bytes(), writer.as_bytes()]);
        self.key = own.finalize().into_bytes().to_vec();
    }

    /// A line without its end; none: the connection has ended.
    fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        (&mut self.reader).take(MOST_LINE).read_line(&mut line)?;
        Ok(line.strip_suffix('\n').map(String::from))
    }

    fn count(&mut self) -> [u8; 8] {
        self.messages += 1;
        self.messages.to_le_bytes()
    }
}

/// A writer's end.
pub struct EntryChannel(Peer);

impl EntryChannel {
    /// Greets a listener.
    ///
    /// # Errors
    /// It is none, or has another key.
    pub fn open(stream: TcpStream, key: &SharedKey) -> io::Result<EntryChannel> {
        let mut peer = Peer::new(stream)?;
        let greeting = peer.line()?.unwrap_or_default();
        let theirs = greeting.strip_prefix(MAGIC).map(str::trim);
        let theirs = theirs.ok_or_else(|| refused("there is no `iodyno powerfail listen` at that port"))?;
        let own = challenge()?;
        let hello = hash(&key.0, &[b"writer", theirs.as_bytes(), own.as_bytes()]);
        peer.writer.write_all(format!("{MAGIC} {own} {hello}\n").as_bytes())?;
        let answer = peer.line()?.ok_or_else(|| refused("the listener has another key"))?;
        if !is_hash(&key.0, &[b"listener", theirs.as_bytes(), own.as_bytes()], &answer) {
            return Err(refused("the listener does not know the key"));
        }
        peer.join(key, theirs, &own);
        Ok(EntryChannel(peer))
    }

    /// Sends lines, and waits until they are kept.
    ///
    /// # Errors
    /// The connection's own, or it is no longer the listener that answers.
    pub fn put(&mut self, lines: &str) -> io::Result<()> {
        let peer = &mut self.0;
        let number = peer.count();
        let sum = hash(&peer.key, &[b"entry", &number, lines.as_bytes()]);
        peer.writer.write_all(format!("{} {sum}\n{lines}", lines.len()).as_bytes())?;
        let answer = peer.line()?.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionReset))?;
        let is_kept =
            answer.strip_prefix("kept ").is_some_and(|sum| is_hash(&peer.key, &[b"kept", &number], sum));
        if is_kept { Ok(()) } else { Err(refused("the listener's answer does not fit")) }
    }
}

/// A listener's end.
pub struct ListenerChannel(Peer);

impl ListenerChannel {
    /// Greets who has connected.
    ///
    /// # Errors
    /// It is no writer, or has another key.
    pub fn open(stream: TcpStream, key: &SharedKey) -> io::Result<ListenerChannel> {
        let mut peer = Peer::new(stream)?;
        let own = challenge()?;
        peer.writer.write_all(format!("{MAGIC} {own}\n").as_bytes())?;
        let hello = peer.line()?.unwrap_or_default();
        let words: Vec<&str> = hello.split(' ').collect();
        let [MAGIC, theirs, sum] = words[..] else { return Err(refused("it is no writer of promises")) };
        if !is_hash(&key.0, &[b"writer", own.as_bytes(), theirs.as_bytes()], sum) {
            return Err(refused("it has another key"));
        }
        let answer = hash(&key.0, &[b"listener", own.as_bytes(), theirs.as_bytes()]);
        peer.writer.write_all(format!("{answer}\n").as_bytes())?;
        peer.join(key, &own, theirs);
        Ok(ListenerChannel(peer))
    }

    /// Takes the next message and keeps it; false: the connection has ended.
    ///
    /// # Errors
    /// Somebody else has sent it, or `keep` could not.
    pub fn take(&mut self, keep: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<bool> {
        let peer = &mut self.0;
        let Some(head) = peer.line()? else { return Ok(false) };
        let (bytes, sum) = head.split_once(' ').ok_or_else(|| refused("a message without a hash"))?;
        let bytes = bytes.parse().ok().filter(|bytes| *bytes <= MOST_BYTES);
        let mut lines = vec![0; bytes.ok_or_else(|| refused("a message without a length"))?];
        if peer.reader.read_exact(&mut lines).is_err() {
            return Ok(false);
        }
        let number = peer.count();
        if !is_hash(&peer.key, &[b"entry", &number, &lines], sum) {
            return Err(refused("a message with a wrong hash"));
        }
        keep(&lines)?;
        let answer = hash(&peer.key, &[b"kept", &number]);
        peer.writer.write_all(format!("kept {answer}\n").as_bytes())?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const KEY: &[u8] = b"sixteen bytes of key";

    /// What the listener kept, and what either end says.
    fn talk(writer_key: &[u8], listener_key: &[u8]) -> (Vec<u8>, io::Result<()>, io::Result<()>) {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let (writer_key, listener_key) =
            (SharedKey::new(writer_key).unwrap(), SharedKey::new(listener_key).unwrap());
        let writer = std::thread::spawn(move || {
            let mut channel = EntryChannel::open(TcpStream::connect(address)?, &writer_key)?;
            channel.put("one\n")?;
            channel.put("two\nthree\n")
        });
        let mut kept = Vec::new();
        let listened = (|| {
            let mut channel = ListenerChannel::open(socket.accept()?.0, &listener_key)?;
            while channel.take(&mut |lines| {
                kept.extend_from_slice(lines);
                Ok(())
            })? {}
            Ok(())
        })();
        (kept, writer.join().unwrap(), listened)
    }

    #[test]
    fn who_has_the_key_is_heard() {
        let (kept, wrote, listened) = talk(KEY, KEY);
        assert!(wrote.is_ok() && listened.is_ok(), "{wrote:?} {listened:?}");
        assert_eq!(kept, b"one\ntwo\nthree\n");
    }

    #[test]
    fn who_has_another_key_is_not() {
        let (kept, wrote, listened) = talk(b"another sixteen bytes", KEY);
        assert!(kept.is_empty());
        assert_eq!(listened.unwrap_err().to_string(), "it has another key");
        assert!(wrote.is_err());
    }

    #[test]
    fn a_message_of_another_connection_is_refused() {
        let sum = hash(KEY, &[b"entry", &1u64.to_le_bytes(), b"one\n"]);
        assert!(is_hash(KEY, &[b"entry", &1u64.to_le_bytes(), b"one\n"], &sum));
        assert!(!is_hash(KEY, &[b"entry", &2u64.to_le_bytes(), b"one\n"], &sum));
        assert!(!is_hash(KEY, &[b"entry", &1u64.to_le_bytes(), b"one\n"], "zz"));
        assert!(SharedKey::new(b"  short \n").is_err());
    }
}

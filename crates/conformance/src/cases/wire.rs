//! How the processes of a run talk: one message after the other through pipes and sockets, each with its length before it.

use std::io::{self, Read, Write};

use iodyno_model::pack;
use iodyno_model::reflect::Reflect;

/// No message is longer, bytes: what claims to be comes from somebody who is not one of us.
const MOST_BYTES: u32 = 1 << 28;

/// Sends a message.
///
/// # Errors
/// Nobody is there to read it.
pub fn send<T: Reflect>(to: &mut impl Write, message: &T) -> io::Result<()> {
    let body = pack::bare(message).map_err(io::Error::other)?;
    let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
    bytes.extend(body);
    to.write_all(&bytes)
}

/// Waits for a message.
///
/// # Errors
/// Whoever sent them is gone, or sent something else.
pub fn receive<T: Reflect>(from: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > MOST_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length as usize];
    from.read_exact(&mut body)?;
    pack::unpack(&body).map_err(io::Error::other)
}

/// What has come of messages whose sender is not waited for.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
}

impl Inbox {
    /// Takes what is there; whether more can come.
    pub fn fill(&mut self, from: &mut impl Read) -> bool {
        let mut part = [0; 16384];
        match from.read(&mut part) {
            Ok(0) => false,
            Ok(count) => {
                self.bytes.extend(&part[..count]);
                true
            }
            Err(error) => matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock),
        }
    }

    /// The next whole message. What cannot be understood is left out.
    pub fn next<T: Reflect>(&mut self) -> Option<T> {
        loop {
            let length = u32::from_le_bytes(self.bytes.get(..4)?.try_into().ok()?) as usize;
            let body = self.bytes.get(4..4 + length)?;
            let message = pack::unpack(body).ok();
            self.bytes.drain(..4 + length);
            if message.is_some() {
                return message;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_whole_however_they_are_cut() {
        let mut bytes = Vec::new();
        let sent = [("a".to_string(), 1), ("b".repeat(70_000), 2)];
        sent.iter().for_each(|message| send(&mut bytes, message).unwrap());
        let (mut inbox, mut got) = (Inbox::default(), Vec::<(String, i32)>::new());
        for part in bytes.chunks(1000) {
            assert!(inbox.fill(&mut &*part));
            got.extend(std::iter::from_fn(|| inbox.next()));
        }
        assert_eq!(got, sent);
        assert_eq!(receive::<(String, i32)>(&mut &*bytes).unwrap(), sent[0]);
        assert!(!inbox.fill(&mut io::empty()));
    }
}

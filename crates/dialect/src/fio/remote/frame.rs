//! Frames: a head of 24 bytes with two checksums, and at most 1 KiB behind it; longer messages come in several.
//!
//! A peer may send anything: a wrong checksum, another version or a message without end is an error, and no memory is taken
//! by what a head announces.

use crc::{CRC_16_ARC, Crc};

use super::PROTOCOL;

/// Bytes of a head.
const HEAD: usize = 24;
/// What a frame carries at most.
const PART_MOST: usize = 1024;
/// The flag of a frame that is not its message's last.
const MORE: u32 = 1;

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Opcode {
    Quit = 1,
    Exit = 2,
    /// A job file.
    Job = 3,
    /// A command line.
    JobLine = 4,
    Text = 5,
    /// The statistics of a job.
    ThreadStatistics = 6,
    /// The statistics of a group.
    GroupStatistics = 7,
    SendEta = 8,
    Eta = 9,
    Probe = 10,
    Start = 11,
    Stop = 12,
    Disk = 13,
    ServerStart = 14,
    AddJob = 15,
    Run = 16,
    Log = 17,
    UpdateJob = 18,
    /// A job file that lies on the server.
    LoadFile = 19,
    Trigger = 20,
    SendFile = 21,
    JobOption = 22,
}

impl Opcode {
    const ALL: [Opcode; 22] = [
        Opcode::Quit,
        Opcode::Exit,
        Opcode::Job,
        Opcode::JobLine,
        Opcode::Text,
        Opcode::ThreadStatistics,
        Opcode::GroupStatistics,
        Opcode::SendEta,
        Opcode::Eta,
        Opcode::Probe,
        Opcode::Start,
        Opcode::Stop,
        Opcode::Disk,
        Opcode::ServerStart,
        Opcode::AddJob,
        Opcode::Run,
        Opcode::Log,
        Opcode::UpdateJob,
        Opcode::LoadFile,
        Opcode::Trigger,
        Opcode::SendFile,
        Opcode::JobOption,
    ];
}

/// A whole message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub opcode: Opcode,
    /// What an answer repeats.
    pub tag: u64,
    pub content: Vec<u8>,
}

impl Message {
    /// One that answers nothing.
    pub fn new(opcode: Opcode, content: Vec<u8>) -> Self {
        Message { opcode, tag: 0, content }
    }

    /// Its frames.
    pub fn frames(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.content.len() / PART_MOST * HEAD + self.content.len() + HEAD);
        let mut parts: Vec<&[u8]> = self.content.chunks(PART_MOST).collect();
        if parts.is_empty() {
            parts.push(&[]);
        }
        for (index, part) in parts.iter().enumerate() {
            let start = bytes.len();
            let flags = if index + 1 < parts.len() { MORE } else { 0 };
            bytes.extend_from_slice(&PROTOCOL.to_le_bytes());
            bytes.extend_from_slice(&(self.opcode as u16).to_le_bytes());
            bytes.extend_from_slice(&flags.to_le_bytes());
            bytes.extend_from_slice(&self.tag.to_le_bytes());
            bytes.extend_from_slice(&(part.len() as u32).to_le_bytes());
            let sum = checksum(&bytes[start..]);
            bytes.extend_from_slice(&sum.to_le_bytes());
            bytes.extend_from_slice(&checksum(part).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        bytes
    }
}

/// Puts messages together from what comes in.
#[derive(Debug)]
pub struct MessageReader {
    bytes: Vec<u8>,
    content: Vec<u8>,
    /// The longest message that is put together, bytes.
    most: usize,
}

impl MessageReader {
    /// Of messages that are no longer than that, bytes.
    pub fn new(most: usize) -> Self {
        MessageReader { bytes: Vec::new(), content: Vec::new(), most }
    }

    /// Takes bytes in; the messages that are whole now.
    ///
    /// # Errors
    /// The peer does not speak this protocol.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Vec<Message>, String> {
        self.bytes.extend_from_slice(bytes);
        let mut messages = Vec::new();
        let mut at = 0;
        while let Some(head) = self.bytes.get(at..at + HEAD) {
            let number = |from: usize, length: usize| {
                head[from..from + length].iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte))
            };
            let version = number(0, 2) as u16;
            if version != PROTOCOL {
                return Err(format!("bad server cmd version {version} (want {PROTOCOL}, that of fio 3.33)"));
            }
            if number(20, 2) as u16 != checksum(&head[..20]) {
                return Err("a command's checksum is wrong".into());
            }
            let length = number(16, 4) as usize;
            if length > PART_MOST {
                return Err(format!("a command is too long: {length} bytes"));
            }
            let Some(part) = self.bytes.get(at + HEAD..at + HEAD + length) else { break };
            if number(22, 2) as u16 != checksum(part) {
                return Err("a command's content has a wrong checksum".into());
            }
            if self.content.len() + length > self.most {
                return Err("a command has no end".into());
            }
            self.content.extend_from_slice(part);
            let opcode = number(2, 2);
            if number(4, 4) as u32 & MORE == 0 {
                let known = Opcode::ALL.into_iter().find(|known| *known as u64 == opcode);
                let opcode = known.ok_or_else(|| format!("there is no command {opcode}"))?;
                let content = std::mem::take(&mut self.content);
                messages.push(Message { opcode, tag: number(8, 8), content });
            }
            at += HEAD + length;
        }
        self.bytes.drain(..at);
        Ok(messages)
    }
}

static CRC16: Crc<u16> = Crc::<u16>::new(&CRC_16_ARC);

fn checksum(bytes: &[u8]) -> u16 {
    CRC16.checksum(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The probe that Debian's client sent.
    const PROBE: &str = "61000a0000000000503a5f9e87550000880000003d8f9aec";

    fn bytes(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn frames_are_fios() {
        let mut content = vec![0; 136];
        content[0] = 1;
        content[8..17].copy_from_slice(b"127.0.0.1");
        let probe = Message { opcode: Opcode::Probe, tag: 0x5587_9e5f_3a50, content };
        assert_eq!(probe.frames()[..HEAD], bytes(PROBE));
        let mut reader = MessageReader::new(1 << 20);
        let frames = probe.frames();
        assert_eq!(reader.take(&frames[..30]).unwrap(), []);
        assert_eq!(reader.take(&frames[30..]).unwrap(), [probe]);
    }

    #[test]
    fn long_messages_come_in_parts() {
        let long = Message::new(Opcode::Job, (0..5000u32).map(|byte| byte as u8).collect());
        let empty = Message::new(Opcode::Run, Vec::new());
        let frames = [long.frames(), empty.frames()].concat();
        assert_eq!(frames.len(), 5000 + 6 * HEAD);
        let mut reader = MessageReader::new(5000);
        let found: Vec<Message> = frames.chunks(7).flat_map(|part| reader.take(part).unwrap()).collect();
        assert_eq!(found, [long, empty]);
    }

    #[test]
    fn what_is_no_frame_is_told() {
        let wrong = |change: fn(&mut Vec<u8>)| {
            let mut frames = Message::new(Opcode::Text, vec![1, 2, 3]).frames();
            change(&mut frames);
            MessageReader::new(1 << 20).take(&frames).unwrap_err()
        };
        assert_eq!(wrong(|bytes| bytes[0] = 121), "bad server cmd version 121 (want 97, that of fio 3.33)");
        assert!(wrong(|bytes| bytes[4] = 9).contains("checksum"));
        assert!(wrong(|bytes| bytes[25] = 9).contains("content has a wrong checksum"));
        let long = Message::new(Opcode::Job, vec![0; 5000]).frames();
        assert_eq!(MessageReader::new(4999).take(&long).unwrap_err(), "a command has no end");
        assert!(MessageReader::new(1 << 20).take(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").is_err());
    }
}

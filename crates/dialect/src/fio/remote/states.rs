//! How far the writes of a server's jobs came when a trigger ended them: from the state files that lie there to the files
//! that a client keeps, as `fio-verify-state` reads them. A later run on the server asks the client for them.

use crc::{Algorithm, CRC_32_ISCSI, Crc};
use iodyno_model::{GivenState, Plan, VerifyState};

use super::frame::{Message, Opcode};
use super::pdu::{Packer, Unpacker};
use crate::Loader;
use crate::fio::lower::names;

/// Bytes of a file's head: version, length, checksum.
const HEAD: usize = 24;
/// Bytes of a worker's state before its completions, and of each of those.
const STATE: usize = 152;
const COMPLETION: usize = 16;
/// Where in it the worker's number and the job's name are.
const INDEX_AT: usize = 24;
const NAME_AT: usize = 88;
/// The version of this layout.
const VERSION: u64 = 3;
/// More workers than a peer is believed to have.
const MOST: u64 = 1 << 16;

/// CRC-32C without the inversion at the end.
const PLAIN: Algorithm<u32> = Algorithm { xorout: 0, ..CRC_32_ISCSI };

/// The answer to a trigger: the states of all workers that keep one.
pub fn reply(plan: &Plan, loader: &mut dyn Loader) -> Message {
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
    let mut found: Vec<Vec<u8>> = Vec::new();
    for job in jobs {
        let Some(verify) = &job.payload.verify else { continue };
        let Some(VerifyState { path, save: true, .. }) = &verify.state else { continue };
        for worker in 0..job.workers {
            let path = names::of_clone(path, verify.first_worker + worker);
            let body = loader.read(&path).ok().and_then(|bytes| body(&bytes).map(<[u8]>::to_vec));
            found.extend(body);
        }
    }
    let mut packer = Packer::default();
    packer.u64(found.len() as u64);
    found.iter().for_each(|body| packer.0.extend_from_slice(body));
    Message::new(Opcode::Trigger, packer.done())
}

/// The name of a client's file, by what it calls the server. A server must not choose the directory.
fn file_name(host: &str, job: &str, index: u64) -> String {
    format!("{host}-{job}-{index}-verify.state").replace('/', ".")
}

/// Bytes of a path in a request for a file.
const PATH: usize = 256;
const ENOENT: u32 = 2;
const EIO: u32 = 5;

/// A state that a server asks its client for.
pub struct WantedState {
    pub name: String,
    phase: usize,
    job: usize,
    /// Within its job.
    worker: u32,
}

impl WantedState {
    /// The request for it; an answer repeats the tag.
    pub fn request(&self, tag: u64) -> Message {
        Message { opcode: Opcode::SendFile, tag, content: Packer::default().text(&self.name, PATH).done() }
    }

    /// Gives a plan what the client's file holds.
    pub fn give(&self, plan: &mut Plan, bytes: Vec<u8>) {
        let job = plan.phases.get_mut(self.phase).and_then(|phase| phase.jobs.get_mut(self.job));
        let verify = job.and_then(|job| job.payload.verify.as_mut());
        if let Some(state) = verify.and_then(|verify| verify.state.as_mut()) {
            state.given.push(GivenState { worker: self.worker, bytes });
        }
    }
}

/// The states that a plan loads, of a client that calls the server `host`.
pub fn wanted(plan: &Plan, host: &str) -> Vec<WantedState> {
    let mut found = Vec::new();
    for (phase, jobs) in plan.phases.iter().map(|phase| &phase.jobs).enumerate() {
        for (job, asked) in jobs.iter().enumerate() {
            let Some(verify) = &asked.payload.verify else { continue };
            let Some(state) = verify.state.as_ref().filter(|state| state.load) else { continue };
            found.extend((0..asked.workers).map(|worker| {
                let index = u64::from(verify.first_worker) + u64::from(worker);
                WantedState { name: file_name(host, &state.name, index), phase, job, worker }
            }));
        }
    }
    found
}

/// A client's answer to the request for a file of its directory: nothing but a state of that server is given away.
pub fn answer(asked: &Message, host: &str, loader: &mut dyn Loader) -> Message {
    let name = Unpacker::new(&asked.content).text(PATH);
    let is_its_own = name.starts_with(&format!("{}-", host.replace('/', ".")))
        && name.ends_with("-verify.state")
        && !name.contains('/');
    let (error, bytes) = match (is_its_own && loader.look(&name).is_some()).then(|| loader.read(&name)) {
        Some(Ok(bytes)) => (0, bytes),
        Some(Err(_)) => (EIO, Vec::new()),
        None => (ENOENT, Vec::new()),
    };
    let mut packer = Packer::default();
    packer.u32(bytes.len() as u32).u32(error).0.extend(bytes);
    Message { opcode: Opcode::SendFile, tag: asked.tag, content: packer.done() }
}

/// What a client answered.
///
/// # Errors
/// The system's error number there.
pub fn answered(content: &[u8]) -> Result<Vec<u8>, u32> {
    let mut unpacker = Unpacker::new(content);
    match (unpacker.u32(), unpacker.u32()) {
        (length, 0) => Ok(unpacker.rest().iter().copied().take(length as usize).collect()),
        (_, error) => Err(error),
    }
}

/// What a state file of this layout holds.
fn body(bytes: &[u8]) -> Option<&[u8]> {
    let mut unpacker = Unpacker::new(bytes);
    let body = bytes.get(HEAD..)?;
    ((unpacker.u64(), unpacker.u64()) == (VERSION, body.len() as u64)).then_some(body)
}

/// The files that a client keeps of such an answer: their names, without a directory, and what is in them.
pub fn files(content: &[u8], host: &str) -> Vec<(String, Vec<u8>)> {
    let count = Unpacker::new(content).u64().min(MOST);
    let mut rest = content.get(8..).unwrap_or_default();
    let mut files = Vec::new();
    for _ in 0..count {
        let completions = Unpacker::new(rest).u64().min(MOST) as usize;
        let Some((state, behind)) = rest.split_at_checked(STATE + completions * COMPLETION) else { break };
        rest = behind;
        let index = Unpacker::new(&state[INDEX_AT..]).u64();
        let name = Unpacker::new(&state[NAME_AT..]).text(64);
        let name = file_name(host, &name, index);
        let mut packer = Packer::default();
        packer.u64(VERSION).u64(state.len() as u64).u64(Crc::<u32>::new(&PLAIN).checksum(state).into());
        packer.0.extend_from_slice(state);
        files.push((name, packer.done()));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::testing::Shelf;

    /// The answer of fio 3.33's server after 761 writes, and the head of the file that its client made of it.
    #[test]
    fn a_state_is_kept_as_fio_keeps_it() {
        let mut packer = Packer::default();
        packer.u64(1).u64(1).u32(1).u32(1).u64(761).u64(0).zeros(56).text("a", 64).u64(0).u64(0x8000);
        let files = files(&packer.done(), "h/1");
        let [(name, bytes)] = &files[..] else { panic!("{files:?}") };
        assert_eq!(name, "h.1-a-0-verify.state");
        let head = [3, 0, 0, 0, 0, 0, 0, 0, 0xa8, 0, 0, 0, 0, 0, 0, 0, 0xff, 0x1e, 0xc9, 0xc6, 0, 0, 0, 0];
        assert_eq!((&bytes[..24], bytes.len()), (&head[..], 24 + 168));
        assert_eq!(body(bytes).map(<[u8]>::len), Some(168));
    }

    /// Nothing else than a state of the server that asks leaves the client's directory.
    #[test]
    fn a_client_gives_away_states_only() {
        let state = "h-a-0-verify.state";
        let mut shelf = Shelf::of(&[(state, "state"), ("/etc/h-a-0-verify.state", "x"), ("h-secret", "x")]);
        let mut ask = |path: &str| {
            let content = Packer::default().text(path, PATH).done();
            let reply = answer(&Message { opcode: Opcode::SendFile, tag: 7, content }, "h", &mut shelf);
            assert_eq!((reply.opcode, reply.tag), (Opcode::SendFile, 7));
            answered(&reply.content)
        };
        assert_eq!(ask(state), Ok(b"state".to_vec()));
        for other in ["h-b-0-verify.state", "h-secret", "/etc/h-a-0-verify.state", "", "g-a-0-verify.state"] {
            assert_eq!(ask(other), Err(ENOENT), "{other}");
        }
        // An answer may lie about its length.
        assert_eq!(answered(&[9, 0, 0, 0, 0, 0, 0, 0, 1]), Ok(vec![1]));
    }

    #[test]
    fn what_is_cut_or_lies_is_left_out() {
        assert!(files(&[0xff; 100], "h").is_empty());
        assert!(files(&[1], "h").is_empty());
        assert_eq!(body(&[3; 30]), None);
    }
}

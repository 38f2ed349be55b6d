//! How a mounted view is told something: a socket with the directory's name, which the same user and root reach.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;

/// Bytes of a word.
const MOST_BYTES: u64 = 64;

/// In the kernel's own space of names, which no mount hides. It goes with its process.
fn address(directory: &Path) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("iodyno-view:{}", directory.display()))
}

/// Hears words about a directory.
pub struct ControlSocket(UnixListener);

impl ControlSocket {
    /// # Errors
    /// The directory has one already; its name is too long.
    pub fn bind(directory: &Path) -> io::Result<ControlSocket> {
        Ok(ControlSocket(UnixListener::bind_addr(&address(directory)?)?))
    }

    /// Answers words until the process ends. Other users are not heard.
    pub fn answer(&self, mut answer: impl FnMut(&str) -> String) {
        for stream in self.0.incoming().flatten() {
            let mut line = String::new();
            let is_heard = is_own(&stream)
                && BufReader::new((&stream).take(MOST_BYTES))
                    .read_line(&mut line)
                    .is_ok_and(|bytes| bytes > 0);
            if is_heard {
                // Who asks may be gone.
                let _ = (&stream).write_all(answer(line.trim_end()).as_bytes());
            }
        }
    }
}

/// Whether the same user, or root, is at the other end.
fn is_own(stream: &UnixStream) -> bool {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the structure has the length that is given, and both live for the call.
    let told = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut bytes,
        )
    };
    // SAFETY: the call takes nothing.
    told == 0 && (peer.uid == 0 || peer.uid == unsafe { libc::geteuid() })
}

/// Says a word to the view of a directory; its answer.
///
/// # Errors
/// There is no view of it.
pub fn ask(directory: &Path, word: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect_addr(&address(directory)?)?;
    stream.write_all(format!("{word}\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_answered() {
        let directory = tempfile::tempdir().expect("a directory");
        let socket = ControlSocket::bind(directory.path()).expect("a socket");
        assert!(ControlSocket::bind(directory.path()).is_err());
        let _answers = std::thread::spawn(move || socket.answer(|word| format!("you said {word}")));
        assert_eq!(ask(directory.path(), "drop").expect("an answer"), "you said drop");
        assert!(ask(&directory.path().join("other"), "drop").is_err());
    }
}

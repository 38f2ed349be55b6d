//! A terminal of a test's own: what a program writes to it is heard, and keys are pressed on it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::FromRawFd;
use std::sync::{Arc, Mutex, PoisonError};

/// Both sides of a pseudo terminal: the one that a person would look at, and the one that a program has.
///
/// # Panics
/// When the machine has none left.
#[must_use]
pub fn pair() -> (File, File) {
    // SAFETY: the calls take no pointers but the name's, which has the length that is said; the descriptors are new.
    unsafe {
        let master = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY);
        assert!(master >= 0 && libc::grantpt(master) == 0 && libc::unlockpt(master) == 0);
        let mut name = [0; 64];
        assert_eq!(libc::ptsname_r(master, name.as_mut_ptr(), name.len()), 0);
        let slave = libc::open(name.as_ptr(), libc::O_RDWR | libc::O_NOCTTY);
        assert!(slave >= 0);
        (File::from_raw_fd(master), File::from_raw_fd(slave))
    }
}

/// A terminal of so many columns and rows that a person works at.
pub struct Screen {
    master: File,
    /// Held, so that the terminal stays when its programs have ended.
    slave: File,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Screen {
    /// A new one.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn new(columns: u16, rows: u16) -> io::Result<Screen> {
        let (master, slave) = pair();
        let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: the request reads a structure of this type, which is there.
        if unsafe { libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&slave), libc::TIOCSWINSZ, &raw const size) }
            != 0
        {
            return Err(io::Error::last_os_error());
        }
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (mut from, to) = (master.try_clone()?, heard.clone());
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut chunk) {
                to.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&chunk[..count]);
            }
        });
        Ok(Screen { master, slave, heard })
    }

    /// The side of a program.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn side(&self) -> io::Result<File> {
        self.slave.try_clone()
    }

    /// Presses keys.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn press(&self, keys: &str) -> io::Result<()> {
        (&self.master).write_all(keys.as_bytes())
    }

    /// All that was written to it.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.heard.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Its modes of input, output, control and lines, to be compared.
    #[must_use]
    pub fn modes(&self) -> [libc::tcflag_t; 4] {
        // SAFETY: the structure is plain numbers, and the call fills it.
        unsafe {
            let mut modes: libc::termios = std::mem::zeroed();
            libc::tcgetattr(std::os::fd::AsRawFd::as_raw_fd(&self.slave), &raw mut modes);
            [modes.c_iflag, modes.c_oflag, modes.c_cflag, modes.c_lflag]
        }
    }
}

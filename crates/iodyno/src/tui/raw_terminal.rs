//! The terminal while keys are read one by one: its other screen, no echo, no signals by keys. It is given back when this is
//! dropped, and before a panic is told.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use iodyno_report::tui::{CLOSE, OPEN};
use rustix::termios::{OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

/// How often the size of the terminal is looked at, tenths of a second.
const SIZE_TENTHS: u8 = 10;
/// How long the rest of a sequence may take: a lone escape character is the key of that name.
const SEQUENCE_TENTHS: u8 = 1;

/// How the terminal was before: for the hook of a panic, which knows nothing else.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

pub struct RawTerminal;

impl RawTerminal {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// It has no settings that could be changed.
    pub fn open() -> io::Result<RawTerminal> {
        let before = tcgetattr(io::stdin())?;
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            told(panic);
        }));
        let terminal = RawTerminal;
        terminal.enter()?;
        Ok(terminal)
    }

    /// To the other screen, with keys one by one.
    pub fn enter(&self) -> io::Result<()> {
        self.listen()?;
        self.write(OPEN)
    }

    /// Keys one by one, on the screen that is there.
    pub fn listen(&self) -> io::Result<()> {
        self.wait_at_most(SIZE_TENTHS)
    }

    /// A read waits so many tenths of a second for the first byte.
    fn wait_at_most(&self, tenths: u8) -> io::Result<()> {
        let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(mut raw) = before else { return Ok(()) };
        raw.make_raw();
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = tenths;
        // What was typed meanwhile stays.
        Ok(tcsetattr(io::stdin(), OptionalActions::Now, &raw)?)
    }

    /// As it was, for a command.
    pub fn leave(&self) -> io::Result<()> {
        self.write(CLOSE)?;
        settings_back()
    }

    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// Columns and rows.
    pub fn size(&self) -> (u16, u16) {
        terminal_size::terminal_size_of(io::stdout()).map_or((80, 24), |(columns, rows)| (columns.0, rows.0))
    }

    /// What was typed within a second; empty: nothing, or a signal came. `soon`: the rest of a sequence, which comes at once.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn read(&self, soon: bool) -> io::Result<Vec<u8>> {
        if soon {
            self.wait_at_most(SEQUENCE_TENTHS)?;
        }
        let mut bytes = [0; 256];
        let read = rustix::io::read(io::stdin(), &mut bytes);
        if soon {
            self.wait_at_most(SIZE_TENTHS)?;
        }
        match read {
            // A terminal that is gone has no settings either.
            Ok(0) => Ok(tcgetattr(io::stdin()).map(|_| Vec::new())?),
            Ok(count) => Ok(bytes[..count].to_vec()),
            Err(rustix::io::Errno::INTR) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        give_back();
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn settings_back() -> io::Result<()> {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    before.map_or(Ok(()), |before| Ok(tcsetattr(io::stdin(), OptionalActions::Drain, &before)?))
}

/// Whoever ends now can do no more than try.
fn give_back() {
    if io::stdout().is_terminal() {
        let _ = io::stdout().write_all(CLOSE).and_then(|()| io::stdout().flush());
    }
    let _ = settings_back();
}

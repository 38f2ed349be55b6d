//! Which of many files take turns, where only so many may at a time.
//!
//! A file joins when its turn comes and there is room. One that is finished makes room when its turn comes again, not
//! before (fio). It opens and closes nothing.

/// The files that take turns.
#[derive(Clone, Debug)]
pub struct FileWindow {
    most: usize,
    room: usize,
    /// Whether a file has joined, for each.
    joined: Vec<bool>,
}

impl FileWindow {
    /// At most `most` of `files`; none where all may take turns.
    pub fn new(most: u32, files: usize) -> Option<Self> {
        let most = most as usize;
        let narrow = most > 0 && most < files;
        narrow.then(|| FileWindow { most, room: most, joined: vec![false; files] })
    }

    /// Whether it may be this file's turn; it joins or makes room as it must.
    pub fn admits(&mut self, file: usize, unfinished: bool) -> bool {
        match (self.joined[file], unfinished) {
            (true, true) => true,
            (true, false) => {
                (self.joined[file], self.room) = (false, self.room + 1);
                false
            }
            (false, true) if self.room > 0 => {
                (self.joined[file], self.room) = (true, self.room - 1);
                true
            }
            (false, _) => false,
        }
    }

    /// A pass begins: nothing has joined.
    pub fn clear(&mut self) {
        self.room = self.most;
        self.joined.fill(false);
    }
}

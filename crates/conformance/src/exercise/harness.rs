//! File and model side by side: every operation is done on both, and whatever the file shows must be what the model says.
//!
//! What fails where that is no fault (no space left) leaves unknown what is there: the model then learns it from the
//! file, and goes on. It never decides what is done next.

use super::calls;
use super::divergence::{FileDifference, first_difference};
use super::files_under_test::FilesUnderTest;
use super::image::{Bytes, Image, applies};
use super::operation::{LineShape, OpKind, Operation, fill};
use super::tallies::Tallies;
use iodyno_engine::Failure;

/// What reads must overwrite: no byte of a file has this value.
const UNTOUCHED: u8 = 0x01;

/// Read at a time when all of a file is checked.
const SLICE_BYTES: u64 = 1 << 20;

/// What became of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It took effect on so many bytes.
    Done(u64),
    /// It failed, or broke off: what it reached is unknown.
    Failed,
}

/// What was done since both files were empty.
pub type Log = Vec<(Operation, Effect)>;

/// Why it cannot go on.
#[derive(Debug)]
pub enum End {
    /// File and model have parted.
    Parted(Box<FileDifference>),
    /// Something of our own is broken.
    Broken(Failure),
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        End::Broken(failure)
    }
}

impl From<FileDifference> for End {
    fn from(divergence: FileDifference) -> Self {
        End::Parted(Box::new(divergence))
    }
}

/// Files, model, and what was done since both were empty.
pub struct Harness {
    pub files_under_test: FilesUnderTest,
    pub image: Image<u8>,
    pub log: Log,
    pub tallies: Tallies,
    /// The longest a file may become.
    pub most: u64,
    /// How far what failed in this round may have let each file grow.
    reaching: [u64; 2],
    whole: Vec<u8>,
}

impl Harness {
    /// With files that are empty.
    pub fn new(files_under_test: FilesUnderTest, most: u64) -> Harness {
        let (image, tallies) = (Image::default(), Tallies::default());
        let whole = vec![0; SLICE_BYTES.min(most.max(1)) as usize];
        Harness { files_under_test, image, log: Vec::new(), tallies, most, reaching: [0, 0], whole }
    }

    /// Begins anew with empty files.
    ///
    /// # Errors
    /// They cannot be made.
    pub fn renew(&mut self) -> Result<(), Failure> {
        self.image = Image::default();
        self.log.clear();
        self.files_under_test.renew()
    }

    /// How long both files are.
    pub fn sizes(&self) -> [u64; 2] {
        [self.image.size(0), self.image.size(1)]
    }

    /// Does these operations one after another, those that are marked so beside the next.
    ///
    /// # Errors
    /// Where file and model part, or what broke.
    pub fn run(&mut self, operations: &[Operation], stop: &dyn Fn() -> bool) -> Result<(), End> {
        let mut rest = operations;
        while !rest.is_empty() && !stop() {
            let together = 1 + rest.iter().take_while(|operation| operation.beside).count();
            let (now, later) = rest.split_at(together.min(rest.len()));
            match are_apart(now, self.files_under_test.page, self.sizes()) {
                true => self.round(now)?,
                false => now.iter().try_for_each(|one| self.round(std::slice::from_ref(one)))?,
            }
            rest = later;
        }
        Ok(())
    }

    /// Does operations together.
    pub fn round(&mut self, operations: &[Operation]) -> Result<(), End> {
        let (sizes, most) = (self.sizes(), self.most);
        let kept: Vec<Operation>;
        let operations = match operations.iter().all(|operation| applies(operation, sizes, most)) {
            true => operations,
            false => {
                kept = operations.iter().filter(|one| applies(one, sizes, most)).cloned().collect();
                &kept
            }
        };
        for (slot, operation) in operations.iter().enumerate() {
            let buffer = self.files_under_test.buffer(slot as u32, operation.bytes);
            match operation.kind {
                kind if kind.has_seed() => fill(buffer, operation.seed),
                OpKind::Read | OpKind::DirectRead | OpKind::MappedRead => buffer.fill(UNTOUCHED),
                _ => {}
            }
        }
        self.files_under_test.perform(operations)?;
        self.reaching = [0, 0];
        for (slot, operation) in operations.iter().enumerate() {
            if is_failure(operation, self.files_under_test.result(slot)) {
                let (file, _, end) = operation.reach(sizes[operation.file]);
                self.reaching[file] = self.reaching[file].max(end);
            }
        }
        // What failed comes last: what it left is learned from the file, where the others have left theirs.
        for failed in [false, true] {
            for (slot, operation) in operations.iter().enumerate() {
                let result = self.files_under_test.result(slot);
                if is_failure(operation, result) == failed {
                    self.tallies.count(operation, result);
                    self.settle(slot, operation, result).or_else(|end| self.pardon(end))?;
                }
            }
        }
        let changed =
            |file| operations.iter().any(|one| one.kind.changes() && (one.file == file || one.to == file));
        for file in [0, 1] {
            if changed(file) || operations.iter().any(|one| one.kind == OpKind::Reopen) {
                self.check_size(file).or_else(|end| self.pardon(end))?;
            }
        }
        Ok(())
    }

    /// Draws the consequences of an answer.
    fn settle(&mut self, slot: usize, operation: &Operation, result: Result<u64, i32>) -> Result<(), End> {
        let effect = match (operation.kind, result) {
            (OpKind::Read | OpKind::DirectRead | OpKind::MappedRead, result) => {
                self.log.push((operation.clone(), Effect::Done(operation.bytes)));
                return self.check_read(slot, operation, result);
            }
            (OpKind::Seek | OpKind::Check | OpKind::Dedupe, Ok(_)) => Effect::Done(operation.bytes),
            (OpKind::Copy | OpKind::Sendfile | OpKind::Splice, Ok(count)) => Effect::Done(count),
            _ if is_failure(operation, result) => Effect::Failed,
            _ => Effect::Done(operation.bytes),
        };
        self.log.push((operation.clone(), effect));
        match (effect, operation.kind) {
            (Effect::Done(_), OpKind::Seek) => self.check_seek(operation),
            (Effect::Done(_), OpKind::Check) => self.check_whole(operation.file),
            (Effect::Done(_), OpKind::Dedupe) => self.check_dedupe(operation, result == Ok(1)),
            (Effect::Done(0), _) if operation.kind.shape() == LineShape::Pair => {
                // The range is there: nothing more to copy is no answer.
                Err(FileDifference::counted(self.number(), operation, 0, operation.bytes).into())
            }
            (Effect::Done(count), _) => {
                let seeded = if operation.kind.has_seed() { count } else { 0 };
                self.image.apply(
                    operation,
                    count,
                    &Bytes(self.files_under_test.content(slot as u32, seeded)),
                );
                Ok(())
            }
            (Effect::Failed, _) => self.learn(operation),
        }
    }

    fn number(&self) -> u64 {
        self.log.len().saturating_sub(1) as u64
    }

    fn check_read(
        &mut self,
        slot: usize,
        operation: &Operation,
        result: Result<u64, i32>,
    ) -> Result<(), End> {
        let size = self.image.size(operation.file);
        let wanted = operation.end().min(size).saturating_sub(operation.offset);
        let number = self.number();
        let result = self.once_more(slot, operation, result);
        let mut count = result.map_err(|errno| FileDifference::refused(number, operation, errno))?;
        if count < wanted && count > 0 {
            count += self.read_rest(slot, operation, count, wanted)?;
        }
        if count != wanted {
            return Err(FileDifference::counted(number, operation, count, wanted).into());
        }
        let found = self.files_under_test.content(slot as u32, wanted);
        let expected = self.image.part(operation.file, operation.offset..operation.offset + wanted);
        if let Some(at) = first_difference(found, expected) {
            let place = (operation.file, operation.offset);
            return Err(FileDifference::content(number, operation, place, at, found, expected).into());
        }
        if operation.kind == OpKind::MappedRead && operation.end() >= size {
            self.check_tail(operation, size)?;
        }
        Ok(())
    }

    /// Reads again where a failure is no fault yet; that it failed is counted.
    ///
    /// Linux may fail a direct read that meets pages on their way to the device: open(2) warns of mixing both. Once they
    /// are there it must succeed. A mapping shows a hole only where memory for it can be had. And signals interrupt.
    fn once_more(
        &mut self,
        slot: usize,
        operation: &Operation,
        result: Result<u64, i32>,
    ) -> Result<u64, i32> {
        let mut bytes = operation.bytes;
        let fd = match (operation.kind, result) {
            (OpKind::DirectRead, Err(libc::EIO)) => {
                calls::fsync(self.files_under_test.fd(operation.file))?;
                // xfs fails, too, where it has room set aside behind the file's last block.
                let size = self.image.size(operation.file);
                bytes = bytes.min(size.saturating_sub(operation.offset).next_multiple_of(512));
                self.files_under_test.direct_fd(operation.file)
            }
            (OpKind::DirectRead, Err(libc::EINTR)) => self.files_under_test.direct_fd(operation.file),
            (OpKind::MappedRead, Err(libc::EIO)) | (_, Err(libc::EINTR)) => {
                self.files_under_test.fd(operation.file)
            }
            _ => return result,
        };
        calls::pieces(fd, false, self.files_under_test.buffer(slot as u32, bytes), operation.offset, 1)
    }

    /// A read may come back short: then the rest must be there for the asking.
    fn read_rest(&mut self, slot: usize, operation: &Operation, done: u64, wanted: u64) -> Result<u64, End> {
        let (number, fd) = (self.number(), self.files_under_test.fd(operation.file));
        let buffer = &mut self.files_under_test.buffer(slot as u32, wanted)[done as usize..];
        Ok(calls::read_all(fd, buffer, operation.offset + done)
            .map_err(|errno| FileDifference::refused(number, operation, errno))?)
    }

    /// Beyond the end of a file its last page must hold zeros.
    fn check_tail(&self, operation: &Operation, size: u64) -> Result<(), End> {
        let Some(tail) = self.files_under_test.tail(operation.file, size) else { return Ok(()) };
        let Some(at) = tail.iter().position(|byte| *byte != 0) else { return Ok(()) };
        let zeros = vec![0; tail.len()];
        let place = (operation.file, size);
        Err(FileDifference::content(self.number(), operation, place, at, &tail, &zeros).beyond_end().into())
    }

    fn check_size(&mut self, file: usize) -> Result<(), End> {
        let wanted = self.image.size(file);
        let Some((operation, _)) = self.log.last() else { return Ok(()) };
        match calls::size(self.files_under_test.fd(file)) {
            Ok(size) if size == wanted => Ok(()),
            Ok(size) => Err(FileDifference::size(self.number(), operation, file, size, wanted).into()),
            Err(errno) => Err(FileDifference::refused(self.number(), operation, errno).into()),
        }
    }

    /// What is said to be a hole must read as zeros; all may be said to be data.
    fn check_seek(&mut self, operation: &Operation) -> Result<(), End> {
        let (fd, at, size) =
            (self.files_under_test.fd(operation.file), operation.offset, self.image.size(operation.file));
        let number = self.number();
        let refused = |errno| FileDifference::refused(number, operation, errno);
        let data = calls::seek(fd, at, true).map_err(refused)?.unwrap_or(size);
        let hole = calls::seek(fd, at, false).map_err(refused)?;
        let Some(hole) = hole.filter(|hole| (at..=size).contains(hole) && (at..=size).contains(&data)) else {
            return Err(FileDifference::lost(number, operation, data, hole, size).into());
        };
        let bytes = self.image.part(operation.file, at..data.max(if hole == at { at + 1 } else { at }));
        match bytes.iter().position(|byte| *byte != 0) {
            Some(before) => {
                Err(FileDifference::hole(number, operation, at + before as u64, (data, hole)).into())
            }
            None => Ok(()),
        }
    }

    fn check_dedupe(&mut self, operation: &Operation, same: bool) -> Result<(), End> {
        let from = self.image.part(operation.file, operation.offset..operation.end());
        let to = self.image.part(operation.to, operation.target..operation.target + operation.bytes);
        if same == (from == to) {
            return Ok(());
        }
        Err(FileDifference::dedupe(self.number(), operation, same).into())
    }

    /// Reads all of a file and compares.
    pub fn check_whole(&mut self, file: usize) -> Result<(), End> {
        let size = self.image.size(file);
        let operation = Operation { file, ..Operation::new(OpKind::Check, 0, 0) };
        let (number, fd) = (self.number(), self.files_under_test.fd(file));
        self.check_size(file)?;
        let mut offset = 0;
        while offset < size {
            let bytes = (size - offset).min(self.whole.len() as u64);
            let found = &mut self.whole[..bytes as usize];
            found.fill(UNTOUCHED);
            let count = calls::read_all(fd, found, offset)
                .map_err(|errno| FileDifference::refused(number, &operation, errno))?;
            if count < bytes {
                return Err(FileDifference::counted(number, &operation, offset + count, size).into());
            }
            let expected = self.image.part(file, offset..offset + bytes);
            if let Some(at) = first_difference(found, expected) {
                return Err(
                    FileDifference::content(number, &operation, (file, offset), at, found, expected).into()
                );
            }
            offset += bytes;
        }
        Ok(())
    }

    /// Checks all there is, as it stands, and once more when it was closed, dropped from the cache and opened again.
    ///
    /// # Errors
    /// Where file and model part, or what broke.
    pub fn conclude(&mut self) -> Result<(), End> {
        for kind in [OpKind::Check, OpKind::DropCache, OpKind::Reopen, OpKind::Check] {
            for file in [0, 1] {
                self.round(&[Operation { file, ..Operation::new(kind, 0, 0) }])?;
            }
        }
        Ok(())
    }

    /// After something failed: what is there now is what counts, as long as it is within what the operation reaches.
    fn learn(&mut self, operation: &Operation) -> Result<(), End> {
        let all = operation.kind.shape() == LineShape::Bare
            || operation.kind == OpKind::SyncRange
            || operation.sync;
        if all {
            return self.learn_all();
        }
        if !operation.kind.changes() {
            return Ok(());
        }
        let before = self.image.size(operation.file);
        let (file, from, to) = operation.reach(before);
        let old = self.image.size(file);
        let size = calls::size(self.files_under_test.fd(file))
            .map_err(|errno| FileDifference::refused(self.number(), operation, errno))?;
        let could_be = match operation.kind {
            OpKind::Truncate => from..=to,
            OpKind::CollapseRange => old.saturating_sub(operation.bytes)..=old,
            _ => old..=old.max(to).max(self.reaching[file]),
        };
        if !could_be.contains(&size) {
            return Err(FileDifference::size(self.number(), operation, file, size, old).into());
        }
        self.adopt(file, size, from, to)
    }

    /// Delayed writes failed, and nobody says which: all is unknown.
    fn learn_all(&mut self) -> Result<(), End> {
        for file in [0, 1] {
            let size =
                calls::size(self.files_under_test.fd(file)).map_err(|errno| Failure::call("fstat", errno))?;
            self.adopt(file, size, 0, size)?;
        }
        Ok(())
    }

    fn adopt(&mut self, file: usize, size: u64, from: u64, to: u64) -> Result<(), End> {
        let fd = self.files_under_test.fd(file);
        let cells = &mut self.image.files[file];
        cells.resize(size as usize, 0);
        let (from, to) = (from.min(size) as usize, to.min(size) as usize);
        match calls::read_all(fd, &mut cells[from..to], from as u64) {
            Ok(_) => Ok(()),
            Err(errno) => {
                let operation = Operation::new(OpKind::Read, from as u64, (to - from) as u64);
                Err(FileDifference::refused(self.number(), &operation, errno).into())
            }
        }
    }

    /// A difference that comes of a delayed write that failed is none, once the system says so.
    fn pardon(&mut self, end: End) -> Result<(), End> {
        let End::Parted(divergence) = end else { return Err(end) };
        let failed: Vec<i32> =
            [0, 1].iter().filter_map(|file| calls::fsync(self.files_under_test.fd(*file)).err()).collect();
        let Some(errno) = failed.first().filter(|errno| **errno != libc::EINVAL) else {
            return Err(End::Parted(divergence));
        };
        self.tallies.fail("delayed write", *errno);
        self.learn_all()
    }
}

/// Whether an operation did not do all it was asked for; copies may always stop early.
fn is_failure(operation: &Operation, result: Result<u64, i32>) -> bool {
    match result {
        Ok(count) => {
            operation.kind.changes() && operation.kind.shape() != LineShape::Pair && count < operation.bytes
        }
        Err(_) => true,
    }
}

/// Whether operations can be in flight together: reads and writes whose pages are not the same, no read of what another
/// may just make part of the file, and not some of them direct while others are not.
pub fn are_apart(operations: &[Operation], page: u64, sizes: [u64; 2]) -> bool {
    if operations.len() < 2 {
        return true;
    }
    let can = |one: &Operation| match one.kind {
        OpKind::Read | OpKind::DirectRead | OpKind::MappedRead => one.end() <= sizes[one.file],
        OpKind::Write | OpKind::DirectWrite => true,
        _ => false,
    };
    let pages = |one: &Operation| (one.offset / page, one.end().div_ceil(page));
    let same = |one: &Operation, other: &Operation| {
        let (one_pages, other_pages) = (pages(one), pages(other));
        one.file == other.file && one_pages.0 < other_pages.1 && other_pages.0 < one_pages.1
    };
    let direct = operations.iter().filter(|one| one.kind.is_direct()).count();
    let mut pairs = operations.iter().enumerate();
    operations.len() <= super::files_under_test::SLOTS as usize
        && operations.iter().all(can)
        && (direct == 0 || direct == operations.len())
        && !pairs.any(|(index, one)| operations[index + 1..].iter().any(|other| same(one, other)))
}

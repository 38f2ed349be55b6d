//! Steps in a directory: what is laid out for them, and how each of them asks for durability.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use iodyno_model::origin::plain;
use iodyno_simulation::random::Random;

use super::calls;
use super::entry::LogHeader;
use super::sector::{BLOCK_BYTES, SECTOR_BYTES, SECTORS, SectorPlace, stamp_all};
use super::step::{LAID_OUT, PromiseStep, PromisedObject, SyncMode, blocks_of, permissions_of, size_of};
use super::writer::StepWriter;
use crate::calls::{sync_file_system, sync_range, write_with};

/// Files that come and go, of each mode.
const FILES: u32 = 16;
/// Files that are renamed and replaced.
const NAMES: u32 = 4;
/// Blocks or sectors of one step, at most.
const MOST_AT_ONCE: u64 = 4;
/// Of the append log, in sectors: then it is full.
pub const LOG_SECTORS: u64 = 8192;
/// The extended attribute.
pub const ATTRIBUTE: &str = "user.iodyno.generation";

/// What a directory turned out to be able to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryLayout {
    pub modes: Vec<SyncMode>,
    /// Modes that do not work here, and why.
    pub missing: Vec<(SyncMode, String)>,
    pub has_xattr: bool,
}

/// The file of a mode of blocks, in a thread's directory.
pub fn block_object(thread: u32, mode: SyncMode) -> PromisedObject {
    PromisedObject { thread, mode, number: 0 }
}

/// A file that is renamed, under the name of a generation.
pub fn renamed(object: PromisedObject, generation: u32) -> String {
    format!("{}.{generation}", object.path())
}

/// The journal of the double write.
pub fn journal_path(thread: u32) -> String {
    format!("t{thread}/double_write.journal")
}

/// Makes all that steps need in `root`, which must not exist, and makes it durable.
///
/// # Errors
/// The file system's own.
pub fn lay_out(root: &Path, header: &LogHeader, now: u64) -> io::Result<DirectoryLayout> {
    fs::create_dir(root)?;
    let mut layout = DirectoryLayout { modes: Vec::new(), missing: Vec::new(), has_xattr: true };
    for thread in 0..header.threads {
        fs::create_dir(root.join(format!("t{thread}")))?;
        let place = LayoutPlace { root, run: header.run, blocks: header.blocks, now };
        let made = header.modes.iter().map(|mode| Ok((*mode, place.make(thread, *mode)?)));
        let made = made.collect::<io::Result<Vec<_>>>()?;
        if thread == 0 {
            for (mode, refusal) in made {
                match refusal {
                    None => layout.modes.push(mode),
                    Some(why) => layout.missing.push((mode, why)),
                }
            }
        }
        layout.has_xattr = place.has_xattr(thread)? && layout.has_xattr;
        sync_directory(&root.join(format!("t{thread}")))?;
    }
    sync_directory(root)?;
    if let Some(parent) = root.parent() {
        sync_directory(parent)?;
        sync_file_system(&File::open(parent)?)?;
    }
    Ok(layout)
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Where files are laid out.
struct LayoutPlace<'a> {
    root: &'a Path,
    run: u64,
    blocks: u64,
    now: u64,
}

impl LayoutPlace<'_> {
    fn create(&self, path: &str) -> io::Result<File> {
        File::options().read(true).write(true).create_new(true).open(self.root.join(path))
    }

    /// A new durable file of so many blocks.
    fn write(&self, path: &str, object: PromisedObject, blocks: u64) -> io::Result<File> {
        let file = self.create(path)?;
        let mut bytes = vec![0; blocks as usize * BLOCK_BYTES];
        stamp_all(
            &mut bytes,
            SectorPlace { run: self.run, object: object.id(), sector: 0 },
            LAID_OUT,
            self.now,
        );
        file.write_all_at(&bytes, 0)?;
        file.sync_all()?;
        Ok(file)
    }

    /// What a mode needs; why it does not work here, if so.
    fn make(&self, thread: u32, mode: SyncMode) -> io::Result<Option<String>> {
        let object = block_object(thread, mode);
        match mode {
            SyncMode::Create | SyncMode::Name | SyncMode::Remove | SyncMode::Flush | SyncMode::Fua => {}
            SyncMode::Append => self.create(&object.path())?.sync_all()?,
            SyncMode::DoubleWrite => {
                self.write(&object.path(), object, self.blocks)?;
                self.write(&journal_path(thread), object, MOST_AT_ONCE)?;
            }
            SyncMode::Rename | SyncMode::Replace => {
                for number in 0..NAMES {
                    let object = PromisedObject { number, ..object };
                    let is_renamed = mode == SyncMode::Rename;
                    let path = if is_renamed { renamed(object, LAID_OUT) } else { object.path() };
                    self.write(&path, object, blocks_of(LAID_OUT))?;
                }
            }
            SyncMode::Attribute => {
                let file = self.write(&object.path(), object, 1)?;
                file.set_permissions(Permissions::from_mode(permissions_of(LAID_OUT)))?;
                file.sync_all()?;
            }
            SyncMode::Size => {
                let file = self.create(&object.path())?;
                file.set_len(size_of(LAID_OUT))?;
                file.sync_all()?;
            }
            mode => {
                let file = self.write(&object.path(), object, self.blocks)?;
                return Ok(tried(mode, &file).err().map(|error| plain(&error)));
            }
        }
        Ok(None)
    }

    fn has_xattr(&self, thread: u32) -> io::Result<bool> {
        let path = self.root.join(block_object(thread, SyncMode::Attribute).path());
        if !path.exists() {
            return Ok(false);
        }
        let file = File::open(path)?;
        let has = calls::set_attribute(&file, ATTRIBUTE, &LAID_OUT.to_string()).is_ok();
        file.sync_all()?;
        Ok(has)
    }
}

/// Whether a mode works at all.
fn tried(mode: SyncMode, file: &File) -> io::Result<()> {
    let mut first = [0; SECTOR_BYTES];
    file.read_exact_at(&mut first, 0)?;
    match mode {
        SyncMode::Msync => calls::SharedMapping::new(file, BLOCK_BYTES)?.sync(0, BLOCK_BYTES),
        SyncMode::RwfDsync => write_with(file, &first, 0, libc::RWF_DSYNC),
        SyncMode::Range => sync_range(file, 0, SECTOR_BYTES as u64),
        SyncMode::Syncfs => sync_file_system(file),
        _ => Ok(()),
    }
}

/// Does the steps of a thread in its directory.
pub(super) struct DirectoryWriter {
    root: PathBuf,
    run: u64,
    thread: u32,
    blocks: u64,
    has_xattr: bool,
    modes: Vec<SyncMode>,
    random: Random,
    directory: File,
    files: HashMap<SyncMode, File>,
    mapping: Option<calls::SharedMapping>,
    journal: Option<File>,
    /// Which files that come and go are there.
    present: HashSet<PromisedObject>,
    /// The generations of the names of files that are renamed.
    names: HashMap<PromisedObject, u32>,
    /// Sectors of the append log.
    appended: u64,
    buffer: Vec<u8>,
}

impl DirectoryWriter {
    pub(super) fn open(
        root: &Path,
        header: &LogHeader,
        thread: u32,
        random: Random,
    ) -> io::Result<DirectoryWriter> {
        let mut files = HashMap::new();
        let mut mapping = None;
        let is_one_file = |mode: &SyncMode| {
            mode.is_of_blocks()
                || matches!(
                    mode,
                    SyncMode::Append | SyncMode::DoubleWrite | SyncMode::Attribute | SyncMode::Size
                )
        };
        for mode in header.modes.iter().copied().filter(is_one_file) {
            let flags = match mode {
                SyncMode::OSync => libc::O_SYNC,
                SyncMode::ODsync => libc::O_DSYNC,
                _ => 0,
            };
            let path = root.join(block_object(thread, mode).path());
            let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
            if mode == SyncMode::Msync {
                mapping = Some(calls::SharedMapping::new(&file, header.blocks as usize * BLOCK_BYTES)?);
            }
            files.insert(mode, file);
        }
        let journal = header.modes.contains(&SyncMode::DoubleWrite).then(|| root.join(journal_path(thread)));
        Ok(DirectoryWriter {
            directory: File::open(root.join(format!("t{thread}")))?,
            root: root.into(),
            run: header.run,
            thread,
            blocks: header.blocks,
            has_xattr: header.has_xattr,
            modes: header.modes.clone(),
            random,
            files,
            mapping,
            journal: journal.map(|path| File::options().write(true).open(path)).transpose()?,
            present: HashSet::new(),
            names: HashMap::new(),
            appended: 0,
            buffer: Vec::new(),
        })
    }

    /// A file that comes and goes, which is there or not.
    fn file_that(&mut self, is_present: bool, modes: &[SyncMode]) -> Option<PromisedObject> {
        let thread = self.thread;
        let objects = modes
            .iter()
            .filter(|mode| self.modes.contains(mode))
            .flat_map(|mode| (0..FILES).map(move |number| PromisedObject { thread, mode: *mode, number }));
        let fitting: Vec<_> = objects.filter(|object| self.present.contains(object) == is_present).collect();
        let at = self.random.below(fitting.len() as u64) as usize;
        fitting.get(at).copied()
    }

    /// A step of a mode, if there can be one now.
    fn step_of(&mut self, mode: SyncMode, generation: u32) -> Option<PromiseStep> {
        let object = block_object(self.thread, mode);
        let whole = PromiseStep { mode, object, generation, first: 0, count: 1 };
        Some(match mode {
            SyncMode::Create | SyncMode::Name => {
                PromiseStep { object: self.file_that(false, &[mode])?, ..whole }
            }
            SyncMode::Remove => {
                PromiseStep { object: self.file_that(true, &[SyncMode::Create, SyncMode::Name])?, ..whole }
            }
            SyncMode::Rename | SyncMode::Replace => {
                let number = self.random.below(u64::from(NAMES)) as u32;
                PromiseStep { object: PromisedObject { number, ..object }, ..whole }
            }
            SyncMode::Attribute | SyncMode::Size => whole,
            SyncMode::Append => {
                let count = 1 + self.random.below(2 * MOST_AT_ONCE);
                let is_full = self.appended + count > LOG_SECTORS;
                (!is_full).then_some(PromiseStep { first: self.appended, count: count as u32, ..whole })?
            }
            _ => {
                let count = 1 + self.random.below(MOST_AT_ONCE.min(self.blocks));
                let first = self.random.below(self.blocks - count + 1);
                PromiseStep { first, count: count as u32, ..whole }
            }
        })
    }

    fn path(&self, object: PromisedObject) -> PathBuf {
        self.root.join(object.path())
    }

    /// The content of sectors of an object.
    fn stamped(&mut self, object: PromisedObject, first: u64, sectors: u64, generation: u32, now: u64) {
        self.buffer.resize(sectors as usize * SECTOR_BYTES, 0);
        let place = SectorPlace { run: self.run, object: object.id(), sector: first };
        stamp_all(&mut self.buffer, place, generation, now);
    }

    fn create(&mut self, step: &PromiseStep) -> io::Result<()> {
        let file = File::options().write(true).create_new(true).open(self.path(step.object))?;
        file.write_all_at(&self.buffer, 0)?;
        file.sync_all()?;
        if step.mode == SyncMode::Create {
            self.directory.sync_all()?;
        }
        self.present.insert(step.object);
        Ok(())
    }

    fn replace(&mut self, step: &PromiseStep) -> io::Result<()> {
        let path = self.path(step.object);
        let new = path.with_extension("tmp");
        let file = File::options().write(true).create(true).truncate(true).open(&new)?;
        file.write_all_at(&self.buffer, 0)?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        self.directory.sync_all()
    }

    fn rename(&mut self, step: &PromiseStep) -> io::Result<()> {
        let old = self.names.get(&step.object).copied().unwrap_or(LAID_OUT);
        let path = |generation| self.root.join(renamed(step.object, generation));
        fs::rename(path(old), path(step.generation))?;
        self.directory.sync_all()?;
        self.names.insert(step.object, step.generation);
        Ok(())
    }

    fn change_attributes(&self, file: &File, generation: u32) -> io::Result<()> {
        file.set_permissions(Permissions::from_mode(permissions_of(generation)))?;
        if self.has_xattr {
            calls::set_attribute(file, ATTRIBUTE, &generation.to_string())?;
        }
        file.sync_all()
    }

    /// A step on one file that stays open.
    fn perform_on(&self, file: &File, step: &PromiseStep) -> io::Result<()> {
        let unit = if step.mode == SyncMode::Append { SECTOR_BYTES } else { BLOCK_BYTES } as u64;
        let at = step.first * unit;
        let bytes = &self.buffer;
        if step.mode == SyncMode::RwfDsync {
            return write_with(file, bytes, at, libc::RWF_DSYNC);
        }
        if let (SyncMode::Msync, Some(mapping)) = (step.mode, &self.mapping) {
            mapping.store(at as usize, bytes)?;
            return mapping.sync(at as usize, bytes.len());
        }
        if let (SyncMode::DoubleWrite, Some(journal)) = (step.mode, &self.journal) {
            journal.write_all_at(bytes, 0)?;
            journal.sync_data()?;
        }
        file.write_all_at(bytes, at)?;
        match step.mode {
            SyncMode::OSync | SyncMode::ODsync => Ok(()),
            SyncMode::Fsync => file.sync_all(),
            SyncMode::Syncfs => sync_file_system(file),
            SyncMode::Range => sync_range(file, at, bytes.len() as u64),
            _ => file.sync_data(),
        }
    }
}

impl StepWriter for DirectoryWriter {
    fn next(&mut self, generation: u32) -> PromiseStep {
        loop {
            let at = self.random.below(self.modes.len() as u64) as usize;
            if let Some(step) = self.step_of(self.modes[at], generation) {
                return step;
            }
        }
    }

    fn perform(&mut self, step: &PromiseStep, now: u64) -> io::Result<()> {
        let (first, sectors) = match step.mode {
            SyncMode::Append => (step.first, u64::from(step.count)),
            SyncMode::Replace => (0, blocks_of(step.generation) * SECTORS),
            _ => (step.first * SECTORS, u64::from(step.count) * SECTORS),
        };
        self.stamped(step.object, first, sectors, step.generation, now);
        match step.mode {
            SyncMode::Create | SyncMode::Name => self.create(step),
            SyncMode::Remove => {
                fs::remove_file(self.path(step.object))?;
                self.directory.sync_all()?;
                self.present.remove(&step.object);
                Ok(())
            }
            SyncMode::Rename => self.rename(step),
            SyncMode::Replace => self.replace(step),
            mode => {
                let file = self.files.get(&mode).ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))?;
                match mode {
                    SyncMode::Attribute => self.change_attributes(file, step.generation),
                    SyncMode::Size => file.set_len(size_of(step.generation)).and_then(|()| file.sync_all()),
                    _ => self.perform_on(file, step),
                }?;
                if mode == SyncMode::Append {
                    self.appended += u64::from(step.count);
                }
                Ok(())
            }
        }
    }
}

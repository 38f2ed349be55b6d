//! What dialects may ask of the world: files, standard input, the environment, the machine.

use std::cell::Cell;
use std::fs;
use std::io::{IsTerminal, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use iodyno_conformance::requests;
use iodyno_dialect::{Loader, MergedTrace, PathFacts, PathKind, StoreLook};
use iodyno_engine::idleness::IdlenessProfiler;
use iodyno_engine::world::place::Owners;
use iodyno_engine::world::{World, rank_share};
use iodyno_engine::{clock, file_system_client, registry, trace_file, witness};
pub use iodyno_model::origin::plain;
use iodyno_model::{EngineTrait, Idleness, Job, Machine, Phase, Plan, TargetFacts, WorldFacts};
use iodyno_report::paint::Paint;
use iodyno_trace::{RecordSource, TraceError};

use crate::{forwarded_files, leftovers, secret_words, terminal};

/// How long a server may take to be there.
const ANSWERS: Duration = Duration::from_secs(1);

/// The real world.
pub struct HostLoader {
    /// How the report is painted.
    pub paint: Paint,
    /// Words of ours beside an original's command line, with their values.
    pub also: Vec<(String, String)>,
    /// The ranks that will run what is asked for.
    pub world: WorldFacts,
    /// What the simulated device holds that the run is put on, in place of this machine's storage.
    pub device_bytes: Option<u64>,
    /// Whether more may be said than an original says.
    pub talks: bool,
    /// What was read, by path: it goes along where the command goes to other hosts.
    pub files: Vec<(String, Vec<u8>)>,
    /// Files that were read where the command was typed.
    brought: Vec<(String, Vec<u8>)>,
    /// Whether this machine was looked at: another may be different.
    looked: Cell<bool>,
}

impl HostLoader {
    /// Whether anything but the user's own words was asked for: what is wrong with a request may be right elsewhere.
    pub fn looked(&self) -> bool {
        self.looked.get()
    }

    fn keep(&mut self, path: &str, bytes: &[u8]) {
        if self.files.iter().all(|(known, _)| known != path) {
            self.files.push((path.into(), bytes.into()));
        }
    }

    fn in_luggage(&self, path: &str) -> Option<Vec<u8>> {
        self.brought.iter().find(|(known, _)| known == path).map(|(_, bytes)| bytes.clone())
    }
}

impl HostLoader {
    /// This machine, in a world.
    pub fn new(world: &World) -> Self {
        let paint = terminal::out_paint();
        // A launcher hands terminals of its own to ranks, and may write to a file what they are told.
        let paint = Paint { colour: paint.colour && world.is_alone(), ..paint };
        let brought = std::env::var(forwarded_files::VARIABLE)
            .map(|value| forwarded_files::unpacked(&value))
            .unwrap_or_default();
        HostLoader {
            paint,
            also: Vec::new(),
            world: world.facts().clone(),
            talks: false,
            device_bytes: None,
            files: Vec::new(),
            brought,
            looked: Cell::new(false),
        }
    }
}

impl HostLoader {
    /// The same, with files that are nowhere: they are read as if they lay at these paths.
    pub fn holding(mut self, files: Vec<(String, Vec<u8>)>) -> Self {
        self.brought.extend(files);
        self
    }
}

/// What a path is on a simulated device: files and directories are as they are here, devices are the simulated one.
fn simulated(path: &str, capacity_bytes: u64) -> Option<PathFacts> {
    let facts = fs::metadata(path).ok();
    let kind = match facts.as_ref().map(fs::Metadata::file_type) {
        Some(kind) if kind.is_dir() => PathKind::Directory,
        Some(kind) if kind.is_char_device() => PathKind::CharacterDevice,
        Some(kind) if kind.is_fifo() => PathKind::Pipe,
        Some(kind) if kind.is_file() => PathKind::File,
        None if !path.starts_with("/dev/") => return None,
        _ => PathKind::BlockDevice,
    };
    let bytes = match (kind, &facts) {
        (PathKind::BlockDevice, _) | (_, None) => capacity_bytes,
        (_, Some(facts)) => facts.len(),
    };
    let size = Some(capacity_bytes);
    let target = TargetFacts { size_bytes: size, free_bytes: size, ..TargetFacts::default() };
    Some(PathFacts { kind, bytes, readable: true, writable: true, target })
}

impl Loader for HostLoader {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        if let Some(bytes) = self.in_luggage(path) {
            return Ok(bytes);
        }
        let bytes = fs::read(path).map_err(|error| {
            self.looked.set(true);
            plain(&error)
        })?;
        let bytes = secret_words::out_of_file(bytes)?;
        self.keep(path, &bytes);
        Ok(bytes)
    }

    fn trace(&mut self, path: &str, format: &str) -> Result<Box<dyn RecordSource + Send>, TraceError> {
        trace_file::open(path, format)
    }

    fn merge_blktraces(&mut self, parts: &[MergedTrace], to: &str) -> Result<(), String> {
        self.looked.set(true);
        crate::trace::merge_blktraces(parts, to)
    }

    fn list(&mut self, path: &str) -> Result<Vec<String>, String> {
        self.looked.set(true);
        let names = fs::read_dir(path).and_then(|entries| {
            entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
        });
        let mut names: Vec<String> = names.map_err(|error| plain(&error))?;
        names.sort();
        Ok(names)
    }

    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        if let Some(bytes) = self.in_luggage(forwarded_files::STANDARD_INPUT) {
            return Ok(bytes);
        }
        let bytes = secret_words::read_all(std::io::stdin().lock()).map_err(|error| plain(&error))?;
        let bytes = secret_words::out_of_file(bytes)?;
        self.keep(forwarded_files::STANDARD_INPUT, &bytes);
        Ok(bytes)
    }

    fn is_typed_at(&self) -> bool {
        self.brought.is_empty() && std::io::stdin().is_terminal()
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn machine(&self) -> Machine {
        witness::machine()
    }

    fn look(&self, path: &str) -> Option<PathFacts> {
        self.looked.set(true);
        if let Some(bytes) = self.device_bytes {
            return simulated(path, bytes);
        }
        let facts = fs::metadata(path).ok()?;
        let kind = match facts.file_type() {
            kind if kind.is_file() => PathKind::File,
            kind if kind.is_dir() => PathKind::Directory,
            kind if kind.is_block_device() => PathKind::BlockDevice,
            kind if kind.is_char_device() => PathKind::CharacterDevice,
            kind if kind.is_fifo() => PathKind::Pipe,
            _ => PathKind::Other,
        };
        let target = witness::identity::facts(path);
        let bytes = match kind {
            PathKind::BlockDevice => target.size_bytes.unwrap_or(0),
            _ => facts.len(),
        };
        let (readable, writable) = (witness::identity::readable(path), witness::identity::writable(path));
        Some(PathFacts { kind, bytes, readable, writable, target })
    }

    fn look_into_store(&mut self, job: &Job, url: &str, start: &str) -> Result<StoreLook, String> {
        if self.device_bytes.is_some() {
            return Err("a simulated device in place of a store is asked nothing".into());
        }
        self.looked.set(true);
        let look = requests::leftovers::look(job, url, start).map_err(|failure| failure.message)?;
        Ok(StoreLook { names: look.names, keeps_versions: look.keeps_versions })
    }

    fn idle_work(&self) -> Result<Idleness, String> {
        IdlenessProfiler::calibrate().map(IdlenessProfiler::stop).map_err(|failure| failure.message)
    }

    fn parallel_file_system(&self, path: &str) -> Option<&'static str> {
        file_system_client::kind(path)
    }

    fn now_unix_ns(&self) -> u64 {
        clock::unix_ns()
    }

    fn process(&self) -> String {
        leftovers::own_name()
    }

    fn answers(&self, transport: &str, address: &str) -> bool {
        if transport == "unix" {
            return UnixStream::connect(address).is_ok();
        }
        let addresses = address.to_socket_addrs().into_iter().flatten();
        addresses.into_iter().any(|address| TcpStream::connect_timeout(&address, ANSWERS).is_ok())
    }

    fn detached(&self) -> Option<Box<dyn Loader + Send>> {
        Some(Box::new(HostLoader {
            paint: self.paint,
            also: self.also.clone(),
            world: self.world.clone(),
            talks: self.talks,
            device_bytes: self.device_bytes,
            files: Vec::new(),
            brought: self.brought.clone(),
            looked: Cell::new(false),
        }))
    }

    fn pid(&self) -> u32 {
        std::process::id()
    }

    fn is_over(&self, process: &str) -> Option<bool> {
        leftovers::is_over(process)
    }

    fn key_number(&self, standing: &str) -> u64 {
        secret_words::with_access_key(standing, iodyno_dialect::ior::test::s3_key_number)
    }

    fn entropy(&mut self) -> Result<[u8; 32], String> {
        let mut bytes = [0; 32];
        let read = fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
        read.map(|()| bytes).map_err(|error| error.to_string())
    }

    fn engine_available(&self, name: &str) -> Result<(), String> {
        self.looked.set(true);
        let facts = registry::facts(name).ok_or_else(|| format!("no engine `{name}`"))?;
        (facts.available)().map_err(|failure| failure.message)
    }

    fn engine_traits(&self, name: &str) -> &'static [EngineTrait] {
        registry::facts(name).map_or(&[], |facts| facts.traits)
    }

    fn east_s(&self) -> i64 {
        clock::east_s()
    }

    fn page_bytes(&self) -> u64 {
        witness::page_bytes()
    }

    fn world(&self) -> WorldFacts {
        self.world.clone()
    }

    fn owners(&self, plan: &Plan, phase: &Phase, job: &Job) -> Vec<u32> {
        let all = rank_share::part(job.ranks, job.workers, 0, self.world.ranks()).all;
        let owners = Owners::new(&self.world, plan, phase, job, all);
        (0..all).map(|worker| owners.of(worker).worker).collect()
    }

    fn paint(&self) -> Paint {
        self.paint
    }

    fn also(&self, word: &str) -> Option<String> {
        self.also.iter().rev().find(|(name, _)| name == word).map(|(_, value)| value.clone())
    }

    fn talks(&self) -> bool {
        self.talks
    }

    fn terminals(&self) -> (bool, bool) {
        if self.world.ranks() > 1 {
            return (false, false);
        }
        (std::io::stdout().is_terminal(), std::io::stderr().is_terminal())
    }
}

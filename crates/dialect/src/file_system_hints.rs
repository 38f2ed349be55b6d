//! The options of the IOR package that go to the client of a parallel file system, the same in its three programs.
//!
//! Stripes of Lustre elsewhere end the original, by an `ioctl` that fails; so they are refused. Stripes of BeeGFS and hints
//! to GPFS elsewhere get a warning, and the run goes on without them.

use iodyno_model::{BeegfsStripes, FileSystemHints, LustreStripes};

use crate::Loader;
use crate::option::GivenOptions;

/// What the options are for, in the tables of the three programs.
pub mod help {
    pub const COUNT: &str = "Lustre: targets of a new file; -1: all, 0: the default";
    pub const SIZE: &str = "Lustre: bytes of a stripe; 0: the default";
    pub const START: &str = "Lustre: the first target; -1: any; sets nothing alone";
    pub const LOCKS: &str = "Lustre: no locks";
    pub const POOL: &str = "Lustre: the pool of the targets; with count and size";
    pub const ACCESS: &str = "GPFS: tell the range of each transfer";
    pub const TOKENS: &str = "GPFS: release all tokens after opening";
    pub const WRITES: &str = "GPFS: small writes of many tasks";
    pub const READS: &str = "GPFS: small reads of many tasks";
    pub const CREATION: &str = "GPFS: many tasks make files in one directory";
    pub const TARGETS: &str = "BeeGFS: targets of a new file; -1: as the directory";
    pub const CHUNK: &str = "BeeGFS: bytes of a chunk; -1: as the directory";
}

/// What was asked for, and what is to be said about it.
#[derive(Debug, Default)]
pub struct JudgedHints {
    /// What a target is opened with.
    pub hints: FileSystemHints,
    /// Warnings, without the word.
    pub warnings: Vec<String>,
    /// Options that cannot be, with what cannot be and what to do instead.
    pub refused: Vec<(&'static str, String, &'static str)>,
}

/// The longest name of a pool (`LOV_MAXPOOLNAME`).
const POOL_NAME: usize = 15;

const LUSTRE: [&str; 5] = [
    "posix.lustre.stripecount",
    "posix.lustre.stripesize",
    "posix.lustre.startost",
    "posix.lustre.pool",
    "posix.lustre.ignorelocks",
];
const GPFS: [&str; 5] = [
    "posix.gpfs.hintaccess",
    "posix.gpfs.releasetoken",
    "posix.gpfs.finegrainwritesharing",
    "posix.gpfs.finegrainreadsharing",
    "posix.gpfs.createsharing",
];
const BEEGFS: [&str; 2] = ["posix.beegfs.NumTargets", "posix.beegfs.ChunkSize"];

/// Whether an option says something else than its default.
fn says(given: &GivenOptions, name: &str) -> bool {
    match name {
        "posix.lustre.pool" => given.text(name).is_some(),
        "posix.lustre.stripecount" | "posix.lustre.stripesize" => given.number(name) != 0,
        "posix.lustre.startost" | "posix.beegfs.NumTargets" | "posix.beegfs.ChunkSize" => {
            given.number(name) != -1
        }
        _ => given.flag(name),
    }
}

/// Judges the options of a program. `path`: a name that its files lie below or are called; none where it makes no files.
/// `announces`: the back end's transfers can be told to GPFS.
pub fn judge(
    given: &GivenOptions,
    api: &str,
    path: Option<&str>,
    announces: bool,
    loader: &dyn Loader,
) -> JudgedHints {
    let mut judged = JudgedHints::default();
    let said = |names: &[&'static str]| names.iter().copied().find(|name| says(given, name));
    let (lustre, gpfs, beegfs) = (said(&LUSTRE), said(&GPFS), said(&BEEGFS));
    if !matches!(api, "POSIX" | "AIO") {
        if let Some(name) = lustre.or(gpfs).or(beegfs) {
            judged.refuse(
                name,
                format!("{api} does not ask the file system"),
                "use -a POSIX, or leave it out",
            );
        }
        return judged;
    }
    judged.lustre(given);
    judged.beegfs(given);
    judged.gpfs(given, announces);
    let Some(path) = path else { return judged };
    let kind = loader.parallel_file_system(path);
    if let Some(name) = lustre.filter(|_| kind != Some("lustre")) {
        let what = format!("{path} does not lie on Lustre, whose stripes and locks these are");
        judged.refuse(name, what, "leave the options posix.lustre.* out, or name a path on Lustre");
    }
    if beegfs.is_some() && kind != Some("beegfs") {
        judged.hints.beegfs_stripes = None;
        judged.warnings.push(format!("{path}: Not a BeeGFS file system"));
        judged.warnings.push("BeeGFS tuning failed".into());
    }
    if gpfs.is_some() && kind != Some("gpfs") {
        judged.hints = FileSystemHints {
            lustre_stripes: judged.hints.lustre_stripes.take(),
            lustre_ignore_locks: judged.hints.lustre_ignore_locks,
            beegfs_stripes: judged.hints.beegfs_stripes.take(),
            ..FileSystemHints::default()
        };
        judged.warnings.push(format!("{path}: not a GPFS file system, no hints are given"));
    }
    judged
}

impl JudgedHints {
    fn refuse(&mut self, name: &'static str, what: impl Into<String>, hint: &'static str) {
        self.refused.push((name, what.into(), hint));
    }

    /// A number within bounds; 0, with a refusal, where it is not.
    fn number<N: TryFrom<i64> + Default>(
        &mut self,
        given: &GivenOptions,
        name: &'static str,
        most: i64,
        hint: &'static str,
    ) -> N {
        let number = given.number(name);
        let fits = (-1..=most).contains(&number);
        if !fits {
            self.refuse(name, format!("{name} is -1 to {most}"), hint);
        }
        N::try_from(number).ok().filter(|_| fits).unwrap_or_default()
    }

    fn lustre(&mut self, given: &GivenOptions) {
        self.hints.lustre_ignore_locks = given.flag("posix.lustre.ignorelocks");
        let pool = given.text("posix.lustre.pool").map(String::from);
        let count = self.number(given, "posix.lustre.stripecount", 2000, "-1 is all targets, 0 the default");
        let bytes = given.number("posix.lustre.stripesize");
        if !(0..=i64::from(u32::MAX)).contains(&bytes) {
            self.refuse("posix.lustre.stripesize", "a stripe is 0 to 4294967295 bytes", "e.g. 4m");
        }
        let start = self.number(given, "posix.lustre.startost", 65_534, "-1 lets Lustre choose");
        if pool.as_ref().is_some_and(|pool| pool.len() > POOL_NAME) {
            self.refuse(
                "posix.lustre.pool",
                "a pool's name has at most 15 characters",
                "lfs pool_list shows them",
            );
        }
        if pool.is_some() && (count == 0 || bytes == 0) {
            let what = "Lustre pool specified but no stripe count or stripe size specified";
            self.refuse(
                "posix.lustre.pool",
                what,
                "add --posix.lustre.stripecount=N --posix.lustre.stripesize=4m",
            );
        }
        // The first target alone sets no stripes, as in the original.
        if count != 0 || bytes != 0 || pool.is_some() {
            let bytes = u64::try_from(bytes).unwrap_or(0);
            self.hints.lustre_stripes = Some(LustreStripes { count, bytes, start, pool });
        }
    }

    fn beegfs(&mut self, given: &GivenOptions) {
        let [targets, chunk] = BEEGFS.map(|name| given.number(name));
        if !(-1..=i64::from(u32::MAX)).contains(&targets) {
            self.refuse(BEEGFS[0], "a number of targets is not negative", "-1 leaves it to the directory");
        }
        let is_chunk = |bytes: u64| bytes.is_power_of_two() && (1 << 16..1 << 32).contains(&bytes);
        if chunk != -1 && !u64::try_from(chunk).is_ok_and(is_chunk) {
            self.refuse(BEEGFS[1], "beegfsChunkSize must be a power of two and >64k", "e.g. 512k");
        }
        if targets != -1 || chunk != -1 {
            let targets = u32::try_from(targets).unwrap_or(0);
            let chunk_bytes = u64::try_from(chunk).unwrap_or(0);
            self.hints.beegfs_stripes = Some(BeegfsStripes { targets, chunk_bytes });
        }
    }

    fn gpfs(&mut self, given: &GivenOptions, announces: bool) {
        let [access, release, writes, reads, creation] = GPFS.map(|name| given.flag(name));
        if access && !announces {
            self.refuse(
                GPFS[0],
                "only the back end POSIX tells its transfers",
                "use -a POSIX, or leave it out",
            );
        }
        self.hints.gpfs_access = access;
        self.hints.gpfs_release_tokens = release;
        self.hints.gpfs_fine_grain_writes = writes;
        self.hints.gpfs_fine_grain_reads = reads;
        self.hints.gpfs_create_sharing = creation;
    }
}

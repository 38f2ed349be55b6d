//! IOR's options, each exactly once: letters, long names, directives of `-O` and keys of scripts.
//!
//! An entry's name is its directive and script key (case does not count); its aliases are its letter (`-b`), its long name
//! (`--collective`) and older keys. Help, the document and every message come from the same entries.

mod back_ends;
mod program;
mod text;

use crate::option::{Entry, Spelling, Table, nearest};
use iodyno_model::{Diagnostic, Origin};

pub use text::{document, help};

pub const TABLE: Table = Table { tool: "ior", spelling: Spelling::Assigned, entries: &ENTRIES };

/// Flags, as IOR's help calls them.
pub const FLAGS: &str = "Flags";
/// Options with a value.
pub const ARGUMENTS: &str = "Optional arguments";
/// What only directives say.
pub const DIRECTIVES: &str = "Directives";
/// Keys and letters of older versions.
pub const OLDER: &str = "Older keys and letters";

const COUNT: usize = program::FLAGS.len()
    + program::ARGUMENTS.len()
    + program::DIRECTIVES.len()
    + back_ends::MODULES.len()
    + program::OLDER.len();

static ENTRIES: [Entry; COUNT] = joined();

const fn joined() -> [Entry; COUNT] {
    let mut all = [program::FLAGS[0]; COUNT];
    let parts: [&[Entry]; 5] =
        [program::FLAGS, program::ARGUMENTS, program::DIRECTIVES, back_ends::MODULES, program::OLDER];
    let (mut part, mut to) = (0, 0);
    while part < parts.len() {
        let mut from = 0;
        while from < parts[part].len() {
            all[to] = parts[part][from];
            to += 1;
            from += 1;
        }
        part += 1;
    }
    all
}

/// Names that are no directives and no script keys: they make sense on the command line alone.
const COMMAND_LINE_ONLY: [&str; 4] = ["scriptFile", "directives", "help", "version"];

pub fn letter(table: &Table, letter: &str) -> Option<&'static Entry> {
    let is_it = |alias: &&str| alias.strip_prefix('-') == Some(letter);
    table.entries.iter().find(|entry| entry.aliases.iter().any(is_it))
}

/// The option of a long name without its dashes; a directive's name does as well.
pub fn long(table: &Table, name: &str) -> Option<&'static Entry> {
    let is_long = |alias: &&str| alias.strip_prefix("--").is_some_and(|long| long.eq_ignore_ascii_case(name));
    let found = table.entries.iter().find(|entry| entry.aliases.iter().any(is_long));
    found.or_else(|| key(name))
}

/// The option of a directive or script key.
pub fn key(name: &str) -> Option<&'static Entry> {
    let is_key = |known: &&str| !known.starts_with('-') && known.eq_ignore_ascii_case(name);
    let found = TABLE.entries.iter().find(|entry| is_key(&entry.name) || entry.aliases.iter().any(is_key));
    found.filter(|entry| !COMMAND_LINE_ONLY.contains(&entry.name))
}

/// That there is no such option, with what may have been meant.
pub fn unknown(name: &str, origin: &Origin) -> Diagnostic {
    let bare = name.trim_start_matches('-');
    let wrong = Diagnostic::error(origin, format!("ior has no option `{name}`"));
    let names = TABLE.entries.iter().flat_map(Entry::names).filter(|name| name.len() > 3);
    match nearest(bare, names.map(|name| name.trim_start_matches('-'))) {
        Some(near) => wrong.hint(format!("did you mean `{near}`?")),
        None => wrong.hint("`ior -h` lists what there is"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::Status;

    /// The facts about IOR 4.1 and its ancestors: every letter, and every key of a directive or script.
    const LETTERS: &str = "aAbcCdDeEfFgGijkKlmMNoOQrwRWstTuvxXyYzZhBHIJnpPqSUV";
    const KEYS: &str = "api refNum blockSize collective reorderTasks reorderTasksConstant interTestDelay \
        deadlineForStonewalling fsync useExistingTestFile filePerProc intraTestBarriers setTimeStampSignature \
        repetitions outlierThreshold keepFile keepFileWithError dataPacketType multiFile memoryPerNode memoryPerTask \
        numTasks testFile taskPerNodeOffset readFile writeFile checkRead checkWrite segmentCount transferSize \
        maxTimeDuration uniqueDir verbose singleXferAttempt reorderTasksRandomSeed dualMount fsyncPerWrite \
        randomOffset reorderTasksRandom warningAsErrors interIODelay stoneWallingWearOut \
        stoneWallingWearOutIterations stoneWallingStatusFile minTimeDuration summaryFile summaryFormat summaryAlways \
        saveRankPerformanceDetailsCSV savePerOpDataCSV numNodes numTasksOnNode0 debug platform useO_DIRECT \
        allocateBufferOnGPU GPUid GPUDirect posix.odirect posix.rangelocks posix.lustre.stripecount \
        posix.lustre.stripesize posix.lustre.startost posix.lustre.ignorelocks posix.lustre.pool \
        posix.gpfs.hintaccess posix.gpfs.releasetoken posix.gpfs.finegrainwritesharing \
        posix.gpfs.finegrainreadsharing posix.gpfs.createsharing posix.beegfs.NumTargets posix.beegfs.ChunkSize \
        aio.max-pending aio.granularity mmap.madv_dont_need mmap.madv_pattern hintsFileName showHints preallocate \
        useStridedDatatype useFileView hdf5.collectiveMetadata hdf5.individualDataSets hdf5.noFill \
        hdf5.setAlignment hdf5.chunkSize setAlignment individualDataSets dummy.delay-create dummy.delay-close \
        dummy.delay-sync dummy.delay-xfer dummy.delay-only-rank0 quitOnError useSharedFilePointer storeFileOffset \
        showHelp nodes testnum libnfs.url rados.user rados.conf rados.pool hdfs.odirect \
        hdfs.user hdfs.name_node hdfs.replicas hdfs.block_size S3-libs3.bucket-per-file S3-libs3.bucket-name-prefix \
        S3-libs3.dont-suffix-bucket S3-libs3.s3-compatible S3-libs3.use-ssl S3-libs3.host S3-libs3.secret-key \
        S3-libs3.access-key S3-libs3.region S3-libs3.location S3-4c.user S3-4C.host S3-4c.bucket-name S3-curl.bucket \
        S3-curl.access-key S3-curl.secret-key S3-curl.host S3-curl.region S3-curl.use-ssl S3-curl.timeout \
        S3-curl.verify-ssl";

    #[test]
    fn every_letter_and_key_of_the_facts_is_there_once() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
        for name in LETTERS.chars() {
            assert!(letter(&TABLE, name.encode_utf8(&mut [0; 4])).is_some(), "-{name}");
        }
        for name in KEYS.split_whitespace() {
            assert!(key(name).is_some(), "{name}");
        }
        for name in [
            "collective",
            "dryRun",
            "random-offset-seed",
            "randomPrefill",
            "dataPacketType",
            "mpiio.showHints",
        ] {
            assert!(long(&TABLE, name).is_some(), "--{name}");
        }
        assert!(key("scriptFile").is_none() && key("b").is_none() && letter(&TABLE, "L").is_none());
    }

    #[test]
    fn keys_know_no_case_and_a_slip_is_named() {
        assert_eq!(key("BLOCKSIZE").map(|entry| entry.name), Some("blockSize"));
        let told = unknown("blokSize", &Origin::Default);
        assert_eq!(told.hint.as_deref(), Some("did you mean `blockSize`?"));
    }

    #[test]
    fn what_is_refused_or_ignored_says_why() {
        for entry in TABLE.entries {
            if let Status::Refused(why, hint) = entry.status {
                assert!(!why.is_empty() && !hint.is_empty(), "{}", entry.name);
            }
        }
    }
}

//! Options about what a job is called, which files it uses, and how they are opened, cached and flushed.
//!
//! Refuses nothing but what cannot be done on Linux at all.

use super::{JobOption, MOST, NOT_DONE, ValueType, flag, option, path, tailed, text, whole, word, words};

/// The job and its files.
#[rustfmt::skip]
pub const JOB: &[JobOption] = &[
    text("description", "TEXT", "a sentence about the job, for reports"),
    text("name", "NAME", "what the job is called"),
    text("wait_for", "JOB", "begin only when all workers of that job have ended"),
    path("filename", "FILE[:FILE…]", "the files or devices; `-` is standard input or output"),
    word("lockfile", words::LOCKS, "lock each file while an I/O is done to it").or("none").below(1),
    word("filetype", words::FILE_TYPES, "what the files are, without looking").or("none"),
    path("directory", "DIR[:DIR…]", "where the files lie; several jobs take turns"),
    text("filename_format", "TEXT", "how files are called: $jobname $jobnum $filenum $clientuid").or("$jobname.$jobnum.$filenum"),
    flag("unique_filename", "hosts of --client put their names before those of files in a directory").or("1"),
    path("opendir", "DIR", "all files below this directory").refused(NOT_DONE, "name the files with filename=A:B:C"),
];

/// Preparation, caches and syncing.
#[rustfmt::skip]
pub const OPTIONS: &[JobOption] = &[
    whole("nrfiles", 0, MOST, "files of each worker").also(&["nr_files"]).or("1"),
    tailed("file_service_type", words::SERVICES, "WORD[:N]", "which file is next; :N keeps it for N I/Os").or("roundrobin").below(1),
    whole("openfiles", 0, MOST, "files open at the same time"),
    word("fallocate", words::PREALLOCATIONS, "how space is reserved when files are laid out").or("native"),
    word("fadvise_hint", words::HINTS, "the advice that the kernel gets about the pattern").or("1"),
    whole("fsync", 0, MOST, "fsync after every N writes").or("0"),
    whole("fdatasync", 0, MOST, "fdatasync after every N writes").or("0"),
    whole("write_barrier", 0, MOST, "every Nth write is a barrier").or("0")
        .ignored("Linux dropped barrier requests in 2010, and fio passes none on"),
    option("sync_file_range", "WORD[,WORD…][:N]", ValueType::Words(words::SYNC_RANGES), "sync_file_range after every N writes"),
    flag("direct", "past the page cache (O_DIRECT)"),
    flag("atomic", "untorn writes (RWF_ATOMIC), past the page cache"),
    flag("buffered", "through the page cache: the opposite of direct").or("1"),
    flag("overwrite", "lay files out before they are written"),
    flag("invalidate", "drop a file's cached pages before the job").or("1"),
    word("sync", words::SYNCS, "whether each write is durable before it returns").or("none"),
    word("write_hint", words::LIFETIMES, "how long the data is expected to live"),
    flag("create_serialize", "lay out the files of one job after the other's").or("1")
        .ignored("files are laid out before the start line either way, outside the measured time"),
    flag("create_fsync", "fsync a file that was laid out").or("1")
        .ignored("what is laid out is always made durable before the start line"),
    flag("create_on_open", "create files when they are opened, not before"),
    flag("create_only", "lay out the files and end"),
    flag("allow_file_create", "files that are missing may be created").or("1"),
    flag("allow_mounted_write", "write to a device although it is mounted"),
    flag("pre_read", "read all files before the job"),
    flag("end_fsync", "fsync at the end of the job"),
    flag("fsync_on_close", "fsync each file when it is closed"),
    flag("end_syncfs", "syncfs at the end of the job"),
    flag("unlink", "remove the files after the job"),
    flag("unlink_each_loop", "remove the files after each loop").refused(NOT_DONE, "use unlink=1"),
];

//! The table of flowops: their names, and what the report counts them as.
//!
//! Refuses nothing by itself; what a flowop becomes is decided in [`super::flowop_compiler`].

/// What a flowop is to the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Input and output: it counts in the summary.
    Io,
    /// Input of data.
    Read,
    /// Output of data.
    Write,
    /// Limits, pauses, semaphores: a line, and not in the summary.
    Control,
}

/// A flowop.
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What it is to the report.
    pub class: Class,
    /// What it does.
    pub about: &'static str,
}

const fn entry(name: &'static str, class: Class, about: &'static str) -> Entry {
    Entry { name, class, about }
}

/// Every flowop.
pub const FLOWOPS: &[Entry] = &[
    entry("openfile", Class::Io, "opens one of the files that exist in slot `fd`"),
    entry("createfile", Class::Io, "makes one of the files that do not exist, and opens it in slot `fd`"),
    entry("closefile", Class::Io, "closes slot `fd`"),
    entry("deletefile", Class::Io, "removes what slot `fd` holds, or one that nobody uses"),
    entry("statfile", Class::Io, "looks at what slot `fd` holds, or at one by its name"),
    entry(
        "read",
        Class::Read,
        "reads `iosize` at the next place, or with `random` anywhere in the working set",
    ),
    entry("write", Class::Write, "writes so"),
    entry("readwholefile", Class::Read, "reads a file to its end, `iosize` at a time, as one operation"),
    entry(
        "writewholefile",
        Class::Write,
        "writes a file as long as it is meant to be (with `srcfd` as long as that one), `iosize` at a time",
    ),
    entry("appendfile", Class::Write, "writes `iosize` at the file's end, wherever others have moved it"),
    entry("appendfilerand", Class::Write, "the same, 0 to `iosize`"),
    entry("fsync", Class::Io, "makes a file durable"),
    entry("fsyncset", Class::Io, "makes every file of a set durable that this thread has open"),
    entry("makedir", Class::Io, "makes one of the `leafdirs`"),
    entry("removedir", Class::Io, "removes one"),
    entry("listdir", Class::Io, "lists the directory that one lies in"),
    entry("aiowrite", Class::Write, "hands a write at a random place over and goes on"),
    entry("aiowait", Class::Io, "waits for half of what was handed over"),
    entry("renamefile", Class::Io, "gives a file a name that is free"),
    entry("linkfile", Class::Io, "gives a file a second name"),
    entry("symlinkfile", Class::Io, "makes a symbolic link to a file of the set"),
    entry("truncatefile", Class::Io, "cuts what slot `fd` holds to `iosize` bytes"),
    entry("fallocatefile", Class::Io, "reserves `iosize` bytes for what slot `fd` holds"),
    entry("fdatasync", Class::Io, "makes a file's data durable"),
    entry("mmapread", Class::Read, "reads by a mapping; so does all that its thread moves"),
    entry("mmapwrite", Class::Write, "writes by a mapping"),
    entry(
        "copyfilerange",
        Class::Write,
        "copies the whole file in slot `srcfd` into slot `fd` inside the kernel",
    ),
    entry("statdir", Class::Io, "lists a directory and looks at each entry"),
    entry(
        "setxattr",
        Class::Io,
        "sets the extended attribute `user.iodyno` of `iosize` bytes, by slot or by name",
    ),
    entry("getxattr", Class::Io, "reads it"),
    entry("listxattr", Class::Io, "lists a file's extended attributes"),
    entry("removexattr", Class::Io, "removes it"),
    entry("block", Class::Control, "waits until somebody wakes it"),
    entry("wakeup", Class::Control, "wakes all that wait at `target`"),
    entry("semblock", Class::Control, "waits until `value` was posted to it (drawn each time)"),
    entry(
        "sempost",
        Class::Control,
        "posts `value` to `target`; with `blocking` it waits while `highwater` is reached",
    ),
    entry("hog", Class::Control, "computes for `value` turns (a random variable is drawn each time)"),
    entry("delay", Class::Control, "sleeps `value` seconds, drawn or not"),
    entry("eventlimit", Class::Control, "takes one event of `eventgen` each time"),
    entry(
        "iopslimit",
        Class::Control,
        "takes one for each operation of `target`, which moves data, or of the thread",
    ),
    entry("opslimit", Class::Control, "takes one for each operation"),
    entry("bwlimit", Class::Control, "takes one for each MiB"),
    entry(
        "finishoncount",
        Class::Control,
        "ends the thread once `value` operations of `target` are done by all together",
    ),
    entry("finishonbytes", Class::Control, "the same by bytes"),
    entry("print", Class::Control, "tells `value` as it comes by, and how often it did"),
    entry("testrandvar", Class::Control, "draws from `value`; the mean and the standard deviation are told"),
];

/// Attributes of flowops.
pub const ATTRIBUTES: &str = "\
    name filename filesetname fd srcfd opennext rotatefd iosize workingset random directio dsync \
    noreadahead indexed fileindex skew iters value target highwater blocking wss createmode";

/// The flowop of a name.
pub fn find(name: &str) -> Option<&'static Entry> {
    FLOWOPS.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))
}

/// What was probably meant.
pub fn hint<'a>(name: &str, others: impl Iterator<Item = &'a String>) -> String {
    let names = FLOWOPS.iter().map(|entry| entry.name).chain(others.map(String::as_str));
    let near = names.min_by_key(|known| strsim::damerau_levenshtein(known, name));
    match near.filter(|known| strsim::damerau_levenshtein(known, name) <= 3) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "define flowop name=… makes a composite of that name".into(),
    }
}

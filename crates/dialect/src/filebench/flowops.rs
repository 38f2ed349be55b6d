//! The table of flowops: their names, and what the report counts them as.
//!
//! Refuses nothing by itself; what a flowop becomes is decided in [`super::lower::flowop_compiler`].

/// What a flowop is to the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowopClass {
    /// Input and output: it counts in the summary.
    Io,
    /// Input of data.
    Read,
    /// Output of data.
    Write,
    /// Limits, pauses, semaphores: a line, and not in the summary.
    Control,
}

pub struct FlowopEntry {
    pub name: &'static str,
    /// What it is to the report.
    pub class: FlowopClass,
    /// What it does.
    pub about: &'static str,
}

const fn io(name: &'static str, about: &'static str) -> FlowopEntry {
    FlowopEntry { name, class: FlowopClass::Io, about }
}
const fn read(name: &'static str, about: &'static str) -> FlowopEntry {
    FlowopEntry { name, class: FlowopClass::Read, about }
}
const fn write(name: &'static str, about: &'static str) -> FlowopEntry {
    FlowopEntry { name, class: FlowopClass::Write, about }
}
const fn control(name: &'static str, about: &'static str) -> FlowopEntry {
    FlowopEntry { name, class: FlowopClass::Control, about }
}

/// Every flowop.
pub const FLOWOPS: &[FlowopEntry] = &[
    io("openfile", "opens one of the files that exist in slot `fd`"),
    io("createfile", "makes one of the files that do not exist, and opens it in slot `fd`"),
    io("closefile", "closes slot `fd`"),
    io("deletefile", "removes the file in slot `fd`, or one that is not in use"),
    io("statfile", "looks at what slot `fd` holds, or at one by its name"),
    read("read", "reads `iosize` at the next place, or with `random` anywhere in the working set"),
    write("write", "writes so"),
    read("readwholefile", "reads a file to its end, `iosize` at a time, as one operation"),
    write(
        "writewholefile",
        "writes a file as long as it is meant to be (with `srcfd` as long as that one), `iosize` at a time",
    ),
    write("appendfile", "writes `iosize` at the file's end, wherever others have moved it"),
    write("appendfilerand", "the same, 0 to `iosize`"),
    io("fsync", "makes a file durable"),
    io("fsyncset", "makes every file of a set durable that this thread has open"),
    io("makedir", "makes one of the `leafdirs`"),
    io("removedir", "removes one"),
    io("listdir", "lists the directory that one lies in"),
    write("aiowrite", "hands a write at a random place over and goes on"),
    io("aiowait", "waits for half of what was handed over"),
    io("renamefile", "gives a file a name that is free"),
    io("linkfile", "gives a file a second name"),
    io("symlinkfile", "makes a symbolic link to a file of the set"),
    io("truncatefile", "cuts what slot `fd` holds to `iosize` bytes"),
    io("fallocatefile", "reserves `iosize` bytes for what slot `fd` holds"),
    io("fdatasync", "makes a file's data durable"),
    read("mmapread", "reads by a mapping; so does all that its thread moves"),
    write("mmapwrite", "writes by a mapping"),
    write("copyfilerange", "copies the whole file in slot `srcfd` into slot `fd` inside the kernel"),
    io("statdir", "lists a directory and looks at each entry"),
    io("setxattr", "sets the extended attribute `user.iodyno` of `iosize` bytes, by slot or by name"),
    io("getxattr", "reads it"),
    io("listxattr", "lists a file's extended attributes"),
    io("removexattr", "removes it"),
    control("block", "waits until a `wakeup` flowop wakes it"),
    control("wakeup", "wakes all that wait at `target`"),
    control("semblock", "waits until `value` was posted to it (drawn each time)"),
    control("sempost", "posts `value` to `target`; with `blocking` it waits while `highwater` is reached"),
    control("hog", "computes for `value` turns (a random variable is drawn each time)"),
    control("delay", "sleeps `value` seconds, drawn or not"),
    control("eventlimit", "takes one event of `eventgen` each time"),
    control("iopslimit", "takes one for each operation of `target`, which moves data, or of the thread"),
    control("opslimit", "takes one for each operation"),
    control("bwlimit", "takes one for each MiB"),
    control("finishoncount", "ends the thread once `value` operations of `target` are done by all together"),
    control("finishonbytes", "the same by bytes"),
    control("print", "tells `value` as it comes by, and how often it did"),
    control("testrandvar", "draws from `value`; the mean and the standard deviation are reported"),
];

/// Attributes of flowops.
pub const ATTRIBUTES: &str = "\
    name filename filesetname fd srcfd opennext rotatefd iosize workingset random directio dsync \
    noreadahead indexed fileindex skew iters value target highwater blocking wss createmode";

pub fn find(name: &str) -> Option<&'static FlowopEntry> {
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

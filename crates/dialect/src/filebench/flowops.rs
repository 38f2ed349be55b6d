//! The table of flowops: their names, and what the report counts them as.
//!
//! Refuses nothing by itself; what a flowop becomes is decided in [`super::weave`].

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
    /// Why it is refused, and what to do instead.
    pub refused: Option<(&'static str, &'static str)>,
}

const fn entry(name: &'static str, class: Class) -> Entry {
    Entry { name, class, refused: None }
}

const fn later(name: &'static str, class: Class, hint: &'static str) -> Entry {
    Entry { name, class, refused: Some(("is not served yet", hint)) }
}

/// Every flowop.
pub const FLOWOPS: &[Entry] = &[
    entry("openfile", Class::Io),
    entry("createfile", Class::Io),
    entry("closefile", Class::Io),
    entry("deletefile", Class::Io),
    entry("statfile", Class::Io),
    entry("read", Class::Read),
    entry("write", Class::Write),
    entry("readwholefile", Class::Read),
    entry("writewholefile", Class::Write),
    entry("appendfile", Class::Write),
    entry("appendfilerand", Class::Write),
    entry("fsync", Class::Io),
    entry("fsyncset", Class::Io),
    entry("makedir", Class::Io),
    entry("removedir", Class::Io),
    entry("listdir", Class::Io),
    entry("aiowrite", Class::Write),
    entry("aiowait", Class::Io),
    entry("renamefile", Class::Io),
    entry("linkfile", Class::Io),
    entry("symlinkfile", Class::Io),
    entry("truncatefile", Class::Io),
    entry("fallocatefile", Class::Io),
    entry("fdatasync", Class::Io),
    entry("mmapread", Class::Read),
    entry("mmapwrite", Class::Write),
    entry("copyfilerange", Class::Write),
    entry("statdir", Class::Io),
    entry("setxattr", Class::Io),
    entry("getxattr", Class::Io),
    entry("listxattr", Class::Io),
    entry("removexattr", Class::Io),
    entry("block", Class::Control),
    entry("wakeup", Class::Control),
    entry("semblock", Class::Control),
    entry("sempost", Class::Control),
    entry("hog", Class::Control),
    entry("delay", Class::Control),
    entry("eventlimit", Class::Control),
    entry("iopslimit", Class::Control),
    entry("opslimit", Class::Control),
    entry("bwlimit", Class::Control),
    entry("finishoncount", Class::Control),
    entry("finishonbytes", Class::Control),
    later("print", Class::Control, "echo \"$value\" prints a variable"),
    later("testrandvar", Class::Control, "the plan shows what is drawn (--plan)"),
];

/// Attributes of flowops.
pub const ATTRIBUTES: &[&str] = &[
    "name",
    "filename",
    "filesetname",
    "fd",
    "srcfd",
    "opennext",
    "rotatefd",
    "iosize",
    "workingset",
    "random",
    "directio",
    "dsync",
    "noreadahead",
    "indexed",
    "fileindex",
    "iters",
    "value",
    "target",
    "highwater",
    "blocking",
    "wss",
];

/// The flowop of a name.
pub fn find(name: &str) -> Option<&'static Entry> {
    FLOWOPS.iter().find(|entry| entry.name == name)
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

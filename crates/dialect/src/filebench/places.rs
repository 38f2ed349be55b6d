//! Files and filesets: from attributes to the model's targets.
//!
//! A set's tree has as many directories as the original's has on average: each leaf holds `dirwidth` files. All its
//! directories are alike (the engine room draws no trees yet). Refuses to remove what it did not make.

use iodyno_model::{
    Advice, Direct, Extent, Items, Open, OpenMode, OpenSync, Origin, Prepare, Size, Target, TargetKind,
};

use super::draw::mean_of;
use super::reader::Reader;
use super::script::Attributes;

/// Attributes of files and sets.
const KNOWN: [&str; 19] = [
    "name",
    "path",
    "size",
    "filesize",
    "prealloc",
    "paralloc",
    "reuse",
    "trusttree",
    "readonly",
    "writeonly",
    "entries",
    "dirwidth",
    "dirdepthrv",
    "dirgamma",
    "leafdirs",
    "cached",
    "createmode",
    "preallocpercent",
    "filesizegamma",
];

/// A file or a set of files.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Its name.
    pub name: String,
    /// The directory its files lie in.
    pub root: String,
    /// Whether it is a single file.
    pub single: bool,
    /// How many files.
    pub entries: u64,
    /// How large they are.
    pub size: Size,
    /// Files in a directory, as the script says.
    pub width: f64,
    /// Directories without files, for flowops on directories.
    pub leaf_directories: u64,
    /// How many exist at the start, percent.
    pub present_percent: f64,
    /// What is there is used again, and stays.
    pub reuse: bool,
    /// How it is opened.
    pub access: Access,
    /// Where it was defined.
    pub origin: Origin,
}

/// How a place is opened: all that its flowops ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// `readonly`.
    pub reads_only: bool,
    /// `writeonly`.
    pub writes_only: bool,
    /// `directio`.
    pub direct: bool,
    /// `dsync`.
    pub sync: bool,
    /// `noreadahead`.
    pub random: bool,
    /// Flowops that open, create, remove or look at it by name.
    pub by_name: bool,
    /// Flowops on directories.
    pub directories: bool,
}

impl Place {
    /// A place by what was written.
    pub fn new(
        single: bool,
        attributes: &Attributes,
        origin: &Origin,
        reader: &mut Reader<'_>,
    ) -> Option<Place> {
        let what = if single { "a file" } else { "a fileset" };
        reader.known(attributes, &KNOWN, what);
        for word in ["cached", "createmode"] {
            if reader.flag(attributes, &[word]) {
                let message = format!("`{word}` of a fileset is not served yet");
                reader.complain(origin, message, "leave it out; what is laid out is in the cache as it is");
            }
        }
        let name = reader.text(attributes, &["name"]);
        let path = reader.text(attributes, &["path"]);
        let (Some(name), Some(path)) = (name, path) else {
            let missing = if attributes.get(&["name"]).is_none() { "name" } else { "path" };
            if attributes.get(&[missing]).is_none() {
                reader.complain(origin, format!("{what} without {missing}="), "it needs name= and path=");
            }
            return None;
        };
        let entries = reader.count(attributes, &["entries"], u64::from(single));
        let width = reader.number(attributes, &["dirwidth"]);
        if !single && width.is_none_or(|width| width < 1.0) && attributes.get(&["dirwidth"]).is_none() {
            reader.complain(
                origin,
                format!("fileset {name} without dirwidth="),
                "dirwidth=1000000 is one directory",
            );
        }
        let prealloc = match attributes.get(&["prealloc"]) {
            Some(attribute) if attribute.value.is_none() => 100.0,
            Some(_) => reader.number(attributes, &["prealloc"]).unwrap_or(0.0).min(100.0),
            None => 0.0,
        };
        let present_percent = reader.number(attributes, &["preallocpercent"]).unwrap_or(prealloc);
        Some(Place {
            root: format!("{}/{name}", path.trim_end_matches('/')),
            single,
            entries: if single { 1 } else { entries },
            size: reader.size(attributes, &["size", "filesize"], 0).unwrap_or(Size::Fixed(1024)),
            width: width.unwrap_or(1e6).max(1.0),
            leaf_directories: reader.count(attributes, &["leafdirs"], 0),
            present_percent,
            reuse: reader.flag(attributes, &["reuse"]) || reader.flag(attributes, &["trusttree"]),
            access: Access {
                reads_only: reader.flag(attributes, &["readonly"]),
                writes_only: reader.flag(attributes, &["writeonly"]),
                ..Access::default()
            },
            origin: origin.clone(),
            name,
        })
    }

    /// The nominal size of a file.
    pub fn mean_bytes(&self) -> f64 {
        mean_of(&self.size)
    }

    /// How deep the original's tree is on average.
    pub fn mean_depth(&self) -> f64 {
        let all = (self.entries + self.leaf_directories).max(1) as f64;
        if self.width > 1.0 { all.ln() / self.width.ln() } else { 0.0 }
    }

    /// Levels of directories below the root, and directories in each.
    fn tree(&self) -> (u32, u32) {
        let all = (self.entries + self.leaf_directories).max(1) as f64;
        let leaves = (all / self.width).ceil();
        if leaves <= 1.0 {
            return (0, 1);
        }
        let levels = ((self.mean_depth() - 1.0).round().max(1.0) as u32).min(16);
        (levels, (leaves.powf(1.0 / f64::from(levels)).ceil() as u32).max(1))
    }

    /// Whether it is one file that stays open, rather than names that are opened and closed.
    pub fn is_one_file(&self) -> bool {
        self.entries == 1 && !self.access.by_name && !self.access.directories
    }

    fn open(&self) -> Open {
        let access = self.access;
        Open {
            mode: match (access.reads_only, access.writes_only) {
                (true, false) => OpenMode::Read,
                (false, true) => OpenMode::Write,
                _ => OpenMode::ReadWrite,
            },
            create: self.is_one_file() && self.present_percent == 0.0,
            parents: true,
            direct: if access.direct { Direct::Yes } else { Direct::No },
            sync: if access.sync { OpenSync::All } else { OpenSync::No },
            advice: if access.random { Advice::Random } else { Advice::No },
            ..Open::default()
        }
    }

    /// Its files as a target.
    pub fn target(&self) -> Target {
        let kind = if self.is_one_file() {
            let path = if self.single { self.root.clone() } else { format!("{}/0", self.root) };
            TargetKind::File { path, size: Extent::Bytes(self.mean_bytes() as u64) }
        } else if self.single {
            let (root, name) = self.root.rsplit_once('/').unwrap_or((".", &self.root));
            let items = Items { name: name.into(), ..self.items(1) };
            TargetKind::FileSet { root: root.into(), items }
        } else {
            TargetKind::FileSet { root: self.root.clone(), items: self.items(self.entries) }
        };
        let prepare = match self.is_one_file() && self.present_percent == 0.0 {
            true => Prepare::Empty,
            false => Prepare::Filled,
        };
        // A directory that others may use is never this run's to remove.
        let remove = !self.reuse && (!self.single || self.is_one_file());
        Target {
            name: self.name.clone(),
            kind,
            open: self.open(),
            prepare,
            remove,
            origin: self.origin.clone(),
        }
    }

    /// Its directories without files as a target.
    pub fn directories(&self) -> Target {
        let items =
            Items { directories: true, name: "leaf{item}".into(), ..self.items(self.leaf_directories) };
        Target {
            name: format!("{} directories", self.name),
            kind: TargetKind::FileSet { root: self.root.clone(), items },
            open: Open::default(),
            prepare: Prepare::Filled,
            remove: !self.reuse,
            origin: self.origin.clone(),
        }
    }

    fn items(&self, count: u64) -> Items {
        let (depth, branch) = if self.single { (0, 1) } else { self.tree() };
        Items {
            count,
            name: "{item}".into(),
            size: self.size.clone(),
            depth,
            branch,
            leaves_only: true,
            per_directory: (self.width as u64).min(self.entries.max(1)),
            present_percent: self.present_percent,
            ..Items::default()
        }
    }

    /// The line that tells of it.
    pub fn populated(&self) -> Option<String> {
        (!self.single).then(|| {
            format!(
                "{} populated: {} files, avg. dir. width = {:.0}, avg. dir. depth = {:.1}, {} leafdirs, {:.3}MB total size",
                self.name,
                self.entries,
                self.width,
                self.mean_depth(),
                self.leaf_directories,
                self.mean_bytes() * self.entries as f64 / f64::from(1 << 20)
            )
        })
    }
}

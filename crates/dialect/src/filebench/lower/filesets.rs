//! Files and filesets: from attributes to the model's targets.
//!
//! Directories draw how deep and wide they are, as the original's do, by the seed; with `dirgamma=0` all are alike. A set
//! is described, never listed. Refuses to remove what it did not make.

use iodyno_model::{
    Advice, Direct, Extent, Items, Open, OpenMode, OpenSync, Origin, Prepare, Size, Target, TargetKind, Tree,
};

use super::clients::MARK;
use crate::filebench::random_variable::mean_of;
use crate::filebench::reader::AttributeReader;
use crate::filebench::script::{Attribute, Attributes};
use crate::filebench::value::ScriptValue;

/// How many lay a set out side by side where the script asks for that: the original's own number.
const MAKERS: u32 = 32;
/// The shape that directories' depth and width are drawn with where nothing says otherwise: the original's own.
const SHAPE: f64 = 1.5;

/// Attributes of files and sets.
const KNOWN: &str = "\
    name path size filesize prealloc paralloc reuse trusttree readonly writeonly entries dirwidth \
    dirdepthrv dirgamma leafdirs cached createmode preallocpercent filesizegamma";

/// A file or a set of files.
#[derive(Clone, Debug, PartialEq)]
pub struct Fileset {
    pub name: String,
    /// The directory its files lie in, with a mark where a client's own comes in.
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
    /// How wide and how deep directories are, drawn for each; none: all are alike.
    pub tree: Option<(Size, Size)>,
    /// Whether many lay it out side by side.
    pub side_by_side: bool,
    /// Mode bits of its files; none: 644.
    pub permissions: Option<u32>,
    /// Its pages are dropped before the run.
    pub cold: bool,
    /// What is there is used again, and stays.
    pub reuse: bool,
    /// How it is opened.
    pub access: Access,
    /// Where it was defined.
    pub origin: Origin,
}

/// How wide and how deep directories are; `None` where all are alike.
fn tree(attributes: &Attributes, entries: u64, reader: &mut AttributeReader<'_>) -> Option<(Size, Size)> {
    let shape = reader.number(attributes, &["dirgamma"]).map_or(SHAPE, thousandths);
    let width = reader.number(attributes, &["dirwidth"]).unwrap_or(0.0).max(1.0);
    let all = (entries + reader.count(attributes, &["leafdirs"], 0)).max(1) as f64;
    let depth = if width > 1.0 { all.ln() / width.ln() } else { 1.0 };
    let mut drawn =
        |name: &str, mean: f64| match attributes.get(&[name]).and_then(|given| reader.value(given)) {
            Some(ScriptValue::Drawn(draw)) => draw.size(1).ok(),
            Some(ScriptValue::Number(number)) if name == "dirdepthrv" => {
                Some(Size::Fixed(number.max(1.0) as u64))
            }
            _ if shape > 0.0 => Some(Size::Gamma { mean_bytes: mean, shape }),
            _ => None,
        };
    match (drawn("dirwidth", width), drawn("dirdepthrv", depth.max(1.0))) {
        (None, None) => None,
        (widths, depths) => Some((
            widths.unwrap_or(Size::Fixed(width as u64)),
            depths.unwrap_or(Size::Fixed(depth.round().max(1.0) as u64)),
        )),
    }
}

/// Shapes are written as thousandths; small numbers mean themselves.
fn thousandths(number: f64) -> f64 {
    if number >= 10.0 { number / 1000.0 } else { number }
}

/// How many files exist at the start: all where nothing else is said.
fn percent(attribute: &Attribute, attributes: &Attributes, reader: &mut AttributeReader<'_>) -> f64 {
    let switch = match attribute.value.as_ref().map(|value| reader.variables.worth(value)) {
        None => Some(true),
        Some(Ok(ScriptValue::Text(text))) => text.to_lowercase().parse().ok(),
        Some(_) => None,
    };
    match switch {
        Some(on) => f64::from(u8::from(on)) * 100.0,
        None => {
            let percent = reader.number(attributes, &["prealloc"]).unwrap_or(0.0);
            if percent > 100.0 {
                let message = format!("prealloc={percent}: more than all files");
                reader.complain(&attribute.origin, message, "prealloc=80 is 80 % of them");
            }
            percent.min(100.0)
        }
    }
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
    /// Flowops that make files of it.
    pub creates: bool,
}

impl Fileset {
    /// A place by what was written.
    pub fn new(
        single: bool,
        attributes: &Attributes,
        origin: &Origin,
        reader: &mut AttributeReader<'_>,
    ) -> Option<Fileset> {
        let what = if single { "a file" } else { "a fileset" };
        reader.known(attributes, KNOWN, what);
        let permissions = reader.mode(attributes, &["createmode"]);
        let name = reader.text(attributes, &["name"]);
        let path = reader.text(attributes, &["path"]);
        let missing = ["name", "path"].into_iter().find(|name| attributes.get(&[name]).is_none());
        if let Some(missing) = missing {
            reader.complain(origin, format!("{what} without {missing}="), "it needs name= and path=");
        }
        // Flowops may name it all the same: only what is wrong with it is told.
        let (name, path) = (name?, path.unwrap_or_else(|| ".".into()));
        let entries = reader.count(attributes, &["entries"], u64::from(single));
        let width = reader.number(attributes, &["dirwidth"]);
        let narrow = width.is_none_or(|width| width < 1.0) && attributes.get(&["dirwidth"]).is_none();
        if !single && narrow && missing.is_none() {
            let hint = "dirwidth=1000000 is one directory";
            reader.complain(origin, format!("fileset {name} without dirwidth="), hint);
        }
        let prealloc = match attributes.get(&["prealloc"]) {
            Some(attribute) => percent(attribute, attributes, reader),
            None => 0.0,
        };
        let present_percent = reader.number(attributes, &["preallocpercent"]).unwrap_or(prealloc);
        let mut size = reader.size(attributes, &["size", "filesize"], 0).unwrap_or(Size::Fixed(1024));
        let shape =
            reader.number(attributes, &["filesizegamma"]).map(thousandths).filter(|shape| *shape > 0.0);
        if let (Size::Fixed(bytes @ 1..), Some(shape)) = (&size, shape) {
            size = Size::Gamma { mean_bytes: *bytes as f64, shape };
        }
        let tree = tree(attributes, entries, reader);
        Some(Fileset {
            tree,
            side_by_side: reader.flag(attributes, &["paralloc"]),
            permissions,
            cold: attributes.get(&["cached"]).is_some() && !reader.flag(attributes, &["cached"]),
            root: format!("{}/{MARK}/{name}", path.trim_end_matches('/')),
            single,
            entries: if single { 1 } else { entries },
            size,
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

    /// Whether nothing is in it at the start, if it is one file.
    fn starts_empty(&self) -> bool {
        self.present_percent == 0.0 || self.size == Size::Fixed(0)
    }

    fn open(&self) -> Open {
        let access = self.access;
        Open {
            mode: match (access.reads_only, access.writes_only) {
                (true, false) => OpenMode::Read,
                (false, true) => OpenMode::Write,
                _ => OpenMode::ReadWrite,
            },
            create: self.is_one_file() && self.starts_empty(),
            parents: true,
            direct: if access.direct { Direct::Yes } else { Direct::No },
            sync: if access.sync { OpenSync::All } else { OpenSync::No },
            advice: if access.random { Advice::Random } else { Advice::No },
            invalidate: self.cold,
            permissions: self.permissions,
            ..Open::default()
        }
    }

    /// Its files as a target.
    pub fn target(&self, seed: u64) -> Target {
        let kind = if self.is_one_file() {
            let path = if self.single { self.root.clone() } else { format!("{}/0", self.root) };
            TargetKind::File { path, size: Extent::Bytes(self.mean_bytes() as u64) }
        } else if self.single {
            let (root, name) = self.root.rsplit_once('/').unwrap_or((".", &self.root));
            let mut items = Items { name: name.into(), ..self.items(1, seed) };
            if self.present_percent == 0.0 && !self.access.creates {
                // Nobody makes it, so it is there, and empty.
                (items.present_percent, items.size) = (100.0, Size::Fixed(0));
            }
            TargetKind::FileSet { root: root.into(), items }
        } else {
            TargetKind::FileSet { root: self.root.clone(), items: self.items(self.entries, seed) }
        };
        let prepare = match self.is_one_file() && self.starts_empty() {
            true => Prepare::Empty,
            false => Prepare::Filled,
        };
        Target {
            name: self.name.clone(),
            kind,
            open: self.open(),
            prepare,
            // Of a single file in a directory that others may use, only the file is this run's own.
            remove: !self.reuse,
            origin: self.origin.clone(),
        }
    }

    /// Its directories without files as a target.
    pub fn directories(&self, seed: u64) -> Target {
        let items = self.items(self.leaf_directories, seed.wrapping_add(1));
        let items = Items { directories: true, name: "leaf{item}".into(), ..items };
        Target {
            name: format!("{} directories", self.name),
            kind: TargetKind::FileSet { root: self.root.clone(), items },
            open: Open::default(),
            prepare: Prepare::Filled,
            remove: !self.reuse,
            origin: self.origin.clone(),
        }
    }

    fn items(&self, count: u64, seed: u64) -> Items {
        let drawn = self.tree.as_ref().filter(|_| !self.single && count as f64 > self.width);
        let tree = drawn
            .map(|(widths, depths)| Box::new(Tree { depths: depths.clone(), widths: widths.clone(), seed }));
        let (depth, branch) = if self.single || tree.is_some() { (0, 1) } else { self.tree() };
        Items {
            tree,
            makers: if self.side_by_side { MAKERS } else { 0 },
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

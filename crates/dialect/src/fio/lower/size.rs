//! How much of each file: `size`, `filesize`, `offset` and what is moved: `io_size`, `loops`.
//!
//! Follows fio's arithmetic: a size is divided among the files, what does not divide goes to the first ones block by
//! block; percentages are of what is there. What is not there and was given no size is an error here, in fio's words.

use iodyno_model::Extent;

use super::super::value::Amount;
use super::blocks::Blocks;
use super::names::TargetFile;
use super::option_reader::OptionReader;

/// How much of a job's files is used.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    /// Of each file: the bytes that are worked on; none: to its end.
    pub parts: Vec<Option<u64>>,
    /// The length each file is laid out to; none: as it is.
    pub ends: Vec<Option<u64>>,
    /// Where work begins in each file.
    pub offset: Extent,
    /// What is added for each clone.
    pub increment: Extent,
    /// What percentages of the offset are rounded up to.
    pub offset_align: u64,
    /// The bytes one clone moves in one pass, where that is known.
    pub pass_bytes: Option<u64>,
    /// Whether that is not simply everything once.
    pub own_pass: bool,
    /// Until the file system is full.
    pub fill: bool,
}

/// What is known when sizes are asked for.
pub struct SizeContext<'a> {
    pub files: &'a [TargetFile],
    pub blocks: &'a Blocks,
    pub clones: u32,
    /// Whether the engine moves no data, so that no size is needed.
    pub sizeless: bool,
}

impl Sizes {
    /// What a job says.
    pub fn of(ask: &mut OptionReader<'_>, scene: &SizeContext<'_>) -> Sizes {
        let mut sizes = Sizes { fill: ask.flag("fill_device", false), ..Sizes::default() };
        sizes.offsets(ask, scene);
        let there: u64 = scene.files.iter().map(TargetFile::bytes).sum();
        let given = given(ask);
        let file_sizes = file_sizes(ask, scene.files.len());
        if !sizes.known(ask, scene, there, &given, file_sizes.is_some()) {
            return sizes;
        }
        sizes.divide(scene, &given, file_sizes);
        sizes.lay_out(scene);
        sizes.check(ask, scene);
        sizes.amount_moved(ask, scene);
        sizes
    }

    /// Where work begins: shares of what is there, rounded up to blocks; of a file that is not there yet a share is nothing.
    fn offsets(&mut self, ask: &mut OptionReader<'_>, scene: &SizeContext<'_>) {
        for name in ["offset", "offset_increment", "size", "io_size"] {
            if let Some(Amount::Zones(_)) = ask.amount(name) {
                let message = format!("`{name}` in zones needs zonemode=zbd, which is not served");
                ask.refuse(name, message, "give it in bytes");
            }
        }
        let align = ask.whole("offset_align").filter(|align| *align > 0).map(|align| align as u64);
        self.offset_align = align.unwrap_or_else(|| scene.blocks.least());
        let offset = extent(ask.amount("offset"));
        self.increment = self.known_share(extent(ask.amount("offset_increment")), scene, 1);
        self.offset = self.known_share(offset, scene, self.offset_align);
        let appends = ask.flag("file_append", false) && scene.files.iter().all(TargetFile::is_file);
        if let (true, Some(bytes)) = (appends, same_length(scene.files)) {
            self.offset = if bytes > 0 { Extent::Bytes(bytes) } else { Extent::Rest };
        } else if appends {
            ask.refuse(
                "file_append",
                "files of different lengths cannot be appended to together",
                "use one job for each",
            );
        }
    }

    /// A share in bytes, where all files have the same length.
    fn known_share(&self, extent: Option<Extent>, scene: &SizeContext<'_>, align: u64) -> Extent {
        match (extent, same_length(scene.files)) {
            (Some(Extent::Percent(_)), Some(0)) => Extent::Rest,
            (Some(Extent::Percent(percent)), Some(bytes)) => {
                let share = (bytes as f64 * percent / 100.0) as u64;
                Extent::Bytes(share.div_ceil(align).saturating_mul(align))
            }
            (extent, _) => extent.unwrap_or_default(),
        }
    }

    /// Whether anything says how much there is.
    fn known(
        &self,
        ask: &mut OptionReader<'_>,
        scene: &SizeContext<'_>,
        there: u64,
        given: &SizeOption,
        files_given: bool,
    ) -> bool {
        let sized = given.bytes.is_some_and(|bytes| bytes > 0);
        if there > 0 || sized || scene.sizeless || self.fill || files_given {
            return true;
        }
        ask.refuse(
            "size",
            format!("{}: you need to specify size=", ask.job()),
            "what the job works on is not there yet, or has no length of its own: say how much, e.g. size=1g",
        );
        false
    }

    /// Each file's part.
    fn divide(&mut self, scene: &SizeContext<'_>, given: &SizeOption, file_sizes: Option<Vec<u64>>) {
        let count = scene.files.len().max(1) as u64;
        let start = self.start();
        if let Some(file_sizes) = file_sizes {
            self.parts = file_sizes.iter().map(|bytes| Some(bytes.saturating_sub(start))).collect();
            self.ends = file_sizes.into_iter().map(Some).collect();
        } else if self.fill && given.bytes.is_none() {
            self.parts = vec![None; scene.files.len()];
        } else {
            let total = given.bytes.unwrap_or(0);
            let (each, least) = (total / count, scene.blocks.least());
            let extra = (total - each * count) / least;
            let part = |index: u64| each + if index < extra { least } else { 0 };
            self.parts = (0..scene.files.len() as u64)
                .map(|index| Some(part(index)).filter(|part| *part > 0))
                .collect();
        }
        if let Some(percent) = given.percent {
            for (part, file) in self.parts.iter_mut().zip(scene.files) {
                let whole = part.map_or_else(|| file.bytes(), |part| part.saturating_add(start));
                let share = ((whole as f64 * percent / 100.0) as u64).min(whole.saturating_sub(start));
                let share = share - share % scene.blocks.least();
                *part = (percent < 100.0 && whole > 0).then_some(share).or(*part);
            }
        }
    }

    /// How long files must be.
    fn lay_out(&mut self, scene: &SizeContext<'_>) {
        if !self.ends.is_empty() {
            return;
        }
        let shared = |file: &TargetFile| !file.own && scene.clones > 1;
        let end = |(part, file): (&Option<u64>, &TargetFile)| {
            let last = if shared(file) { u64::from(scene.clones - 1) } else { 0 };
            let increment = if let Extent::Bytes(bytes) = self.increment { bytes } else { 0 };
            part.map(|part| part.saturating_add(self.start()).saturating_add(increment.saturating_mul(last)))
        };
        self.ends = self.parts.iter().zip(scene.files).map(end).collect();
    }

    /// The first byte, where it is given in bytes.
    pub fn start(&self) -> u64 {
        if let Extent::Bytes(bytes) = self.offset { bytes } else { 0 }
    }

    fn check(&self, ask: &mut OptionReader<'_>, scene: &SizeContext<'_>) {
        let least = scene.blocks.least();
        let known: Option<Vec<u64>> = self.parts.iter().copied().collect();
        let total = known.map(|parts| parts.iter().sum::<u64>());
        if let Some(total) = total
            && total > 0
            && total < least
            && !scene.sizeless
        {
            let message =
                format!("size too small, must not be less than minimum block size: {total} < {least}");
            ask.refuse("size", message, "a larger size, or a smaller block size (bs)");
        }
        for file in scene.files {
            let bytes = file.bytes();
            if bytes > 0 && !file.is_file() && self.start() >= bytes {
                let message = format!("{}: you need to specify valid offset={}", ask.job(), self.start());
                ask.refuse("offset", message, format!("{} ends at {bytes} bytes", file.path));
                return;
            }
        }
    }

    /// What one pass moves.
    fn amount_moved(&mut self, ask: &mut OptionReader<'_>, scene: &SizeContext<'_>) {
        let parts = self.parts.iter().zip(scene.files);
        let start = self.start();
        let rest = |file: &TargetFile| {
            Some(file.bytes()).filter(|bytes| *bytes > start && self.increment == Extent::Rest)
        };
        let endless = self.fill && given(ask).bytes.is_none();
        let known: Option<Vec<u64>> =
            parts.map(|(part, file)| part.or_else(|| rest(file).map(|bytes| bytes - start))).collect();
        let total = known.map(|parts| parts.iter().sum::<u64>()).filter(|total| *total > 0 && !endless);
        // What is said is what is moved, even where it cannot be divided evenly.
        self.pass_bytes = given(ask).bytes.filter(|_| total.is_some()).or(total);
        match ask.amount("io_size") {
            Some(Amount::Bytes(bytes)) if bytes > 0 => {
                self.own_pass = total != Some(bytes);
                self.pass_bytes = Some(bytes);
            }
            Some(Amount::Percent(percent)) if percent < 100.0 => match total {
                Some(total) => {
                    self.own_pass = true;
                    self.pass_bytes = Some((total as f64 * percent / 100.0) as u64);
                }
                None => ask.refuse(
                    "io_size",
                    "a percentage of a size that is not known yet",
                    "give size in bytes, or io_size in bytes",
                ),
            },
            _ => {}
        }
    }
}

/// How long all files are, where they are all alike.
fn same_length(files: &[TargetFile]) -> Option<u64> {
    let first = files.first()?.bytes();
    files.iter().all(|file| file.bytes() == first).then_some(first)
}

/// What `size` says.
struct SizeOption {
    bytes: Option<u64>,
    percent: Option<f64>,
}

fn given(ask: &OptionReader<'_>) -> SizeOption {
    match ask.amount("size") {
        Some(Amount::Bytes(bytes)) => {
            SizeOption { bytes: Some(bytes).filter(|bytes| *bytes > 0), percent: None }
        }
        Some(Amount::Percent(percent)) => SizeOption { bytes: None, percent: Some(percent) },
        _ => SizeOption { bytes: None, percent: None },
    }
}

fn extent(amount: Option<Amount>) -> Option<Extent> {
    match amount? {
        Amount::Bytes(0) | Amount::Zones(_) => None,
        Amount::Bytes(bytes) => Some(Extent::Bytes(bytes)),
        Amount::Percent(percent) => Some(Extent::Percent(percent)),
    }
}

/// `filesize`: one size for all, or a range from which each file's is drawn.
fn file_sizes(ask: &OptionReader<'_>, count: usize) -> Option<Vec<u64>> {
    let (low, high) = ask.ranges("filesize")?.read?;
    if low == 0 && high == 0 {
        return None;
    }
    let mut state = ask.whole("randseed").unwrap_or(1) as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let mut draw = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    Some((0..count).map(|_| low + ((u128::from(draw()) * u128::from(high - low + 1)) >> 64) as u64).collect())
}

//! diskspd's command line: options with their values attached, targets between them.
//!
//! Sizes in blocks are known once all is read. It refuses options twice where the last would silently win over the first.

use iodyno_model::{Diagnostic, Origin};

use super::options;
use super::settings::{
    AccessHint, CacheMode, DistributionRange, Profile, ResultFormat, TargetAccess, TestTarget, Throughput,
    TimeSpan, WriteContent,
};
use super::size::{TypedSize, distribution, optional, typed};
use crate::option::{Setter, Status};

/// An option of the table.
pub type Given = Setter<Command, String>;

/// What is asked for.
pub enum Invocation {
    Help,
    Version,
    Run(Box<Profile>),
    /// A profile in a file, and what is said beside it.
    File {
        path: String,
        over: Overrides,
    },
}

/// Options that are for all spans and targets of a profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    duration_s: Option<u64>,
    warm_up_s: Option<u64>,
    requests: Option<u32>,
    block_bytes: Option<u64>,
    format: Option<ResultFormat>,
    is_printed_only: bool,
    is_verbose: bool,
    /// `*1` is the first of these, and so on.
    paths: Vec<String>,
}

/// The command line as it was read.
#[derive(Clone, Debug, Default)]
pub struct Command {
    pub span: TimeSpan,
    pub target: TestTarget,
    pub file: Option<String>,
    pub wants_help: bool,
    pub is_verbose: bool,
    pub duration_s: Option<u64>,
    pub warm_up_s: Option<u64>,
    pub threads: Option<u32>,
    pub requests: Option<u32>,
    pub thread_stride: Option<TypedSize>,
    pub create: Option<TypedSize>,
    block_bytes: Option<u64>,
    format: Option<ResultFormat>,
    is_printed_only: bool,
    align: Option<TypedSize>,
    stride: Option<TypedSize>,
    is_random: bool,
    is_sequential: bool,
    is_interlocked: bool,
    random_percent: Option<u32>,
    distribution: Vec<DistributionRange>,
    base: Option<TypedSize>,
    length: Option<TypedSize>,
    most: Option<TypedSize>,
    paths: Vec<String>,
    given: Vec<&'static str>,
}

fn wrong(argument: &str, message: impl Into<String>, hint: &str) -> Diagnostic {
    Diagnostic::error(&Origin::argument(argument), message).hint(hint)
}

/// Parses a command line.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse(arguments: &[String]) -> Result<Invocation, Diagnostic> {
    match arguments.first().map(String::as_str) {
        None | Some("--help" | "-help" | "/?") => return Ok(Invocation::Help),
        Some("--version") => return Ok(Invocation::Version),
        _ => {}
    }
    let mut command = Command::default();
    for argument in arguments {
        match argument.strip_prefix('-') {
            Some(word) if !word.is_empty() => command.option(argument, word)?,
            _ => command.paths.push(path(argument)?),
        }
    }
    if command.wants_help {
        return Ok(Invocation::Help);
    }
    command.finished()
}

/// A target: no drive of Windows.
fn path(argument: &str) -> Result<String, Diagnostic> {
    let is_drive = argument.len() == 2 && argument.ends_with(':');
    if argument.starts_with('#') || is_drive {
        return Err(wrong(
            argument,
            "drives of Windows have other names here",
            "name a file, or a block device such as /dev/sdb",
        ));
    }
    if argument.contains(['{', '}']) || argument.is_empty() {
        return Err(wrong(
            argument,
            "braces in a target's name stand for numbers here",
            "rename it, or link it by another name",
        ));
    }
    Ok(argument.into())
}

impl Command {
    fn option(&mut self, argument: &str, word: &str) -> Result<(), Diagnostic> {
        let (setter, value) = options::split(word)
            .ok_or_else(|| wrong(argument, "diskspd has no such option", "iodyno diskspd -? lists them"))?;
        let entry = &setter.entry;
        if let Status::Refused(why, hint) = entry.status {
            let is_alone = entry.name == "p" && self.requests == Some(1);
            return if is_alone {
                Ok(())
            } else {
                Err(wrong(argument, format!("`-{}` is not supported: {why}", entry.name), hint))
            };
        }
        if !value.is_empty() && entry.value.is_empty() {
            return Err(wrong(
                argument,
                format!("`-{}` takes no value", entry.name),
                "iodyno diskspd -? lists the options",
            ));
        }
        if self.given.contains(&entry.name) && !["S", "f"].contains(&entry.name) {
            return Err(wrong(argument, format!("`-{}` is given twice", entry.name), "say it once"));
        }
        self.given.push(entry.name);
        let bounds = |bounds: crate::option::OutOfBounds| {
            format!("expected a number of {} from {} to {}", bounds.what, bounds.least, bounds.most)
        };
        setter.apply(self, value, bounds).map_err(|message| wrong(argument, message, entry.help))
    }

    fn finished(mut self) -> Result<Invocation, Diagnostic> {
        let over = Overrides {
            duration_s: self.duration_s,
            warm_up_s: self.warm_up_s,
            requests: self.requests,
            block_bytes: self.block_bytes,
            format: self.format,
            is_printed_only: self.is_printed_only,
            is_verbose: self.is_verbose,
            paths: self.paths.clone(),
        };
        if let Some(path) = self.file.take() {
            let beside = self.given.iter().find(|name| !["X", "b", "d", "W", "o", "R", "v"].contains(name));
            return match beside {
                Some(name) => Err(wrong(
                    &format!("-{name}"),
                    "a profile says this itself",
                    "beside -X are taken: -b -d -W -o -R -v",
                )),
                None => Ok(Invocation::File { path, over }),
            };
        }
        if self.paths.is_empty() {
            return Err(wrong(
                "diskspd",
                "no target is named",
                "a file or a block device, e.g. diskspd -c1G -d10 test.dat",
            ));
        }
        self.consistent()?;
        let (block, target) = (self.block_bytes.unwrap_or(64 << 10), self.complete()?);
        let mut span = self.span;
        (span.duration_s, span.warm_up_s) =
            (self.duration_s.unwrap_or(span.duration_s), self.warm_up_s.unwrap_or(span.warm_up_s));
        span.targets = self
            .paths
            .iter()
            .map(|path| TestTarget { path: path.clone(), block_bytes: block, ..target.clone() })
            .collect();
        Ok(Invocation::Run(Box::new(Profile {
            spans: vec![span],
            format: self.format.unwrap_or_default(),
            is_printed_only: self.is_printed_only,
            is_verbose: self.is_verbose,
        })))
    }

    /// Options that exclude or need each other.
    fn consistent(&self) -> Result<(), Diagnostic> {
        let has = |name: &str| self.given.contains(&name);
        let pairs: &[(&str, &str)] = &[
            ("t", "F"),
            ("o", "O"),
            ("si", "T"),
            ("n", "a"),
            ("rs", "s"),
            ("r", "s"),
            ("r", "si"),
            ("rs", "si"),
            ("rd", "s"),
            ("rd", "si"),
        ];
        if let Some((one, other)) = pairs.iter().find(|(one, other)| has(one) && has(other)) {
            return Err(wrong(
                &format!("-{one}"),
                format!("-{one} and -{other} exclude each other"),
                "leave one of them out",
            ));
        }
        let needs: &[(&str, &str)] = &[("O", "F"), ("i", "j"), ("j", "i")];
        if let Some((one, other)) = needs.iter().find(|(one, other)| has(one) && !has(other)) {
            return Err(wrong(
                &format!("-{one}"),
                format!("-{one} says nothing without -{other}"),
                "say both",
            ));
        }
        Ok(())
    }

    /// The target without its path.
    fn complete(&self) -> Result<TestTarget, Diagnostic> {
        let block = self.block_bytes.unwrap_or(64 << 10);
        let bytes = |name: &str, size: Option<TypedSize>| {
            let too_large =
                || wrong(&format!("-{name}"), "so many blocks are too many bytes", "say a smaller size");
            size.map(|size| size.bytes(block).ok_or_else(too_large)).transpose()
        };
        let mut target = self.target.clone();
        target.block_bytes = block;
        target.threads = self.threads.unwrap_or(1);
        target.requests = self.requests.unwrap_or(2);
        target.create_bytes = bytes("c", self.create)?;
        target.base_bytes = bytes("B", self.base)?.unwrap_or(0);
        target.thread_stride_bytes = bytes("T", self.thread_stride)?.unwrap_or(0);
        // `-f` is where the target ends, and `-B` may say how long it is from its base on.
        let most = bytes("f", self.most)?;
        let most = most
            .map(|most| most.saturating_sub(target.base_bytes))
            .filter(|most| *most > 0 || self.most.is_none());
        if self.most.is_some() && most.is_none() {
            return Err(wrong("-f", "the base of -B lies behind it", "say a larger -f"));
        }
        let length = bytes("B", self.length)?;
        target.length_bytes = [most, length].into_iter().flatten().min();
        target.access = match self.is_random || self.random_percent.is_some() || !self.distribution.is_empty()
        {
            true => TargetAccess::Random {
                align_bytes: bytes("r", self.align)?,
                percent: self.random_percent.unwrap_or(100),
                distribution: self.distribution.clone(),
            },
            false => TargetAccess::Sequential {
                stride_bytes: bytes("s", self.stride)?,
                is_interlocked: self.is_interlocked,
            },
        };
        Ok(target)
    }

    pub(super) fn amount(value: &str, to: &mut Option<TypedSize>) -> Result<(), String> {
        *to = Some(typed(value)?);
        Ok(())
    }

    pub(super) fn block(&mut self, value: &str) -> Result<(), String> {
        match typed(value)? {
            TypedSize::Bytes(bytes @ 1..=0xFFFF_FFFF) => self.block_bytes = Some(bytes),
            _ => return Err("expected a size below 4G, e.g. 64K".into()),
        }
        Ok(())
    }

    pub(super) fn writes(&mut self, value: &str) -> Result<(), String> {
        let percent = value.parse::<u8>().ok().filter(|percent| *percent <= 100);
        self.target.write_percent = percent.ok_or("expected a percentage, e.g. -w30")?.into();
        Ok(())
    }

    pub(super) fn random(&mut self, value: &str) -> Result<(), String> {
        self.is_random = true;
        self.align = optional(value)?;
        Ok(())
    }

    pub(super) fn random_share(&mut self, value: &str) -> Result<(), String> {
        let percent = value.parse::<u32>().ok().filter(|percent| (1..=100).contains(percent));
        self.random_percent = Some(percent.ok_or("expected a percentage from 1 to 100")?);
        Ok(())
    }

    pub(super) fn distribution(&mut self, value: &str) -> Result<(), String> {
        self.distribution = distribution(value)?;
        Ok(())
    }

    pub(super) fn stride(&mut self, value: &str, is_interlocked: bool) -> Result<(), String> {
        if self.is_sequential {
            return Err("-s and -si exclude each other".into());
        }
        (self.is_sequential, self.is_interlocked, self.stride) = (true, is_interlocked, optional(value)?);
        Ok(())
    }

    pub(super) fn deviation(&mut self, value: &str) -> Result<(), String> {
        self.span.shows_deviation = true;
        if !value.is_empty() {
            let ms = value.parse::<u64>().ok().filter(|ms| (1..=1 << 31).contains(ms));
            self.span.bucket_ms = ms.ok_or("expected a number of ms")?;
        }
        Ok(())
    }

    pub(super) fn affinity(&mut self, value: &str) -> Result<(), String> {
        // `-a` alone is the default: all processors, in turn.
        if !value.is_empty() {
            let numbers = value.split(',').map(str::parse).collect::<Result<_, _>>();
            self.span.affinity = numbers.map_err(|_| "expected numbers of processors: -a0,2,4")?;
        }
        Ok(())
    }

    pub(super) fn group_affinity(&mut self, value: &str) -> Result<(), String> {
        let mut group = Ok(0);
        for word in value.split(',').filter(|word| !word.is_empty()) {
            match word.strip_prefix('g') {
                Some(number) => group = number.parse::<u32>(),
                None if group == Ok(0) => {
                    let cpu = word.parse().map_err(|_| format!("`{word}` is no processor: -ag0,1,2"))?;
                    self.span.affinity.push(cpu);
                }
                None => return Err("there is one group of processors here: 0".into()),
            }
        }
        Ok(())
    }

    pub(super) fn throughput(&mut self, value: &str) -> Result<(), String> {
        let (number, unit): (&str, fn(u64) -> Throughput) = match value.strip_suffix('i') {
            Some(number) => (number, Throughput::Operations),
            None => (value, Throughput::BytesPerMs),
        };
        let number = number.parse::<u64>().ok().filter(|number| (1..=1 << 40).contains(number));
        self.target.throughput =
            Some(unit(number.ok_or("expected bytes in a ms, or operations in a second: -g1024, -g500i")?));
        Ok(())
    }

    pub(super) fn seed(&mut self, value: &str) -> Result<(), String> {
        self.span.seed = match value {
            "" => RANDOM_SEED,
            value => value.parse().map_err(|_| "expected a whole number")?,
        };
        Ok(())
    }

    pub(super) fn size_or_hint(&mut self, value: &str) -> Result<(), String> {
        let hint = |letter| match letter {
            'r' => Some(AccessHint::Random),
            's' => Some(AccessHint::Sequential),
            't' => Some(AccessHint::Temporary),
            _ => None,
        };
        let hints: Option<Vec<AccessHint>> = value.chars().map(hint).collect();
        match hints.filter(|hints| !hints.is_empty()) {
            Some(hints) => {
                self.target.hint =
                    *hints.iter().find(|hint| **hint != AccessHint::Temporary).unwrap_or(&hints[0])
            }
            None => self.most = Some(typed(value)?),
        }
        Ok(())
    }

    pub(super) fn bounds(&mut self, value: &str) -> Result<(), String> {
        let (base, length) =
            value.split_once(':').map_or((value, None), |(base, length)| (base, Some(length)));
        self.base = Some(typed(base)?);
        self.length = length.map(typed).transpose()?.filter(|length| *length != TypedSize::Bytes(0));
        Ok(())
    }

    pub(super) fn cache(&mut self, value: &str) -> Result<(), String> {
        if value.is_empty() {
            self.target.cache = CacheMode::Unbuffered;
        }
        for letter in value.chars() {
            match letter {
                'b' => self.target.cache = CacheMode::Cached,
                'u' => self.target.cache = CacheMode::Unbuffered,
                'm' => self.target.cache = CacheMode::Mapped,
                'w' => self.target.is_write_through = true,
                'h' => (self.target.cache, self.target.is_write_through) = (CacheMode::Unbuffered, true),
                'r' => {
                    return Err(
                        "no client of a network file system has a switch for its local cache: say -Su".into(),
                    );
                }
                other => return Err(format!("`{other}`: expected of b h m u w")),
            }
        }
        Ok(())
    }

    pub(super) fn content(&mut self, value: &str) -> Result<(), String> {
        self.target.content = match value {
            "" => WriteContent::Zero,
            "r" => WriteContent::Random(None),
            value if value.contains(',') => {
                return Err("a file's bytes cannot be written: say -Z with a size, or -Zr".into());
            }
            value => match typed(value)? {
                TypedSize::Bytes(bytes @ 1..) => WriteContent::Random(Some(bytes)),
                _ => return Err("expected a size, e.g. -Z1M".into()),
            },
        };
        Ok(())
    }

    pub(super) fn result_format(&mut self, value: &str) -> Result<(), String> {
        let (rest, is_printed_only) = value.strip_prefix('p').map_or((value, false), |rest| (rest, true));
        self.is_printed_only = is_printed_only;
        self.format = Some(match rest {
            "text" | "" => ResultFormat::Text,
            "xml" => ResultFormat::Xml,
            other => return Err(format!("`{other}`: expected text or xml")),
        });
        Ok(())
    }
}

/// Says that places shall be other ones each time.
pub const RANDOM_SEED: u64 = u64::MAX;

impl Overrides {
    /// Puts them in the place of what the profile says.
    pub(super) fn apply(&self, profile: &mut Profile) -> Result<(), Diagnostic> {
        profile.format = self.format.unwrap_or(profile.format);
        profile.is_printed_only |= self.is_printed_only;
        profile.is_verbose |= self.is_verbose;
        for span in &mut profile.spans {
            span.duration_s = self.duration_s.unwrap_or(span.duration_s);
            span.warm_up_s = self.warm_up_s.unwrap_or(span.warm_up_s);
            for target in &mut span.targets {
                target.requests = self.requests.unwrap_or(target.requests);
                target.block_bytes = self.block_bytes.unwrap_or(target.block_bytes);
                let place = target.path.strip_prefix('*').and_then(|number| number.parse::<usize>().ok());
                if let Some(place) = place {
                    let named = place.checked_sub(1).and_then(|place| self.paths.get(place));
                    let missing = || {
                        wrong(
                            &target.path,
                            "the profile has this place for a target, and none is named",
                            "name as many targets",
                        )
                    };
                    target.path = named.ok_or_else(missing)?.clone();
                }
                target.path = path(&target.path)?;
            }
        }
        Ok(())
    }
}

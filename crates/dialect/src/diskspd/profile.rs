//! Profiles in XML: read as they are, and printed so that they can be read again.
//!
//! It refuses elements that it does not know by their lines: a profile that is understood in part is another test.

use super::element::Element;
use super::settings::{
    AccessHint, CacheMode, DistributionRange, Profile, RangeLength, ResultFormat, TargetAccess, TestTarget,
    Throughput, TimeSpan, WriteContent,
};

/// A line, and what is wrong there.
type Wrong = (u32, String);

/// Reads a profile.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(text: &str) -> Result<Profile, Wrong> {
    let mut root = Element::read(text)?;
    // A result has its profile in it.
    if root.name == "Results"
        && let Some(inner) = root.child("Profile").cloned()
    {
        root = inner;
    }
    if root.name != "Profile" {
        return Err((root.line, format!("`{}`: expected `Profile`", root.name)));
    }
    let mut profile = Profile::default();
    for part in &root.children {
        match part.name.as_str() {
            "ResultFormat" if part.text.eq_ignore_ascii_case("xml") => profile.format = ResultFormat::Xml,
            "ResultFormat" | "Progress" => {}
            "Verbose" => profile.is_verbose = flag(part)?,
            "PrecreateFiles" => {}
            "TimeSpans" => {
                profile.spans = part.children.iter().map(time_span).collect::<Result<_, _>>()?;
            }
            _ => return Err(unknown(part)),
        }
    }
    match profile.spans.is_empty() {
        true => Err((root.line, "no time span is in it".into())),
        false => Ok(profile),
    }
}

fn unknown(part: &Element) -> Wrong {
    (part.line, format!("`{}` is not known here", part.name))
}

fn flag(part: &Element) -> Result<bool, Wrong> {
    match part.text.as_str() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        other => Err((part.line, format!("`{}`: expected true or false, and not `{other}`", part.name))),
    }
}

/// A whole number within these bounds.
fn number(part: &Element, least: u64, most: u64) -> Result<u64, Wrong> {
    let value = part.text.parse().ok().filter(|value| (least..=most).contains(value));
    value.ok_or_else(|| (part.line, format!("`{}`: expected a number from {least} to {most}", part.name)))
}

const MOST_SECONDS: u64 = 1 << 31;
const MOST_THREADS: u64 = 65536;
const MOST_BYTES: u64 = 1 << 60;

fn time_span(part: &Element) -> Result<TimeSpan, Wrong> {
    if part.name != "TimeSpan" {
        return Err(unknown(part));
    }
    let mut span = TimeSpan::default();
    for part in &part.children {
        match part.name.as_str() {
            "CompletionRoutines" => {}
            "MeasureLatency" => span.shows_latency = flag(part)?,
            "CalculateIopsStdDev" => span.shows_deviation = flag(part)?,
            "DisableAffinity" => span.is_unbound = flag(part)?,
            "Duration" => span.duration_s = number(part, 1, MOST_SECONDS)?,
            "Warmup" => span.warm_up_s = number(part, 0, MOST_SECONDS)?,
            "Cooldown" => span.cool_down_s = number(part, 0, MOST_SECONDS)?,
            "ThreadCount" => span.threads = positive(part, MOST_THREADS)?,
            "RequestCount" => span.requests = positive(part, MOST_THREADS)?,
            "IoBucketDuration" => span.bucket_ms = number(part, 1, MOST_SECONDS)?,
            "RandSeed" => span.seed = number(part, 0, u64::MAX - 1)?,
            "Affinity" => span.affinity = affinity(part)?,
            "Targets" => span.targets = part.children.iter().map(target).collect::<Result<_, _>>()?,
            _ => return Err(unknown(part)),
        }
    }
    match span.targets.is_empty() {
        true => Err((part.line, "no target is in it".into())),
        false => Ok(span),
    }
}

fn positive(part: &Element, most: u64) -> Result<Option<u32>, Wrong> {
    Ok(Some(number(part, 0, most)? as u32).filter(|count| *count > 0))
}

/// `<AffinityAssignment Processor="1"/>`, or the group form of them: attributes are told by the elements' own reader.
fn affinity(part: &Element) -> Result<Vec<u32>, Wrong> {
    let mut cpus = Vec::new();
    for one in &part.children {
        let text = one.child("Processor").map_or(one.text.as_str(), |inner| inner.text.as_str());
        cpus.push(
            text.parse().map_err(|_| (one.line, format!("`{}`: expected a processor's number", one.name)))?,
        );
    }
    Ok(cpus)
}

fn target(part: &Element) -> Result<TestTarget, Wrong> {
    if part.name != "Target" {
        return Err(unknown(part));
    }
    let mut target = TestTarget::default();
    for part in &part.children {
        match part.name.as_str() {
            "Path" => target.path.clone_from(&part.text),
            "BlockSize" => target.block_bytes = number(part, 1, u64::from(u32::MAX))?,
            "BaseFileOffset" => target.base_bytes = number(part, 0, MOST_BYTES)?,
            "FileSize" => target.create_bytes = Some(number(part, 1, MOST_BYTES)?),
            "MaxFileSize" => {
                target.length_bytes = Some(number(part, 0, MOST_BYTES)?).filter(|bytes| *bytes > 0)
            }
            "RequestCount" => target.requests = number(part, 1, MOST_THREADS)? as u32,
            "WriteRatio" => target.write_percent = number(part, 0, 100)? as f64,
            "ThreadsPerFile" => target.threads = number(part, 1, MOST_THREADS)? as u32,
            "ThreadStride" => target.thread_stride_bytes = number(part, 0, MOST_BYTES)?,
            "BurstSize" => target.burst = number(part, 0, MOST_SECONDS)?,
            "ThinkTime" => target.think_ms = number(part, 0, MOST_SECONDS)?,
            "IOPriority" => target.priority = number(part, 1, 3)? as u8,
            "UseLargePages" => target.has_large_pages = flag(part)?,
            "WriteThrough" => target.is_write_through = flag(part)?,
            "Weight" | "DisableAllCache" if !matches!(part.text.as_str(), "1" | "false") => {
                return Err(unserved(part));
            }
            "Weight" | "DisableAllCache" => {}
            "ParallelAsyncIO" | "DisableLocalCache" if flag(part)? => return Err(unserved(part)),
            "ParallelAsyncIO" | "DisableLocalCache" => {}
            "Throughput" => target.throughput = throughput(part)?,
            "WriteBufferContent" => target.content = content(part)?,
            _ => access(part, &mut target)?,
        }
    }
    // The target ends there; what is used of it begins at the base.
    target.length_bytes = target.length_bytes.map(|end| end.saturating_sub(target.base_bytes));
    match target.path.is_empty() || target.length_bytes == Some(0) {
        true => Err((part.line, "`Path` is missing, or `BaseFileOffset` is behind `MaxFileSize`".into())),
        false => Ok(target),
    }
}

fn unserved(part: &Element) -> Wrong {
    (part.line, format!("`{}` of `{}` is not done here", part.name, part.text))
}

/// Elements that say how, and through what.
fn access(part: &Element, target: &mut TestTarget) -> Result<(), Wrong> {
    let is_on = || flag(part);
    match part.name.as_str() {
        "DisableOSCache" => target.cache = if is_on()? { CacheMode::Unbuffered } else { target.cache },
        "MemoryMappedIo" | "MemoryMappedIO" => {
            target.cache = if is_on()? { CacheMode::Mapped } else { target.cache }
        }
        "SequentialScan" => target.hint = if is_on()? { AccessHint::Sequential } else { target.hint },
        "RandomAccess" => target.hint = if is_on()? { AccessHint::Random } else { target.hint },
        "TemporaryFile" => drop(is_on()?),
        "StrideSize" => {
            let bytes = number(part, 1, MOST_BYTES)?;
            if let TargetAccess::Sequential { stride_bytes, .. } = &mut target.access {
                *stride_bytes = Some(bytes);
            }
        }
        "InterlockedSequential" => {
            let is_on = is_on()?;
            if let TargetAccess::Sequential { is_interlocked, .. } = &mut target.access {
                *is_interlocked = is_on;
            }
        }
        "Random" => random(target).0.replace(number(part, 1, MOST_BYTES)?).map_or((), drop),
        "RandomRatio" => *random(target).1 = number(part, 1, 100)? as u32,
        "Distribution" => *random(target).2 = distribution(part)?,
        _ => return Err(unknown(part)),
    }
    Ok(())
}

/// The parts of a target's random access, which it then has.
fn random(target: &mut TestTarget) -> (&mut Option<u64>, &mut u32, &mut Vec<DistributionRange>) {
    if !matches!(target.access, TargetAccess::Random { .. }) {
        target.access = TargetAccess::Random { align_bytes: None, percent: 100, distribution: Vec::new() };
    }
    match &mut target.access {
        TargetAccess::Random { align_bytes, percent, distribution } => (align_bytes, percent, distribution),
        TargetAccess::Sequential { .. } => unreachable!("it was made random"),
    }
}

fn distribution(part: &Element) -> Result<Vec<DistributionRange>, Wrong> {
    let kind = part.children.first().ok_or_else(|| (part.line, "`Distribution` is empty".to_string()))?;
    let is_percent = match kind.name.as_str() {
        "Percent" => true,
        "Absolute" => false,
        _ => return Err(unknown(kind)),
    };
    let range = |range: &Element| {
        let io = range.child("IO").ok_or_else(|| (range.line, "`IO` is missing".to_string()))?;
        let io_percent = number(io, 0, 100)? as u32;
        let size = range.child("Target").ok_or_else(|| (range.line, "`Target` is missing".to_string()))?;
        let length = match is_percent {
            true => RangeLength::Percent(number(size, 1, 100)? as u32),
            false => RangeLength::Bytes(number(size, 1, MOST_BYTES)?),
        };
        Ok(DistributionRange { io_percent, length })
    };
    let ranges: Vec<DistributionRange> = kind.children.iter().map(range).collect::<Result<_, Wrong>>()?;
    match ranges.iter().map(|range| range.io_percent).sum::<u32>() > 100 {
        true => Err((part.line, "the percentages come to more than 100".into())),
        false => Ok(ranges),
    }
}

fn throughput(part: &Element) -> Result<Option<Throughput>, Wrong> {
    let value = number(part, 0, 1 << 40)?;
    Ok(Some(Throughput::BytesPerMs(value)).filter(|_| value > 0))
}

fn content(part: &Element) -> Result<WriteContent, Wrong> {
    let pattern = part.child("Pattern").map_or("sequential", |pattern| pattern.text.as_str());
    let size = || part.child("RandomDataSource").and_then(|source| source.child("SizeInBytes"));
    match pattern {
        "sequential" => Ok(WriteContent::Counting),
        "zero" => Ok(WriteContent::Zero),
        "random" => Ok(WriteContent::Random(size().map(|size| number(size, 1, MOST_BYTES)).transpose()?)),
        other => Err((part.line, format!("`{other}`: expected sequential, zero or random"))),
    }
}

/// A profile as elements.
pub fn element(profile: &Profile) -> Element {
    let format = match profile.format {
        ResultFormat::Text => "text",
        ResultFormat::Xml => "xml",
    };
    let spans = profile.spans.iter().map(span_element).collect();
    Element::new(
        "Profile",
        vec![
            Element::leaf("Progress", 0),
            Element::leaf("ResultFormat", format),
            Element::leaf("Verbose", profile.is_verbose),
            Element::new("TimeSpans", spans),
        ],
    )
}

fn span_element(span: &TimeSpan) -> Element {
    let mut parts = vec![
        Element::leaf("CompletionRoutines", false),
        Element::leaf("MeasureLatency", span.shows_latency),
        Element::leaf("CalculateIopsStdDev", span.shows_deviation),
        Element::leaf("DisableAffinity", span.is_unbound),
        Element::leaf("Duration", span.duration_s),
        Element::leaf("Warmup", span.warm_up_s),
        Element::leaf("Cooldown", span.cool_down_s),
        Element::leaf("ThreadCount", span.threads.unwrap_or(0)),
        Element::leaf("RequestCount", span.requests.unwrap_or(0)),
        Element::leaf("IoBucketDuration", span.bucket_ms),
        Element::leaf("RandSeed", span.seed),
    ];
    if !span.affinity.is_empty() {
        let one = |cpu: &u32| Element::new("AffinityAssignment", vec![Element::leaf("Processor", cpu)]);
        parts.push(Element::new("Affinity", span.affinity.iter().map(one).collect()));
    }
    parts.push(Element::new("Targets", span.targets.iter().map(target_element).collect()));
    Element::new("TimeSpan", parts)
}

fn target_element(target: &TestTarget) -> Element {
    let mut parts = vec![
        Element::leaf("Path", &target.path),
        Element::leaf("BlockSize", target.block_bytes),
        Element::leaf("BaseFileOffset", target.base_bytes),
        Element::leaf("SequentialScan", target.hint == AccessHint::Sequential),
        Element::leaf("RandomAccess", target.hint == AccessHint::Random),
        Element::leaf("TemporaryFile", target.hint == AccessHint::Temporary),
        Element::leaf("UseLargePages", target.has_large_pages),
    ];
    match target.cache {
        CacheMode::Cached => {}
        CacheMode::Unbuffered => parts.push(Element::leaf("DisableOSCache", true)),
        CacheMode::Mapped => parts.push(Element::leaf("MemoryMappedIo", true)),
    }
    if target.is_write_through {
        parts.push(Element::leaf("WriteThrough", true));
    }
    parts.push(content_element(target.content));
    parts.push(Element::leaf("ParallelAsyncIO", false));
    if target.burst > 0 {
        parts.extend([Element::leaf("BurstSize", target.burst), Element::leaf("ThinkTime", target.think_ms)]);
    }
    parts.extend(target.create_bytes.map(|bytes| Element::leaf("FileSize", bytes)));
    parts.extend(access_elements(target));
    let throughput = match target.throughput {
        Some(Throughput::BytesPerMs(bytes)) => bytes,
        Some(Throughput::Operations(operations)) => operations.saturating_mul(target.block_bytes) / 1000,
        None => 0,
    };
    parts.extend([
        Element::leaf("ThreadStride", target.thread_stride_bytes),
        Element::leaf("MaxFileSize", target.length_bytes.map_or(0, |bytes| bytes + target.base_bytes)),
        Element::leaf("RequestCount", target.requests),
        Element::leaf("WriteRatio", target.write_percent),
        Element::leaf("Throughput", throughput),
        Element::leaf("ThreadsPerFile", target.threads),
        Element::leaf("IOPriority", target.priority),
        Element::leaf("Weight", 1),
    ]);
    Element::new("Target", parts)
}

fn content_element(content: WriteContent) -> Element {
    let pattern = |name: &str| vec![Element::leaf("Pattern", name)];
    Element::new(
        "WriteBufferContent",
        match content {
            WriteContent::Counting => pattern("sequential"),
            WriteContent::Zero => pattern("zero"),
            WriteContent::Random(size) => {
                let source =
                    |bytes| Element::new("RandomDataSource", vec![Element::leaf("SizeInBytes", bytes)]);
                pattern("random").into_iter().chain(size.map(source)).collect()
            }
        },
    )
}

fn access_elements(target: &TestTarget) -> Vec<Element> {
    match &target.access {
        TargetAccess::Sequential { stride_bytes, is_interlocked } => vec![
            Element::leaf("StrideSize", stride_bytes.unwrap_or(target.block_bytes)),
            Element::leaf("InterlockedSequential", is_interlocked),
        ],
        TargetAccess::Random { align_bytes, percent, distribution } => {
            let mut parts = vec![Element::leaf("Random", align_bytes.unwrap_or(target.block_bytes))];
            if *percent < 100 {
                parts.push(Element::leaf("RandomRatio", percent));
            }
            if let Some(first) = distribution.first() {
                let kind =
                    if matches!(first.length, RangeLength::Percent(_)) { "Percent" } else { "Absolute" };
                let range = |range: &DistributionRange| {
                    let size = match range.length {
                        RangeLength::Percent(percent) => u64::from(percent),
                        RangeLength::Bytes(bytes) => bytes,
                    };
                    Element::new(
                        "Range",
                        vec![Element::leaf("IO", range.io_percent), Element::leaf("Target", size)],
                    )
                };
                let ranges = distribution.iter().map(range).collect();
                parts.push(Element::new("Distribution", vec![Element::new(kind, ranges)]));
            }
            parts
        }
    }
}

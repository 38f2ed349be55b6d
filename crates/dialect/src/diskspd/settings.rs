//! What a test is: time spans, each with its targets. Times and sizes in the units that the names say.

/// A whole test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// One after the other.
    pub spans: Vec<TimeSpan>,
    pub format: ResultFormat,
    /// Only the profile is printed, and nothing runs (`-Rp`).
    pub is_printed_only: bool,
    pub is_verbose: bool,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResultFormat {
    #[default]
    Text,
    Xml,
}

/// Targets that are worked on at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeSpan {
    /// Measured.
    pub duration_s: u64,
    /// Run before, and not counted.
    pub warm_up_s: u64,
    pub cool_down_s: u64,
    pub seed: u64,
    /// Threads that work on all targets (`-F`); none: each target has its own.
    pub threads: Option<u32>,
    /// Operations in flight of such a thread on all targets together (`-O`); none: on each target.
    pub requests: Option<u32>,
    pub shows_latency: bool,
    pub shows_deviation: bool,
    /// Over which the deviation of the rate is computed.
    pub bucket_ms: u64,
    /// Whether threads are left to the scheduler.
    pub is_unbound: bool,
    /// Processors that threads are bound to, in turn; empty: all.
    pub affinity: Vec<u32>,
    pub targets: Vec<TestTarget>,
}

impl Default for TimeSpan {
    fn default() -> Self {
        TimeSpan {
            duration_s: 10,
            warm_up_s: 5,
            cool_down_s: 0,
            seed: 0,
            threads: None,
            requests: None,
            shows_latency: false,
            shows_deviation: false,
            bucket_ms: 1000,
            is_unbound: false,
            affinity: Vec::new(),
            targets: Vec::new(),
        }
    }
}

impl TimeSpan {
    /// All threads.
    pub fn thread_count(&self) -> u32 {
        self.threads.unwrap_or_else(|| self.targets.iter().map(|target| target.threads).sum())
    }

    /// The threads of a target: the first one's number, and how many.
    pub fn threads_of(&self, target: usize) -> (u32, u32) {
        match self.threads {
            Some(threads) => (0, threads),
            None => (
                self.targets[..target].iter().map(|target| target.threads).sum(),
                self.targets[target].threads,
            ),
        }
    }
}

/// A file or device, and what is done with it.
#[derive(Clone, Debug, PartialEq)]
pub struct TestTarget {
    pub path: String,
    pub block_bytes: u64,
    /// Where it begins in the target.
    pub base_bytes: u64,
    /// How much of it is used; none: all.
    pub length_bytes: Option<u64>,
    /// The size of a file that is made; none: it is there.
    pub create_bytes: Option<u64>,
    pub access: TargetAccess,
    /// How far each thread begins behind the one before.
    pub thread_stride_bytes: u64,
    pub threads: u32,
    /// In flight, of each thread.
    pub requests: u32,
    pub write_percent: f64,
    pub cache: CacheMode,
    /// Each write is durable when it returns.
    pub is_write_through: bool,
    pub hint: AccessHint,
    pub content: WriteContent,
    pub throughput: Option<Throughput>,
    /// Operations before each pause; 0: there is none.
    pub burst: u64,
    pub think_ms: u64,
    /// 1 very low, 2 low, 3 normal.
    pub priority: u8,
    pub has_large_pages: bool,
}

impl Default for TestTarget {
    fn default() -> Self {
        TestTarget {
            path: String::new(),
            block_bytes: 64 << 10,
            base_bytes: 0,
            length_bytes: None,
            create_bytes: None,
            access: TargetAccess::Sequential { stride_bytes: None, is_interlocked: false },
            thread_stride_bytes: 0,
            threads: 1,
            requests: 2,
            write_percent: 0.0,
            cache: CacheMode::Cached,
            is_write_through: false,
            hint: AccessHint::None,
            content: WriteContent::Counting,
            throughput: None,
            burst: 0,
            think_ms: 0,
            priority: 3,
            has_large_pages: false,
        }
    }
}

/// Where the next operation goes.
#[derive(Clone, Debug, PartialEq)]
pub enum TargetAccess {
    /// None: the block's size.
    Sequential { stride_bytes: Option<u64>, is_interlocked: bool },
    Random {
        /// None: the block's size.
        align_bytes: Option<u64>,
        /// The rest goes on behind the operation before.
        percent: u32,
        distribution: Vec<DistributionRange>,
    },
}

/// A part of the target and its part of the operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistributionRange {
    pub io_percent: u32,
    pub length: RangeLength,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RangeLength {
    Percent(u32),
    Bytes(u64),
}

/// Whether operations go through the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheMode {
    #[default]
    Cached,
    Unbuffered,
    Mapped,
}

/// What the system is told of the accesses when the file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessHint {
    #[default]
    None,
    Random,
    Sequential,
    Temporary,
}

/// What is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteContent {
    /// The bytes 0 to 255, again and again.
    #[default]
    Counting,
    Zero,
    /// Other random bytes in each write (`-Zr`, or out of a buffer of this size).
    Random(Option<u64>),
}

/// The most that a thread does with a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Throughput {
    BytesPerMs(u64),
    Operations(u64),
}

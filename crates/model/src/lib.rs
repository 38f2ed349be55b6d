//! The model: what is asked (`plan`) and what was found (`record`), as plain values.
//!
//! ```text
//!   the question                              the answer
//!   Plan ─► Phase ─► Job ─► Workload          Record ─► PhaseRecord ─► JobRecord ─► Tally ─► Histogram
//!             │       ├─ Pattern (drawn)                     └─ Sighting ─► Finding
//!             │       ├─ Script (written)
//!             │       ├─ Trace (recorded)
//!             │       ├─ Cases (scripts with expectations) ─────► CaseRecord ─► Verdict
//!             │       └─ Exercise (held against a model)
//!             └─ Shared (tokens, semaphores, weights)
//! ```
//!
//! Dialects write plans and read events; the engine room reads plans and writes events. This crate
//! imports nobody, does no I/O, knows no tool and no engine, and holds no text of any tool's output.
#![forbid(unsafe_code)]

// As derived code names this crate.
extern crate self as iodyno_model;

pub mod aging;
pub mod case;
pub mod checkpoint;
pub mod conversation;
pub mod dataset;
pub mod demand;
pub mod device;
pub mod document;
pub mod engine_trait;
pub mod event;
pub mod file_system_hints;
pub mod finding;
pub mod glob;
pub mod health;
pub mod histogram;
pub mod kv_cache;
pub mod merge;
pub mod origin;
pub mod pace;
pub mod pack;
pub mod pattern;
pub mod payload;
pub mod placement;
pub mod plan;
pub mod preconditioning;
pub mod record;
pub mod reflect;
pub mod remedy;
pub mod replay;
pub mod secret;
pub mod setting;
pub mod shared_storage;
pub mod sighting;
pub mod sweep;
pub mod tally;
pub mod target;
pub mod training;
pub mod units;
pub mod verb;
pub mod verify;
pub mod workload;
pub mod world;

pub use aging::{Aging, AgingRecord, Wear};
pub use case::{
    Call, Case, CaseRecord, Cases, Class, Divergence, Exercise, ExerciseKind, ExerciseRecord, Feature,
    Outcome, Verdict, word, word_bytes,
};
pub use checkpoint::{
    CheckpointFile, CheckpointMedium, CheckpointModel, CheckpointRecord, CheckpointTransfer, Parallelism,
};
pub use conversation::{Action as PeerAction, Conversation, Input as PeerInput};
pub use dataset::{DatasetFormat, FileLayout, SampleFile};
pub use demand::{Demand, DemandRecord};
pub use device::{Device, DevicePart, PartKind, PartRecord};
pub use engine_trait::EngineTrait;
pub use event::{Event, JournalEntry, JournalPart, Live, LiveJob, RunStart, Said, WorkerState};
pub use file_system_hints::{BeegfsStripes, FileSystemHints, LustreStripes};
pub use finding::{Figure, Finding, FindingKind, Severity};
pub use health::{DriveHealth, HealthActivity};
pub use histogram::Histogram;
pub use origin::{Diagnostic, Level, Origin};
pub use pace::{Arrivals, Criterion, LatencyTarget, Limit, Pace, Rate, RateShare, Steady, Think};
pub use pattern::{
    Blend, Coverage, Every, FileOrder, ItemData, Mix, OperationKind, Overlap, Pattern, PerDirection, Pick,
    Share, Size, Span, Window, Zone,
};
pub use payload::{Content, Dedupe, Marks, Payload, PayloadMarks, Refresh, Template};
pub use placement::{BufferKind, Buffers, ControlGroup, Hooks, NumaMemory, NumaPolicy, Placement, SAME_ID};
pub use plan::{
    Depth, Errand, ErrorPolicy, Exit, ExitOn, ExitWhat, Finish, Intent, Job, Journal, Measure, Phase, Place,
    Plan, Ranks, Repeat, Rounds, Start, Stop, Submit, Tolerance, Watching, When, WorkerKind,
};
pub use preconditioning::RegionSchedule;
pub use record::{
    CacheShare, Fatal, FoundDepth, Idleness, JobRecord, Machine, PhaseRecord, Record, RoundsRecord, Stage,
    SteadyRecord, WearOut, WorkerRecord,
};
pub use remedy::Remedy;
pub use replay::{Division, ReasonCount, Remap, Replay, ReplayRecord, ReplayRow, ResultCount, TraceFacts};
pub use secret::SecretKind;
pub use setting::Setting;
pub use sighting::{
    ClockFacts, ConnectionActivity, ControlActivity, CpuShares, DeviceActivity, InterfaceActivity, IoLimit,
    Layout, MemoryLevels, MountActivity, NameCache, Pressure, ProcessorActivity, ProcessorShare,
    QueueActivity, RecordedTree, Sample, Sighting,
};
pub use sweep::{Coordinate, Parameter, Sweep, Value};
pub use tally::{ErrorCount, Line, Series, SeriesRow, Tally};
pub use target::{
    Advice, Direct, Extent, FileLock, ItemMarks, Items, Link, Open, OpenMode, OpenSync, Prepare, Target,
    TargetFacts, TargetKind, Tree, WriteLife,
};
pub use training::{AcceleratorRecord, Lasting, SampleAccess, SampleOrder, TrainingInput, Utilisation};
pub use verb::{Kind, Verb, VerbSet};
pub use verify::{
    Checksum, GivenState, HeaderStamp, Mismatch, Stamp, TrimBack, Verify, VerifyLayout, VerifyPolicy,
    VerifyState, VerifyWhen, Wrong,
};
pub use workload::{
    Action, Actor, AtEnd, Conversion, Expect, Item, Offset, Operation, Per, RecordForm, Script, SharedKind,
    SharedObject, SharedUse, Step, Timing, Trace, TraceEntry, Transfer, Workload,
};
pub use world::WorldFacts;

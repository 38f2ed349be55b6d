//! What commands that vary one workload are told of the target that they measure.

use clap::Args;
use iodyno_model::{Pattern, units};

use crate::single_workload::WorkloadRequest;

#[derive(Args, Clone, Debug, Default)]
pub struct TargetOptions {
    /// Engine of a TARGET: io_uring, libaio, posixaio [default: the first that works]
    #[arg(long, value_name = "NAME")]
    pub engine: Option<String>,
    /// Seed of offsets and arrivals
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write to this device or file: what is on it is lost
    #[arg(long, value_name = "TARGET")]
    pub destroy: Vec<String>,
}

/// Of commands that take a directory for a target.
#[derive(Args, Clone, Debug, Default)]
pub struct TemporaryFileOptions {
    /// Size of the temporary file in a directory, of a file set at most [default: 1GiB, at most half of what is free]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes)]
    pub size: Option<u64>,
}

impl TargetOptions {
    /// A request for a workload on a target; `size`: of the temporary file.
    pub fn request<'a>(
        &'a self,
        target: &'a str,
        label: &'a str,
        pattern: Pattern,
        size: Option<u64>,
    ) -> WorkloadRequest<'a> {
        WorkloadRequest {
            target,
            label,
            pattern,
            for_targets_only: None,
            size,
            engine: self.engine.as_deref(),
            seed: self.seed,
            destroy: &self.destroy,
        }
    }
}

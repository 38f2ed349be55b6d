//! Which workers keep a generation map, which check against one, and which can do neither.

use iodyno_model::{Job, Stamp, Verb, Verify, VerifyPolicy, VerifyWhen, Workload};

use super::SourceContext;
use super::map::MapSection;
use crate::failure::Failure;
use crate::random::mix;

/// What a worker does with a generation map.
pub enum MapUse {
    /// It appends what it wrote when it ends: the file, and what is the same in every section.
    Save(String, MapSection),
    /// It checks against one: what it reads, or (`only`) all that the map knows.
    Load { only: bool },
}

impl MapUse {
    /// For a worker that writes, or does not.
    pub fn new(
        context: &SourceContext<'_>,
        verify: &Verify,
        (seed, grain): (u64, u64),
        writes: bool,
    ) -> Option<Self> {
        let path = verify.map.clone()?;
        if !writes || verify.only {
            return Some(MapUse::Load { only: verify.only });
        }
        let run = mix(context.plan.seed ^ mix(context.start));
        let worker = u64::from(verify.first_worker) + u64::from(context.worker);
        let same = MapSection { start: context.start, seed, grain, run, worker, ..MapSection::default() };
        Some(MapUse::Save(path, same))
    }
}

/// Whether a job's generation map can tell anything.
///
/// # Errors
/// What carries no generations, or is never checked.
pub fn check(job: &Job, verify: &Verify) -> Result<(), Failure> {
    if verify.map.is_none() {
        return Ok(());
    }
    let refused = |what: &str, hint: &str| Err(Failure::new(format!("verify.map: {what}")).hint(hint));
    if verify.policy == VerifyPolicy::Synced {
        return refused(
            "it holds every completed write, synced or not",
            "leave policy out, and sync at the job's end",
        );
    }
    match (&verify.stamp, &job.workload) {
        (Stamp::Nothing, _) => {
            refused("nothing is checked", "use a stamp: `block`, or a checksum such as `crc32c`")
        }
        (Stamp::Pattern(_), _) => refused(
            "a pattern is the same in every generation",
            "use a stamp: `block`, or a checksum such as `crc32c`",
        ),
        (_, Workload::Pattern(pattern)) => {
            let reads = verify.only || !pattern.mix.has(Verb::Write);
            match verify.when {
                VerifyWhen::Never if reads => {
                    refused("nothing is written, and nothing checked", "leave `when` out")
                }
                VerifyWhen::OnRead if verify.only => {
                    refused("nothing is written, and nothing read back", "say when = \"after writes\"")
                }
                _ => Ok(()),
            }
        }
        _ => refused("only a pattern of reads and writes keeps one", "leave map out, or use `do`"),
    }
}

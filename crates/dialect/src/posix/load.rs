//! `--with JOBFILE`: jobs of fio that load the file system while rules are checked on it.
//!
//! The job file means what it means to fio, but its files lie below the directory, go on until the cases are done, and
//! are removed. It refuses what cannot run beside: several phases, files elsewhere, devices.

use iodyno_model::{Diagnostic, Plan, Target, TargetKind};

use crate::Loader;
use crate::fio::cli;
use crate::fio::lower::{self, Context};

/// Longer than any suite takes, ns.
const LONG_NS: u64 = 86_400_000_000_000;

/// The jobs of a file as a plan of one phase, below a directory.
///
/// # Errors
/// Everything that is wrong with it, in fio's words or ours.
pub fn read(path: &str, folder: &str, loader: &mut dyn Loader) -> Result<Plan, Vec<Diagnostic>> {
    let cli = cli::parse(&[path.to_string()], loader)?;
    if cli.jobs.is_empty() {
        let origin = iodyno_model::Origin::argument(&format!("--with {path}"));
        return Err(vec![Diagnostic::error(&origin, "the file has no job").hint("name a job file of fio")]);
    }
    let context =
        Context { name: cli.name, style: cli.command.style, global: cli.global, readonly: false, ranks: 1 };
    let mut plan = lower::plan(&cli.jobs, context, loader)?.plan;
    let wrong: Vec<_> = plan.targets.iter_mut().filter_map(|target| place(target, folder)).collect();
    if !wrong.is_empty() {
        return Err(wrong);
    }
    if let [_, second, ..] = plan.phases.as_slice() {
        let origin = second.jobs.first().map(|job| job.origin.clone()).unwrap_or_default();
        let wrong = Diagnostic::error(&origin, "only jobs that run together can run beside the rules");
        return Err(vec![wrong.hint("leave out stonewall and further groups")]);
    }
    for job in plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
        // The cases' end ends them.
        job.limit.time_ns = Some(LONG_NS);
        (job.limit.bytes, job.limit.operations, job.limit.passes) = (None, None, None);
    }
    Ok(plan)
}

/// Puts a target below the directory.
fn place(target: &mut Target, folder: &str) -> Option<Diagnostic> {
    let refuse =
        |target: &Target, what: &str, hint: &str| Some(Diagnostic::error(&target.origin, what).hint(hint));
    let folder = folder.trim_end_matches('/');
    let below = |path: &str| match path.starts_with('/') {
        true => path.starts_with(&format!("{folder}/")).then(|| path.to_string()),
        false => Some(format!("{folder}/{path}")),
    };
    let elsewhere = "its files lie elsewhere than the directory that is checked";
    let placed = match &mut target.kind {
        TargetKind::File { path, .. } => below(path).map(|placed| *path = placed),
        TargetKind::FileSet { root, .. } => below(root).map(|placed| *root = placed),
        TargetKind::Nothing { .. } => return None,
        _ => {
            let hint = "leave filename out";
            return refuse(target, "this is no file below the directory that is checked", hint);
        }
    };
    if placed.is_none() {
        let hint = "leave directory and filename out, or name files without a leading slash";
        return refuse(target, elsewhere, hint);
    }
    target.remove = true;
    target.name = target.path().unwrap_or_default().into();
    None
}

//! Which launcher started this process, and how many ranks it speaks of: read from the environment alone.
//!
//! Choosing the first MPI library at hand under another one's launcher gives as many worlds of one rank as there are
//! ranks, so the launcher says whose library is wanted, and its number of ranks is compared with the library's. No
//! library is touched here.

use crate::failure::Failure;

/// Who wrote an MPI library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Open MPI and what descends from it.
    OpenMpi,
    /// MPICH, Intel MPI, Cray MPICH, MVAPICH.
    Mpich,
}

/// What started this process as one of several ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launcher {
    /// For people.
    pub(crate) name: &'static str,
    /// Whose libraries it can serve, the likeliest first.
    pub(crate) families: &'static [Family],
    /// How many ranks there are; none: it does not say.
    pub(crate) ranks: Option<u32>,
}

/// What the user says about the library: an environment variable, as it is needed before any command line is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Nothing: it is searched for.
    #[default]
    Any,
    /// None: every rank is a run of its own.
    Off,
    Path(String),
}

/// Names the library, or forbids it by `off`.
pub(crate) const LIBRARY: &str = "IODYNO_MPI";
/// How many ranks there are, under a launcher that is not known here.
pub(crate) const RANKS: &str = "IODYNO_MPI_RANKS";

type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

const OPEN_MPI: &[Family] = &[Family::OpenMpi];
const MPICH: &[Family] = &[Family::Mpich];
const OPEN_MPI_OR_MPICH: &[Family] = &[Family::OpenMpi, Family::Mpich];
const MPICH_OR_OPEN_MPI: &[Family] = &[Family::Mpich, Family::OpenMpi];

/// Launchers by the variable that gives the number of ranks; the first that is set counts, as an `mpirun` inside a
/// batch job sees the variables of both.
const KNOWN: &[(&str, &str, &[Family])] = &[
    (RANKS, RANKS, OPEN_MPI_OR_MPICH),
    ("Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", OPEN_MPI),
    ("MVAPICH's mpirun_rsh", "MV2_COMM_WORLD_SIZE", MPICH),
    ("MPICH's mpiexec", "PMI_SIZE", MPICH),
];

/// What the user wishes.
pub(crate) fn wish(variable: Variables<'_>) -> Wish {
    match variable(LIBRARY).as_deref().map(str::trim) {
        None | Some("") => Wish::Any,
        Some("off" | "none" | "0") => Wish::Off,
        Some(path) => Wish::Path(path.into()),
    }
}

/// The launcher, where there is one.
///
/// # Errors
/// A number of ranks that is none.
pub(crate) fn find(variable: Variables<'_>) -> Result<Option<Launcher>, Failure> {
    for (name, size, families) in KNOWN {
        let Some(text) = variable(size) else { continue };
        let ranks = Some(number(size, &text)?);
        let batch = BATCH.iter().find(|batch| *size == "PMI_SIZE" && variable(batch.variable).is_some());
        let (name, families) = batch.map_or((*name, *families), |batch| (batch.pmi, batch.families));
        return Ok(Some(Launcher { name, families, ranks }));
    }
    by_pmix(variable)
}

/// What a batch system's own launcher sets for each task.
struct BatchLauncher {
    variable: &'static str,
    /// How it is called where it speaks PMI or PMI-2, which these families understand.
    pmi: &'static str,
    families: &'static [Family],
}

const BATCH: &[BatchLauncher] = &[
    BatchLauncher { variable: "SLURM_STEP_ID", pmi: "Slurm's srun (PMI)", families: MPICH_OR_OPEN_MPI },
    BatchLauncher { variable: "FLUX_TASK_RANK", pmi: "Flux (PMI)", families: MPICH_OR_OPEN_MPI },
    BatchLauncher { variable: "PALS_RANKID", pmi: "PALS", families: MPICH },
];

/// PMIx servers other than `mpirun`, and tasks of batch systems without any PMI that we know.
fn by_pmix(variable: Variables<'_>) -> Result<Option<Launcher>, Failure> {
    let counted = |name: &str| variable(name).map(|text| number(name, &text)).transpose();
    let tasks = counted("SLURM_STEP_NUM_TASKS")?;
    let flux = match variable("FLUX_TASK_RANK") {
        Some(_) => counted("FLUX_JOB_SIZE")?,
        None => None,
    };
    let is_pals = variable("PALS_RANKID").is_some();
    if variable("PMIX_RANK").is_some() {
        let name = match () {
            () if tasks.is_some() => "Slurm's srun (PMIx)",
            () if flux.is_some() => "Flux (PMIx)",
            () if is_pals => "PALS (PMIx)",
            () => "a PMIx launcher",
        };
        return Ok(Some(Launcher { name, families: OPEN_MPI_OR_MPICH, ranks: tasks.or(flux) }));
    }
    if is_pals {
        return Ok(Some(Launcher { name: "PALS", families: MPICH, ranks: None }));
    }
    if let Some(ranks) = flux.filter(|ranks| *ranks > 1) {
        return Ok(Some(Launcher { name: "Flux", families: MPICH_OR_OPEN_MPI, ranks: Some(ranks) }));
    }
    // A shell in an allocation has the variables of its own step of one task.
    let several = tasks.filter(|tasks| *tasks > 1 && variable("SLURM_PROCID").is_some());
    let families = match variable("SLURM_MPI_TYPE").as_deref() {
        Some("openmpi") => OPEN_MPI_OR_MPICH,
        _ => MPICH_OR_OPEN_MPI,
    };
    Ok(several.map(|tasks| Launcher { name: "Slurm's srun", families, ranks: Some(tasks) }))
}

/// How a launcher's ranks come together where they do not: what it must be asked for, and what must be there.
pub(crate) fn advice(launcher: &Launcher) -> &'static str {
    match launcher.name {
        name if name.starts_with("Slurm") => {
            "load the site's MPI (module load openmpi or mpich) and ask srun for what it speaks: srun --mpi=pmix, or \
             --mpi=pmi2 for MPICH (srun --mpi=list); "
        }
        name if name.starts_with("Flux") => {
            "load the site's MPI (module load openmpi or mpich) and let Flux speak with it: flux run -o pmi=simple, or \
             -o pmi=pmix where flux-pmix is installed; "
        }
        name if name.starts_with("PALS") => "load the site's MPI (module load cray-mpich); ",
        _ => "",
    }
}

fn number(name: &str, text: &str) -> Result<u32, Failure> {
    text.trim().parse().ok().filter(|ranks| *ranks > 0).ok_or_else(|| {
        Failure::new(format!("{name}={text} is not a number of ranks"))
            .hint(format!("{LIBRARY}=off runs every process alone"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Option<Launcher> {
        let variable =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string());
        find(&variable).expect("numbers")
    }

    fn who(variables: &[(&str, &str)]) -> Option<(&'static str, Family, Option<u32>)> {
        found(variables).map(|launcher| (launcher.name, launcher.families[0], launcher.ranks))
    }

    #[test]
    fn a_launcher_is_known_by_its_variables() {
        assert_eq!(who(&[]), None);
        let open = Some(("Open MPI's mpirun", Family::OpenMpi, Some(4)));
        assert_eq!(who(&[("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "1")]), open);
        assert_eq!(
            who(&[("PMI_RANK", "0"), ("PMI_SIZE", "2")]),
            Some(("MPICH's mpiexec", Family::Mpich, Some(2)))
        );
        assert_eq!(who(&[("PALS_RANKID", "0")]), Some(("PALS", Family::Mpich, None)));
        assert_eq!(who(&[(RANKS, "6")]), Some((RANKS, Family::OpenMpi, Some(6))));
    }

    #[test]
    fn slurm_says_how_many_tasks_a_step_has() {
        let step = [("SLURM_STEP_ID", "0"), ("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_PROCID", "3")];
        let with = |more: &[(&'static str, &'static str)]| who(&[&step[..], more].concat());
        assert_eq!(with(&[]), Some(("Slurm's srun", Family::Mpich, Some(8))));
        assert_eq!(with(&[("PMIX_RANK", "3")]), Some(("Slurm's srun (PMIx)", Family::OpenMpi, Some(8))));
        assert_eq!(with(&[("PMI_SIZE", "8")]), Some(("Slurm's srun (PMI)", Family::Mpich, Some(8))));
        // The job's variables alone: a batch script, or a shell in an allocation.
        assert_eq!(who(&[("SLURM_NTASKS", "8"), ("SLURM_PROCID", "0")]), None);
        assert_eq!(who(&[("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_PROCID", "0")]), None);
    }

    #[test]
    fn flux_and_pals_are_known_by_their_tasks() {
        let flux = [("FLUX_URI", "local:///x"), ("FLUX_JOB_SIZE", "4"), ("FLUX_TASK_RANK", "1")];
        let with = |more: &[(&'static str, &'static str)]| who(&[&flux[..], more].concat());
        assert_eq!(with(&[("PMI_SIZE", "4"), ("PMI_FD", "9")]), Some(("Flux (PMI)", Family::Mpich, Some(4))));
        assert_eq!(with(&[("PMIX_RANK", "1")]), Some(("Flux (PMIx)", Family::OpenMpi, Some(4))));
        assert_eq!(with(&[]), Some(("Flux", Family::Mpich, Some(4))));
        // A shell in an instance is no task.
        assert_eq!(who(&flux[..1]), None);
        let pals = [("PALS_RANKID", "0"), ("PALS_APID", "a")];
        let with = |more: &[(&'static str, &'static str)]| who(&[&pals[..], more].concat());
        assert_eq!(with(&[("PMI_SIZE", "2"), ("PMI_RANK", "0")]), Some(("PALS", Family::Mpich, Some(2))));
        assert_eq!(with(&[("PMIX_RANK", "0")]), Some(("PALS (PMIx)", Family::OpenMpi, None)));
    }

    #[test]
    fn each_batch_system_is_told_its_own_way_out() {
        let told = |variables: &[(&str, &str)]| advice(&found(variables).expect("a launcher"));
        assert!(told(&[("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_PROCID", "0")]).contains("srun --mpi=pmix"));
        assert!(told(&[("FLUX_JOB_SIZE", "2"), ("FLUX_TASK_RANK", "0")]).contains("-o pmi=pmix"));
        assert_eq!(told(&[("OMPI_COMM_WORLD_SIZE", "2")]), "");
    }

    #[test]
    fn the_innermost_launcher_counts() {
        let both = [("PMI_SIZE", "1"), ("SLURM_STEP_ID", "0"), ("OMPI_COMM_WORLD_SIZE", "3")];
        assert_eq!(who(&both), Some(("Open MPI's mpirun", Family::OpenMpi, Some(3))));
    }

    #[test]
    fn nonsense_is_said_so() {
        let variable = |name: &str| (name == "PMI_SIZE").then(|| "many".to_string());
        let failure = find(&variable).unwrap_err();
        assert_eq!(failure.message, "PMI_SIZE=many is not a number of ranks");
    }

    #[test]
    fn wishes() {
        let says = |value: Option<&str>| wish(&|_| value.map(String::from));
        assert_eq!(says(None), Wish::Any);
        assert_eq!(says(Some("off")), Wish::Off);
        assert_eq!(says(Some("/opt/lib/libmpi.so")), Wish::Path("/opt/lib/libmpi.so".into()));
    }
}

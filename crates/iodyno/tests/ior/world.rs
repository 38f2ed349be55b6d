//! The same under a launcher: one report for all ranks, each a task.

use std::path::Path;
use std::process::Command;

use testbed::program::Program;
use testbed::{Case, Need, Outcome};

use super::program::{IODYNO, IorOutput, apart, names, scratch, told};

pub fn cases() -> Vec<Case> {
    let needs = [Need::Tool("mpirun")];
    vec![
        Case::new("ranks_share_a_file_and_one_report", &needs, shared).computes(),
        Case::new("threads_of_ranks_are_tasks", &needs, threads).computes(),
        Case::new("the_first_ranks_only", &needs, first).computes(),
    ]
}

/// `mpirun -n RANKS iodyno ior LINE`.
pub fn mpirun(home: &Path, ranks: u32, line: &str) -> IorOutput {
    let mut command = Command::new("mpirun");
    if Program::of("mpirun", ["--version"]).outcome().is_ok_and(|told| told.out.contains("Open MPI")) {
        command.args(["--allow-run-as-root", "--oversubscribe"]);
        command.env("OMPI_MCA_mpi_yield_when_idle", "1");
        apart(&mut command);
    }
    command.args(["-n", &ranks.to_string(), IODYNO, "ior"]).args(line.split_whitespace()).current_dir(home);
    told(command)
}

fn shared() -> Outcome {
    let home = scratch();
    let told = mpirun(home.path(), 4, "-t 64k -b 256k -s 4 -C -e -W -R -w -r");
    told.expect(0, &["tasks               : 4", "clients per node    : 4", "aggregate filesize  : 4 MiB"]);
    assert_eq!((told.rows("write").len(), told.rows("read").len()), (1, 1), "{}", told.out);
    assert!(!told.out.contains("WARNING"), "{}", told.out);
    assert_eq!(names(home.path()), Vec::<String>::new());
    Ok(())
}

fn threads() -> Outcome {
    let home = scratch();
    let told = mpirun(home.path(), 2, "-t 64k -b 256k -F -C -R -w -r -k --also threads=2");
    told.expect(0, &["tasks               : 4"]);
    let expected: Vec<String> = (0..4).map(|task| format!("testFile.{task:08}")).collect();
    assert_eq!(names(home.path()), expected);
    Ok(())
}

fn first() -> Outcome {
    let home = scratch();
    let told = mpirun(home.path(), 3, "-N 2 -t 64k -b 256k -F -k");
    told.expect(0, &["tasks               : 2"]);
    assert_eq!(names(home.path()), ["testFile.00000000", "testFile.00000001"]);
    Ok(())
}

//! What is known of the two workloads that are no stream of operations: cases and exercises. They never meet the loop;
//! what runs them stands beside the engines.

use iodyno_model::{Diagnostic, Job};

use iodyno_engine::facts::{WorkloadClass, spec};
use iodyno_engine::{EngineFacts, Failure};

use crate::calls;

/// Scripts of system calls with expectations.
pub const CASES: EngineFacts = EngineFacts {
    about: "scripts with expectations, each in a process of its own",
    runs: WorkloadClass::Cases,
    available: is_linux,
    check,
    ..EngineFacts::named("cases")
};

/// Scripts of requests to an object store with expectations.
pub const REQUESTS: EngineFacts = EngineFacts {
    about: "scripts of requests to an S3 store, with expectations",
    runs: WorkloadClass::Cases,
    uses_files: false,
    stores_objects: &["s3"],
    settings: iodyno_engine::engines::s3::settings::SETTINGS,
    check: check_requests,
    ..EngineFacts::named("s3check")
};

/// The same rules, as far as every store has what they ask for, on stores that do not speak HTTP.
pub const PLAIN_REQUESTS: EngineFacts = EngineFacts {
    about: "scripts of requests to Ceph or Hadoop, by their libraries, with expectations",
    runs: WorkloadClass::Cases,
    uses_files: false,
    stores_objects: &["rados", "hdfs"],
    settings: &[
        spec("conf", "as of the engine rados"),
        spec("client", "as of the engine rados"),
        spec("cluster", "as of the engine rados"),
        spec("connect_timeout_s", "as of the engine rados"),
        spec("user", "as of the engine hdfs"),
        spec("own_connection", "as of the engine hdfs"),
    ],
    check: check_one_bucket,
    ..EngineFacts::named("storecheck")
};

fn check_requests(job: &Job) -> Vec<Diagnostic> {
    let mut wrong = iodyno_engine::engines::s3::settings::check(job);
    wrong.extend(check_one_bucket(job));
    wrong
}

fn check_one_bucket(job: &Job) -> Vec<Diagnostic> {
    let mut wrong = Vec::new();
    if job.targets.len() != 1 {
        wrong.push(
            Diagnostic::error(&job.origin, format!("job {}: requests want one bucket", job.name))
                .hint("its only target is the bucket under test"),
        );
    }
    wrong
}

/// Random operations held against a model.
pub const EXERCISE: EngineFacts = EngineFacts {
    about: "random operations held against a model in memory",
    runs: WorkloadClass::Exercise,
    ..EngineFacts::named("exercise")
};

fn is_linux() -> Result<(), Failure> {
    match cfg!(target_os = "linux") {
        true => Ok(()),
        false => Err(Failure::new("cases are run on Linux only")
            .hint("their processes rely on its name spaces and on /proc")),
    }
}

fn check(job: &Job) -> Vec<Diagnostic> {
    let mut wrong = Vec::new();
    if job.targets.len() != 1 {
        wrong.push(
            Diagnostic::error(&job.origin, format!("job {}: cases want one directory", job.name))
                .hint("its only target is the directory under test"),
        );
    }
    calls::check(job, &mut wrong);
    wrong
}

//! The door: the executable's name or its first argument chooses a dialect; the dialect makes a plan; the engine room
//! runs it; reporters write down what happens.
//!
//! Nothing is measured, parsed or formatted here.

use std::process::ExitCode;

use iodyno_dialect::dashes;

mod accelerators;
mod archive;
mod audit;
mod bucket_target;
mod cache_command;
mod checkpoint;
mod ci;
mod command;
mod compare;
mod conversation;
mod crash;
mod crash_view;
mod device_file;
mod device_recovery;
mod doctor;
mod doubling;
mod experiment;
mod experiment_ranks;
mod explain;
mod extension_options;
mod finding_page;
mod forwarded_files;
mod hosts;
mod interleave;
mod k8s;
mod kv_cache;
mod leftovers;
mod limiting_part;
mod limits;
mod lists;
mod live_report_server;
mod load_curve;
mod loader;
mod manual;
mod metrics_endpoint;
mod neighbours;
mod new_file;
mod option_values;
mod output_files;
mod output_set;
#[cfg(target_os = "linux")]
mod powerfail;
#[cfg(not(target_os = "linux"))]
#[path = "powerfail/elsewhere.rs"]
mod powerfail;
mod prior_runs;
mod progress;
mod prompt;
mod pts;
mod rate_pair;
mod record;
mod remote_servers;
mod repeat;
mod report;
mod report_output;
mod rerun;
mod runs;
mod secret_words;
mod session;
mod simulated_device;
mod single_workload;
mod sink;
mod studio;
mod substitution;
mod syscall_helper;
mod target_options;
mod terminal;
mod trace;
mod trigger;
mod tui;
mod tune;
mod vector_search;
mod watch;
mod whatif;
mod why;
mod work_directory;

fn main() -> ExitCode {
    // Before anything copies the words.
    let mut words = match secret_words::of_process() {
        Ok(words) => words,
        Err(failure) => {
            session::say(
                failure.diagnostic(&iodyno_model::Origin::Default, "a secret of the command line: "),
            );
            return ExitCode::from(2);
        }
    };
    // A test suite starts it for every call: nothing is set up before.
    if let Some(status) = syscall_helper::by_name() {
        return ExitCode::from(status);
    }
    iodyno_engine::register(iodyno_conformance::ENGINES);
    iodyno_conformance::cases::serve_when_asked();
    iodyno_crash::session::serve_when_asked();
    let name = words.first().map(|path| path.rsplit('/').next().unwrap_or(path).to_string());
    let arguments = dashes(&words.split_off(1.min(words.len())));
    ExitCode::from(command::answer(&name.unwrap_or_default(), &arguments))
}

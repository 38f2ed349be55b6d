//! DLIO: the benchmark of training input and checkpoints of deep learning, with its YAML, its overrides and its files of results.
//!
//! ```text
//!   argv, YAML ─ command ─► Settings ─ test ─► DlioTest ─ lower ─► Plan ─► journals
//!   journals ─ steps ─► results ─ report ─► log, JSON
//! ```
//! Computing is a sleep, as in the original; no framework is needed. What is measured follows release 2.0.0, which can be
//! installed and compared with.

pub(crate) mod advice;
pub mod command;
pub mod data;
pub mod lower;
pub mod options;
pub mod report;
pub mod results;
pub mod settings;
pub mod states;
pub mod steps;
pub mod test;
pub mod times;

use iodyno_model::Diagnostic;

use crate::{Dialect, Loader, Request, Run};
use command::{DlioCommand, DlioConfig, WORKLOADS};
use report::{Report, ReportContext};
use results::MachineTexts;

pub const DIALECT: Dialect = Dialect {
    name: "dlio",
    about: "training input and checkpoints of deep learning (DLIO)",
    drop_in: true,
    also: &["threads", "scale"],
    lower: request,
};

/// The same by the name of its program.
pub const PROGRAM: Dialect = Dialect { name: "dlio_benchmark", ..DIALECT };

/// The release that is followed.
pub const VERSION: &str = "2.0.0";

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    match answer(arguments, loader) {
        Ok(request) => Ok(request),
        Err(wrong) => Ok(Request::refuse(&wrong, 1)),
    }
}

fn answer(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let config = command::parse(arguments, loader)?;
    let print = |out: String| Ok(Request::Print { out, status: 0 });
    match config.command {
        DlioCommand::Help => print(help()),
        DlioCommand::Version => print(format!("DLIO {VERSION}+iodyno ({})\n", env!("CARGO_PKG_VERSION"))),
        DlioCommand::Config => print(config.text),
        DlioCommand::Run => run(config, loader),
    }
}

fn run(config: DlioConfig, loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let test = test::judge(&config, loader)?;
    let (plan, phases) = lower::plan(&test);
    let mut text = |path: &str| loader.read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let machine = MachineTexts {
        cpu: text("/proc/cpuinfo").unwrap_or_default(),
        memory: text("/proc/meminfo").unwrap_or_default(),
    };
    let messages = test.settings.without_effect().collect();
    let context = ReportContext {
        test,
        phases,
        machine,
        config: config.text,
        overrides: config.overrides,
        source: config.source,
        east_s: loader.east_s(),
        talks: loader.talks(),
    };
    Ok(Request::Run(Box::new(Run {
        messages,
        own_voice: true,
        translate: advice::translate,
        ..Run::of(plan, Box::new(Report::new(context)))
    })))
}

/// Help: how it is called, its workloads, its keys.
pub fn help() -> String {
    let names: Vec<&str> = WORKLOADS.iter().map(|(name, _)| *name).collect();
    format!(
        "dlio workload=NAME [OVERRIDES]\n\n\
         Training input and checkpoints of deep learning, as DLIO {VERSION} measures them; computing is a sleep.\n\n\
         \x20 dlio workload=unet3d_h100 ++workload.workflow.generate_data=True ++workload.workflow.train=False\n\
         \x20 dlio workload=unet3d_h100 ++workload.dataset.data_folder=/mnt/unet3d --also threads=4\n\
         \x20 mpirun -n 8 iodyno dlio workload=my.yaml hydra.run.dir=results\n\n\
         Workloads: {}; workload=FILE.yaml; --config-dir DIR with DIR/workload/NAME.yaml.\n\
         Overrides: workload.KEY=VALUE changes, +workload.KEY=VALUE adds, ++ does either, ~workload.KEY removes.\n\
         Flags: --help, --version, --cfg job (prints the configuration), --config-dir DIR.\n{}",
        names.join(", "),
        options::TABLE.help()
    )
}

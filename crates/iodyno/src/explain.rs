//! `iodyno plan`: what a plan file, or the command line of any tool, would do. Nothing is run, written or connected.

use iodyno_dialect::{DIALECTS, Dialect, Request, Run, native};
use iodyno_engine::world::World;
use iodyno_model::{Diagnostic, Origin, sweep};
use iodyno_report::plan;

use crate::extension_options::ExtensionOptions;
use crate::loader::HostLoader;
use crate::runs::print;
use crate::session::{self, OutputPolicy, say};
use crate::simulated_device;

/// Does `iodyno plan ARGUMENTS…`; the exit status. A first word that is a tool's name is that tool.
pub fn answer(world: &mut World, arguments: &[String]) -> u8 {
    let options = arguments.iter().take_while(|word| *word == "--expand").count();
    let tool = arguments.get(options).and_then(|word| DIALECTS.iter().find(|dialect| dialect.name == word));
    let Some(dialect) = tool else {
        let request = native::plan(arguments, &mut HostLoader::new(world));
        return session::answer(world, request, &OutputPolicy::from_environment());
    };
    match command_line(world, dialect, &arguments[options + 1..], options > 0) {
        Ok(status) => status,
        Err(wrong) => {
            wrong.iter().for_each(say);
            2
        }
    }
}

fn command_line(
    world: &mut World,
    dialect: &Dialect,
    arguments: &[String],
    expands: bool,
) -> Result<u8, Vec<Diagnostic>> {
    let mut loader = HostLoader::new(world);
    let (mut also, mut words) = (ExtensionOptions::default(), arguments.to_vec());
    if dialect.drop_in {
        let environment = std::env::var("IODYNO_ALSO").ok();
        (also, words) = ExtensionOptions::load(arguments, environment.as_deref(), world)?;
        loader.also = also.loader_words();
        loader.device_bytes = also.device.as_ref().map(simulated_device::capacity_bytes);
        loader.talks = true;
        if let Some(there) = also.elsewhere(&mut loader).map_err(|wrong| vec![wrong])? {
            loader.world = there.world();
        }
    }
    let explained = |run: &Run, loader: &HostLoader| {
        run.messages.iter().for_each(say);
        let explanation = native::explanation(&run.plan, Some(run.translate), loader);
        let plan = match expands {
            true => sweep::expand(&run.plan)?,
            false => run.plan.clone(),
        };
        Ok(print(&format!("{}\n{explanation}", plan::print(&plan))))
    };
    match (dialect.lower)(&words, &mut loader)? {
        Request::Run(mut run) => {
            also.join(&mut run).map_err(|wrong| vec![wrong])?;
            explained(&run, &loader)
        }
        Request::Converse(talk) if !talk.run.plan.phases.is_empty() => explained(&talk.run, &loader),
        Request::Repeat(mut repeat) => {
            let run = (repeat.make)().run;
            match run.plan.phases.is_empty() {
                false => explained(&run, &loader),
                true => unknown(dialect),
            }
        }
        Request::Converse(_) | Request::Abroad(_) => unknown(dialect),
        Request::Prompt(_) => {
            Ok(print(&format!("{}: what it runs is typed, and is not known before.\n", dialect.name)))
        }
        Request::Hosts(there) => {
            let names: Vec<&str> = there.hosts.iter().map(|host| host.name.as_str()).collect();
            let what = format!("it would run on {}", names.join(", "));
            let wrong = Diagnostic::error(&Origin::argument(dialect.name), what);
            Err(vec![wrong.hint("leave the hosts out to see what each of them would do")])
        }
        Request::Write { files, .. } => {
            let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            Ok(print(&format!("It writes {} and runs nothing.\n", names.join(", "))))
        }
        Request::Calls(_) => Ok(print(
            "It makes the system calls of its command line, one after the other, and nothing else.\n",
        )),
        printed @ (Request::Print { .. } | Request::Refuse { .. }) => {
            Ok(session::answer(world, Ok(printed), &OutputPolicy::from_environment()))
        }
    }
}

/// What is agreed upon with a peer only.
fn unknown(dialect: &Dialect) -> Result<u8, Vec<Diagnostic>> {
    Ok(print(&format!("{}: what it runs is agreed with its peers, and is not known before.\n", dialect.name)))
}

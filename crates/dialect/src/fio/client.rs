//! `--client`: the same run on several hosts, a job file for each where that is wanted.
//!
//! Where a server of fio's answers, it is sent the jobs ([`super::remote`]). Elsewhere the command goes to the hosts under
//! the site's launcher, one rank on each, and the jobs of a host are those of its rank. Each host's jobs are lowered by
//! themselves, as its own fio would have; here they are laid side by side in one plan. It refuses anything but one rank
//! for each host.

use iodyno_model::{Diagnostic, Origin, Plan, Ranks};

use super::command::ClientArgument;
use super::lower::{Context, LoweredJobs, plan};
use super::options;
use super::remote::client::ServerJobs;
use super::remote::server::ServerAddress;
use super::settings::{Given, Settings};
use super::value::OptionValue;
use super::view::ReportContext;
use crate::hosts::{self, Elsewhere, Host};
use crate::{Loader, PathKind, Request};

/// What one host is to do.
#[derive(Clone, Debug, Default)]
pub struct HostJobs {
    /// The host, as the user named it.
    pub host: String,
    pub jobs: Vec<Settings>,
}

/// A host with its part of the run, for the reports.
#[derive(Clone, Debug)]
pub struct HostView {
    /// The host, as the user named it.
    pub host: String,
    /// Its jobs, by their places in the common plan.
    pub view: ReportContext,
}

const FORM: &str =
    "--client=h1,h2 job.fio, --client=h1 a.fio --client=h2 b.fio, or a file with a host in each line";

/// The hosts that a value of `--client` names: themselves, or a file of them.
///
/// # Errors
/// What is no host.
pub fn named(value: &str, loader: &mut dyn Loader) -> Result<Vec<String>, Diagnostic> {
    let checked = clients(value, loader)?.into_iter().map(|(host, _)| match hosts::list(&host) {
        Ok(list) if list.iter().all(|host| host.slots == 1) => Ok(host),
        Ok(_) => {
            Err(wrong(value, format!("`{host}`: a client is one process, which starts its own workers")))
        }
        Err(message) => Err(wrong(value, message)),
    });
    checked.collect()
}

fn wrong(value: &str, message: String) -> Diagnostic {
    let origin = Origin::argument(&format!("--client={value}"));
    Diagnostic::error(&origin, format!("`--client={value}`: {message}")).hint(FORM)
}

/// What servers are to run, if any of the hosts has one that answers; else the jobs go there over ssh.
///
/// # Errors
/// A job file that cannot be read, and a port that is none.
pub fn servers(
    arguments: &[ClientArgument],
    loader: &mut dyn Loader,
) -> Result<Vec<ServerJobs>, Vec<Diagnostic>> {
    if loader.world().library.is_some() {
        return Ok(Vec::new());
    }
    let (mut servers, mut problems, mut any_answers) = (Vec::new(), Vec::new(), false);
    for argument in arguments {
        let clients = clients(&argument.hosts, loader).map_err(|wrong| vec![wrong])?;
        for (host, place) in clients.into_iter().filter(|(host, _)| !host.is_empty()) {
            let address = match ServerAddress::of(&place) {
                Ok(address) => address,
                Err(message) => {
                    problems.push(wrong(&argument.hosts, message));
                    continue;
                }
            };
            any_answers |= loader.answers(address.transport, &address.address);
            let remote_files = argument.remote_files.clone();
            servers.push((ServerJobs { host, address, texts: Vec::new(), remote_files }, &argument.files));
        }
    }
    let asks_for_servers = arguments.iter().any(|argument| !argument.remote_files.is_empty());
    if !any_answers && !asks_for_servers {
        return Ok(Vec::new());
    }
    for (server, files) in &mut servers {
        for path in files.iter() {
            let bytes = if path == "-" { loader.standard_input() } else { loader.read(path) };
            match bytes {
                Ok(bytes) => server.texts.push(String::from_utf8_lossy(&bytes).into_owned()),
                Err(why) => {
                    let message = format!("unable to open '{path}' job file: {why}");
                    problems.push(Diagnostic::error(&Origin::argument(path), message));
                }
            }
        }
    }
    if problems.is_empty() {
        Ok(servers.into_iter().map(|(server, _)| server).collect())
    } else {
        Err(problems)
    }
}

/// The hosts of a value of `--client`, each with its address as a server's is written: of itself, or of each line of the
/// file that it names.
fn clients(value: &str, loader: &mut dyn Loader) -> Result<Vec<(String, String)>, Diagnostic> {
    if loader.look(value).is_none_or(|facts| facts.kind != PathKind::File) {
        return Ok(in_line(value));
    }
    let bytes = loader.read(value).map_err(|reason| wrong(value, reason))?;
    let text = crate::text_file::text(&bytes).map_err(|reason| wrong(value, reason))?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    Ok(lines.filter(|line| !line.is_empty()).flat_map(in_line).collect())
}

/// The hosts of `h1,h2`. A number behind a host is the port of its server.
fn in_line(line: &str) -> Vec<(String, String)> {
    if line.starts_with("sock:") {
        return vec![(line.into(), line.into())];
    }
    let mut found: Vec<(String, String)> = Vec::new();
    for word in line.split(',').map(str::trim) {
        match found.last_mut() {
            Some((_, place)) if word.parse::<u16>().is_ok() && !place.contains(',') => {
                *place += &format!(",{word}");
            }
            _ => {
                let bare = ["ip6:", "ip4:", "ip:"].iter().find_map(|kind| word.strip_prefix(kind));
                found.push((bare.unwrap_or(word).into(), word.into()));
            }
        }
    }
    found
}

/// The jobs as one host knows them: files in a named directory carry its name, so that hosts which share the directory
/// do not share the files.
pub fn jobs_on(host: &str, jobs: &[Settings]) -> Vec<Settings> {
    jobs.iter().map(|job| job_on(host, job.clone())).collect()
}

fn job_on(host: &str, mut job: Settings) -> Settings {
    for given in job.given.iter_mut().filter(|given| given.entry.name == "filename_format") {
        given.text = given.text.replace("$clientuid", host);
        given.value = OptionValue::Text;
    }
    let unique = job.has("directory") && job.flag("unique_filename", true);
    if unique
        && !job.has("filename_format")
        && let Some(row) = options::find("filename_format")
    {
        let text = format!("{host}.$jobname.$jobnum.$filenum");
        let (value, origin) = (OptionValue::Text, job.origin.clone());
        // As of [global]: the job's own options, which reports repeat, do not have it.
        job.given.push(Given { entry: &row.entry, text, value, origin, global: true });
    }
    job
}

/// All hosts' jobs in one plan, or that they must first get there.
pub enum Together {
    /// They are here: each host's rank.
    Here(Box<LoweredJobs>, Vec<HostView>),
    /// Not yet.
    Elsewhere(Request),
}

/// Lowers every host's jobs.
///
/// # Errors
/// Everything that is wrong with any of them, and a launcher that started another number of ranks.
pub fn together(
    clients: &[HostJobs],
    context: &Context,
    loader: &mut dyn Loader,
) -> Result<Together, Vec<Diagnostic>> {
    let mut lowered = Vec::new();
    for client in clients {
        lowered.push(plan(&client.jobs, context.clone(), loader)?);
    }
    let world = loader.world();
    if world.library.is_none() {
        let hosts = clients.iter().map(|client| Host { name: client.host.clone(), slots: 1 }).collect();
        return Ok(Together::Elsewhere(Request::Hosts(Elsewhere { hosts, ..Elsewhere::default() })));
    }
    if world.ranks() as usize != clients.len() {
        let message = format!(
            "--client names {} hosts, and the launcher started {} ranks",
            clients.len(),
            world.ranks()
        );
        let wrong = Diagnostic::error(&Origin::argument("--client"), message);
        return Err(vec![wrong.hint("one rank on each of them, in their order; or without a launcher")]);
    }
    let (mut all, mut parts) = (
        LoweredJobs { plan: Plan::default(), view: ReportContext::default(), notes: Vec::new() },
        Vec::new(),
    );
    for (rank, (client, one)) in clients.iter().zip(lowered).enumerate() {
        let view = join(&mut all, one, rank as u32, &client.host);
        parts.push(HostView { host: client.host.clone(), view });
    }
    Ok(Together::Here(Box::new(all), parts))
}

/// Jobs of different hosts know nothing of each other: numbers of one host's sets are far from the next one's.
const SETS: u32 = 1 << 16;

/// Adds one host's plan to the common one; its view, by the jobs' new places.
fn join(all: &mut LoweredJobs, one: LoweredJobs, rank: u32, host: &str) -> ReportContext {
    let first_target = all.plan.targets.len();
    let mut view = one.view;
    if rank == 0 {
        all.view = ReportContext { jobs: Vec::new(), ..view.clone() };
        all.plan = Plan { targets: Vec::new(), phases: Vec::new(), ..one.plan.clone() };
    }
    all.notes.extend(one.notes.into_iter().filter(|note| !all.notes.contains(note)).collect::<Vec<_>>());
    all.plan.targets.extend(one.plan.targets);
    all.plan.destroy.extend(one.plan.destroy);
    all.plan.mounted_allowed.extend(one.plan.mounted_allowed);
    let own = |name: &str| told_apart(host, name);
    for (index, mut phase) in one.plan.phases.into_iter().enumerate() {
        if all.plan.phases.len() <= index {
            let name = phase.name.clone();
            all.plan.phases.push(iodyno_model::Phase {
                jobs: Vec::new(),
                shared: Vec::new(),
                name,
                ..phase.clone()
            });
        }
        let common = &mut all.plan.phases[index];
        view.jobs.iter_mut().filter(|job| job.phase == index).for_each(|job| job.job += common.jobs.len());
        phase.shared.iter_mut().for_each(|shared| shared.name = own(&shared.name));
        common.shared.append(&mut phase.shared);
        for mut job in phase.jobs {
            job.ranks = Ranks::Only(rank);
            job.name = own(&job.name);
            job.set += rank * SETS;
            job.targets.iter_mut().for_each(|target| *target += first_target);
            job.pace.shared.iter_mut().for_each(|shared| shared.name = own(&shared.name));
            job.start.after_job = job.start.after_job.as_deref().map(own);
            job.group = job.group.as_deref().map(own);
            common.jobs.push(job);
        }
    }
    all.view.jobs.extend(view.jobs.iter().cloned());
    view
}

/// What stands between a host and the name of a job in the common plan; no host's name has it.
const BETWEEN: char = '/';

fn told_apart(host: &str, name: &str) -> String {
    format!("{host}{BETWEEN}{name}")
}

/// The host and the job that a name of the common plan is made of.
pub fn apart(name: &str) -> (&str, &str) {
    name.split_once(BETWEEN).unwrap_or(("", name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_behind_a_host_are_ports() {
        let hosts = |text: &str| in_line(text).into_iter().map(|(host, _)| host).collect::<Vec<_>>();
        assert_eq!(hosts("h1,h2"), ["h1", "h2"]);
        assert_eq!(hosts("ip:10.0.0.1,8765"), ["10.0.0.1"]);
        assert_eq!(hosts("8765"), ["8765"]);
        assert_eq!(
            in_line("h1,8765,h2"),
            [("h1", "h1,8765"), ("h2", "h2")].map(|(a, b)| (a.into(), b.into()))
        );
    }
}

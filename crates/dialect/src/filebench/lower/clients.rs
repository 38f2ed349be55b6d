//! Several clients, a rank each: what each of them makes of the script becomes one plan.
//!
//! A client knows its number and its host by variables, so what it does may differ. Nothing that changes is shared: of
//! places that several clients name alike, each gets one of its own, below `client0`, `client1`, …; only sets that nobody
//! changes are everybody's. What all do alike is said once. Refuses to let clients meet at different points.

use iodyno_model::{
    Action, Diagnostic, Errand, Job, Origin, Phase, Plan, Ranks, SharedObject, Step, Target, TargetKind,
    Verb, Workload, WorldFacts,
};

use crate::filebench::view::{ReportContext, RunReport};

/// Stands in paths where a client's own directory comes in.
pub const MARK: char = '\u{2}';
/// Clients that are named before a run, at most.
const NAMED_MOST: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub struct ClientRank {
    /// Its rank.
    pub number: u32,
    pub all: u32,
    pub host: String,
}

impl ClientRank {
    /// Those of a world.
    pub fn all(world: &WorldFacts) -> Vec<ClientRank> {
        let all = world.ranks().max(1);
        (0..all).map(|number| ClientRank { number, all, host: world.host(number).into() }).collect()
    }
}

/// What `enable multi` says.
#[derive(Clone, Debug, PartialEq)]
pub struct MultiClient {
    /// Who leads.
    pub master: String,
    /// What this client is called.
    pub client: String,
    /// Where it stands.
    pub origin: Origin,
}

/// What one client makes of the script.
#[derive(Clone, Debug, Default)]
pub struct ClientPlan {
    /// What it does.
    pub plan: Plan,
    /// What is said of it.
    pub view: ReportContext,
    /// What is worth telling.
    pub notes: Vec<Diagnostic>,
    /// Where it waits for the others: how many runs came before, the point's number, and where that stands.
    pub points: Vec<(usize, u64, Origin)>,
    /// What `enable multi` said.
    pub named: Option<MultiClient>,
}

/// All clients as one.
///
/// # Errors
/// What they cannot do together.
pub fn together(mut all: Vec<ClientPlan>, world: &WorldFacts) -> Result<ClientPlan, Vec<Diagnostic>> {
    let places = settle(&mut all);
    if all.len() < 2 {
        return Ok(all.pop().unwrap_or_default());
    }
    let wrong = differences(&all);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let mut plan = all[0].plan.clone();
    (plan.targets, plan.phases) = (Vec::new(), Vec::new());
    for client in &mut all {
        let into = merged_targets(&mut plan.targets, &client.plan.targets);
        let jobs = client.plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs);
        jobs.flat_map(|job| &mut job.targets).for_each(|target| *target = into[*target]);
    }
    let runs = all.iter().map(|client| client.plan.phases.len()).max().unwrap_or(0);
    for index in 0..runs {
        let phases: Vec<Option<&Phase>> = all.iter().map(|client| client.plan.phases.get(index)).collect();
        plan.phases.push(phase(&phases));
    }
    let views: Vec<&ReportContext> = all.iter().map(|client| &client.view).collect();
    let mut view = view(&views, runs);
    let mut notes: Vec<Diagnostic> = Vec::new();
    for note in all.iter().flat_map(|client| &client.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    let names = names(&all);
    if let (None, Some(named)) = (&names, &all[0].named) {
        let message = format!("client={} names all {} clients", named.client, all.len());
        notes.push(Diagnostic::note(&named.origin, message).hint("client=$clientid tells them apart"));
    }
    notes.extend(all[0].named.as_ref().and_then(|named| leads(named, world)));
    if let Some(first) = view.parts.first_mut() {
        first.lines.splice(0..0, introduced(world, names.as_deref()).into_iter().chain(places));
    }
    Ok(ClientPlan { plan, view, notes, ..ClientPlan::default() })
}

/// What clients cannot do together.
fn differences(all: &[ClientPlan]) -> Vec<Diagnostic> {
    let points = |client: &ClientPlan| -> Vec<(usize, u64)> {
        client.points.iter().map(|(runs, number, _)| (*runs, *number)).collect()
    };
    let mut wrong = Vec::new();
    for (number, client) in all.iter().enumerate().skip(1) {
        if points(client) != points(&all[0]) {
            let origin = client.points.first().or(all[0].points.first()).map(|point| point.2.clone());
            let message = format!("domultisync: client 0 and client {number} do not meet at the same points");
            let hint = "give each point the same value on every client, between the same runs";
            wrong.push(Diagnostic::error(&origin.unwrap_or_default(), message).hint(hint));
            break;
        }
        let ends = client.plan.phases.iter().zip(&all[0].plan.phases);
        if ends.into_iter().any(|(one, other)| one.stop != other.stop) {
            let message = format!("client 0 and client {number} quit in different modes");
            let hint = "give all clients the same `set mode quit`";
            wrong.push(Diagnostic::error(&Origin::Default, message).hint(hint));
            break;
        }
    }
    wrong
}

/// What the clients are called, where `enable multi` tells them apart.
fn names(all: &[ClientPlan]) -> Option<Vec<&str>> {
    let names: Vec<&str> =
        all.iter().filter_map(|client| Some(client.named.as_ref()?.client.as_str())).collect();
    let differ = (1..names.len()).all(|at| !names[..at].contains(&names[at]));
    (names.len() == all.len() && differ).then_some(names)
}

/// Tells of a master that is not the first client's host, where that can be known.
fn leads(named: &MultiClient, world: &WorldFacts) -> Option<Diagnostic> {
    let short = |name: &str| name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let (first, master) = (world.host(0), named.master.as_str());
    let is_address = master.contains(':') || master.chars().all(|sign| sign.is_ascii_digit() || sign == '.');
    if is_address || short(first) == short(master) || (master == "localhost" && world.machines() == 1) {
        return None;
    }
    let message = format!("master={master}: the first client is on {first}, and it leads");
    let known = world.hosts.iter().any(|host| short(host) == short(master));
    let hint = match known {
        true => format!("begin the list of hosts with {master}"),
        false => "nothing depends on who leads; hosts are named by mpirun or --also hosts=".to_string(),
    };
    Some(Diagnostic::note(&named.origin, message).hint(hint))
}

/// Who the clients are.
fn introduced(world: &WorldFacts, names: Option<&[&str]>) -> Vec<String> {
    let clients = ClientRank::all(world);
    let shown = clients.iter().take(NAMED_MOST).map(|client| match names {
        Some(names) => format!("{} on {}", names[client.number as usize], client.host),
        None => format!("client{} on {}", client.number, client.host),
    });
    let mut shown: Vec<String> = shown.collect();
    let more = clients.len().saturating_sub(NAMED_MOST);
    shown.extend((more > 0).then(|| format!("and {more} more")));
    vec![format!("{} clients: {}", clients.len(), shown.join(", "))]
}

/// A target's path, and a name of its own below it.
fn place_of(target: &Target) -> Option<(&str, &str)> {
    match &target.kind {
        TargetKind::File { path, .. } => Some((path, "")),
        TargetKind::FileSet { root, items } if items.count == 1 && !items.directories => {
            Some((root, &items.name))
        }
        TargetKind::FileSet { root, .. } => Some((root, "")),
        _ => None,
    }
}

fn path_of(target: &mut Target) -> Option<&mut String> {
    match &mut target.kind {
        TargetKind::File { path, .. } | TargetKind::FileSet { root: path, .. } => Some(path),
        _ => None,
    }
}

/// Gives each client places of its own where several name the same and somebody changes it; says which is which.
fn settle(all: &mut [ClientPlan]) -> Vec<String> {
    type Key = (String, String);
    let key = |target: &Target| place_of(target).map(|(path, name)| (path.to_string(), name.to_string()));
    let mut users: std::collections::BTreeMap<Key, (Vec<usize>, bool)> = Default::default();
    for (number, client) in all.iter().enumerate() {
        for (index, target) in client.plan.targets.iter().enumerate() {
            let Some(key) = key(target) else { continue };
            let (clients, stays) = users.entry(key).or_insert((Vec::new(), true));
            if !clients.contains(&number) {
                clients.push(number);
            }
            let same = all[0].plan.targets.contains(target);
            *stays &= same && is_left_alone(&client.plan, index);
        }
    }
    let mut said: Vec<String> = Vec::new();
    for client in &mut *all {
        for target in &mut client.plan.targets {
            let Some(key) = key(target) else { continue };
            let (clients, stays) = &users[&key];
            let (own, name) = (clients.len() > 1 && !stays, target.name.clone());
            if let Some(path) = path_of(target) {
                let below = if own { "/client{rank}" } else { "" };
                *path = path.replace(&format!("/{MARK}"), below);
                let line = match (own, clients.len()) {
                    (true, _) => {
                        let of = |number: usize| path.replace("{rank}", &number.to_string());
                        let (first, last) = (of(clients[0]), of(clients[clients.len() - 1]));
                        format!("{name}: each client has its own, {first} to {last}")
                    }
                    (_, 2..) => format!("{name}: all clients share {path}"),
                    _ => continue,
                };
                if !said.contains(&line) && !name.ends_with(" directories") {
                    said.push(line);
                }
            }
        }
    }
    told_apart(all);
    said
}

/// Whether nobody changes a target: it is read only, and all of it is there before.
fn is_left_alone(plan: &Plan, index: usize) -> bool {
    let target = &plan.targets[index];
    let whole = match &target.kind {
        TargetKind::FileSet { items, .. } => items.present_percent >= 100.0,
        _ => !target.open.create,
    };
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
    let mut users = jobs.filter(|job| job.targets.contains(&index));
    whole && target.open.mode == iodyno_model::OpenMode::Read && users.all(|job| leaves_alone(job, index))
}

/// Whether all that a job does with a target leaves it as it is.
fn leaves_alone(job: &Job, index: usize) -> bool {
    const LOOKS: [Verb; 9] = [
        Verb::Open,
        Verb::Close,
        Verb::Read,
        Verb::Stat,
        Verb::Fstat,
        Verb::Readdir,
        Verb::Getxattr,
        Verb::Listxattr,
        Verb::Fsync,
    ];
    fn looks(steps: &[Step], is: &dyn Fn(Option<usize>) -> bool) -> bool {
        steps.iter().all(|step| match &step.action {
            Action::Do(operation) => {
                let other = operation.other.as_ref().is_some_and(|(target, _)| is(Some(*target)));
                LOOKS.contains(&operation.verb) || (!is(operation.target) && !other)
            }
            Action::Block(steps) => looks(steps, is),
            Action::Call(_) => false,
        })
    }
    let Workload::Script(script) = &job.workload else { return false };
    let is = |target: Option<usize>| target.and_then(|target| job.targets.get(target)) == Some(&index);
    looks(&script.steps, &is)
}

/// Paths that the script itself makes each client's own become one name that is another on each rank: all clients lay
/// them out at once, and what they do with them is the same.
fn told_apart(all: &mut [ClientPlan]) {
    let count = all[0].plan.targets.len();
    if all.len() < 2 || all.iter().any(|client| client.plan.targets.len() != count) {
        return;
    }
    for index in 0..count {
        let paths: Vec<&str> =
            all.iter().filter_map(|client| Some(place_of(&client.plan.targets[index])?.0)).collect();
        let plain = |path: &&str| !path.contains(['{', '}', '|']);
        let differ = (1..paths.len()).all(|at| !paths[..at].contains(&paths[at]));
        if paths.len() < all.len() || !differ || !paths.iter().all(plain) {
            continue;
        }
        let template = format!("{{rank:{}}}", paths.join("|"));
        for client in &mut *all {
            path_of(&mut client.plan.targets[index]).into_iter().for_each(|path| path.clone_from(&template));
        }
    }
}

/// Adds a client's targets to the common ones; the places they have there.
fn merged_targets(common: &mut Vec<Target>, own: &[Target]) -> Vec<usize> {
    own.iter().map(|target| crate::index_of(common, target.clone())).collect()
}

/// A run of all clients: the same jobs on every rank, or some for each.
fn phase(clients: &[Option<&Phase>]) -> Phase {
    let there: Vec<(u32, &Phase)> =
        clients.iter().enumerate().filter_map(|(number, phase)| Some((number as u32, (*phase)?))).collect();
    let first = there[0].1;
    let each_rank = |shared: &SharedObject| SharedObject { each_rank: true, ..shared.clone() };
    let alike = there.len() == clients.len()
        && there.iter().all(|(_, phase)| phase.jobs == first.jobs && phase.shared == first.shared);
    let mut common = Phase {
        pause_ns: there.iter().map(|(_, phase)| phase.pause_ns).max().unwrap_or(0),
        errands: errands(
            &there.iter().map(|(number, phase)| (*number, &*phase.errands)).collect::<Vec<_>>(),
            clients.len(),
        ),
        shared: first.shared.iter().map(each_rank).collect(),
        ..first.clone()
    };
    if alike {
        return common;
    }
    (common.jobs, common.shared) = (Vec::new(), Vec::new());
    for (number, phase) in there {
        let own = |name: &str| format!("client{number}.{name}");
        let shared = phase.shared.iter().map(each_rank);
        common.shared.extend(shared.map(|shared| SharedObject { name: own(&shared.name), ..shared }));
        for job in &phase.jobs {
            let mut job = Job { ranks: Ranks::Only(number), name: own(&job.name), ..job.clone() };
            if let Workload::Script(script) = &mut job.workload {
                rename(&mut script.steps, &own);
            }
            common.jobs.push(job);
        }
    }
    common
}

/// Calls what steps share by other names.
fn rename(steps: &mut [Step], own: &dyn Fn(&str) -> String) {
    for step in steps {
        match &mut step.action {
            Action::Do(operation) => {
                if let Some(shared) = &mut operation.shared {
                    shared.name = own(&shared.name);
                    shared.from.iter_mut().for_each(|from| *from = own(from));
                }
            }
            Action::Block(steps) => rename(steps, own),
            Action::Call(_) => {}
        }
    }
}

/// Commands of all clients: where all give the same, once on each machine; else each its own.
fn errands(clients: &[(u32, &[Errand])], all: usize) -> Vec<Errand> {
    let own = |number: u32, errand: &Errand, in_step: bool| Errand {
        rank: Some(number),
        meets: in_step && errand.meets && number == 0,
        ..errand.clone()
    };
    merged(clients, all, own)
}

/// What all clients have alike, once; what they have of their own as `own` makes it, told whether they have as much.
fn merged<T: Clone + PartialEq>(
    clients: &[(u32, &[T])],
    all: usize,
    own: impl Fn(u32, &T, bool) -> T,
) -> Vec<T> {
    let first = clients[0].1;
    if clients.len() < all || clients.iter().any(|(_, items)| items.len() != first.len()) {
        let each = |(number, items): &(u32, &[T])| {
            items.iter().map(|item| own(*number, item, false)).collect::<Vec<_>>()
        };
        return clients.iter().flat_map(each).collect();
    }
    let mut common = Vec::new();
    for (place, item) in first.iter().enumerate() {
        match clients.iter().all(|(_, items)| items[place] == *item) {
            true => common.push(item.clone()),
            false => common.extend(clients.iter().map(|(number, items)| own(*number, &items[place], true))),
        }
    }
    common
}

/// What is said of all clients.
fn view(clients: &[&ReportContext], runs: usize) -> ReportContext {
    let parts = (0..runs).map(|index| {
        let parts: Vec<(usize, &RunReport)> = clients
            .iter()
            .enumerate()
            .filter_map(|(number, view)| Some((number, view.parts.get(index)?)))
            .collect();
        part(&parts, clients.len())
    });
    let last: Vec<(u32, &[String])> =
        clients.iter().enumerate().map(|(number, view)| (number as u32, &*view.last)).collect();
    ReportContext {
        parts: parts.collect(),
        latencies: clients.iter().any(|view| view.latencies),
        last: announcements(&last, clients.len()),
    }
}

fn part(clients: &[(usize, &RunReport)], all: usize) -> RunReport {
    let texts: Vec<(u32, &[String])> =
        clients.iter().map(|(number, part)| (*number as u32, &*part.lines)).collect();
    // All are timed and looked at as the first one is.
    let (snaps, dumps) =
        clients.first().map_or_else(Default::default, |(_, part)| (part.snaps.clone(), part.dumps.clone()));
    let times = clients.first().map_or((0.0, 0.0), |(_, part)| (part.time_s, part.ramp_s));
    let mut common = RunReport {
        lines: announcements(&texts, all),
        snaps,
        dumps,
        time_s: times.0,
        ramp_s: times.1,
        ..RunReport::default()
    };
    for (_, part) in clients {
        for (name, instances) in &part.processes {
            match common.processes.iter_mut().find(|(known, _)| known == name) {
                Some((_, so_far)) => *so_far += instances,
                None => common.processes.push((name.clone(), *instances)),
            }
        }
        for row in &part.rows {
            if !common.rows.iter().any(|known| known.label == row.label) {
                common.rows.push(row.clone());
            }
        }
        if common.period_s == 0.0 {
            common.period_s = part.period_s;
        }
        common.blocks |= part.blocks;
    }
    common
}

/// What all print, once; what they print differently, with who prints it.
fn announcements(clients: &[(u32, &[String])], all: usize) -> Vec<String> {
    merged(clients, all, |number, line, _| format!("client{number}: {line}"))
}

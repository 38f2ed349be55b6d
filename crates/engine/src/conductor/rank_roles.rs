//! The roles of ranks: the first rank answers the user and says what is run; the others follow until it sends the exit
//! status.

use iodyno_model::reflect::Reflect;
use iodyno_model::{Diagnostic, Plan, Record};

use super::agree::{named, patience};
use super::rank_mail::{pack, unpack};
use super::{Emit, Options, run_in};
use crate::clock;
use crate::secrets::{self, SentSecret};
use crate::signal;
use crate::world::World;

/// What the first rank says to all others.
#[derive(Reflect)]
enum RoleMessage {
    Run(Box<Plan>, Options, Vec<SentSecret>),
    /// It is over; this is the exit status.
    Over(u8),
}

/// How long a rank that was left waits for the end that the first one brings about, ns.
const LINGER_NS: u64 = 3_000_000_000;

/// On the first rank: runs a plan, on all ranks.
///
/// # Errors
/// As of [`run_in`].
pub fn lead(
    world: &mut World,
    plan: &Plan,
    options: &Options,
    emit: Emit<'_>,
) -> Result<Record, Vec<Diagnostic>> {
    if !world.is_alone() {
        let call = RoleMessage::Run(Box::new(plan.clone()), options.clone(), secrets::sent());
        match world.broadcast(pack(&call), &mut patience) {
            Ok(mut bytes) => secrets::wipe(&mut bytes),
            Err(_) => {
                world.lose(&[]);
                return Err(vec![super::apart(world, "the plan was not taken by all of them")]);
            }
        }
    }
    run_in(world, plan, options, emit)
}

/// On the first rank: tells the others that it is over, and leaves. Where ranks were lost all others are ended. What was
/// left to the end is done before, and said where it does not go well.
pub fn part(mut world: World, status: u8, say: &mut dyn FnMut(Diagnostic)) -> u8 {
    told(world.do_errands()).for_each(&mut *say);
    if world.is_alone() {
        world.leave();
        return status;
    }
    if world.is_broken() || world.broadcast(pack(&RoleMessage::Over(status)), &mut patience).is_err() {
        give_up(&world, status.max(1));
    }
    world.leave();
    status
}

fn told(wrong: Vec<String>) -> impl Iterator<Item = Diagnostic> {
    wrong.into_iter().map(|what| Diagnostic::warning(&Default::default(), what))
}

/// On another rank: does what the first one says, silently; the exit status. Only that the first one is gone is said here,
/// by one of those who are left on its machine: nobody else would.
pub fn follow(mut world: World, say: &mut dyn FnMut(Diagnostic)) -> u8 {
    loop {
        let call = world.broadcast(Vec::new(), &mut patience).ok().and_then(|mut bytes| {
            let call = unpack(&bytes);
            secrets::wipe(&mut bytes);
            call
        });
        match call {
            Some(RoleMessage::Over(status)) => {
                told(world.do_errands()).for_each(&mut *say);
                world.leave();
                return status;
            }
            // What goes wrong is reported by the first rank.
            Some(RoleMessage::Run(plan, options, sent)) => {
                let kept = secrets::receive(sent);
                kept.err().into_iter().for_each(|failure| say(failure.diagnostic(&Default::default(), "")));
                drop(run_in(&mut world, &plan, &options, &mut |_| {}));
            }
            None => world.lose(&[]),
        }
        if world.is_broken() {
            told(world.do_errands()).chain(orphaned(&world)).for_each(&mut *say);
            linger();
            give_up(&world, 1);
        }
    }
}

/// That the first rank has ended, on the lowest rank that sees it.
fn orphaned(world: &World) -> Option<Diagnostic> {
    let gone = world.gone();
    if !gone.contains(&0) || !(0..world.rank()).all(|rank| gone.contains(&rank)) {
        return None;
    }
    let message = format!("{} was lost, and its report with it", named(world.facts(), &[0]));
    let hint = "see what happened on that host; the first rank is the one that reports";
    Some(Diagnostic::error(&Default::default(), message).hint(hint))
}

/// Ends without the others. Where the launcher is already ending everybody there is nothing to ask it for.
fn give_up(world: &World, status: u8) -> ! {
    if is_being_ended() {
        std::process::exit(i32::from(status));
    }
    world.abort(i32::from(status))
}

/// Whether the launcher has said SIGTERM.
fn is_being_ended() -> bool {
    matches!(signal::interruptions(), (1.., libc::SIGTERM))
}

/// Lets the first rank report what there is before everything ends. Open MPI's launcher, who has said SIGTERM, kills as
/// soon as the first rank of all exits, and otherwise after a second.
fn linger() {
    let until = clock::monotonic() + LINGER_NS;
    while clock::monotonic() < until {
        clock::sleep_ns(50_000_000);
    }
}

//! The guardian: whatever happens to the others, SIGKILL included, it ends what still runs and removes what was made.
//!
//! It does nothing until the program that started it ends, or closes its end of a pipe, which comes to the same. So the
//! ordinary end goes the same way as the worst one. It stays outside of the keeper's name spaces and outside of the
//! program's session, so that nothing that is said to them is said to it.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use super::cleanup::{self, Task};
use super::keeper;
use super::order::RunMemory;
use super::process::{
    adopt_orphans, close_all_but, collect, collect_within, detach, enter, kill, kill_group, look_within,
    readable, spawn, unshare, watch,
};
use super::{sandbox, wire};
use iodyno_engine::Failure;

/// How long what was killed is waited for: what hangs in the kernel is left to it.
const PATIENCE: Duration = Duration::from_secs(3);

/// What could not be removed, in words.
pub type Left = Vec<String>;

/// What the guardian says at the end: what is left, or why there was nothing to watch over.
pub type Ending = Result<Left, Failure>;

/// Makes the sandbox, watches over a run in it, and ends it. `life` comes to its end when the program does: whatever was
/// made, somebody is there to remove it.
pub fn guard(order: &RunMemory, life: PipeReader, news: PipeWriter, mut report: PipeWriter) {
    let mut kept = vec![life.as_raw_fd(), news.as_raw_fd(), report.as_raw_fd()];
    kept.extend(order.descriptors());
    detach(&kept);
    let _ = std::env::set_current_dir("/");
    if let Err(failure) = sandbox::make(order.index.sandbox()) {
        let _ = wire::send(&mut report, &Ending::Err(failure));
        return;
    }
    let home = std::fs::File::open("/proc/self/ns/pid").ok();
    let alone = order.index.privileged && home.is_some() && unshare(libc::CLONE_NEWPID).is_ok();
    if !alone {
        adopt_orphans();
    }
    let keeper = spawn(|| {
        order.hand_over(&news);
        close_all_but(&[news.as_raw_fd()]);
        keeper::keep(order, news.try_clone().expect("a descriptor"));
    });
    if let Some(home) = home.filter(|_| alone) {
        enter(home.as_fd(), libc::CLONE_NEWPID);
    }
    drop(news);
    let mut hangs = false;
    if let Ok(keeper) = keeper {
        hangs = !attend(&life, keeper);
        // Its name space goes with the keeper, and so does everybody in it; without one, all are sought.
        if !alone {
            order.running.leaders().for_each(kill_group);
            hangs |= !end_orphans(Some(PATIENCE));
        }
    }
    let left = remove(order);
    let _ = wire::send(&mut report, &Ending::Ok(left));
    drop(report);
    if hangs {
        // Nobody waits for it any more, but for those that the kernel still holds: what they made goes after them.
        end_orphans(None);
        remove(order);
    }
}

/// Removes what was made, but for what is to stay: that loses only what would keep it from being removed later.
fn remove(order: &RunMemory) -> Left {
    let entries = match std::fs::read_dir(order.index.sandbox()) {
        Ok(entries) if order.board.is_anything_kept() => entries,
        _ => return cleanup::clean(order.index.sandbox(), Task::Remove),
    };
    let task = |name: &str| if order.board.is_kept(name) { Task::Calm } else { Task::Remove };
    let names = entries.flatten().map(|entry| entry.file_name());
    names
        .flat_map(|name| cleanup::clean(&order.index.sandbox().join(&name), task(&name.to_string_lossy())))
        .collect()
}

/// Waits until the keeper has ended, or the program has: then the keeper ends too. Whether it did.
fn attend(life: &PipeReader, keeper: libc::pid_t) -> bool {
    let end = watch(keeper);
    loop {
        if collect(keeper).is_some() {
            return true;
        }
        let mut fds = vec![life.as_raw_fd()];
        fds.extend(end.as_ref().map(AsRawFd::as_raw_fd));
        if readable(&fds, Duration::from_millis(if end.is_some() { 1000 } else { 20 }))[0] {
            break;
        }
    }
    kill(keeper);
    collect_within(keeper, PATIENCE).is_some()
}

/// Ends all that lost its parents, and whoever is left of its own children. Whether they are gone.
fn end_orphans(limit: Option<Duration>) -> bool {
    let gone = look_within(limit, || {
        let own = std::process::id();
        let children =
            std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
        let children: Vec<libc::pid_t> =
            children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
        children.iter().for_each(|child| kill(*child));
        children.iter().for_each(|child| _ = collect(*child));
        children.is_empty().then_some(())
    });
    gone.is_some()
}

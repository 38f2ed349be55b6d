//! How an exercise behaves: the same seed does the same, scripts are done as they stand, a full file system is no fault,
//! and whatever happens nothing is left.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use iodyno_engine::{Options, run};
use iodyno_model::Exercise;
use testbed::sandbox::Mount;
use testbed::{Case, Need, Outcome, wait};

use crate::plans::{all, clean, exercise, left, plan, races};

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_string).collect()
}

fn the_same_seed() -> Outcome {
    let mount = Mount::tmpfs(32 << 20)?;
    let done = |seed| exercise(mount.path(), &all(3000), seed).map(|record| (record.done, record.through));
    let (one, again, other) = (done(7)?, done(7)?, done(8)?);
    assert_eq!(one, again);
    assert_ne!(one, other);
    Ok(())
}

fn scripts() -> Outcome {
    let mount = Mount::tmpfs(32 << 20)?;
    let script = "# a comment\nwrite 0 5000 seed=1 via=io_uring\n& read 0 100 via=libaio\nread 4096 904 via=psync\n\
                  copy_file_range 0 0 5000 to=b\ntruncate 100\nappend 10 seed=2\nmapped_read 0 110\ncheck on=b";
    let record = exercise(mount.path(), &Exercise { script: lines(script), ..all(0) }, 1)?;
    clean(&record)?;
    let count =
        |name: &str| record.done.iter().find(|(known, _)| known == name).map_or(0, |(_, count)| *count);
    assert_eq!((count("write"), count("read"), count("append"), count("mapped_read")), (1, 2, 1, 1));
    let wrong =
        |script: &str| exercise(mount.path(), &Exercise { script: lines(script), ..all(0) }, 1).unwrap_err();
    assert!(wrong("write 0 1 seed=1\nwrit 0 1").contains("line 2: `writ` is no operation"));
    let races = Exercise { script: lines("setup: mkdir a\np1: rename a b\np2: stat a"), ..races(500) };
    clean(&exercise(mount.path(), &races, 1)?)?;
    assert_eq!(left(mount.path()), Vec::<String>::new());
    Ok(())
}

/// What makes no sense is said before anything is touched.
fn nonsense() -> Outcome {
    let mount = Mount::tmpfs(32 << 20)?;
    let wrong = |change: &dyn Fn(&mut Exercise)| {
        let mut changed = all(10);
        change(&mut changed);
        exercise(mount.path(), &changed, 1).unwrap_err()
    };
    assert!(wrong(&|one| one.engines = vec!["iouring".into()]).contains("`iouring`: no engine"));
    assert!(wrong(&|one| one.weights = vec![("writ".into(), 1)]).contains("weight `writ`"));
    assert!(wrong(&|one| one.weights = vec![("read".into(), 1)]).contains("puts bytes into a file"));
    assert!(wrong(&|one| one.file_bytes = 1 << 30).contains("has no room"));
    assert!(wrong(&|one| one.file_bytes = 100).contains("too small"));
    assert_eq!(left(mount.path()), Vec::<String>::new());
    Ok(())
}

/// Returns when the exercise has changed one of its files twice, or is over.
fn goes_on(directory: &Path, is_over: impl Fn() -> bool) -> Result<(), String> {
    let changed = || {
        left(directory)
            .into_iter()
            .filter(|name| name != "ballast")
            .filter_map(|name| {
                std::fs::metadata(directory.join(name)).and_then(|facts| facts.modified()).ok()
            })
            .max()
    };
    for _ in 0..2 {
        let before = changed();
        wait::until("a change of the exercise's files", || is_over() || changed() != before)?;
    }
    Ok(())
}

/// The room goes and comes again while it runs: that is no fault of the file system.
fn no_room() -> Outcome {
    let mount = Mount::tmpfs(3 << 20)?;
    let ballast = mount.path().join("ballast");
    let over = AtomicBool::new(false);
    let record = std::thread::scope(|scope| {
        scope.spawn(|| -> Result<(), String> {
            let is_over = || over.load(Ordering::Relaxed);
            wait::until("the exercise's files", || is_over() || !left(mount.path()).is_empty())?;
            while !is_over() {
                // It fails when the room is gone, as it should.
                let _ = std::fs::write(&ballast, vec![1; 4 << 20]);
                goes_on(mount.path(), is_over)?;
                let _ = std::fs::remove_file(&ballast);
                goes_on(mount.path(), is_over)?;
            }
            Ok(())
        });
        let record = exercise(mount.path(), &all(30_000), 3);
        over.store(true, Ordering::Relaxed);
        record
    })?;
    clean(&record)?;
    // A mapping that gets no page for want of room says so by a bus error.
    let is_want_of_room =
        |name: &str| name.contains("No space left") || name == "mapped_write: Input/output error";
    assert!(record.failed.iter().any(|(name, _)| is_want_of_room(name)), "{:?}", record.failed);
    Ok(())
}

/// A time limit ends it, and so does somebody who says stop.
fn limits() -> Outcome {
    let mount = Mount::tmpfs(32 << 20)?;
    for exercise in [all(0), races(0)] {
        let mut plan = plan(mount.path(), &exercise, 1);
        plan.phases[0].jobs[0].limit.time_ns = Some(300_000_000);
        let record = run(&plan, &Options { witness: false, ..Options::default() }, &mut |_| ());
        let record = record.map_err(|wrong| format!("{wrong:?}"))?;
        let exercise = record.phases[0].jobs[0].exercise.clone().ok_or("no record")?;
        clean(&exercise)?;
        assert!(exercise.done.iter().any(|(_, count)| *count > 0), "{:?}", exercise.done);
    }
    assert_eq!(left(mount.path()), Vec::<String>::new());
    Ok(())
}

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("the_same_seed_does_the_same", &[Need::Mount], the_same_seed),
        Case::new("scripts_are_done_as_they_stand", &[Need::Mount], scripts),
        Case::new("nonsense_is_refused", &[Need::Mount], nonsense),
        Case::new("a_full_file_system_is_no_fault", &[Need::Mount], no_room),
        Case::new("limits_end_it", &[Need::Mount], limits),
    ]
}

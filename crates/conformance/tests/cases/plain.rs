//! What cases come to on a sound file system.

use std::path::Path;

use iodyno_model::Cases;
use testbed::{Case, Need, Outcome};

use crate::rules::{all_pass, case, feature, is_empty, needing, outcome, verdicts, with};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("what holds passes", &[], what_holds_passes),
        Case::new("what does not hold fails, and the rest could not run", &[], what_fails),
        Case::new("an attribute that is wrong lets the round go on", &[], attributes),
        Case::new("rounds do not concern each other", &[], rounds),
        Case::new("words are put in where it runs", &[], words),
        Case::new("loops and tries", &[], loops),
        Case::new("ticks move time stamps on", &[], ticks),
        Case::new("a rule that makes no sense is told with its place", &[], wrong_rules),
        Case::new("features that are missing", &[], features),
        Case::new("actors have identities", &[Need::Root], actors),
        Case::new("actors hold what they open, and can be killed", &[], processes),
        Case::new("actors go on in the next round with nothing in their hands", &[], next_round),
        Case::new("many cases at once", &[], many),
        Case::new("what failed is kept if that is wanted", &[], kept),
    ]
}

fn folder() -> std::io::Result<tempfile::TempDir> {
    tempfile::tempdir_in(if Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" })
}

fn same<T: PartialEq + std::fmt::Debug>(found: T, wanted: T) -> Outcome {
    if found == wanted { Ok(()) } else { Err(format!("found {found:#?}, wanted {wanted:#?}").into()) }
}

fn what_holds_passes() -> Outcome {
    let folder = folder()?;
    let records = outcome(
        folder.path(),
        vec![case(
            "mkdir",
            "mkdir d 0751 -> ok
             lstat d -> type=directory mode=0751 nlink>=1
             mkdir d 0755 -> EEXIST
             before = lstat d
             chmod d 0700
             lstat d -> mode=448 ino=$before.ino
             rmdir d -> ok
             lstat d -> ENOENT|ENOTDIR",
        )],
    )?;
    all_pass(&records)?;
    same((records[0].checks, records[0].passed), (9, 9))?;
    Ok(is_empty(folder.path())?)
}

fn what_fails() -> Outcome {
    let folder = folder()?;
    let records = outcome(
        folder.path(),
        vec![case(
            "open",
            "mkdir d 0755 -> ok\nrmdir d -> EBUSY|EPERM\nlstat d -> mode=0755 nlink=2\nmkdir e 0755 -> ok",
        )],
    )?;
    same(
        verdicts(&records[0]),
        vec![
            "1: rmdir d: expected EBUSY or EPERM, got success".into(),
            "2: could not run: `rmdir d` came back with success".into(),
            "3: could not run: `rmdir d` came back with success".into(),
            "4: could not run: `rmdir d` came back with success".into(),
        ],
    )?;
    let records = outcome(folder.path(), vec![case("set-up", "mkdir d/e 0755\nlstat d -> mode=0755")])?;
    same(verdicts(&records[0]), vec!["0: could not run: `mkdir d/e 0755` came back with ENOENT".into()])
}

fn attributes() -> Outcome {
    let folder = folder()?;
    let records = outcome(
        folder.path(),
        vec![case(
            "mode",
            "mkdir d 0755\nlstat d -> mode=0700 type=directory type=fifo|socket\nlstat e -> mode=0700\nrmdir d -> ok",
        )],
    )?;
    same(
        verdicts(&records[0]),
        vec![
            "0: lstat d: expected mode 0700, got mode 0755".into(),
            "2: lstat d: expected type fifo or socket, got type directory".into(),
            "3: lstat e: expected mode 0700, got ENOENT".into(),
            "4: could not run: `lstat e` came back with ENOENT".into(),
        ],
    )
}

fn rounds() -> Outcome {
    let folder = folder()?;
    let text = "=== a\nmkdir d 0755 -> EPERM\nrmdir d -> ok\n=== b\nmkdir d 0755 -> ok\nrmdir d -> ok";
    let records = outcome(folder.path(), vec![case("rounds", text)])?;
    same(records[0].passed, 2)?;
    same(records[0].verdicts.iter().map(|verdict| verdict.round.as_str()).collect(), vec!["a", "a"])
}

fn words() -> Outcome {
    let folder = folder()?;
    let records = outcome(
        folder.path(),
        vec![case(
            "words",
            "mkdir $name_max 0755 -> ok
             mkdir $name_over 0755 -> ENAMETOOLONG
             mkdir $path_max 0755 -> ok
             mkdir $path_over 0755 -> ENAMETOOLONG
             mkdir $here/d 0755 -> ok
             lstat d -> uid=$self.uid gid=$self.gid size!=$[NAME_MAX*1000000]
             lstat d -> ok",
        )],
    )?;
    all_pass(&records)?;
    Ok(is_empty(folder.path())?)
}

fn loops() -> Outcome {
    let folder = folder()?;
    let records = outcome(
        folder.path(),
        vec![case(
            "loops",
            "try rmdir d
             loop 3 rmdir d -> ENOENT
             loop 2 mkdir d 0755 -> EEXIST
             lstat d -> ok",
        )],
    )?;
    same(
        verdicts(&records[0]),
        vec![
            "1: loop 2 mkdir d 0755: expected EEXIST, got success".into(),
            "2: could not run: `loop 2 mkdir d 0755` came back with success".into(),
        ],
    )?;
    let text = "mkdir d 0755
                loop 3 lstat d -> nlink>=1 type=directory
                p1&: loop 5 mkdir d 0755
                p1: await -> EEXIST
                p1&: loop 5 try rmdir d
                p1: await -> ENOENT
                mkdir d 0755
                p1&: loop 2 rmdir d
                p1: await -> ok";
    let records = outcome(folder.path(), vec![case("turns", text)])?;
    same(verdicts(&records[0]), vec!["4: p1: await: expected success, got ENOENT".into()])
}

fn ticks() -> Outcome {
    let folder = folder()?;
    let text = "mkdir d 0755\nbefore = lstat d\ntick\nchmod d 0700 -> ok\nlstat d -> ctime>$before.ctime mtime=$before.mtime";
    all_pass(&outcome(folder.path(), vec![case("ticks", text)])?)?;
    let text = "mkdir d 0755\nbefore = lstat d\nchmod d 0700\nlstat d -> ctime=$before.mtime|$before.ctime|x";
    outcome(folder.path(), vec![case("no tick", text)])?;
    Ok(())
}

fn wrong_rules() -> Outcome {
    let folder = folder()?;
    let cases = vec![
        case("no call", "mkdir d 0755 -> ok\nchmod d $[1/0] -> ok\nrmdir d -> ok"),
        case("no word", "mkdir $nothing 0755 -> ok"),
        case("no attribute", "mkdir d 0755\nrmdir d -> shape=round"),
        case("no actor", "blocked p1 -> ok"),
    ];
    let records = outcome(folder.path(), cases)?;
    let broken = records[0].broken.clone().unwrap_or_default();
    if !broken.starts_with("the rule is wrong: rules.toml:2: `chmod d $[1/0]`:") {
        return Err(broken.into());
    }
    same(records[0].passed, 1)?;
    let broken = records[1].broken.clone().unwrap_or_default();
    if !broken.contains("no such word") {
        return Err(broken.into());
    }
    same(
        verdicts(&records[2]),
        vec!["0: rmdir d: expected shape round, got an answer without shape".into()],
    )?;
    match &records[3].broken {
        Some(why) if why.contains("nothing in the background") => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn features() -> Outcome {
    let folder = folder()?;
    let cases = vec![
        needing("there", case("a", "mkdir d 0755 -> ok")),
        needing("missing", case("b", "mkdir d 0755 -> ok\nrmdir d -> ok")),
        needing("unknown", case("c", "mkdir d 0755 -> ok")),
    ];
    let features = vec![feature("there", "mkdir d 0755\nrmdir d"), feature("missing", "rmdir d")];
    let job = with(folder.path(), Cases { features, cases, ..Cases::default() })?;
    all_pass(&job.cases[..1])?;
    let why = "not applicable: missing: `rmdir d` came back with ENOENT";
    same(verdicts(&job.cases[1]), vec![format!("0: {why}"), format!("1: {why}")])?;
    same(verdicts(&job.cases[2]).len(), 1)?;
    let missing = job.features.iter().find(|(name, _)| name == "missing").and_then(|(_, why)| why.clone());
    same(missing, Some("`rmdir d` came back with ENOENT".into()))?;
    same(job.features.iter().find(|(name, _)| name == "there"), Some(&("there".into(), None)))
}

fn actors() -> Outcome {
    let folder = folder()?;
    let records = outcome(
        folder.path(),
        vec![case(
            "sticky",
            "mkdir d 0777 -> ok
             chmod d 01777 -> ok
             owner: create d/f 0640 -> ok
             lstat d/f -> uid=65534 gid=65534 mode=0640
             other: unlink d/f -> EACCES|EPERM
             other: access d/f R_OK -> EACCES
             member: access d/f R_OK -> ok
             other: lstat d/f -> uid=65534
             owner: mkdir e 0755 -> EACCES
             owner: unlink d/f -> ok",
        )],
    )?;
    all_pass(&records)?;
    Ok(is_empty(folder.path())?)
}

fn next_round() -> Outcome {
    let folder = folder()?;
    let records = outcome(
        folder.path(),
        vec![case(
            "rounds of one actor",
            "=== a
             p1: umask 077
             p1: h = open f O_RDWR|O_CREAT 0666 -> ok
             p1: fcntl_lock h wr 0 0 -> ok
             p1: lstat f -> mode=0600
             link f ../f
             === b
             p1: lstat f -> ENOENT
             g = open ../f O_RDWR
             fcntl_lock g wr 0 0 -> ok
             p1: create f 0666 -> ok
             lstat f -> mode=0666
             unlink ../f
             kill p1
             p1: lstat f -> ok
             === c
             p1: lstat f -> ENOENT
             p1: mkdir d 0755 -> ok
             lstat d -> type=directory",
        )],
    )?;
    all_pass(&records)?;
    Ok(is_empty(folder.path())?)
}

fn processes() -> Outcome {
    let folder = folder()?;
    let records = outcome(
        folder.path(),
        vec![case(
            "held",
            "p1: h = open f O_RDWR|O_CREAT 0644 -> ok
             p1: fstat h -> nlink=1
             unlink f -> ok
             p1: fstat h -> nlink=0
             kill p1
             p1: create g 0600 -> ok
             lstat g -> ok",
        )],
    )?;
    all_pass(&records)?;
    Ok(is_empty(folder.path())?)
}

fn many() -> Outcome {
    let folder = folder()?;
    let text: String =
        (0..10).map(|round| format!("=== {round}\nmkdir d 0755 -> ok\nrmdir d -> ok\n")).collect();
    let cases = (0..100).map(|number| case(&number.to_string(), &text)).collect();
    let records = outcome(folder.path(), cases)?;
    all_pass(&records)?;
    same(records.iter().map(|record| record.checks).sum::<u32>(), 2000)?;
    Ok(is_empty(folder.path())?)
}

fn kept() -> Outcome {
    let folder = folder()?;
    let cases = vec![case("stays", "mkdir d 0755 -> EPERM"), case("goes", "mkdir e 0755 -> ok")];
    let job = with(folder.path(), Cases { cases, keep: true, ..Cases::default() })?;
    let sandbox = std::fs::read_dir(folder.path())?.next().ok_or("nothing was kept")??.path();
    same((sandbox.join("0/0/d").exists(), sandbox.join("1").exists()), (true, false))?;
    same(job.cases[0].kept.clone(), Some(sandbox.join("0").display().to_string()))
}

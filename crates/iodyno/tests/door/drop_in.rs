//! Called by an original's name: signals answered as the original answers them, and our own words beside its options.

use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};

use testbed::{Case, Outcome};

use crate::program::{IODYNO, Told, dressed, names, scratch};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("dd says its figures when asked, and goes on", &[], asked),
        Case::new("dd that is interrupted says its figures and dies of it", &[], || {
            interrupted(libc::SIGINT, 3)
        }),
        Case::new("dd that is terminated dies without a word", &[], || interrupted(libc::SIGTERM, 0)),
        Case::new("dd says how it goes each second", &[], progress),
        Case::new("our words stand beside the original's", &[], also),
        Case::new("a word that is none of ours is refused", &[], no_word),
    ]
}

fn dd(line: &str, home: &Path) -> Command {
    let mut command = dressed(Command::new(IODYNO), line.split_whitespace());
    command.arg0("dd").current_dir(home).env_remove("IODYNO_ALSO");
    command
}

/// A copy from a pipe that holds 1,000 bytes and stays open.
struct Slow {
    child: std::process::Child,
    pipe: Option<ChildStdin>,
}

impl Slow {
    fn start(line: &str, home: &Path) -> std::io::Result<Slow> {
        let mut command = dd(line, home);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(std::fs::File::create(home.join("err"))?);
        let mut child = command.spawn()?;
        let mut pipe = child.stdin.take();
        pipe.as_mut().map_or(Ok(()), |pipe| pipe.write_all(&[7; 1000]))?;
        let slow = Slow { child, pipe };
        // What was copied was read and written: the handlers stand, and the next read waits.
        slow.until("1,000 bytes in F", || {
            std::fs::metadata(home.join("F")).is_ok_and(|facts| facts.len() == 1000)
        });
        Ok(slow)
    }

    #[track_caller]
    fn until(&self, what: &str, is: impl Fn() -> bool) {
        let begun = std::time::Instant::now();
        while !is() {
            assert!(begun.elapsed().as_secs() < 50, "{what} never came");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    fn signal(&self, signal: i32) {
        // SAFETY: the child is ours and was not waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    fn end(mut self, home: &Path) -> std::io::Result<Told> {
        let status = self.child.wait()?;
        Ok(Told { status, out: String::new(), err: said(home) })
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        // After a normal end both are refused, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn said(home: &Path) -> String {
    std::fs::read_to_string(home.join("err")).unwrap_or_default()
}

const FIGURES: [&str; 3] = ["0+1 records in", "0+1 records out", "1000 bytes (1.0 kB) copied, "];

#[track_caller]
fn expect_figures(text: &[&str], figures: &[&str]) {
    assert_eq!(text.len(), figures.len(), "{text:#?}");
    text.iter().zip(figures).for_each(|(line, begin)| assert!(line.starts_with(begin), "{text:#?}"));
}

fn asked() -> Outcome {
    let home = scratch();
    let mut slow = Slow::start("of=F bs=4k", home.path())?;
    slow.signal(libc::SIGUSR1);
    slow.until("an answer", || said(home.path()).lines().count() == 3);
    slow.pipe.as_mut().ok_or("no pipe")?.write_all(&[8; 500])?;
    slow.pipe = None;
    let told = slow.end(home.path())?;
    assert_eq!(told.code(), 0, "{told}");
    let lines: Vec<&str> = told.err.lines().collect();
    expect_figures(&lines[..3], &FIGURES);
    expect_figures(
        &lines[3..],
        &["0+2 records in", "0+2 records out", "1500 bytes (1.5 kB, 1.5 KiB) copied, "],
    );
    Ok(())
}

fn interrupted(signal: i32, lines: usize) -> Outcome {
    let home = scratch();
    let slow = Slow::start("of=F bs=4k", home.path())?;
    slow.signal(signal);
    let told = slow.end(home.path())?;
    assert_eq!(told.status.signal(), Some(signal), "{told}");
    expect_figures(&told.err.lines().collect::<Vec<_>>(), &FIGURES[..lines]);
    Ok(())
}

fn progress() -> Outcome {
    let home = scratch();
    let mut slow = Slow::start("of=F bs=4k status=progress", home.path())?;
    slow.until("a line of progress", || said(home.path()).contains(" copied, "));
    slow.pipe = None;
    let told = slow.end(home.path())?;
    assert_eq!(told.code(), 0, "{told}");
    let (live, end) = told.err.split_once('\n').ok_or("one line only")?;
    assert!(live.starts_with("\r1000 bytes (1.0 kB) copied, 1 s, 1.0 kB/s"), "{told}");
    expect_figures(&end.lines().collect::<Vec<_>>(), &FIGURES);
    Ok(())
}

fn also() -> Outcome {
    let home = scratch();
    let line = "if=/dev/zero of=F bs=4k count=3 --also=json=r.json,witness=off";
    let told = crate::program::told({
        let mut command = dd(line, home.path());
        command.env("IODYNO_ALSO", "csv=r.csv");
        command
    });
    told.expect(0, &["3+0 records out", "12288 bytes"]);
    assert_eq!(told.err.lines().count(), 3, "{told}");
    assert_eq!(names(home.path()), ["F", "r.csv", "r.json"]);
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(home.path().join("r.json"))?)?;
    assert!(json.is_object(), "{json}");
    Ok(())
}

fn no_word() -> Outcome {
    let home = scratch();
    let told = |line: &str| crate::program::told(dd(line, home.path()));
    let words = "age=70%, bugs=TOOL, confidence=95:5, csv=FILE";
    told("if=/dev/zero of=F count=3 --also lively").refused(&["`lively`", words]);
    told("if=/dev/zero of=F count=3 --also live").expect(1, &["live: standard error is no terminal"]);
    told("if=/dev/zero of=F count=3 --also").refused(&[words]);
    assert_eq!(names(home.path()), Vec::<String>::new());
    Ok(())
}

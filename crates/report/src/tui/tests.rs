//! Sessions that are replayed: keys go in, frames come out, and a session is held as text.

use std::path::Path;

use super::*;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(String::from).collect()
}

fn offers() -> Vec<Offer> {
    let offer = |line: &str, about: &str| Offer {
        words: words(line),
        also: words("--live"),
        explain: words(&format!("plan {line}")),
        about: about.into(),
    };
    vec![
        offer("measure . --quick", "this directory, 15 s"),
        offer("run nightly.toml", "a plan"),
        offer("fio oltp.fio", "a fio job file"),
    ]
}

fn runs() -> Vec<RunSummary> {
    let run = |id: i64, command: &str, result: &str, tags: &[&str]| RunSummary {
        id,
        when: format!("2026-11-28 02:0{id}:23"),
        command: command.into(),
        host: "vm".into(),
        result: result.into(),
        tags: tags.iter().map(ToString::to_string).collect(),
    };
    vec![
        run(3, "fio oltp.fio", "read 39.4 k/s 323 MB/s", &["after"]),
        run(2, "fio oltp.fio", "read 23.3 k/s 191 MB/s (2 doubtful)", &["before"]),
        run(1, "measure --quick .", "read 1.39 k/s 1.46 GB/s p99 9.93 ms", &[]),
    ]
}

/// A session that is driven as the program drives it, with answers of our own.
struct Session {
    tui: Tui,
    wishes: Vec<TuiRequest>,
}

impl Session {
    fn new(size: (u16, u16)) -> Session {
        let mut session = Session { tui: Tui::new(offers(), size, Paint::PLAIN), wishes: Vec::new() };
        session.answer(TuiRequest::Nothing);
        session
    }

    fn press(&mut self, keys: &[Key]) -> &mut Session {
        for key in keys {
            let wish = self.tui.key(*key);
            self.answer(wish);
        }
        self
    }

    fn letters(&mut self, text: &str) -> &mut Session {
        text.chars().for_each(|letter| {
            self.press(&[Key::Letter(letter)]);
        });
        self
    }

    fn answer(&mut self, wish: TuiRequest) {
        for wish in [wish, self.tui.wants()] {
            let title = |words: &[String]| format!("iodyno {}", words.join(" "));
            match &wish {
                TuiRequest::Nothing | TuiRequest::Leave => {}
                TuiRequest::Read(purpose, words) => {
                    let text: String = (1..=40).map(|line| format!("{} line {line}\n", words[0])).collect();
                    self.tui.told(*purpose, &title(words), &text);
                }
                TuiRequest::Change(_) | TuiRequest::Run(_) => self.tui.changed(),
                TuiRequest::List(text) => {
                    let found = runs().into_iter().filter(|run| run.command.contains(text.as_str()));
                    self.tui.listed(found.collect());
                }
            }
            if wish != TuiRequest::Nothing {
                self.wishes.push(wish);
            }
        }
    }

    fn last(&self) -> &TuiRequest {
        self.wishes.last().unwrap_or(&TuiRequest::Nothing)
    }

    fn frame(&self) -> String {
        self.tui.canvas().rows().iter().map(|row| format!("{}\n", row.trim_end())).collect()
    }
}

/// The whole session as text; `IODYNO_BLESS=1` writes it down anew.
#[test]
fn golden_session() {
    let mut text = String::new();
    let mut session = Session::new((80, 24));
    let mut note =
        |what: &str, session: &Session| text.push_str(&format!("==== {what}\n{}", session.frame()));
    note("the first page", &session);
    session.press(&[Key::Down, Key::PageDown]);
    note("down, page down", &session);
    session.letters("e");
    note("e: its command line", &session);
    session.press(&[Key::Escape, Key::Tab]);
    note("tab: the history", &session);
    session.letters("  c");
    note("two runs marked and compared", &session);
    session.letters("2").press(&[Key::Enter, Key::End]);
    note("the report of a run, its end", &session);
    session.press(&[Key::Escape]).letters("/quick").press(&[Key::Enter]);
    note("only runs with a text", &session);
    session.letters("d");
    note("before a run is deleted", &session);
    session.press(&[Key::Escape]).letters("4?");
    note("the keys", &session);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tui/session.txt");
    if std::env::var_os("IODYNO_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "{text}\nIODYNO_BLESS=1 rewrites src/tui/session.txt");
}

#[test]
fn enter_runs_the_chosen_offer_with_its_live_screen() {
    let mut session = Session::new((80, 24));
    session.press(&[Key::Down, Key::Enter]);
    assert!(
        session.wishes.contains(&TuiRequest::Run(words("run nightly.toml --live"))),
        "{:?}",
        session.wishes
    );
    assert_eq!(session.wishes.iter().filter(|wish| matches!(wish, TuiRequest::Run(_))).count(), 1);
}

#[test]
fn nothing_runs_by_moving_around() {
    let mut session = Session::new((80, 24));
    session.press(&[Key::Down, Key::Up, Key::PageDown, Key::Tab, Key::Tab, Key::Tab, Key::Tab, Key::BackTab]);
    assert!(
        session.wishes.iter().all(|wish| matches!(wish, TuiRequest::Read(..) | TuiRequest::List(_))),
        "{:?}",
        session.wishes
    );
}

#[test]
fn a_changed_command_line_keeps_its_quotes() {
    let mut session = Session::new((80, 24));
    session.letters("e --fail-if 'read.p99 > 5ms'").press(&[Key::Enter]);
    let run = session.wishes.iter().find_map(|wish| match wish {
        TuiRequest::Run(words) => Some(words.clone()),
        _ => None,
    });
    assert_eq!(run.unwrap(), ["measure", ".", "--quick", "--fail-if", "read.p99 > 5ms"]);
    session.letters(":fio 'open").press(&[Key::Enter]);
    assert!(session.frame().contains("a ' is not closed"), "{}", session.frame());
    assert_eq!(
        prompt::words(&prompt::joined(&["a b".into(), "it's".into(), String::new()])).unwrap(),
        ["a b", "it's", ""]
    );
}

#[test]
fn marked_runs_are_compared_in_the_order_of_their_marks() {
    let mut session = Session::new((80, 24));
    session.letters("2").press(&[Key::Down]).letters(" ").press(&[Key::Home]).letters(" c");
    assert_eq!(session.last(), &TuiRequest::Read(Purpose::Comparison, words("compare 2 3")));
    // Nothing is compared twice, and a lost mark changes what is compared.
    session.letters("123");
    let count =
        session.wishes.iter().filter(|wish| matches!(wish, TuiRequest::Read(Purpose::Comparison, _))).count();
    assert_eq!(count, 1);
    session.letters("2uc");
    assert!(session.frame().contains("mark at least two runs"), "{}", session.frame());
}

#[test]
fn a_run_is_deleted_after_yes_only() {
    let mut session = Session::new((80, 24));
    session.letters("2d").letters("n").press(&[Key::Enter]);
    assert!(session.frame().contains("nothing was deleted"));
    session.letters("d").press(&[Key::Enter]);
    assert!(!session.wishes.iter().any(|wish| matches!(wish, TuiRequest::Change(_))), "{:?}", session.wishes);
    session.letters("dy").press(&[Key::Enter]);
    assert!(session.wishes.contains(&TuiRequest::Change(words("runs delete 3"))), "{:?}", session.wishes);
    session.letters("t nightly raid").press(&[Key::Enter]);
    assert!(
        session.wishes.contains(&TuiRequest::Change(words("runs tag 3 nightly raid"))),
        "{:?}",
        session.wishes
    );
}

#[test]
fn every_size_is_drawn_whole() {
    for size in [(1, 1), (60, 16), (80, 24), (200, 70)] {
        let mut session = Session::new(size);
        for key in ['1', '2', '3', '4', '?'] {
            session.letters(&key.to_string());
            let (columns, rows) = (usize::from(size.0).max(60), usize::from(size.1).max(16));
            let frame = session.tui.canvas().rows();
            assert!(
                frame.len() == rows && frame.iter().all(|row| row.chars().count() == columns),
                "{size:?} {key}"
            );
        }
    }
}

#[test]
fn leaving_works_in_every_state() {
    for keys in ["", ":x", "2d", "?"] {
        let mut session = Session::new((80, 24));
        session.letters(keys);
        assert_eq!(session.tui.key(Key::Leave), TuiRequest::Leave, "{keys}");
    }
}

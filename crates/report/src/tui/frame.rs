//! One frame: tabs, the page, and a line of keys.

use super::prompt::joined;
use super::{Tui, TuiPage};
use crate::screen::canvas::{Area, Canvas, Ink};

/// Rows that are not the page's: tabs, a rule, what is told, keys.
pub const AROUND: usize = 4;

/// Rows of the list of runs on a screen of so many rows, without its heading.
pub fn list_rows(rows: usize) -> usize {
    rows - AROUND - 1
}

/// Rows of offers on a screen of so many rows: the rest explains the one that is chosen.
fn offer_rows(rows: usize) -> usize {
    ((rows - AROUND) / 3).max(3)
}

/// Rows of the explanation.
pub fn below_the_list(rows: usize) -> usize {
    rows - AROUND - offer_rows(rows) - 1
}

pub fn draw(tui: &Tui, canvas: &mut Canvas) {
    let all = canvas.area();
    tabs(tui, canvas, all);
    let page = Area { row: 2, rows: all.rows - AROUND, ..all };
    match (&tui.over, tui.page) {
        (Some(over), _) => canvas.lines(page, &over.seen(page.rows)),
        (None, TuiPage::Plan) => plan(tui, canvas, page),
        (None, TuiPage::History) => history(tui, canvas, page),
        (None, TuiPage::Compare) => compare(tui, canvas, page),
        (None, TuiPage::Machine) => {
            if let Some(machine) = &tui.machine {
                canvas.lines(page, &machine.seen(page.rows));
            }
        }
    }
    let told = match &tui.prompt {
        Some(prompt) => prompt.line(),
        None => tui.notice.clone(),
    };
    canvas.text(all, all.rows - 2, 0, Ink::Bold, &told);
    canvas.text(all, all.rows - 1, 0, Ink::Dim, &keys(tui));
}

fn tabs(tui: &Tui, canvas: &mut Canvas, all: Area) {
    let mut column = 1;
    for (index, page) in TuiPage::ALL.into_iter().enumerate() {
        let chosen = page == tui.page;
        let text = if chosen {
            format!("[{} {}]", index + 1, page.name())
        } else {
            format!(" {} {} ", index + 1, page.name())
        };
        canvas.text(all, 0, column, if chosen { Ink::Bold } else { Ink::Plain }, &text);
        column += text.chars().count() + 1;
    }
    let rows = all.rows - AROUND;
    let (title, place) = match (&tui.over, tui.page) {
        (Some(over), _) => (over.title.clone(), over.place(rows)),
        (None, TuiPage::Compare) if tui.marked.len() > 1 => {
            (tui.comparison.title.clone(), tui.comparison.place(rows))
        }
        (None, TuiPage::Machine) => {
            (String::new(), tui.machine.as_ref().map(|text| text.place(rows)).unwrap_or_default())
        }
        (None, TuiPage::History) => (searched(tui), marks(tui)),
        (None, _) => (String::new(), String::new()),
    };
    let right = "iodyno";
    canvas.text(all, 0, all.columns - right.len() - 1, Ink::Dim, right);
    let title = if title.is_empty() { String::new() } else { format!(" {title} ") };
    let place = if place.is_empty() { String::new() } else { format!(" {place} ") };
    canvas.text(all, 1, 0, Ink::Dim, &"─".repeat(all.columns));
    canvas.text(all, 1, 2, Ink::Bold, &title);
    canvas.text(all, 1, all.columns.saturating_sub(place.chars().count() + 2), Ink::Dim, &place);
}

fn searched(tui: &Tui) -> String {
    if tui.searched.is_empty() { String::new() } else { format!("runs with `{}`", tui.searched) }
}

fn marks(tui: &Tui) -> String {
    match tui.marked.len() {
        0 => String::new(),
        count => format!("{count} marked"),
    }
}

/// The first of the entries that are seen, so that the chosen one is.
fn first(chosen: usize, rows: usize) -> usize {
    (chosen + 1).saturating_sub(rows)
}

fn plan(tui: &Tui, canvas: &mut Canvas, page: Area) {
    let (top, below) = page.split(offer_rows(tui.size.1));
    let from = first(tui.offer, top.rows);
    let width = (top.columns * 3 / 5).max(30);
    for (row, (index, offer)) in tui.offers.iter().enumerate().skip(from).take(top.rows).enumerate() {
        let chosen = index == tui.offer;
        let ink = if chosen { Ink::Bold } else { Ink::Plain };
        let left = Area { columns: width, ..top };
        canvas.text(
            left,
            row,
            0,
            ink,
            &format!("{} {}", if chosen { "▸" } else { " " }, joined(&offer.words)),
        );
        let right = Area { column: top.column + width + 1, columns: top.columns - width - 1, ..top };
        canvas.text(right, row, 0, Ink::Dim, &offer.about);
    }
    let (rule, text) = below.split(1);
    canvas.text(rule, 0, 0, Ink::Dim, &"─".repeat(rule.columns));
    canvas.text(rule, 0, 2, Ink::Dim, " what it would do ");
    let place = tui.explanation.place(text.rows);
    if !place.is_empty() {
        canvas.text(rule, 0, rule.columns.saturating_sub(place.len() + 4), Ink::Dim, &format!(" {place} "));
    }
    if tui.explained == Some(tui.offer) {
        canvas.lines(text, &tui.explanation.seen(text.rows));
    }
}

fn history(tui: &Tui, canvas: &mut Canvas, page: Area) {
    let (head, list) = page.split(1);
    if tui.runs.is_empty() {
        let text =
            if tui.searched.is_empty() { "no runs are kept yet: run a plan (1)" } else { "no such run" };
        canvas.text(list, 0, 2, Ink::Plain, text);
        return;
    }
    let command = (page.columns - 30) * 2 / 5;
    let columns = [(2, 5), (8, 16), (26, command), (27 + command, page.columns - 27 - command)];
    let row = |canvas: &mut Canvas, area: Area, at: usize, ink: Ink, cells: [&str; 4]| {
        for ((column, width), cell) in columns.into_iter().zip(cells) {
            let part = Area { column: area.column + column, columns: width, ..area };
            canvas.text(part, at, 0, ink, cell);
        }
    };
    row(canvas, head, 0, Ink::Dim, ["run", "began (UTC)", "command", "result"]);
    let from = first(tui.run, list.rows);
    for (at, (index, run)) in tui.runs.iter().enumerate().skip(from).take(list.rows).enumerate() {
        let chosen = index == tui.run;
        let ink = if chosen { Ink::Bold } else { Ink::Plain };
        let marked = tui.marked.contains(&run.id);
        canvas.text(list, at, 0, ink, if chosen { "▸" } else { " " });
        canvas.text(list, at, 1, Ink::Cyan, if marked { "*" } else { " " });
        let tags = if run.tags.is_empty() { String::new() } else { format!("[{}] ", run.tags.join(" ")) };
        let when: String = run.when.chars().take(16).collect();
        row(
            canvas,
            list,
            at,
            ink,
            [&run.id.to_string(), &when, &run.command, &format!("{tags}{}", run.result)],
        );
    }
}

fn compare(tui: &Tui, canvas: &mut Canvas, page: Area) {
    if tui.marked.len() > 1 {
        canvas.lines(page, &tui.comparison.seen(page.rows));
        return;
    }
    let text = [
        "Nothing is marked yet.",
        "",
        "Mark two runs or more in the history (2) with the space bar, then press c.",
        "The first that is marked is what the others are compared with.",
    ];
    canvas.lines(Area { column: 2, columns: page.columns - 2, ..page }, &text.join("\n"));
}

fn keys(tui: &Tui) -> String {
    let text = match (&tui.prompt, &tui.over, tui.page) {
        (Some(_), _, _) => "Enter: do it   Escape: leave it",
        (None, Some(_), _) => "up down PageUp PageDown: move   Escape: close",
        (None, None, TuiPage::Plan) => {
            "Enter: run   e: change it first   PageDown: more text   :command   ?: keys   q: leave"
        }
        (None, None, TuiPage::History) => {
            "Enter: report  space: mark  c: compare  r: run again  t: tag  d: delete  /  ?  q"
        }
        (None, None, TuiPage::Compare | TuiPage::Machine) => {
            "up down PageUp PageDown: move   1-4: pages   ?: keys   q: leave"
        }
    };
    format!(" {text}")
}

//! The page about filebench: `introduction.md` and the table of flowops.
//!
//! Generated, so that it cannot fall behind the table. Refuses to repeat what `-h` says.

use super::flowops::FLOWOPS;

/// The page.
pub fn document() -> String {
    let mut text = include_str!("introduction.md").to_string();
    text += "\n| flowop | what it does |\n|---|---|\n";
    for entry in FLOWOPS {
        text += &format!("| `{}` | {} |\n", entry.name, entry.about);
    }
    text
}

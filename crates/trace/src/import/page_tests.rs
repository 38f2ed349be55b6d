//! docs/trace-import.md has the table of formats as the program has it.

use super::formats;

const BEGIN: &str = "<!-- formats: written by the tests, IODYNO_BLESS=1 -->\n";
const END: &str = "<!-- end of formats -->\n";

fn table() -> String {
    let mut table = String::from("| `--as` | is | to know |\n|---|---|---|\n");
    for format in formats() {
        table.push_str(&format!("| `{}` | {} | {} |\n", format.name, format.about, format.pitfalls));
    }
    table.push_str("\nAn example of each, and the maps of those that are tables:\n\n```text\n");
    for format in formats() {
        let map = format.map().map(|map| format!("    --csv '{map}'\n")).unwrap_or_default();
        let example: String = format.example.lines().map(|line| format!("    {line}\n")).collect();
        table.push_str(&format!("{}\n{map}{example}", format.name));
    }
    table + "```\n"
}

#[test]
fn the_page_has_every_format() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/trace-import.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let (before, rest) = page.split_once(BEGIN).expect("where the table begins");
    let (_, after) = rest.split_once(END).expect("where the table ends");
    let wanted = format!("{before}{BEGIN}\n{}\n{END}{after}", table());
    if std::env::var_os("IODYNO_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(path, &wanted).expect("writing the page");
    }
    let page = std::fs::read_to_string(path).expect("the page");
    assert_eq!(page, wanted, "IODYNO_BLESS=1 writes it");
}

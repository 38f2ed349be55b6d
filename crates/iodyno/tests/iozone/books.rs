//! Workbooks as a real spreadsheet reads them: LibreOffice, without its window. Where it is not installed, cases are
//! counted skips.

use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::{Case, Need, Outcome};

use crate::program::told as run;
use crate::runs::iozone;

const SPREADSHEET: &[Need] = &[Need::Tool("libreoffice")];
/// Every sheet, with its figures as they are stored.
const FILTER: &str = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1";

pub fn cases() -> Vec<Case> {
    let case = |name: &str, body: fn() -> Outcome| Case::new(format!("iozone_{name}"), SPREADSHEET, body);
    vec![case("workbooks_are_what_a_spreadsheet_reads", matrices), case("so_are_those_of_streams", streams)]
}

/// The sheets of a workbook: their names and rows.
fn sheets(home: &Path, book: &str) -> Vec<(String, Vec<Vec<String>>)> {
    let out = home.join(format!("{book}.sheets"));
    let profile = format!("-env:UserInstallation=file://{}/profile", home.display());
    let mut command = Command::new("libreoffice");
    command.args([&profile, "--headless", "--convert-to", FILTER, "--outdir"]).arg(&out).arg(home.join(book));
    command.current_dir(home).env("HOME", home);
    let said = run(command);
    let files = std::fs::read_dir(&out)
        .unwrap_or_else(|error| panic!("{book} was not read: {error}: {said}"))
        .flatten();
    let mut files: Vec<PathBuf> = files.map(|file| file.path()).collect();
    files.sort();
    let rows = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("a sheet");
        let row = |line: &str| line.split(',').map(|cell| cell.trim_matches('"').to_string()).collect();
        text.lines().map(row).collect()
    };
    files
        .iter()
        .map(|path| (path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), rows(path)))
        .collect()
}

/// The figures of a table in the report: `"64"   1 2 3 `.
fn report<'a>(text: &'a str, title: &str) -> Vec<Vec<&'a str>> {
    let begin = format!("\"{title} report\"\n");
    let table = text.split(&begin).nth(1).unwrap_or_else(|| panic!("no {title}: {text}"));
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('"'));
    rows.map(|line| line.split_whitespace().skip(1).collect()).collect()
}

fn matrices() -> Outcome {
    let home = tempfile::tempdir()?;
    for book in ["new.xlsx", "old.xls", "older.wks"] {
        let told = iozone(home.path(), &format!("-a -n 64k -g 256k -i 0 -i 1 -f t.tmp -Rb {book}"));
        told.expect(0, &["iozone test complete."]);
        let sheets = sheets(home.path(), book);
        for (index, title) in ["Writer", "Re-writer", "Reader", "Re-Reader"].into_iter().enumerate() {
            let known = report(&told.out, title);
            assert_eq!(known.len(), 3, "{told}");
            let (rows, first) = match book {
                "new.xlsx" => {
                    (&sheets.iter().find(|(name, _)| *name == format!("new-{title}")).expect(title).1, 2)
                }
                // A title, the record sizes, and three rows for each test, below three lines.
                _ => (&sheets[0].1, 3 + 5 * index + 2),
            };
            for (row, wanted) in rows[first..].iter().zip(&known) {
                let found: Vec<&str> =
                    row[1..].iter().map(String::as_str).filter(|cell| !cell.is_empty()).collect();
                assert_eq!(&found, wanted, "{book}, {title}: {rows:?}");
            }
            assert_eq!(rows[first - 1][1..3], ["4", "8"], "{book}");
        }
    }
    Ok(())
}

fn streams() -> Outcome {
    let home = tempfile::tempdir()?;
    for book in ["new.xlsx", "old.xls"] {
        let told = iozone(home.path(), &format!("-s 64 -r 4 -t 1 -t 2 -i 0 -Rb {book}"));
        told.expect(0, &["iozone test complete."]);
        let line = told.out.lines().find(|line| line.starts_with("\"  Initial write \"")).expect("a report");
        let known: Vec<f64> = line.split_whitespace().skip(3).filter_map(|word| word.parse().ok()).collect();
        let sheets = sheets(home.path(), book);
        let rows = &sheets[0].1;
        let row = rows.iter().find(|row| row[0].trim() == "Initial write").expect("a row");
        let found: Vec<f64> = row[1..].iter().filter_map(|cell| cell.parse().ok()).collect();
        assert_eq!((found.len(), known.len()), (2, 2), "{book}: {rows:?}");
        assert!(found.iter().zip(&known).all(|(a, b)| (a - b).abs() < 0.006), "{found:?} {known:?}");
    }
    let told = iozone(home.path(), "-s 64 -r 4 -l 1 -u 300 -i 0 -Rb old.xls");
    assert!(told.code() != 0 && told.err.contains("256 columns"), "{told}");
    Ok(())
}

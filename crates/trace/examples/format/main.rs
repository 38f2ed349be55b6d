//! What `cargo xtask bench trace` measures: `make N` makes requests, `write N FILE` writes them too, `read FILE` reads them.
//! Prints how many, and bytes of the file.

mod requests;

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter};

use iodyno_trace::format::{Reader, Writer};
use iodyno_trace::{RecordSource, TraceFile, TraceHeader, TraceRecord};

use requests::Requests;

/// Requests that are made at once.
const BATCH: usize = 32_768;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", count] => {
            let mut last_ns = 0;
            for_each_batch(count.parse()?, |batch| {
                last_ns = batch.last().map_or(last_ns, |record| record.at_ns);
                Ok(())
            })?;
            println!("records {count}, until {last_ns} ns");
        }
        ["write", count, path] => {
            let header = TraceHeader { source: "msr".into(), resolution_ns: 100, ..TraceHeader::default() };
            let mut writer = Writer::new(BufWriter::new(File::create_new(path)?), header)?;
            for name in ["0", "1"] {
                writer.define_file(TraceFile { name: name.into(), ..TraceFile::default() })?;
            }
            for_each_batch(count.parse()?, |batch| Ok(writer.push_all(batch)?))?;
            writer.finish()?;
            println!("records {count} bytes {}", std::fs::metadata(path)?.len());
        }
        ["read", path] => {
            let mut reader = Reader::new(BufReader::new(File::open(path)?))?;
            let (mut records, mut batch) = (0, Vec::new());
            loop {
                reader.next_batch(&mut batch)?;
                if batch.is_empty() {
                    break;
                }
                records += batch.len();
            }
            println!("records {records}");
        }
        _ => return Err("expected: make N, write N FILE, read FILE".into()),
    }
    Ok(())
}

fn for_each_batch(
    count: usize,
    mut take: impl FnMut(&[TraceRecord]) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let (mut requests, mut batch) = (Requests::default(), Vec::new());
    let mut left = count;
    while left > 0 {
        batch.clear();
        batch.extend(requests.by_ref().take(left.min(BATCH)));
        left -= batch.len();
        take(&batch)?;
    }
    Ok(())
}

//! The matrix of programs, roles, protocols and directions.

use testbed::{Case, Need, Outcome, free_port, wait};

use crate::peers::{Program, client, client_that_finds, heard, server, server_that_finds};
use Program::{Ours, Real};

/// One of the matrix.
struct Test {
    name: &'static str,
    /// The client's options and the server's.
    line: &'static str,
    server: &'static str,
    /// How many totals each prints.
    told: usize,
    heard: usize,
}

const fn test(
    name: &'static str,
    line: &'static str,
    server: &'static str,
    told: usize,
    heard: usize,
) -> Test {
    Test { name, line, server, told, heard }
}

/// What is run besides who is who. At full speed for a time only once: both programs keep two processors busy then.
const TESTS: &[Test] = &[
    test("tcp", "-t 0.5", "", 1, 1),
    test("tcp-four", "-n 2M -P 4", "", 4, 4),
    test("tcp-bytes", "-n 5M -l 8K", "", 1, 1),
    test("tcp-less-than-a-block", "-n 1K", "", 1, 1),
    test("tcp-more-than-a-block", "-n 130K", "", 1, 1),
    test("tcp-rate", "-t 1 -b 20m -i 0.5", "-i 0.5", 1, 1),
    test("tcp-reverse", "-n 5M -R", "", 1, 1),
    test("tcp-dual", "-n 5M -d -L BACK", "", 2, 2),
    test("tcp-tradeoff", "-n 5M -r -L BACK", "", 2, 2),
    test("tcp-full-duplex", "-n 5M --full-duplex", "", 2, 2),
    test("tcp-full-duplex-enhanced", "-t 1 -b 20m --full-duplex -e -i 0.5", "-e", 1, 1),
    test("tcp-bounceback", "--bounceback -t 1 -i 5", "", 1, 1),
    test(
        "tcp-bounceback-held",
        "--bounceback=3 --bounceback-hold 2 --bounceback-period=0.3 -t 1 -i 5 -l 300",
        "",
        1,
        1,
    ),
    test("tcp-bounceback-up", "--bounceback --bounceback-congest=up -t 1 -i 5", "", 2, 2),
    test("tcp-bounceback-down", "--bounceback=3 --bounceback-congest=down,2 -t 1 -i 5", "", 3, 3),
    test("tcp-bounceback-both", "--bounceback --bounceback-congest -t 1 -i 5", "", 3, 3),
    test("tcp-trip-times", "-t 1 -b 20m --trip-times -e -i 0.5", "-e -i 0.5", 1, 1),
    test("tcp-trip-times-two", "-n 2M -P 2 --trip-times", "-e --histograms", 2, 2),
    test("tcp-trip-times-reverse", "-t 1 -b 20m -R --trip-times -e", "-e", 1, 1),
    test("tcp-frames", "--isochronous=30:4m,1m -t 1 -i 0.5", "-e", 1, 1),
    test("tcp-frames-trip-times", "--isochronous=30:4m,100k -t 1 --trip-times", "-e --histograms", 1, 1),
    test("tcp-enhanced", "-t 1 -b 20m -e -i 0.5", "-e", 1, 1),
    test("tcp-options", "-n 5M -m -M 1000 -w 64K -N -S ef -f m", "", 1, 1),
    test("udp", "-u -t 0.5 -b 5m", "-u", 2, 1),
    test("udp-four", "-u -t 0.5 -b 2m -P 4 -l 1000", "-u", 8, 4),
    test("udp-enhanced", "-u -e -i 0.5 -t 1", "-u -e -i 0.5", 2, 1),
    test("udp-bytes", "-u -n 100K -b 10m", "-u", 2, 1),
    test("udp-trip-times", "-u -t 1 -b 2m --trip-times", "-u --histograms=1m,100", 2, 1),
    test("udp-trip-times-reverse", "-u -t 1 -b 2m -R --trip-times -e", "-u -e", 1, 1),
    test("udp-frames", "-u --isochronous=30:4m,100k -t 1 -i 0.5", "-u -e", 2, 1),
    test("udp-frames-trip-times", "-u --isochronous=30:4m -t 1 --trip-times", "-u -i 0.5 --histograms", 2, 1),
    test("udp-frames-of-datagrams", "-u --isochronous=4:25p -t 1 -l 1000", "-u", 2, 1),
    test("udp-reverse", "-u -t 0.5 -R -b 5m", "-u", 1, 1),
    test("udp-full-duplex", "-u -t 0.5 -b 2m --full-duplex", "-u", 2, 2),
    test("udp-full-duplex-enhanced", "-u -t 1 -b 2m --full-duplex -e -i 0.5", "-u -e", 2, 2),
    test("udp-full-duplex-trip-times", "-u -t 0.5 -b 2m --full-duplex --trip-times", "-u", 2, 2),
    test("udp-full-duplex-two", "-u -t 0.5 -b 2m --full-duplex -P 2 -l 500", "-u", 4, 4),
    test("udp-dual", "-u -t 0.5 -b 2m -d -L BACK", "-u", 3, 3),
];

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (at, of) in [(Ours, Ours), (Ours, Real), (Real, Ours)] {
        let real: &[Need] = if (at, of) == (Ours, Ours) { &[] } else { &[Need::Tool("iperf")] };
        for test in TESTS {
            let title = format!("{of:?} to {at:?}: {}", test.name).to_lowercase();
            let case = Case::new(title, real, move || moved(at, of, test));
            cases.push(if (at, of) == (Ours, Ours) { case } else { case.against() });
        }
    }
    cases.push(Case::new("values are the original's", &[Need::Tool("iperf")], values).against());
    let needs = [Need::Tool("iperf")];
    cases.push(Case::new("datagrams are counted as the original counts them", &needs, last_one).against());
    let needs = [Need::Tool("iperf")];
    cases.push(Case::new("what was timed is printed as the original prints it", &needs, shapes).against());
    cases.push(Case::new("a few words cost no thread", &[], few_words));
    cases.push(Case::new("a buffer that is too small is named", &[], small_buffer).computes());
    cases.push(Case::new("nobody listens", &[], nobody));
    cases.push(Case::new("one client, then the end", &[], one_client));
    cases
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// A row of a stream: its label, when it begins and ends as written, and its bytes.
fn row(line: &str) -> Option<(&str, &str, &str, f64)> {
    let (label, rest) = line.split_once("] ")?;
    let (times, rest) = rest.split_once(" sec")?;
    let (start, end) = times.trim().split_once('-')?;
    let mut words = rest.split_whitespace();
    let number: f64 = words.next()?.parse().ok()?;
    let unit = match words.next()? {
        "Bytes" => 1.0,
        "KBytes" => 1024.0,
        "MBytes" => 1024.0 * 1024.0,
        "GBytes" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    (!label.contains("SUM") && !label.contains("FD") && start.contains('.')).then_some((
        label,
        start,
        end,
        number * unit,
    ))
}

/// Bytes of the total rows: those that begin at 0, and after which no interval of the same stream goes on.
fn totals(text: &str) -> Vec<f64> {
    let rows: Vec<_> = text.lines().filter_map(row).collect();
    let goes_on = |label: &str, end: &str| rows.iter().any(|row| (row.0, row.1) == (label, end));
    let whole = |row: &&(&str, &str, &str, f64)| row.1 == "0.0000" && !goes_on(row.0, row.2);
    rows.iter().filter(whole).map(|row| row.3).collect()
}

/// How many rows of streams begin with the test.
fn from_the_start(text: &str) -> usize {
    text.lines().filter_map(row).filter(|row| row.1 == "0.0000").count()
}

/// The datagrams that a row counts: the lost ones, and all. Behind them their share stands in parentheses.
fn counted(line: &str) -> Option<(u64, u64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let counts = words.windows(2).find(|pair| pair[1].starts_with('(') && pair[0].contains('/'))?[0];
    let (lost, all) = counts.split_once('/')?;
    Some((lost.parse().ok()?, all.parse().ok()?))
}

/// What datagrams a text counts in all: those that were sent, and those that were to come, some of which are lost. What it
/// repeats of the other side's is left out.
fn datagrams(text: &str) -> (u64, u64, u64) {
    let (mut sent, mut title, mut rows) = (0, "", Vec::new());
    for line in text.lines() {
        if line.contains("] Sent ") && !line.contains("SUM") {
            sent += line.split_whitespace().nth_back(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        }
        if let (Some(row), Some(counts), false) = (row(line), counted(line), title.contains("Server Report:"))
        {
            rows.push((row, counts));
        }
        // A heading stands between a title and its row.
        title = if line.contains("[ ID]") { title } else { line };
    }
    let goes_on = |label: &str, end: &str| rows.iter().any(|(row, _)| (row.0, row.1) == (label, end));
    let whole = rows.iter().filter(|(row, _)| row.1 == "0.0000" && !goes_on(row.0, row.2));
    whole.fold((sent, 0, 0), |(sent, all, lost), (_, counts)| (sent, all + counts.1, lost + counts.0))
}

/// One of the matrix: it comes to its end, and both sides agree on what was moved.
fn moved(at: Program, of: Program, test: &Test) -> Outcome {
    let (port, back) = (free_port()?, free_port()?);
    let line = test.line.replace("BACK", &back.to_string());
    let mut listener = server(at, port, &words(test.server))?;
    let (status, said) = client(of, port, &words(&line))?;
    if status != 0 {
        return Err(format!("status {status}:\n{said}\nserver:\n{}", listener.out()).into());
    }
    // Where it tells intervals, the first of them begins with the test as the total does.
    let rows = test.heard * if test.server.contains("-i") { 2 } else { 1 };
    let theirs = heard(&mut listener, "the server's totals", |text| from_the_start(text) >= rows)
        .map_err(|why| format!("{why}\nclient:\n{said}"))?;
    let mut rows = said.lines().chain(theirs.lines()).filter_map(row);
    // A wrong clock of the other end would make it years.
    if let Some(row) = rows.find(|row| row.2.parse().is_ok_and(|end: f64| end > 600.0)) {
        return Err(format!("a test of {} s\nclient:\n{said}\nserver:\n{theirs}", row.2).into());
    }
    let (mine, all) = (totals(&said), totals(&theirs));
    let agreed = match mine.len() >= test.told && all.len() >= test.heard {
        true if test.line.contains("-u") => datagrams_agree(&said, &theirs, test.heard as u64),
        true => bytes_agree(&mine[..test.told], &all, test),
        false => Err(format!("{} and {} totals", mine.len(), all.len())),
    };
    Ok(agreed.map_err(|why| format!("{why}\nclient:\n{said}\nserver:\n{theirs}"))?)
}

/// Every datagram that was sent came or is told to be lost. The original counts its last one twice.
fn datagrams_agree(said: &str, theirs: &str, streams: u64) -> Result<(), String> {
    let (mine, other) = (datagrams(said), datagrams(theirs));
    let (sent, all, lost) = (mine.0 + other.0, mine.1 + other.1, mine.2 + other.2);
    match lost < all && sent.abs_diff(all) <= streams {
        true => Ok(()),
        false => Err(format!("{sent} datagrams sent, {all} were to come and {lost} of them are lost")),
    }
}

/// Both ends count the same bytes: all of them where they were asked for, and what is under way at a time's end apart.
fn bytes_agree(mine: &[f64], theirs: &[f64], test: &Test) -> Result<(), String> {
    let bytes = words(test.line).into_iter().skip_while(|word| *word != "-n").nth(1);
    if let Some(bytes) = bytes {
        let (number, unit) = bytes.split_at(bytes.len() - 1);
        let number: f64 = number.parse().map_err(|_| format!("{bytes} is no amount"))?;
        let exactly = number * if unit == "K" { 1024.0 } else { 1024.0 * 1024.0 };
        let whole = mine.iter().chain(theirs).all(|moved| *moved == exactly);
        return if whole { Ok(()) } else { Err(format!("not exactly {bytes}: {mine:?} {theirs:?}")) };
    }
    let each = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    let (sent, came) = (each(mine), each(theirs));
    let agree = (sent - came).abs() <= 0.25 * sent.max(came);
    if sent > 0.0 && agree { Ok(()) } else { Err(format!("{sent} sent and {came} came")) }
}

/// Comma-separated values have the original's fields.
fn values() -> Outcome {
    for line in ["-t 0.5 -y C -P 2", "-u -t 0.5 -y C"] {
        let mut fields = Vec::new();
        for of in [Real, Ours] {
            let port = free_port()?;
            let udp: &[&str] = if line.contains("-u") { &["-u"] } else { &[] };
            let _listener = server(Ours, port, udp)?;
            let (status, said) = client(of, port, &words(line))?;
            let shape: Vec<usize> = said.lines().map(|line| line.split(',').count()).collect();
            fields.push((status, shape));
        }
        if fields[0] != fields[1] {
            return Err(format!("{line}: {fields:?}").into());
        }
    }
    Ok(())
}

/// What a line is made of: each number is one mark, and neither blanks nor units count.
fn shape(line: &str) -> String {
    // How many bins there are is chance; outliers are told by the original alone.
    let (head, tail) = line.split_once(")=").unwrap_or((line, ""));
    let tail = tail.split_once(" (").map_or("", |(_, tail)| tail);
    let tail = match tail.split_once("Outliers=") {
        Some((percentiles, rest)) => {
            percentiles.to_string() + rest.split_once(',').map_or("", |(_, rest)| rest)
        }
        None => tail.into(),
    };
    let line = format!("{} {tail}", head.split(" with pid").next().unwrap_or_default());
    let mut shape = String::new();
    for letter in line.chars().filter(|letter| !letter.is_whitespace()) {
        match letter {
            '0'..='9' | '.' if shape.ends_with('9') => {}
            '0'..='9' => shape.push('9'),
            _ => shape.push(letter),
        }
    }
    ["K", "M", "G"].iter().fold(shape, |shape, unit| shape.replace(&format!("{unit}bit"), "bit"))
}

/// Headings and distributions of frames, bursts and datagrams: what the original's server and client print of an original's
/// peer, and what ours print.
fn shapes() -> Outcome {
    let lines = [
        ("-u -e -i 0.5 --histograms", "-u -e --isochronous=30:4m,0 -t 1 -i 0.5 --trip-times", "F8(f)-PDF"),
        ("-e -i 0.5 --histograms", "-e --trip-times -t 1 -i 0.5 -b 20m", "F8(f)-PDF"),
        ("-u --histograms=1m,100", "-u -t 1 -b 2m --trip-times", "T8(f)-PDF"),
        ("-e", "--isochronous=30:4m,0 -t 1", "0.0000-"),
    ];
    for (serves, asks, last) in lines {
        let mut shapes = Vec::new();
        for who in [Real, Ours] {
            let port = free_port()?;
            let mut listener = server(who, port, &words(serves))?;
            let (status, said) = client(who, port, &words(asks))?;
            let is_whole = |text: &str| text.lines().any(|line| line.contains(last)) && text.ends_with('\n');
            let theirs = heard(&mut listener, last, is_whole)?;
            let of = |text: &str| {
                let marks = ["[ ID]", "(f)-PDF", "Isochronous:", "Enabled receive"];
                let is = |line: &&str| marks.iter().any(|mark| line.contains(mark));
                let mut all: Vec<String> = text.lines().filter(is).map(shape).collect();
                all.sort();
                all.dedup();
                all
            };
            shapes.push((status, of(&said), of(&theirs)));
        }
        if shapes[0] != shapes[1] {
            return Err(format!("{serves} / {asks}:\n{:#?}\n{:#?}", shapes[0], shapes[1]).into());
        }
    }
    Ok(())
}

/// A hundred datagrams and the one that says it was the last: whoever serves whom, the server counts 101.
fn last_one() -> Outcome {
    for serves in [Real, Ours] {
        for asks in [Real, Ours] {
            let port = free_port()?;
            let mut listener = server(serves, port, &["-u", "-y", "C"])?;
            let (status, said) = client(asks, port, &words("-u -b 10m -n 147000"))?;
            let theirs = heard(&mut listener, "the server's row", |text| text.contains('\n'))?;
            let fields: Vec<&str> = theirs.lines().next().unwrap_or_default().split(',').collect();
            let [bytes, lost, all] = [7, 10, 11].map(|field| fields.get(field).copied().unwrap_or_default());
            if status != 0 || [bytes, lost, all] != ["148470", "0", "101"] || !said.contains("0/101 (0%)") {
                return Err(format!("{asks:?} to {serves:?}: {theirs}\n{said}").into());
            }
        }
    }
    Ok(())
}

/// Connections that say a few words and fall silent are told and counted, and no thread waits for them.
fn few_words() -> Outcome {
    let port = free_port()?;
    let mut listener = server(Ours, port, &[])?;
    let threads = || std::fs::read_dir(format!("/proc/{}/task", listener.pid())).map(Iterator::count);
    let before = threads()?;
    let mut silent = Vec::new();
    for _ in 0..50 {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port))?;
        std::io::Write::write_all(&mut stream, &[b'0'; 100])?;
        silent.push(stream);
    }
    let connected = |text: &str| text.matches("connected with").count() == silent.len();
    wait::until("all to be heard", || connected(&listener.out()))?;
    // Others are served beside them.
    let (status, said) = client(Ours, port, &["-n", "1M"])?;
    let with = threads()?;
    if status != 0 || with > before + 2 {
        return Err(format!("{before} threads became {with}: {said}").into());
    }
    drop(silent);
    let told = |text: &str| text.matches("100 Bytes").count() == 50;
    heard(&mut listener, "what they said", told).map(drop).map_err(Into::into)
}

/// Blocks of many datagrams do not fit a buffer of a few KiB: the server, which alone knows it, says where they were lost,
/// and tells its client.
fn small_buffer() -> Outcome {
    let port = free_port()?;
    let mut listener = server_that_finds(port, &["-u", "-w", "4K"])?;
    let (status, said) = client_that_finds(port, &["-u", "-b", "1g", "-n", "200M"])?;
    let theirs = heard(&mut listener, "the server's total", |text| from_the_start(text) >= 1)?;
    let (_, all, lost) = datagrams(&theirs);
    if status != 0 || lost * 1000 < all {
        return Err(format!("nothing to find was staged: {said}\n{theirs}").into());
    }
    wait::until("the finding", || listener.err().contains("[27]"))
        .map_err(|why| format!("{why}: {}\n{theirs}", listener.err()))?;
    let named = |told: &str| {
        let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
        words.contains("[27]") && words.contains("found the receiver's buffer full") && words.contains("-w")
    };
    match named(&listener.err()) && named(&said) {
        true => Ok(()),
        false => Err(format!("{}\n{said}", listener.err()).into()),
    }
}

fn nobody() -> Outcome {
    let (status, said) = client(Ours, free_port()?, &["-t", "1"])?;
    if status != 1 || !said.contains("tcp connect failed: ") {
        return Err(format!("status {status}: {said}").into());
    }
    Ok(())
}

fn one_client() -> Outcome {
    let port = free_port()?;
    let listener = server(Ours, port, &["-1"])?;
    client(Ours, port, &["-n", "1M"])?;
    let said = listener.outcome()?;
    if said.code() != 0 || !said.all().contains("1.00 MBytes") {
        return Err(said.to_string().into());
    }
    Ok(())
}

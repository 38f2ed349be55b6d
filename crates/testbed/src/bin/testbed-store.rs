//! `testbed-store`: an object store with programmed behaviour, from the command line.
//!
//! For trying the clients of stores by hand, and for measuring them apart from the store. It serves until it is killed.

use std::time::Duration;

use testbed::store::{ACCESS_KEY, ObjectStore, SECRET_KEY, StoreFault, StoreOptions};

const USAGE: &str = "usage: testbed-store [--service MICROSECONDS] [--public] [--region NAME] [--ahead SECONDS] \
                     [--objects PREFIX COUNT BYTES] [--throttle EVERY] [--cut EVERY]";

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match by_hand(&arguments) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("testbed-store: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn by_hand(arguments: &[String]) -> Result<(), String> {
    let mut options = StoreOptions::default();
    let mut objects = Vec::new();
    let mut rest = arguments.iter();
    let mut next = || rest.next().cloned();
    let number = |word: Option<String>| word.and_then(|word| word.parse::<u64>().ok()).ok_or(USAGE);
    let fault = |every: u64, fault: StoreFault| {
        let asked = std::sync::atomic::AtomicU64::new(1);
        Box::new(move |_: &testbed::store::LoggedRequest| {
            let turn = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if turn.is_multiple_of(every.max(1)) { fault.clone() } else { StoreFault::None }
        })
    };
    while let Some(word) = next() {
        match word.as_str() {
            "--service" => options.service = Duration::from_micros(number(next())?),
            "--public" => options.is_public = true,
            "--region" => options.region = next().ok_or(USAGE)?,
            "--ahead" => options.ahead_s = number(next())? as i64,
            "--objects" => objects.push((next().ok_or(USAGE)?, number(next())?, number(next())?)),
            "--throttle" => options.program = fault(number(next())?, StoreFault::Status(503, "SlowDown")),
            "--cut" => options.program = fault(number(next())?, StoreFault::Cut),
            _ => return Err(USAGE.into()),
        }
    }
    options.keeps_log = false;
    let store = ObjectStore::start(options);
    for (prefix, count, bytes) in objects {
        (0..count).for_each(|item| store.put(&format!("{prefix}/{item}"), vec![7; bytes as usize]));
    }
    println!("export AWS_ENDPOINT_URL={} AWS_ACCESS_KEY_ID={ACCESS_KEY}", store.endpoint());
    println!("export AWS_SECRET_ACCESS_KEY='{SECRET_KEY}' # bucket `bucket`");
    loop {
        std::thread::park();
    }
}

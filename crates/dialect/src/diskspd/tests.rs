//! Command lines and profiles: what they mean, and what is refused.

use super::command::{Invocation, parse};
use super::options::{SETTERS, TABLE};
use super::profile;
use super::settings::{CacheMode, Profile, TargetAccess, Throughput, WriteContent};

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(String::from).collect()
}

fn parsed(line: &str) -> Profile {
    match parse(&words(line)) {
        Ok(Invocation::Run(profile)) => *profile,
        Ok(_) => panic!("{line}: no run"),
        Err(wrong) => panic!("{line}: {wrong}"),
    }
}

fn refusal(line: &str) -> String {
    parse(&words(line)).err().unwrap_or_else(|| panic!("{line} is taken")).to_string()
}

#[test]
fn the_table_names_each_option_once() {
    assert_eq!(TABLE.defects(), Vec::<String>::new());
    assert_eq!(SETTERS.len(), TABLE.entries.len());
}

#[test]
fn the_defaults_are_the_originals() {
    let profile = parsed("f");
    let (span, target) = (&profile.spans[0], &profile.spans[0].targets[0]);
    assert_eq!((span.duration_s, span.warm_up_s, span.seed, span.thread_count()), (10, 5, 0, 1));
    assert_eq!((target.block_bytes, target.requests, target.write_percent), (65536, 2, 0.0));
    assert_eq!(
        (target.cache, target.is_write_through, target.content),
        (CacheMode::Cached, false, WriteContent::Counting)
    );
}

#[test]
fn options_mean_what_they_say() {
    let profile =
        parsed("-b4K -d30 -W0 -o32 -t2 -r8K -w30 -Sh -L -D500 -Zr -g80i -f2b -B1b:1b -z7 -a0,2 a b");
    let (span, target) = (&profile.spans[0], &profile.spans[0].targets[1]);
    assert_eq!((span.duration_s, span.warm_up_s, span.seed, span.bucket_ms), (30, 0, 7, 500));
    assert_eq!((span.thread_count(), span.threads_of(1), span.affinity.clone()), (4, (2, 2), vec![0, 2]));
    assert!(span.shows_latency && span.shows_deviation);
    assert_eq!((target.cache, target.is_write_through), (CacheMode::Unbuffered, true));
    assert_eq!((target.base_bytes, target.length_bytes), (4096, Some(4096)));
    assert_eq!(
        (target.throughput, target.content),
        (Some(Throughput::Operations(80)), WriteContent::Random(None))
    );
    assert_eq!(
        target.access,
        TargetAccess::Random { align_bytes: Some(8192), percent: 100, distribution: Vec::new() }
    );
    assert_eq!(parsed("-S f").spans[0].targets[0].cache, CacheMode::Unbuffered);
    assert_eq!(parsed("-h f"), parsed("-Sh f"));
}

#[test]
fn what_windows_alone_has_is_refused_by_name() {
    let cases = [
        ("#1", "drives of Windows"),
        ("-b4K C:", "drives of Windows"),
        ("-ye f", "events and traces"),
        ("-eDISK_IO f", "events and traces"),
        ("-Sr f", "local cache"),
        ("-Nv f", "mapped memory"),
        ("-p -o4 f", "same place"),
        ("-agg1,0 f", "one group"),
    ];
    for (line, part) in cases {
        let said = refusal(line);
        assert!(said.contains(part) || said.contains("not supported"), "{line}: {said}");
    }
    // With one operation in flight it says nothing.
    parsed("-o1 -p f");
}

#[test]
fn wrong_words_are_refused_with_their_place() {
    for line in [
        "-b f",
        "-b0 f",
        "-bx f",
        "-b4Q f",
        "-b5G f",
        "-w101 f",
        "-w f",
        "-d0 f",
        "-d f",
        "-t0 f",
        "-o65537 f",
        "-q f",
        "-L1 f",
        "-r0 f",
        "-rs0 f",
        "-rdpct f",
        "-rdpct60/50:50/50 f",
        "-rdabs10/0 f",
        "-s0 f",
        "-s -si f",
        "-r -s f",
        "-t2 -F2 f",
        "-O4 f",
        "-i5 f",
        "-si -T1M f",
        "-Sx f",
        "-Z1M,file f",
        "-Rjson f",
        "-f f",
        "-B5M -f4M f",
        "-z-1 f",
        "-g0 f",
        "-ax f",
        "-d1 -d2 f",
        "-b4K",
        "-Xp -t2",
        "a{worker}",
    ] {
        let said = refusal(line);
        assert!(!said.is_empty() && !said.contains("panicked"), "{line}: {said}");
    }
    assert!(refusal("-b4Q f").contains("-b4Q"));
}

#[test]
fn profiles_come_back_as_they_were_printed() {
    for line in [
        "f",
        "-b4K -d30 -W0 -o32 -t2 -r8K -w30 -Sh -L -D500 -Zr -f1M -B4K -z7 -a0,2 a b",
        "-rs50 -rdpct10/5:60/20 -Sm -Z1M -fr -F4 -n -i4 -j5 -I1 -l -c1G f",
        "-rdabs10/1G:60/8G -Z -g1024 -C3 -T1M -Su -fs f",
        "-s128K -T1M -B64K:1M f",
    ] {
        let profile = parsed(line);
        let mut text = String::new();
        profile::element(&profile).print(0, &mut text);
        let again = profile::read(&text).unwrap_or_else(|wrong| panic!("{line}: {wrong:?}\n{text}"));
        let mut second = String::new();
        profile::element(&again).print(0, &mut second);
        assert_eq!(second, text, "{line}");
    }
}

#[test]
fn elements_that_are_not_known_are_refused_by_their_line() {
    let profile = |target: &str| {
        format!(
            "<?xml version=\"1.0\"?>\n<!-- a test -->\n<Profile><TimeSpans><TimeSpan><Targets><Target>\n<Path>a &amp; b</Path>\n{target}\n\
             </Target></Targets></TimeSpan></TimeSpans></Profile>"
        )
    };
    assert_eq!(profile::read(&profile("")).unwrap().spans[0].targets[0].path, "a & b");
    for wrong in [
        "<Nonsense>1</Nonsense>",
        "<BlockSize>x</BlockSize>",
        "<WriteThrough>maybe</WriteThrough>",
        "<ParallelAsyncIO>true</ParallelAsyncIO>",
    ] {
        let (line, message) = profile::read(&profile(wrong)).unwrap_err();
        assert_eq!(line, 5, "{wrong}: {message}");
    }
    for wrong in [
        "",
        "<Profile>",
        "<Profile></Profile>",
        "<Other/>",
        "<a><b></a></b>",
        "no XML",
        "<Profile/><Profile/>",
    ] {
        assert!(profile::read(wrong).is_err(), "{wrong}");
    }
    let deep = "<a>".repeat(100_000);
    assert!(profile::read(&deep).is_err());
}

//! The fitted load as a plan file (TOML) that `iodyno run` takes.

use std::fmt::Write;

use iodyno_model::Verb;

use super::{FittedJob, FittedLoad, FittedPlaces};

/// The text of a plan; `source` is what the trace is called.
pub fn plan_file(load: &FittedLoad, source: &str) -> String {
    let mut text = String::new();
    let mut line = |line: String| text.push_str(&(line + "\n"));
    line(format!("# A load that resembles the trace {}.", comment(source)));
    for note in &load.notes {
        line(format!("# Not as in the trace: {}.", comment(note)));
    }
    line("# Sizes of files are the trace's; parts of them are given as shares, so that other sizes can be named.".into());
    line("name = \"fitted\"".into());
    let mut files: Vec<&FittedJob> = Vec::new();
    for job in &load.jobs {
        if !files.iter().any(|known| known.file == job.file) {
            files.push(job);
        }
    }
    for job in &files {
        line(format!("\n# {}", comment(&job.name)));
        line(format!("[target.file{}]", job.file));
        line(format!("file = \"fitted-{}.dat\"", job.file));
        line(format!("size = {}", rounded_up(job.file_bytes, job.align)));
        line(format!("direct = {}", if is_direct(load, job.file) { "\"if possible\"" } else { "false" }));
        line("prepare = \"filled\"".into());
    }
    line("\n[[phase]]\nname = \"fitted\"".into());
    for job in &load.jobs {
        line(job_text(job, load.span_ns));
    }
    text
}

/// Text that ends no comment.
fn comment(text: &str) -> String {
    text.chars().map(|each| if each.is_control() { '?' } else { each }).collect()
}

fn rounded_up(bytes: u64, align: u64) -> u64 {
    bytes.checked_next_multiple_of(align.max(4096)).unwrap_or(bytes)
}

fn is_direct(load: &FittedLoad, file: u32) -> bool {
    load.jobs.iter().filter(|job| job.file == file).all(|job| job.direct)
}

/// A share without digits that say nothing.
fn share(percent: f64) -> String {
    let text = format!("{percent:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn job_text(job: &FittedJob, span_ns: u64) -> String {
    let kind = if job.sequential { "sequential" } else { "random" };
    let mut text =
        format!("\n[[phase.job]]\nname = \"file{} {kind}\"\non = \"file{}\"\n", job.file, job.file);
    let mut line = |key: &str, value: String| {
        let _ = writeln!(text, "{key} = {value}");
    };
    line("engine", "\"io_uring\"".into());
    line("depth", job.depth.to_string());
    let mix: Vec<String> =
        job.mix.iter().map(|(verb, percent)| format!("{verb} = {}", share(*percent))).collect();
    match job.mix.as_slice() {
        [(verb, _)] => line("do", format!("\"{verb}\"")),
        _ => line("mix", format!("{{ {} }}", mix.join(", "))),
    }
    line("block", sizes(job));
    line("align", job.align.to_string());
    line("pick", pick(job));
    if !job.sequential {
        line("repeats", "true".into());
    }
    if let Some((verb, every)) = job.sync {
        line("every", format!("{{ {verb} = {every} }}"));
    }
    let arrivals = &job.arrivals;
    line("rate", format!("\"{}/s\"", rate(arrivals.rate)));
    line("arrivals", if arrivals.poisson { "\"poisson\"".into() } else { "\"even\"".into() });
    if arrivals.together > 1 {
        line("burst", arrivals.together.to_string());
    }
    if arrivals.pause_ns > 0 {
        let pause = arrivals.pause_ns.div_ceil(1000);
        line("think", format!("{{ sleep = \"{pause}us\", every = {} }}", arrivals.burst));
        line("think_shifts_rate", "true".into());
    }
    line("until", format!("{{ time = \"{}ms\" }}", span_ns.div_ceil(1_000_000)));
    text.trim_end().to_string()
}

fn rate(per_second: f64) -> String {
    if per_second >= 100.0 { format!("{per_second:.0}") } else { share(per_second.max(0.0001)) }
}

fn table(sizes: &[(u64, f64)]) -> String {
    match sizes {
        [(bytes, _)] => bytes.to_string(),
        _ => {
            let sizes: Vec<String> =
                sizes.iter().map(|(bytes, percent)| format!("\"{bytes}\" = {}", share(*percent))).collect();
            format!("{{ split = {{ {} }} }}", sizes.join(", "))
        }
    }
}

fn sizes(job: &FittedJob) -> String {
    let of = |verb: Verb| job.sizes.iter().find(|(of, _)| *of == verb).map(|(_, sizes)| sizes);
    let any = job.sizes.first().map(|(_, sizes)| sizes.as_slice()).unwrap_or(&[(4096, 100.0)]);
    if job.sizes.len() < 2 {
        return table(any);
    }
    let direction = |verb: Verb| table(of(verb).map_or(any, |sizes| sizes.as_slice()));
    let (read, write, trim) = (direction(Verb::Read), direction(Verb::Write), direction(Verb::Trim));
    format!("{{ read = {read}, write = {write}, trim = {trim} }}")
}

fn pick(job: &FittedJob) -> String {
    let place = match &job.places {
        FittedPlaces::Sequential => return "\"sequential\"".into(),
        FittedPlaces::Zipf(theta) => format!("\"zipf:{theta}\""),
        FittedPlaces::Zones(zones) if zones.len() < 2 => "\"random\"".into(),
        FittedPlaces::Zones(zones) => {
            // Rounded downwards, so that all of them fit.
            let floor = |percent: f64| share((percent * 1e4).floor() / 1e4);
            let zones: Vec<String> = zones
                .iter()
                .map(|(extent, accesses)| {
                    format!("{{ accesses = {}, extent = \"{}%\" }}", share(*accesses), floor(*extent))
                })
                .collect();
            format!("{{ zones = [{}] }}", zones.join(", "))
        }
    };
    if job.run > 1 { format!("{{ runs = {}, pick = {place} }}", job.run) } else { place }
}

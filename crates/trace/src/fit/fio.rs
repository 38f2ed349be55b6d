//! The fitted load as a job file that fio 3.33 and later take.

use std::fmt::Write;

use iodyno_model::Verb;

use super::{FittedJob, FittedLoad, FittedPlaces};

/// The text of a job file, with what fio cannot say as comments; `source` is what the trace is called.
pub fn job_file(load: &FittedLoad, source: &str) -> String {
    let clean =
        |text: &str| text.chars().map(|each| if each.is_control() { '?' } else { each }).collect::<String>();
    let mut text = format!("; A load that resembles the trace {}.\n", clean(source));
    for note in &load.notes {
        let _ = writeln!(text, "; Not as in the trace: {}.", clean(note));
    }
    if load.jobs.iter().any(|job| job.arrivals.poisson && job.sync.is_some()) {
        text += "; Not as in the trace: jobs with syncs have even arrivals, because fio 3.33 ends by a signal where they are drawn.\n";
    }
    let seconds = load.span_ns.div_ceil(1_000_000_000).max(1);
    let _ = writeln!(
        text,
        "[global]\nioengine=libaio\ntime_based=1\nruntime={seconds}\nnorandommap=1\nrandrepeat=1\n"
    );
    for job in &load.jobs {
        text.push_str(&section(job));
    }
    text
}

fn section(job: &FittedJob) -> String {
    let kind = if job.sequential { "sequential" } else { "random" };
    let clean: String = job.name.chars().map(|each| if each.is_control() { '?' } else { each }).collect();
    let mut text = format!("; {clean}\n");
    let of = |verb: Verb| job.mix.iter().find(|(of, _)| *of == verb).map_or(0.0, |(_, share)| *share);
    let (read, write, trim) = (of(Verb::Read), of(Verb::Write), of(Verb::Trim));
    if trim > 0.0 {
        let _ = writeln!(text, "; Left out, because fio trims devices only: {trim:.1} % trims.");
    }
    let _ = writeln!(text, "[file{}-{kind}]", job.file);
    let mut line = |key: &str, value: String| {
        let _ = writeln!(text, "{key}={value}");
    };
    line("filename", format!("fitted-{}.dat", job.file));
    // fio refuses a file that is smaller than a block.
    let largest =
        job.sizes.iter().flat_map(|(_, sizes)| sizes.iter().map(|(bytes, _)| *bytes)).max().unwrap_or(4096);
    line("size", job.file_bytes.max(largest).next_multiple_of(job.align.max(4096)).to_string());
    line("direct", u8::from(job.direct && job.align.is_multiple_of(512)).to_string());
    let random = if job.sequential { "" } else { "rand" };
    let (rw, is_mixed) = match (read > 0.0, write > 0.0) {
        (true, true) => (format!("{random}rw"), true),
        (false, true) => (format!("{random}write"), false),
        _ => (format!("{random}read"), false),
    };
    let run = if job.run > 1 { format!(":{}", job.run) } else { String::new() };
    line("rw", format!("{rw}{run}"));
    if is_mixed {
        line("rwmixread", format!("{:.0}", read / (read + write) * 100.0));
    }
    line("bssplit", format!("{},{}", split(job, Verb::Read), split(job, Verb::Write)));
    line("blockalign", job.align.to_string());
    match &job.places {
        FittedPlaces::Zones(zones) if zones.len() > 1 => line("random_distribution", zoned(zones)),
        FittedPlaces::Zipf(theta) => line("random_distribution", format!("zipf:{theta}")),
        _ => {}
    }
    line("iodepth", job.depth.to_string());
    if let Some((verb, every)) = job.sync {
        line(verb.name(), every.to_string());
    }
    let share = |part: f64| ((job.arrivals.rate * part / (read + write).max(1.0)).round() as u64).max(1);
    match is_mixed {
        true => line("rate_iops", format!("{},{}", share(read), share(write))),
        false => line("rate_iops", share(read + write).to_string()),
    }
    // fio 3.33 divides by the rate of syncs, which is 0, where arrivals are drawn.
    let is_drawn = job.arrivals.poisson && job.sync.is_none();
    line("rate_process", if is_drawn { "poisson".into() } else { "linear".into() });
    if job.arrivals.pause_ns > 0 {
        line("thinktime", job.arrivals.pause_ns.div_ceil(1000).min(i32::MAX as u64).to_string());
        line("thinktime_blocks", job.arrivals.burst.min(i32::MAX as u64).to_string());
        line("rate_ignore_thinktime", "1".into());
    }
    text + "\n"
}

/// Whole percentages that sum to 100: what is missing goes to those that lost most by rounding.
fn whole(shares: &[f64]) -> Vec<u32> {
    let total = shares.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let exact: Vec<f64> = shares.iter().map(|share| share / total * 100.0).collect();
    let mut whole: Vec<u32> = exact.iter().map(|share| share.floor() as u32).collect();
    let mut order: Vec<usize> = (0..exact.len()).collect();
    order.sort_by(|a, b| (exact[*b].fract()).total_cmp(&exact[*a].fract()));
    let missing = 100 - whole.iter().sum::<u32>().min(100);
    order
        .into_iter()
        .cycle()
        .take(if whole.is_empty() { 0 } else { missing as usize })
        .for_each(|at| whole[at] += 1);
    whole
}

fn split(job: &FittedJob, verb: Verb) -> String {
    let sizes = job.sizes.iter().find(|(of, _)| *of == verb).or_else(|| job.sizes.first());
    let Some((_, sizes)) = sizes else { return "4096/100".into() };
    let shares: Vec<f64> = sizes.iter().map(|(_, share)| *share).collect();
    let parts = sizes.iter().zip(whole(&shares)).filter(|(_, share)| *share > 0);
    parts.map(|((bytes, _), share)| format!("{bytes}/{share}")).collect::<Vec<_>>().join(":")
}

/// Zones in whole percent of the file and of the accesses; fio has no finer ones.
fn zoned(zones: &[(f64, f64)]) -> String {
    let mut bands = [0.0f64; 100];
    let mut start = 0.0;
    for (extent, accesses) in zones {
        for (band, share) in bands.iter_mut().enumerate() {
            let overlap = (start + extent).min(band as f64 + 1.0) - start.max(band as f64);
            *share += overlap.max(0.0) / extent.max(f64::MIN_POSITIVE) * accesses;
        }
        start += extent;
    }
    // Bands of the same zone stay together.
    let mut edges: Vec<usize> = vec![0];
    let mut end = 0.0;
    for (extent, _) in zones {
        end += extent;
        let edge = (end.round() as usize).min(100);
        if edge > edges[edges.len() - 1] {
            edges.push(edge);
        }
    }
    let sums: Vec<f64> = edges.windows(2).map(|pair| bands[pair[0]..pair[1]].iter().sum()).collect();
    let parts = edges.windows(2).zip(whole(&sums));
    let parts: Vec<String> = parts.map(|(pair, share)| format!("{share}/{}", pair[1] - pair[0])).collect();
    format!("zoned:{}", parts.join(":"))
}

//! What a job's engine counted of requests to a store: attempts, connections, the times of their parts, and each answer
//! other than success by its name.

use std::collections::BTreeMap;

use iodyno_model::{Histogram, JobRecord};

use crate::number;

/// What the names of answers other than success begin with.
const ANSWER: &str = "answer.";
/// What those of an endpoint begin with.
const ENDPOINT: &str = "endpoint.";

/// Lines on a job's requests; none where its engine sends none.
pub(crate) fn lines(job: &JobRecord) -> Vec<String> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, count) in job.workers.iter().flat_map(|worker| &worker.facts) {
        *counts.entry(name).or_default() += count;
    }
    let Some(requests) = counts.get("requests").copied() else { return Vec::new() };
    let of = |name: &str| counts.get(name).copied().unwrap_or(0);
    let mut words = vec![
        format!("{} requests", number::thousands(requests)),
        format!(
            "{} connections opened, used again {} times",
            number::thousands(of("connections.opened")),
            number::thousands(of("connections.reused"))
        ),
    ];
    for (name, what) in [
        ("requests.parts", "of them parts of objects"),
        ("requests.throttled", "answered as too busy"),
        ("requests.retried", "tried again"),
        ("connections.stale", "sent again because the store had closed the kept connection"),
        ("connections.broken", "connections refused, cut or silent"),
        ("answers.cached", "answered by a cache"),
        ("handshakes.resumed", "TLS sessions with the keys of one before"),
    ] {
        if of(name) > 0 {
            words.push(format!("{} {what}", number::thousands(of(name))));
        }
    }
    let mut lines = vec![words.join(" · ")];
    let named = [
        ("connect", "connect"),
        ("handshake", "TLS handshake"),
        ("first_byte", "first byte"),
        ("body", "body"),
    ];
    let parts: Vec<String> = named
        .into_iter()
        .filter_map(|(name, label)| Some(format!("{label} {}", times(&spread(job, name)?))))
        .collect();
    if !parts.is_empty() {
        lines.push(format!("times: {}", parts.join(" · ")));
    }
    let endpoints: Vec<_> = counts
        .iter()
        .filter_map(|(name, count)| {
            let endpoint = name.strip_prefix(ENDPOINT)?.strip_suffix("/requests")?;
            let failed = of(&format!("{ENDPOINT}{endpoint}/failed"));
            let failed = match failed {
                0 => String::new(),
                failed => format!(" ({} refused, cut or silent)", number::thousands(failed)),
            };
            Some(format!("{endpoint} ×{}{failed}", number::thousands(*count)))
        })
        .collect();
    if !endpoints.is_empty() {
        lines.push(format!("endpoints: {}", endpoints.join(", ")));
    }
    let answers = counts.iter().filter_map(|(name, count)| Some((name.strip_prefix(ANSWER)?, count)));
    let answers: Vec<_> = answers
        .map(|(name, count)| format!("{} ×{}", name.replace('.', " "), number::thousands(*count)))
        .collect();
    if !answers.is_empty() {
        lines.push(format!("answers: {}", answers.join(", ")));
    }
    lines
}

fn times(histogram: &Histogram) -> String {
    let mean = number::latency(histogram.mean());
    match number::percentile(histogram, 99.0) {
        Some(_) => format!("mean {mean}, p99 {}", number::percentile_text(histogram, 99.0)),
        None => format!("mean {mean}"),
    }
}

/// Times of that name of all workers.
fn spread(job: &JobRecord, name: &str) -> Option<Histogram> {
    let all = job.workers.iter().flat_map(|worker| &worker.spreads).filter(|(known, _)| known == name);
    all.map(|(_, times)| times.clone()).reduce(|mut sum, times| {
        sum.merge(&times);
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::WorkerRecord;

    #[test]
    fn attempts_connections_and_answers_are_named() {
        let fact = |name: &str, count| (name.to_string(), count);
        let mut times = Histogram::default();
        times.add(2_000_000);
        let worker = WorkerRecord {
            facts: vec![
                fact("requests", 1200),
                fact("connections.opened", 4),
                fact("connections.reused", 1196),
                fact("requests.throttled", 3),
                fact("answer.503.SlowDown", 3),
                fact("answer.none.Cut", 1),
                fact("endpoint.http://a:9000/requests", 1100),
                fact("endpoint.http://b:9000/requests", 100),
                fact("endpoint.http://b:9000/failed", 1),
            ],
            spreads: vec![("first_byte".into(), times)],
            ..WorkerRecord::default()
        };
        let job = JobRecord { workers: vec![worker], ..JobRecord::default() };
        assert_eq!(
            lines(&job),
            [
                "1,200 requests · 4 connections opened, used again 1,196 times · 3 answered as too busy",
                "times: first byte mean 2.00 ms",
                "endpoints: http://a:9000 ×1,100, http://b:9000 ×100 (1 refused, cut or silent)",
                "answers: 503 SlowDown ×3, none Cut ×1",
            ]
        );
        assert_eq!(lines(&JobRecord::default()), Vec::<String>::new());
    }
}

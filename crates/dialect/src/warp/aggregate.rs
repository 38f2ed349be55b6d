//! What requests come to, as warp reckons it: sums, seconds, and times by windows of ten seconds.
//!
//! Facts of warp 1: seconds are those of the clock; a request counts in each second that it touches by the part of its
//! time that lies there; the first two seconds and the last two are left out. Times of requests are taken of each window
//! by the end of requests, and their means over the windows are told; the fastest and the slowest are of all.

use std::collections::BTreeMap;

use super::requests::WarpRequest;

const SECOND: u64 = 1_000_000_000;

/// Seconds that are left out at both ends.
const LEFT_OUT: usize = 2;

/// Length of a window, s.
pub const WINDOW_S: u64 = 10;

/// Errors that are told in their own words.
const FIRST_ERRORS: usize = 10;

/// The sums of a run, by what was done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    pub command: String,
    pub by_kind: BTreeMap<String, KindSums>,
    /// Of all together.
    pub total: KindSums,
}

/// The sums of one kind of requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KindSums {
    pub requests: u64,
    pub objects: u64,
    pub errors: u64,
    pub bytes: u64,
    pub threads: u32,
    /// ns since 1970.
    pub began: u64,
    pub ended: u64,
    pub first_errors: Vec<String>,
    pub hosts: BTreeMap<String, HostSums>,
    /// The whole seconds; none: too few.
    pub seconds: Option<Seconds>,
    pub windows: Vec<Window>,
}

/// The sums of one host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostSums {
    pub requests: u64,
    pub objects: u64,
    pub bytes: u64,
    pub errors: u64,
    pub began: u64,
    pub ended: u64,
}

/// Seconds of the clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seconds {
    /// The first, s since 1970.
    pub first_s: u64,
    pub requests: u64,
    pub errors: u64,
    pub bytes: f64,
    pub objects: f64,
    /// Bytes and objects of each.
    pub each: Vec<SecondRate>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SecondRate {
    pub at_s: u64,
    /// Bytes per second, rounded.
    pub bytes: f64,
    /// Objects per second, to two places.
    pub objects: f64,
    pub errors: u64,
}

/// Requests that ended in a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    pub at_s: u64,
    pub requests: u64,
    /// Of the first request.
    pub object_bytes: u64,
    pub times: RequestTimes,
    pub first_byte: Option<FirstByteTimes>,
}

/// Times of requests, ms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RequestTimes {
    pub mean: f64,
    pub median: f64,
    pub p90: f64,
    pub p99: f64,
    pub fastest: f64,
    pub slowest: f64,
    pub deviation: f64,
}

/// Times until answers began, ms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FirstByteTimes {
    pub times: RequestTimes,
    pub p25: f64,
    pub p75: f64,
}

/// The place of a part of a sorted list: rounded, as far as there is one.
fn at(part: f64, count: usize) -> usize {
    ((count as f64 * part).round() as usize).min(count.saturating_sub(1))
}

impl RequestTimes {
    /// Of durations in ns, which are sorted.
    fn of(sorted: &[u64]) -> RequestTimes {
        let ms = |part: f64| sorted.get(at(part, sorted.len())).map_or(0.0, |ns| *ns as f64 / 1e6);
        let count = sorted.len().max(1) as f64;
        let mean = sorted.iter().map(|ns| *ns as f64).sum::<f64>() / count / 1e6;
        let squares: f64 = sorted.iter().map(|ns| (*ns as f64 / 1e6 - mean).powi(2)).sum();
        RequestTimes {
            mean,
            median: ms(0.5),
            p90: ms(0.9),
            p99: ms(0.99),
            fastest: ms(0.0),
            slowest: ms(1.0),
            deviation: (squares / count).sqrt(),
        }
    }

    /// The means over windows; the fastest and the slowest are of all.
    fn over(each: &[RequestTimes]) -> RequestTimes {
        let mean = |of: fn(&RequestTimes) -> f64| each.iter().map(of).sum::<f64>() / each.len().max(1) as f64;
        RequestTimes {
            mean: mean(|times| times.mean),
            median: mean(|times| times.median),
            p90: mean(|times| times.p90),
            p99: mean(|times| times.p99),
            fastest: each.iter().map(|times| times.fastest).fold(f64::INFINITY, f64::min),
            slowest: each.iter().map(|times| times.slowest).fold(0.0, f64::max),
            deviation: mean(|times| times.deviation),
        }
    }
}

impl KindSums {
    /// The times over all windows; none: no request ended.
    pub fn times(&self) -> Option<RequestTimes> {
        let each: Vec<_> = self.windows.iter().map(|window| window.times).collect();
        (!each.is_empty()).then(|| RequestTimes::over(&each))
    }

    /// The times until answers began.
    pub fn first_byte(&self) -> Option<FirstByteTimes> {
        let each: Vec<_> = self.windows.iter().filter_map(|window| window.first_byte).collect();
        let times: Vec<_> = each.iter().map(|one| one.times).collect();
        let mean = |of: fn(&FirstByteTimes) -> f64| each.iter().map(of).sum::<f64>() / each.len() as f64;
        (!each.is_empty()).then(|| FirstByteTimes {
            times: RequestTimes::over(&times),
            p25: mean(|one| one.p25),
            p75: mean(|one| one.p75),
        })
    }

    fn of(requests: &[&WarpRequest]) -> KindSums {
        let mut sums = KindSums { began: u64::MAX, ..KindSums::default() };
        let mut threads = std::collections::BTreeSet::new();
        for request in requests {
            sums.requests += 1;
            sums.objects += request.objects;
            sums.bytes += request.bytes;
            sums.began = sums.began.min(request.began);
            sums.ended = sums.ended.max(request.ended);
            threads.insert((request.client.as_str(), request.thread));
            let failed = u64::from(!request.error.is_empty());
            sums.errors += failed;
            if failed > 0 && sums.first_errors.len() < FIRST_ERRORS {
                sums.first_errors.push(request.error.clone());
            }
            let host = sums
                .hosts
                .entry(request.host.clone())
                .or_insert(HostSums { began: u64::MAX, ..HostSums::default() });
            host.requests += 1;
            host.objects += request.objects;
            host.bytes += request.bytes;
            host.errors += failed;
            host.began = host.began.min(request.began);
            host.ended = host.ended.max(request.ended);
        }
        sums.threads = threads.len() as u32;
        sums.seconds = seconds(requests);
        sums.windows = windows(requests);
        sums
    }

    /// Adds failures that nobody wrote down one by one.
    pub fn add_failures(&mut self, count: u64, words: String) {
        self.errors += count;
        self.requests += count;
        if count > 0 && self.first_errors.len() < FIRST_ERRORS {
            self.first_errors.push(words);
        }
        if let Some(seconds) = &mut self.seconds {
            seconds.errors += count;
        }
    }
}

/// What requests come to; all of them in the order in which they began.
pub fn sums(requests: &[WarpRequest], command: &str) -> Sums {
    let mut kinds: BTreeMap<&str, Vec<&WarpRequest>> = BTreeMap::new();
    requests.iter().for_each(|request| kinds.entry(&request.kind).or_default().push(request));
    Sums {
        command: command.into(),
        by_kind: kinds.iter().map(|(kind, requests)| (kind.to_string(), KindSums::of(requests))).collect(),
        total: KindSums::of(&requests.iter().collect::<Vec<_>>()),
    }
}

impl Sums {
    /// Whether all kinds of requests were made at the same time.
    pub fn is_mixed(&self) -> bool {
        let kinds: Vec<_> = self.by_kind.values().collect();
        let overlap = |a: &KindSums, b: &KindSums| a.began <= b.ended && b.began <= a.ended;
        kinds.len() > 1 && kinds.iter().all(|a| kinds.iter().all(|b| overlap(a, b)))
    }
}

/// The seconds of requests, without those at both ends; none: too few.
fn seconds(requests: &[&WarpRequest]) -> Option<Seconds> {
    let first = requests.iter().map(|request| request.began / SECOND).min()?;
    let last = requests.iter().map(|request| request.ended / SECOND).max()?;
    let count = usize::try_from(last - first + 1).ok()?;
    if count <= LEFT_OUT * 2 {
        return None;
    }
    let mut all = vec![SecondRate::default(); count];
    let mut begun = vec![0; count];
    for request in requests {
        let (from, to) =
            ((request.began / SECOND - first) as usize, (request.ended / SECOND - first) as usize);
        begun[from] += 1;
        all[from].errors += u64::from(!request.error.is_empty());
        for (place, second) in all.iter_mut().enumerate().take(to + 1).skip(from) {
            let begin = (first + place as u64) * SECOND;
            let inside = request.ended.min(begin + SECOND).saturating_sub(request.began.max(begin));
            let part = if from == to { 1.0 } else { inside as f64 / request.duration().max(1) as f64 };
            second.bytes += request.bytes as f64 * part;
            second.objects += request.objects as f64 * part;
        }
    }
    let whole = LEFT_OUT..count - LEFT_OUT;
    let sum = |of: fn(&SecondRate) -> f64| all[whole.clone()].iter().map(of).sum();
    let rounded = |(place, second): (usize, &SecondRate)| SecondRate {
        at_s: first + place as u64,
        bytes: second.bytes.round(),
        objects: (second.objects * 100.0).round() / 100.0,
        errors: second.errors,
    };
    Some(Seconds {
        first_s: first + LEFT_OUT as u64,
        requests: begun[whole.clone()].iter().sum(),
        errors: all[whole.clone()].iter().map(|second| second.errors).sum(),
        bytes: sum(|second| second.bytes),
        objects: sum(|second| second.objects),
        each: all.iter().enumerate().skip(LEFT_OUT).take(whole.len()).map(rounded).collect(),
    })
}

impl Seconds {
    /// Bytes per second.
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes / self.each.len().max(1) as f64
    }

    pub fn objects_per_s(&self) -> f64 {
        self.objects / self.each.len().max(1) as f64
    }

    /// The fastest second, the median, and the slowest: by bytes, or by objects where none moved.
    pub fn ranked(&self) -> [SecondRate; 3] {
        let mut order = self.each.clone();
        let by_bytes = self.bytes > 0.0;
        order.sort_by(|a, b| match by_bytes {
            true => a.bytes.total_cmp(&b.bytes),
            false => a.objects.total_cmp(&b.objects),
        });
        [1.0, 0.5, 0.0].map(|part| order.get(at(part, order.len())).copied().unwrap_or_default())
    }
}

/// The windows of requests, by their ends.
fn windows(requests: &[&WarpRequest]) -> Vec<Window> {
    let Some(first) = requests.iter().map(|request| request.ended / SECOND).min() else { return Vec::new() };
    let mut by_window: BTreeMap<u64, Vec<&WarpRequest>> = BTreeMap::new();
    for request in requests {
        by_window.entry((request.ended / SECOND - first) / WINDOW_S).or_default().push(request);
    }
    let window = |(place, requests): (u64, Vec<&WarpRequest>)| {
        let mut times: Vec<u64> = requests.iter().map(|request| request.duration()).collect();
        times.sort_unstable();
        let begun = |request: &&WarpRequest| Some(request.first_byte?.saturating_sub(request.began));
        let mut answered: Vec<u64> = requests.iter().filter_map(begun).collect();
        answered.sort_unstable();
        let ms = |part: f64| answered.get(at(part, answered.len())).map_or(0.0, |ns| *ns as f64 / 1e6);
        Window {
            at_s: first + place * WINDOW_S,
            requests: requests.len() as u64,
            object_bytes: requests.first().map_or(0, |request| request.bytes),
            times: RequestTimes::of(&times),
            first_byte: (!answered.is_empty()).then(|| FirstByteTimes {
                times: RequestTimes::of(&answered),
                p25: ms(0.25),
                p75: ms(0.75),
            }),
        }
    };
    by_window.into_iter().map(window).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(began_ms: u64, ended_ms: u64, thread: u32) -> WarpRequest {
        WarpRequest {
            kind: "GET".into(),
            thread,
            objects: 1,
            bytes: 1000,
            host: "http://h".into(),
            began: began_ms * 1_000_000,
            first_byte: Some((began_ms + (ended_ms - began_ms) / 2) * 1_000_000),
            ended: ended_ms * 1_000_000,
            ..WarpRequest::default()
        }
    }

    #[test]
    fn two_seconds_at_both_ends_are_left_out_and_parts_count_by_their_time() {
        // One request each half second, from 1000 s on; one goes over from the fourth second to the fifth.
        let mut all: Vec<_> =
            (0..14).map(|number| request(1_000_000 + number * 500, 1_000_400 + number * 500, 0)).collect();
        all.push(request(1_003_800, 1_004_600, 1));
        let seconds = sums(&all, "").by_kind["GET"].seconds.clone().unwrap();
        assert_eq!((seconds.first_s, seconds.each.len()), (1002, 3));
        let objects: Vec<_> = seconds.each.iter().map(|second| second.objects).collect();
        assert_eq!(objects, [2.0, 2.25, 2.75]);
        assert!((seconds.objects_per_s() - 7.0 / 3.0).abs() < 1e-9);
        let [fastest, median, slowest] = seconds.ranked().map(|second| second.at_s);
        assert_eq!((fastest, median, slowest), (1004, 1004, 1002));
    }

    #[test]
    fn four_seconds_are_too_few() {
        let all: Vec<_> = (0..8).map(|number| request(number * 500, number * 500 + 400, 0)).collect();
        assert_eq!(sums(&all, "").by_kind["GET"].seconds, None);
    }

    #[test]
    fn times_are_means_over_windows() {
        // Ten requests of 1 to 10 ms in the first window, one of 100 ms in the second.
        let mut all: Vec<_> = (1..=10).map(|ms| request(1000, 1000 + ms, ms as u32)).collect();
        all.push(request(12_000, 12_100, 0));
        let sums = sums(&all, "");
        let times = sums.by_kind["GET"].times().unwrap();
        assert_eq!((times.median, times.fastest, times.slowest), ((6.0 + 100.0) / 2.0, 1.0, 100.0));
        assert_eq!((times.mean, times.p90), ((5.5 + 100.0) / 2.0, (10.0 + 100.0) / 2.0));
        assert_eq!(sums.by_kind["GET"].threads, 11);
        assert!(!sums.is_mixed());
    }
}

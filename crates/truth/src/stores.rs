//! Lies 34 to 40, and what a store adds to 10 and 15: what stood between the requests and the store's own speed.
//!
//! Proof: what the engine counted of its own requests, connections and answers, by name. An engine that sends no requests
//! counts none, and is not judged here.

use iodyno_model::{
    Figure, FindingKind, Intent, Job, JobRecord, Remedy, Severity, TargetKind, Workload, units,
};

use crate::case::PhaseEvidence;
use crate::merge::Suspicion;

/// Share of turned-away requests from which a rate is a limit's, percent. Chosen: retries of one in a hundred are lost in the
/// noise; `a_store_that_turns_requests_away` stands on both sides.
const THROTTLED_PERCENT: f64 = 1.0;
/// So many turned-away requests at least. Chosen: one may be a restart; `a_store_that_turns_requests_away` stands on both
/// sides.
const THROTTLED_LEAST: u64 = 3;
/// So many times as often as all others a prefix is turned away whose shard is the limit. Chosen: chance spreads evenly;
/// `a_prefix_that_is_turned_away_alone` stands on both sides.
const CROWDED_TIMES: f64 = 3.0;
/// So many turned-away requests of that prefix at least, and requests of the others. Chosen: enough that the ratio is no
/// chance; `a_prefix_that_is_turned_away_alone` stands on both sides.
const CROWDED_LEAST: u64 = 10;
/// Share of answers of an intermediary that are told, percent. Chosen: a single one is a redirect of the way;
/// `a_proxy_that_retries_is_told_apart_from_one_that_passes_on` stands on both sides.
const VIA_PERCENT: f64 = 1.0;
/// Shares of reads that a cache answered, percent: beyond the first the figure is doubted, beyond the second it is the
/// cache's. Chosen: as for reads from the page cache, most of it; `a_cache_before_a_store` stands on both sides.
const CACHED_PERCENT: (f64, f64) = (5.0, 50.0);
/// So many times quicker the first byte of a repeated read is that a cache answers. Chosen: storage is slower than memory
/// by more, and noise by less; `a_second_read_that_is_much_faster` stands on both sides.
const AGAIN_TIMES: f64 = 3.0;
/// And by so much, ns. Chosen: below it a turn of the scheduler explains it; `a_second_read_that_is_much_faster` stands on
/// both sides.
const AGAIN_NS: f64 = 2e6;
/// First and repeated reads, each. Chosen: means of fewer are chance; `a_second_read_that_is_much_faster` stands on both
/// sides.
const AGAIN_LEAST: u64 = 30;
/// The store's clock may differ so far, s. Chosen: dates are whole seconds, answers late by some, and stores refuse
/// what is 15 minutes off; `a_store_whose_clock_differs` stands on both sides.
const SKEW_S: u64 = 30;
/// Share of requests with a connection of their own, percent. Chosen: half of them; `a_connection_for_each_request` stands
/// on both sides.
const FRESH_PERCENT: f64 = 50.0;
/// So many requests for each connection in flight, at least. Chosen: the first of each opens one;
/// `a_connection_for_each_request` stands on both sides.
const FRESH_REQUESTS: u64 = 4;
/// Bytes whose content nobody checked. Chosen: a wrong bit in less is hardly met; `content_that_nobody_checks` stands on both
/// sides.
const UNCHECKED_BYTES: u64 = 1 << 30;
/// The shortest part that is not small, bytes. Source: AWS CLI, `multipart_chunksize`, 8 MB by default.
const SMALL_PART_BYTES: u64 = 8_000_000;
/// Share of the time that one connection took to carry bodies, from which it is the limit, percent. Chosen: most of it;
/// `one_connection_is_a_limit_of_its_own` stands on both sides.
const BODY_PERCENT: f64 = 80.0;
/// Bytes of an operation whose body is most of it. Chosen: well above what a window of 64 KiB holds;
/// `one_connection_is_a_limit_of_its_own` stands on both sides.
const BODY_BYTES: u64 = 1 << 20;

/// Share of the workers' time on the processor from which enciphering without instructions slows them, percent. Chosen: it is
/// most of what TLS costs; `ciphers_without_instructions` stands on both sides.
const CIPHER_PERCENT: f64 = 50.0;

/// What stood before the store in this phase.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    let mut found = Vec::new();
    for (job, record) in case.storage_jobs() {
        let sent = StoreRequests { record };
        if sent.of("requests") == 0 {
            continue;
        }
        let seen = StoreJob { case, job, record, sent };
        let crowded = seen.crowded();
        found.extend(seen.throttled());
        found.extend(crowded);
        found.extend(seen.intermediary());
        found.extend(seen.cached());
        found.extend(seen.skewed());
        found.extend(seen.fresh());
        found.extend(seen.unchecked());
        found.extend(seen.small_parts());
        found.extend(seen.one_connection());
        found.extend(seen.unaided_ciphers());
    }
    found
}

/// Whether a job's engine sends requests to a store.
pub fn sends_requests(record: &JobRecord) -> bool {
    StoreRequests { record }.of("requests") > 0
}

/// What the workers' engines counted.
#[derive(Clone, Copy)]
struct StoreRequests<'a> {
    record: &'a JobRecord,
}

impl StoreRequests<'_> {
    fn each(&self, name: &str) -> impl Iterator<Item = u64> {
        let facts = self.record.workers.iter().flat_map(|worker| &worker.facts);
        facts.filter(move |(known, _)| known == name).map(|(_, count)| *count)
    }

    fn of(&self, name: &str) -> u64 {
        self.each(name).sum()
    }

    fn most(&self, name: &str) -> u64 {
        self.each(name).max().unwrap_or(0)
    }
}

/// A job with its requests.
struct StoreJob<'a> {
    case: &'a PhaseEvidence<'a>,
    job: &'a Job,
    record: &'a JobRecord,
    sent: StoreRequests<'a>,
}

impl StoreJob<'_> {
    fn suspicion(
        &self,
        kind: FindingKind,
        severity: Severity,
        text: String,
        figures: Vec<Figure>,
    ) -> Suspicion {
        Suspicion::new(kind, severity, self.case.label(), text, figures).job(&self.record.name)
    }

    fn setting(&self, name: &str) -> Option<&str> {
        let found = self.job.settings.iter().find(|setting| setting.name == name);
        found.map(|setting| setting.value.as_str())
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.setting(name).and_then(|value| value.parse().ok())
    }

    /// Connections that may be in flight together.
    fn lanes(&self) -> u64 {
        let workers = self.record.workers.len().max(self.job.workers as usize) as u64;
        workers * u64::from(self.record.depth.max(1)) * self.number("parts_at_once").unwrap_or(1)
    }

    fn throttled(&self) -> Option<Suspicion> {
        let (requests, throttled) = (self.sent.of("requests"), self.sent.of("requests.throttled"));
        let percent = percent(throttled, requests);
        if throttled < THROTTLED_LEAST || percent < THROTTLED_PERCENT {
            return None;
        }
        let text = format!(
            "{throttled} of {requests} requests were turned away as too many (503 or 429): the rate is that of a limit for \
             this client, not of the storage"
        );
        let figures = vec![
            Figure::new("turned away", percent, "%"),
            Figure::new("requests turned away", throttled as f64, ""),
            Figure::new("tried again", self.sent.of("requests.retried") as f64, ""),
        ];
        let found = self.suspicion(FindingKind::StoreThrottled, Severity::Doubtful, text, figures);
        let share = percent / 100.0;
        Some(found.remedy(Remedy::LowerConcurrency).weight(percent).takes(share).needs(share))
    }

    /// Requests and turned-away ones of each prefix, in words.
    fn prefixes(&self) -> Vec<(String, u64, u64)> {
        let mut all: Vec<(String, u64, u64)> = Vec::new();
        for worker in &self.record.workers {
            let of = |index: usize, what: &str| {
                let name = format!("prefix.{index}.{what}");
                worker.facts.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count)
            };
            for (index, target) in self.case.targets(self.job).enumerate() {
                let TargetKind::Bucket { url, .. } = &target.kind else { continue };
                let url = url.replace("{worker}", &worker.index.to_string());
                let (requests, throttled) = (of(index, "requests"), of(index, "throttled"));
                match all.iter_mut().find(|(known, ..)| *known == url) {
                    Some((_, all, away)) => (*all, *away) = (*all + requests, *away + throttled),
                    None => all.push((url, requests, throttled)),
                }
            }
        }
        all
    }

    fn crowded(&self) -> Option<Suspicion> {
        let prefixes = self.prefixes();
        let share = |(_, requests, throttled): &(String, u64, u64)| percent(*throttled, *requests);
        let worst = prefixes.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
        let rest = prefixes.iter().filter(|other| other.0 != worst.0);
        let (requests, throttled) =
            rest.fold((0, 0), |(all, away), (_, requests, throttled)| (all + requests, away + throttled));
        let (here, elsewhere) = (share(worst), percent(throttled, requests));
        if worst.2 < CROWDED_LEAST || requests < CROWDED_LEAST || here < CROWDED_TIMES * elsewhere {
            return None;
        }
        let text = format!(
            "{here:.0} % of the requests below {} were turned away, and {elsewhere:.1} % of those elsewhere: the shard of \
             that prefix was the limit, not the store",
            worst.0
        );
        let figures = vec![
            Figure::new("turned away there", here, "%"),
            Figure::new("turned away elsewhere", elsewhere, "%"),
            Figure::new("prefixes", prefixes.len() as f64, ""),
        ];
        let found = self.suspicion(FindingKind::CrowdedShard, Severity::Doubtful, text, figures);
        let share = percent(worst.2, self.sent.of("requests")) / 100.0;
        Some(found.remedy(Remedy::SpreadPrefixes).weight(here).takes(share))
    }

    fn intermediary(&self) -> Option<Suspicion> {
        let requests = self.sent.of("requests");
        let (via, attempts, same) =
            (self.sent.of("answers.via"), self.sent.of("answers.attempts"), self.sent.of("answers.same_id"));
        let percent = percent(via, requests);
        let figures = vec![
            Figure::new("answers of an intermediary", percent, "%"),
            Figure::new("attempts of its own", attempts as f64, ""),
            Figure::new("answers with the number of another", same as f64, ""),
        ];
        let (severity, text) = match (attempts + same > 0, percent >= VIA_PERCENT) {
            (true, _) => {
                let text = format!(
                    "something before the store tried {attempts} requests again by itself and answered {same} with the number \
                     of another request: latencies hold retries that no count here has"
                );
                (Severity::Doubtful, text)
            }
            (false, true) => {
                let text = format!(
                    "{percent:.0} % of the answers came through an intermediary (`Via`): what it tries again or queues is in \
                     the latencies, and in no count here"
                );
                (Severity::Note, text)
            }
            (false, false) => return None,
        };
        let found = self.suspicion(FindingKind::HiddenRetries, severity, text, figures);
        Some(found.remedy(Remedy::AskStoreDirectly).weight((attempts + same) as f64 + percent / 100.0))
    }

    fn cached(&self) -> Option<Suspicion> {
        if self.case.intent() == Intent::Cache {
            return None;
        }
        let reads = self.sent.of("requests.get") + self.sent.of("requests.head");
        let cached = percent(self.sent.of("answers.cached"), reads);
        if cached >= CACHED_PERCENT.0 {
            let text = format!(
                "{cached:.0} % of the answers to reads say that a cache gave them (`Age`, `X-Cache`): this is its rate, not the \
                 store's"
            );
            let severity = if cached >= CACHED_PERCENT.1 { Severity::Invalid } else { Severity::Doubtful };
            let figures =
                vec![Figure::new("from a cache", cached, "%"), Figure::new("reads", reads as f64, "")];
            let found = self.suspicion(FindingKind::CachedAnswers, severity, text, figures);
            return Some(found.matter("said").remedy(Remedy::BypassStoreCache).weight(cached));
        }
        let (first, again) = (self.sent.of("gets.first"), self.sent.of("gets.again"));
        let mean = |sum: &str, count: u64| self.sent.of(sum) as f64 / count.max(1) as f64;
        let (first_ns, again_ns) = (mean("gets.first_ns", first), mean("gets.again_ns", again));
        let few = first < AGAIN_LEAST || again < AGAIN_LEAST;
        if few || first_ns < AGAIN_TIMES * again_ns || first_ns - again_ns < AGAIN_NS {
            return None;
        }
        let text = format!(
            "the first read of an object waited {} for its first byte, a further one {}: something answers what it has seen",
            units::duration(first_ns),
            units::duration(again_ns)
        );
        let figures = vec![
            Figure::new("first byte of first reads", first_ns, "ns"),
            Figure::new("of repeated reads", again_ns, "ns"),
            Figure::new("first reads", first as f64, ""),
            Figure::new("repeated reads", again as f64, ""),
        ];
        let found = self.suspicion(FindingKind::CachedAnswers, Severity::Doubtful, text, figures);
        Some(found.matter("faster").remedy(Remedy::BypassStoreCache).weight(first_ns / again_ns.max(1.0)))
    }

    fn skewed(&self) -> Option<Suspicion> {
        let (ahead, behind) = (self.sent.most("date.ahead_s"), self.sent.most("date.behind_s"));
        let (seconds, way) = if ahead >= behind { (ahead, "ahead of") } else { (behind, "behind") };
        if seconds < SKEW_S {
            return None;
        }
        let text = format!(
            "the store's clock is {seconds} s {way} this machine's: times in its logs are others, and from 15 minutes on it \
             refuses signatures"
        );
        let figures = vec![Figure::new("apart", seconds as f64 * 1e9, "ns")];
        let found = self.suspicion(FindingKind::UnreliableClock, Severity::Note, text, figures);
        Some(found.matter("store").remedy(Remedy::SynchroniseClock).weight(seconds as f64))
    }

    fn fresh(&self) -> Option<Suspicion> {
        let (requests, opened) = (self.sent.of("requests"), self.sent.of("connections.opened"));
        let percent = percent(opened, requests);
        if requests < FRESH_REQUESTS * self.lanes() || percent < FRESH_PERCENT {
            return None;
        }
        let connecting = self.sent.of("connect_ns") as f64 / opened.max(1) as f64;
        let text = format!(
            "{opened} connections were opened for {requests} requests, {} each: the store, or what is before it, keeps none \
             for the next request",
            units::duration(connecting)
        );
        let figures = vec![
            Figure::new("requests with a connection of their own", percent, "%"),
            Figure::new("connecting, mean", connecting, "ns"),
            Figure::new("connections that may be in flight", self.lanes() as f64, ""),
        ];
        let found = self.suspicion(FindingKind::FreshConnections, Severity::Doubtful, text, figures);
        Some(found.remedy(Remedy::KeepConnections).weight(percent))
    }

    fn unchecked(&self) -> Option<Suspicion> {
        let bytes = self.record.tally.all_bytes();
        let has_checksum = self.setting("checksum").is_some_and(|name| name != "none");
        if bytes < UNCHECKED_BYTES || has_checksum || self.job.payload.verify.is_some() {
            return None;
        }
        let text = format!(
            "nobody checked the content of {}: clients of stores send checksums by default, and their processor time is not \
             in these figures",
            units::binary(bytes)
        );
        let figures = vec![Figure::new("unchecked", bytes as f64, "bytes")];
        let found = self.suspicion(FindingKind::UncheckedContent, Severity::Note, text, figures);
        Some(found.remedy(Remedy::CheckContent).weight(bytes as f64))
    }

    fn small_parts(&self) -> Option<Suspicion> {
        let (parts, part_bytes) = (self.sent.of("requests.parts"), self.number("part_size")?);
        let objects: u64 = self.record.tally.lines.iter().map(|line| line.operations).sum();
        if parts == 0 || part_bytes >= SMALL_PART_BYTES {
            return None;
        }
        let text = format!(
            "objects were written in parts of {}, and {parts} parts are as many requests: their overhead is in the figure, \
             and in the bill",
            units::binary(part_bytes)
        );
        let figures = vec![
            Figure::new("a part", part_bytes as f64, "bytes"),
            Figure::new("parts of an object", parts as f64 / objects.max(1) as f64, ""),
        ];
        let found = self.suspicion(FindingKind::SmallParts, Severity::Note, text, figures);
        Some(found.remedy(Remedy::EnlargeParts).weight(1.0 / part_bytes.max(1) as f64))
    }

    fn one_connection(&self) -> Option<Suspicion> {
        let Workload::Pattern(pattern) = &self.job.workload else { return None };
        let bytes = pattern.size.read.most_bytes().unwrap_or(0);
        let percent = percent(self.sent.of("body_ns"), self.case.found.elapsed_ns);
        if self.lanes() > 1 || bytes < BODY_BYTES || percent < BODY_PERCENT {
            return None;
        }
        let text = format!(
            "one connection carried everything, and bodies came over it for {percent:.0} % of the time: this is what one \
             connection takes, not what the store gives"
        );
        let figures = vec![
            Figure::new("bodies on the way", percent, "%"),
            Figure::new("connections", self.lanes() as f64, ""),
        ];
        let found = self.suspicion(FindingKind::GeneratorBound, Severity::Note, text, figures);
        Some(found.matter("connection").remedy(Remedy::AddConnections).weight(percent))
    }

    fn unaided_ciphers(&self) -> Option<Suspicion> {
        let workers = &self.record.workers;
        let ran: u64 = workers.iter().map(|worker| worker.ended_ns.saturating_sub(worker.began_ns)).sum();
        let busy = percent(workers.iter().map(|worker| worker.user_ns + worker.system_ns).sum(), ran);
        if self.sent.of("handshakes.unaided") == 0 || busy < CIPHER_PERCENT {
            return None;
        }
        let text = format!(
            "TLS ran without the processor's own instructions, and the workers were on it for {busy:.0} % of their time: \
             enciphering is in every figure"
        );
        let figures = vec![Figure::new("workers' processor time", busy, "%")];
        let found = self.suspicion(FindingKind::GeneratorBound, Severity::Doubtful, text, figures);
        Some(found.matter("ciphers").remedy(Remedy::SpareCiphers).weight(busy))
    }
}

fn percent(part: u64, of: u64) -> f64 {
    part as f64 * 100.0 / of.max(1) as f64
}

//! Models whose keys and values are cached, and the plan of each point.

use clap::ValueEnum;
use iodyno_model::kv_cache::{BlockLayout, CacheRequests, KvServer, RecordedRequest};
use iodyno_model::{
    Device, Direct, Extent, Intent, Items, Open, OpenMode, Origin, Phase, Plan, Prepare, Setting, Size,
    Target, TargetKind,
};

use super::LEAST_REQUESTS;

/// A model of the Llama 3 family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LanguageModel {
    #[value(name = "llama3-8b")]
    Llama8b,
    #[value(name = "llama3-70b")]
    Llama70b,
    #[value(name = "llama3-405b")]
    Llama405b,
}

/// Keys and values of a head have so many numbers of two bytes each.
const HEAD_NUMBERS: u64 = 128;
const NUMBER_BYTES: u64 = 2;
/// Key-value heads of each layer: the same in all three.
const HEADS: u64 = 8;

/// What an H100 computes of dense bf16 each second at most, and the part of it that prefill reaches: an assumption.
const FLOPS: f64 = 989e12;
const REACHED: f64 = 0.4;
/// Operations of a token for each parameter.
const FLOPS_EACH: f64 = 2.0;

impl LanguageModel {
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
    }

    /// Layers, parameters, and the H100s that it is divided over.
    fn figures(self) -> (u64, f64, u32) {
        match self {
            LanguageModel::Llama8b => (32, 8.03e9, 1),
            LanguageModel::Llama70b => (80, 70.6e9, 8),
            LanguageModel::Llama405b => (126, 405.9e9, 8),
        }
    }

    pub fn h100s(self) -> u32 {
        self.figures().2
    }

    /// A key and a value of each layer and head.
    pub fn token_bytes(self) -> u64 {
        self.figures().0 * HEADS * HEAD_NUMBERS * 2 * NUMBER_BYTES
    }

    /// Tokens of prompts that its H100s compute together.
    pub fn prefill_per_second(self) -> f64 {
        let (_, parameters, h100s) = self.figures();
        f64::from(h100s) * FLOPS * REACHED / (FLOPS_EACH * parameters)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LayoutName {
    Files,
    Slab,
}

/// Where the cache lies.
#[derive(Clone, Debug)]
pub enum StoragePlace {
    /// A file or a directory that is made and removed.
    Path(String),
    /// Objects below a prefix, one for each block, with the settings of their engine.
    Bucket {
        url: String,
        settings: Vec<Setting>,
    },
    Device(Box<Device>),
}

/// What the points of a search have in common.
#[derive(Clone, Debug)]
pub struct ServingRun {
    /// Without its rate.
    pub server: KvServer,
    pub time_ns: u64,
    pub token_bytes: u64,
    pub place: StoragePlace,
    pub engine: String,
    /// Each is a server with accelerators of its own.
    pub ranks: u32,
    pub origin: Origin,
}

/// Requests before each point, for each conversation: the cache is as it is after a while.
const BEFORE_EACH: u64 = 30;
/// More would take too long to work out.
const MOST_BEFORE: u64 = 200_000;
const MOST_REQUESTS: f64 = 1e6;
/// A point ends after so many times the time that its requests take to come: what is not answered by then is late.
const TIMES_LATE: f64 = 3.0;

impl ServingRun {
    /// What is made and removed; of a device and of a bucket nothing.
    pub fn path(&self) -> &str {
        if let StoragePlace::Path(path) = &self.place { path } else { "" }
    }

    pub fn is_bucket(&self) -> bool {
        matches!(self.place, StoragePlace::Bucket { .. })
    }

    /// Of recorded requests: how many came each second.
    pub fn recorded_rate(&self) -> Option<f64> {
        let recorded = &self.server.requests.recorded;
        let last = recorded.last().filter(|last| last.at_ns > 0)?;
        Some((recorded.len() as f64 - 1.0) / (last.at_ns as f64 / 1e9))
    }

    pub fn device(&self) -> Option<&Device> {
        if let StoragePlace::Device(device) = &self.place { Some(device) } else { None }
    }

    /// Tokens of a prompt on average, with all that went before it in its conversation.
    fn mean_prompt_tokens(&self) -> f64 {
        let recorded = &self.server.requests.recorded;
        if !recorded.is_empty() {
            return recorded.iter().map(|one| one.tokens as f64).sum::<f64>() / recorded.len() as f64;
        }
        let CacheRequests { prompt, answer, turns, prefixes, prefix_tokens, prefixed_percent, .. } =
            &self.server.requests;
        let mean = |size: &Size| {
            let (least, most) = (size.least_bytes().unwrap_or(0), size.most_bytes().unwrap_or(0));
            (least as f64 + most as f64) / 2.0
        };
        let prefix = if *prefixes > 0 { *prefix_tokens as f64 * prefixed_percent / 100.0 } else { 0.0 };
        let before = (f64::from(*turns) - 1.0) / 2.0;
        prefix + mean(prompt) + before * (mean(prompt) + mean(answer))
    }

    /// Requests each second that the accelerators compute without a cache, at most.
    pub fn computed_rate(&self) -> f64 {
        let request_ns = self.mean_prompt_tokens().max(1.0) * self.server.token_ns;
        f64::from(self.accelerators()) * 1e9 / request_ns.max(1.0)
    }

    /// On all ranks.
    pub fn accelerators(&self) -> u32 {
        self.server.accelerators * self.ranks
    }

    pub fn requests(&self, rate: f64) -> u64 {
        let most = match self.server.requests.recorded.len() {
            0 => MOST_REQUESTS,
            recorded => recorded as f64,
        };
        (rate * self.time_ns as f64 / 1e9).ceil().max(LEAST_REQUESTS).min(most) as u64
    }

    /// The first of the recorded requests, at another rate.
    fn recorded(&self, count: u64, rate: f64) -> Vec<RecordedRequest> {
        let times = self.recorded_rate().map_or(1.0, |recorded| recorded / rate);
        let all = self.server.requests.recorded.iter().take(count as usize);
        all.map(|one| RecordedRequest { at_ns: (one.at_ns as f64 * times) as u64, ..one.clone() }).collect()
    }

    pub fn plan(&self, rate: f64) -> Plan {
        let count = self.requests(rate);
        let asked = &self.server.requests;
        let recorded = self.recorded(count, rate);
        // What is recorded begins with an empty cache.
        let before = match recorded.is_empty() {
            true => (asked.sessions * BEFORE_EACH).min(MOST_BEFORE),
            false => 0,
        };
        let requests = CacheRequests { count, per_second: rate, before, recorded, ..asked.clone() };
        let time_ns = (count as f64 / rate * 1e9 * TIMES_LATE) as u64;
        let server = KvServer { requests, time_ns, ..self.server.clone() };
        let mut phase = Phase { name: format!("{rate} requests/s"), ..Phase::default() };
        server.fill(&mut phase, 0, &self.engine);
        for job in &mut phase.jobs {
            // To see which rank is late.
            job.measure.each = self.ranks > 1;
            if let StoragePlace::Bucket { settings, .. } = &self.place {
                job.settings.clone_from(settings);
            }
        }
        Plan {
            name: "kv-cache".into(),
            seed: asked.seed,
            intent: Intent::Device,
            targets: vec![self.target()],
            phases: vec![phase],
            device: self.device().cloned(),
            ..Plan::default()
        }
    }

    /// The cache: made by the first plan, found by the others, and removed by the command.
    fn target(&self) -> Target {
        let (count, block_bytes) = (self.server.requests.capacity, self.server.block_bytes);
        let bytes = count * block_bytes;
        let made = Open { create: true, parents: true, direct: Direct::IfPossible, ..Open::default() };
        let (kind, open, prepare) = match (&self.place, self.server.layout) {
            (StoragePlace::Device(_), _) => (TargetKind::Nothing { bytes }, Open::default(), Prepare::AsItIs),
            (StoragePlace::Bucket { url, .. }, _) => {
                let items = Items { count, size: Size::Fixed(block_bytes), ..Items::default() };
                (TargetKind::Bucket { url: url.clone(), items }, Open::default(), Prepare::Filled)
            }
            (StoragePlace::Path(path), BlockLayout::Slab) => {
                let size = Extent::Bytes(bytes);
                (TargetKind::File { path: path.clone(), size }, made, Prepare::Filled)
            }
            (StoragePlace::Path(root), BlockLayout::Files) => {
                let items = Items { count, size: Size::Fixed(block_bytes), ..Items::default() };
                let open = Open { mode: OpenMode::ReadWrite, ..made };
                (TargetKind::FileSet { root: root.clone(), items }, open, Prepare::Filled)
            }
        };
        Target { name: "cache".into(), kind, open, prepare, remove: false, origin: self.origin.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_of_a_token_are_what_the_models_figures_say() {
        let kib = |model: LanguageModel| model.token_bytes() / 1024;
        assert_eq!(
            LanguageModel::value_variants().iter().map(|model| kib(*model)).collect::<Vec<_>>(),
            [128, 320, 504]
        );
        let rates: Vec<f64> =
            LanguageModel::value_variants().iter().map(|model| model.prefill_per_second().round()).collect();
        assert_eq!(rates, [24_633.0, 22_414.0, 3_898.0]);
    }
}

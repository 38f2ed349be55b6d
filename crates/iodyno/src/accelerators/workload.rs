//! Training workloads as MLPerf Storage 2.0 and 3.0 and DLIO define them, and their plans.
//!
//! Files have the workload's format and random samples, since no accelerator looks at them.

use clap::ValueEnum;
use iodyno_model::reflect::Reflect;
use iodyno_model::{
    DatasetFormat, Device, Intent, Items, Lasting, Open, OpenMode, Origin, Phase, Plan, Prepare,
    SampleAccess, SampleFile, Size, Target, TargetKind, TrainingInput,
};

/// Whose samples are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Training {
    Unet3d,
    Resnet50,
    Cosmoflow,
    Retinanet,
    Dlrm,
    Flux,
}

/// Whose computing time is slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Accelerator {
    A100,
    H100,
    B200,
}

/// The figures of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    pub name: &'static str,
    /// None: samples one after the other, without a format.
    pub format: Option<DatasetFormat>,
    /// Samples of a file; their mean length and its standard deviation, bytes.
    pub per_file: u64,
    pub sample_bytes: u64,
    pub deviation_bytes: u64,
    pub batch: u32,
    pub readers: u32,
    /// The largest read, bytes.
    pub transfer_bytes: u64,
    /// A step of an A100, an H100 and a B200, ns, where it is published for this batch.
    a100_ns: Option<u64>,
    h100_ns: Option<u64>,
    b200_ns: Option<u64>,
    /// Below this utilisation an accelerator is not fed, percent.
    pub least_percent: f64,
    /// Whether the order is drawn.
    shuffled: bool,
}

const UNET3D: Figures = Figures {
    name: "unet3d",
    format: Some(DatasetFormat::Npz),
    per_file: 1,
    sample_bytes: 146_600_628,
    deviation_bytes: 68_341_808,
    batch: 7,
    readers: 4,
    transfer_bytes: 256 << 10,
    a100_ns: Some(636_000_000),
    h100_ns: Some(323_000_000),
    b200_ns: Some(162_000_000),
    least_percent: 90.0,
    shuffled: true,
};

const RESNET50: Figures = Figures {
    name: "resnet50",
    format: Some(DatasetFormat::Tfrecord),
    per_file: 1251,
    sample_bytes: 114_660,
    deviation_bytes: 0,
    batch: 400,
    readers: 8,
    transfer_bytes: 256 << 10,
    a100_ns: Some(435_000_000),
    h100_ns: Some(224_000_000),
    b200_ns: None,
    least_percent: 90.0,
    shuffled: false,
};

const COSMOFLOW: Figures = Figures {
    name: "cosmoflow",
    format: Some(DatasetFormat::Tfrecord),
    per_file: 1,
    sample_bytes: 2_828_486,
    deviation_bytes: 71_311,
    batch: 1,
    readers: 4,
    transfer_bytes: 256 << 10,
    a100_ns: Some(5_510_000),
    h100_ns: Some(3_500_000),
    b200_ns: None,
    least_percent: 70.0,
    shuffled: true,
};

/// Of MLPerf Storage 3.0, as those below: JPEG files, each read whole.
const RETINANET: Figures = Figures {
    name: "retinanet",
    format: Some(DatasetFormat::Jpeg),
    per_file: 1,
    sample_bytes: 322_957,
    deviation_bytes: 0,
    batch: 24,
    readers: 8,
    transfer_bytes: 1 << 20,
    a100_ns: None,
    h100_ns: None,
    b200_ns: Some(47_550_000),
    least_percent: 85.0,
    shuffled: true,
};

/// Of the 200 columns of its Parquet files training reads 40, together 160 bytes a sample, in groups of 6144 rows. Files hold these
/// columns only, and a group is one read.
const DLRM: Figures = Figures {
    name: "dlrm",
    format: None,
    per_file: 4_718_592,
    sample_bytes: DLRM_COLUMNS_BYTES,
    deviation_bytes: 0,
    batch: 16_384,
    readers: 4,
    transfer_bytes: 6144 * DLRM_COLUMNS_BYTES,
    a100_ns: None,
    h100_ns: None,
    b200_ns: Some(375_000),
    least_percent: 70.0,
    shuffled: false,
};

const DLRM_COLUMNS_BYTES: u64 = 160;

/// Parquet files whose columns are all read.
const FLUX: Figures = Figures {
    name: "flux",
    format: None,
    per_file: 288,
    sample_bytes: 2_164_832,
    deviation_bytes: 0,
    batch: 48,
    readers: 8,
    transfer_bytes: 1 << 20,
    a100_ns: None,
    h100_ns: None,
    b200_ns: Some(1_350_000_000),
    least_percent: 90.0,
    shuffled: false,
};

impl Training {
    pub fn figures(self) -> Figures {
        match self {
            Training::Unet3d => UNET3D,
            Training::Resnet50 => RESNET50,
            Training::Cosmoflow => COSMOFLOW,
            Training::Retinanet => RETINANET,
            Training::Dlrm => DLRM,
            Training::Flux => FLUX,
        }
    }
}

impl Accelerator {
    pub fn name(self) -> &'static str {
        match self {
            Accelerator::A100 => "a100",
            Accelerator::H100 => "h100",
            Accelerator::B200 => "b200",
        }
    }
}

impl Figures {
    /// Whose computing time is published.
    pub fn usual_accelerator(&self) -> Accelerator {
        if self.h100_ns.is_some() { Accelerator::H100 } else { Accelerator::B200 }
    }

    /// How long a step computes, ns; none: nobody has published it.
    pub fn compute_ns(&self, accelerator: Accelerator) -> Option<u64> {
        match accelerator {
            Accelerator::A100 => self.a100_ns,
            Accelerator::H100 => self.h100_ns,
            Accelerator::B200 => self.b200_ns,
        }
    }

    fn file(&self) -> Option<SampleFile> {
        self.format.map(|format| SampleFile::new(format, self.per_file))
    }

    pub fn file_bytes(&self) -> u64 {
        let plain = self.sample_bytes * self.per_file;
        self.file().map_or(plain, |file| file.layout(self.sample_bytes).bytes())
    }

    /// A sample with what its format puts beside it.
    fn stored_bytes(&self) -> u64 {
        self.file().map_or(self.sample_bytes, |file| file.layout(self.sample_bytes).stored_bytes())
    }

    /// Of a sample; of files without a format, the whole file's.
    fn size(&self) -> Size {
        let (mean_bytes, deviation_bytes) = (self.sample_bytes as f64, self.deviation_bytes as f64);
        match (self.deviation_bytes, self.format) {
            (0, Some(_)) => Size::Fixed(self.sample_bytes),
            (0, None) => Size::Fixed(self.file_bytes()),
            _ => Size::Normal { mean_bytes, deviation_bytes },
        }
    }
}

/// What the points of a search have in common.
#[derive(Clone, Debug)]
pub struct TrainingRun {
    pub figures: Figures,
    pub compute_ns: u64,
    pub files: u64,
    pub steps: u64,
    pub seed: u64,
    /// The data set's directory; of a simulated device nothing.
    pub root: String,
    /// Each has as many accelerators.
    pub ranks: u32,
    pub device: Option<Device>,
    pub origin: Origin,
}

/// Batches that are read ahead of each accelerator: DLIO's `prefetch_size`, divided over its readers and rounded up.
const PREFETCH: u32 = 2;

/// The jobs of a plan that touches files, and of one that touches none.
const FILES_ENGINE: &str = iodyno_dialect::engine_choice::POSITIONED_CALLS;
const DEVICE_ENGINE: &str = "sim";

impl TrainingRun {
    /// Each point of the search, with so many accelerators on each rank.
    pub fn input(&self, accelerators: u32) -> TrainingInput {
        let Figures { per_file, batch, readers, transfer_bytes, shuffled, .. } = self.figures;
        let mut input = TrainingInput {
            accelerators,
            ranks: self.ranks,
            readers,
            prefetch: PREFETCH.div_ceil(readers),
            batch,
            steps: self.steps,
            warm_up: 1,
            samples: self.files * per_file,
            per_item: per_file,
            record_bytes: self.figures.stored_bytes(),
            transfer_bytes,
            access: SampleAccess::Record,
            item_seeds: Vec::new(),
            sample_seeds: if shuffled { vec![self.seed as u32] } else { Vec::new() },
            compute: Lasting { ns: self.compute_ns, drawn: None },
            barrier: true,
            ..TrainingInput::blank()
        };
        if self.device.is_none() {
            let is_known = self
                .figures
                .file()
                .is_some_and(|file| file.read_by(&mut input, &self.figures.size()).is_ok());
            if !is_known {
                input.access = if per_file == 1 { SampleAccess::Item } else { SampleAccess::Stream };
            }
            input.dealt = input.access == SampleAccess::Stream;
        }
        input
    }

    pub fn plan(&self, accelerators: u32) -> Plan {
        let mut phase =
            Phase { name: format!("{} accelerators", accelerators * self.ranks), ..Phase::default() };
        let engine = if self.device.is_some() { DEVICE_ENGINE } else { FILES_ENGINE };
        self.input(accelerators).fill(&mut phase, 0, engine);
        Plan {
            name: format!("accelerators {}", self.figures.name),
            seed: self.seed,
            intent: Intent::Device,
            targets: vec![self.target()],
            phases: vec![phase],
            device: self.device.clone(),
            ..Plan::default()
        }
    }

    /// The data set: made by the first plan, found by the others, and removed by the command.
    fn target(&self) -> Target {
        let figures = &self.figures;
        let kind = match self.device {
            Some(_) => TargetKind::Nothing { bytes: self.files * figures.file_bytes() },
            None => TargetKind::FileSet {
                root: self.root.clone(),
                items: Items {
                    count: self.files,
                    size: figures.size(),
                    format: figures.file(),
                    ..Items::default()
                },
            },
        };
        let open = match self.device {
            Some(_) => Open::default(),
            None => Open {
                mode: OpenMode::Read,
                create: true,
                parents: true,
                invalidate: true,
                ..Open::default()
            },
        };
        let prepare = if self.device.is_some() { Prepare::AsItIs } else { Prepare::Filled };
        Target { name: "samples".into(), kind, open, prepare, remove: false, origin: self.origin.clone() }
    }
}

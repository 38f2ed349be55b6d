//! `[phase.training]`: training input, which becomes the jobs of its readers and accelerators.

use iodyno_model::reflect::Reflect;
use iodyno_model::{Lasting, Phase, SampleAccess, Target, TargetKind, TrainingInput};

use super::fields::{Fields, Wrong};
use super::tree::Node;
use super::value::text;
use super::{job, script};

/// More jobs of a phase; `targets` are the plan's, with their names.
pub(super) fn read(node: &Node, phase: &mut Phase, (targets, names): (&[Target], &[String]), wrong: &Wrong) {
    let fields = Fields::new(node, "training", wrong);
    let mut input = TrainingInput::blank();
    let on = fields.get("on", |node| job::target(node, names));
    if let Some(kind) = on.and_then(|on| targets.get(on)).map(|target| &target.kind) {
        as_its_format(kind, &mut input, &fields);
    }
    fields.fill(&mut input);
    let lasting = |(ns, drawn)| Lasting { ns, drawn };
    input.compute = fields.or("compute", |node| script::lasting(node).map(lasting), Lasting::default());
    input.preprocess = fields.or("preprocess", |node| script::lasting(node).map(lasting), Lasting::default());
    let engine = fields.or("engine", text, "psync".into());
    if fields.entry("on").is_none() {
        let hint = "say on = \"NAME\" of a [target.NAME] with files, or with samples one after the other";
        wrong.error(fields.origin(), "training works on nothing", hint);
    }
    if input.samples == 0 || fields.entry("compute").is_none() {
        let hint = "say samples = NUMBER, and compute = \"300ms\" or { drawn = AMOUNT, unit = \"1ms\" }";
        wrong.error(fields.origin(), "training needs `samples` and `compute`", hint);
    }
    if input.access != SampleAccess::Item && input.record_bytes == 0 {
        let hint = "say record = \"1MiB\"";
        wrong.error(fields.origin(), "samples that are not read as whole items need their length", hint);
    }
    if input.samples > 0 && input.taken_steps() == 0 {
        let message = format!(
            "{} samples are no whole batch of {} for each of {} accelerators",
            input.samples,
            input.batch,
            input.all_accelerators()
        );
        wrong.error(fields.origin(), message, "more samples, a smaller batch, or fewer accelerators");
    }
    fields.unknown();
    if let Some(target) = on.filter(|_| wrong.count() == 0) {
        input.fill(phase, target, &engine);
    }
}

/// Files of a format are read as its loader does, unless the plan says otherwise.
fn as_its_format(kind: &TargetKind, input: &mut TrainingInput, fields: &Fields<'_>) {
    let TargetKind::FileSet { items, .. } = kind else { return };
    let Some(format) = &items.format else { return };
    if let Err(why) = format.read_by(input, &items.size) {
        let hint = "give the target a fixed size, or one sample in a file";
        fields.wrong().error(fields.origin(), why, hint);
    }
}

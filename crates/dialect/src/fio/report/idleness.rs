//! How idle the processors were (`--idle-prof`).

use iodyno_model::Idleness;

use crate::json_tree::{JsonTree, json_object};

/// The lines of the report for people; `lists`: each processor, too.
pub fn text(idleness: &Idleness, lists: bool) -> String {
    let mut text = String::from("\nCPU idleness:\n");
    if let Some(percent) = idleness.system_percent() {
        text += &format!("  system: {percent:.2}%\n");
    }
    if lists && !idleness.cpus.is_empty() {
        let cpus: Vec<String> = idleness.cpus.iter().map(|percent| format!("{percent:.2}%")).collect();
        text += &format!("  percpu: {}\n", cpus.join(", "));
    }
    text += &format!(
        "  unit work: mean={:.2}us, stddev={:.2}\n",
        idleness.unit_mean_us, idleness.unit_deviation_us
    );
    text
}

/// The object `cpu_idleness`.
pub fn object(idleness: &Idleness, lists: bool) -> JsonTree {
    let mut object = json_object! { "system": idleness.system_percent().unwrap_or(0.0) };
    if lists {
        for (cpu, percent) in idleness.cpus.iter().enumerate() {
            object.push(&format!("cpu-{cpu}"), *percent);
        }
    }
    object.push("unit_mean", idleness.unit_mean_us).push("unit_stddev", idleness.unit_deviation_us);
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_fio() {
        let found = Idleness { cpus: vec![0.774, 1.906], unit_mean_us: 21.333, unit_deviation_us: 16.42 };
        let percpu = "\nCPU idleness:\n  system: 1.34%\n  percpu: 0.77%, 1.91%\n  unit work: mean=21.33us, stddev=16.42\n";
        assert_eq!(text(&found, true), percpu);
        let system = "\nCPU idleness:\n  system: 1.34%\n  unit work: mean=21.33us, stddev=16.42\n";
        assert_eq!(text(&found, false), system);
        let only = Idleness { cpus: Vec::new(), ..found };
        assert_eq!(text(&only, true), "\nCPU idleness:\n  unit work: mean=21.33us, stddev=16.42\n");
    }
}

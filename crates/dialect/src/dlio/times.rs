//! Times that are slept: always the same, or drawn from a distribution.

use iodyno_model::{Diagnostic, Lasting, Size};

use super::test::DlioJudge;

/// Poisson's mean, as far as it is drawn.
const POISSON_MOST: f64 = 700.0;
const S: f64 = 1e9;

impl DlioJudge<'_> {
    /// A time that is always the same, or drawn.
    pub fn lasting(&mut self, name: &str) -> Lasting {
        let of = |part: &str| self.settings.decimal(&format!("{name}{part}"));
        let given = |part: &str| self.settings.is_given(&format!("{name}{part}"));
        let mean = if given(".mean") { of(".mean") } else { of("") };
        let deviation = if given(".stdev") {
            of(".stdev")
        } else if given("_stdev") {
            of("_stdev")
        } else {
            0.0
        };
        let fixed = Lasting { ns: (mean * S) as u64, drawn: None };
        let normal = || Size::Normal { mean_bytes: mean * S, deviation_bytes: deviation * S };
        let gamma = |shape: f64, scale: f64| Size::Gamma { mean_bytes: shape * scale * S, shape };
        let text = self.settings.text(&format!("{name}.type")).unwrap_or_default();
        let (size, needed): (Size, &[&str]) = match text {
            "uniform" => {
                let (least, most) = ((of(".min") * S) as u64, (of(".max") * S) as u64);
                if least > most {
                    let what = format!("{name}: min is above max");
                    self.refuse(&format!("{name}.min"), what, "give min and max in seconds");
                    return fixed;
                }
                (Size::Uniform { least_bytes: least, most_bytes: most, step_bytes: 1 }, &[".max"])
            }
            "gamma" => (gamma(of(".shape"), of(".scale")), &[".shape", ".scale"]),
            "exponential" => (gamma(1.0, of(".scale")), &[".scale"]),
            "poisson" => (Size::Poisson { mean: of(".lam") }, &[".lam"]),
            "normal" if deviation > 0.0 => (normal(), &[]),
            "" if deviation > 0.0 => (normal(), &[]),
            _ => return fixed,
        };
        if let Some(part) = needed.iter().find(|part| of(part) <= 0.0) {
            let what = format!("{name}: the distribution {text} needs {}", &part[1..]);
            self.wrong.push(
                Diagnostic::error(&self.origin(&format!("{name}.type")), what)
                    .hint(format!("++workload.{name}{part}=0.1")),
            );
            return fixed;
        }
        if text == "poisson" && of(".lam") > POISSON_MOST {
            let what = format!("{name}: a mean of {} s", of(".lam"));
            self.refuse(&format!("{name}.lam"), what, format!("at most {POISSON_MOST}"));
        }
        Lasting { ns: 0, drawn: Some((size, if text == "poisson" { S } else { 1.0 })) }
    }
}

//! Random variables: what sizes are drawn from, in the model's terms.
//!
//! Uniform, gamma and tabular are the language's own; normal, lognormal, exponential, Erlang, triangular and Weibull are
//! its plug-ins. Those without a term of their own in the model become 256 equally likely sizes (the middles of their
//! quantiles). Refuses to draw: the engine room does, by the plan's seed.

use iodyno_model::Size;

use super::value::ScriptValue;

/// How many equally likely sizes stand for a distribution.
const QUANTILES: u32 = 256;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RandomVariable {
    shape: String,
    /// Whether it is one of the plug-ins.
    plug_in: bool,
    numbers: Vec<(String, f64)>,
    /// Percent, smallest, largest.
    table: Vec<[f64; 3]>,
}

/// What is wrong, and a hint.
type Wrong = (String, String);

fn wrong(message: impl Into<String>, hint: &str) -> Wrong {
    (message.into(), hint.into())
}

impl RandomVariable {
    /// A random variable by its fields; of a plug-in, `parameters` are named in one text.
    ///
    /// # Errors
    /// What is wrong with it, and a hint.
    pub fn new(fields: &[(String, ScriptValue)], plug_in: bool) -> Result<RandomVariable, Wrong> {
        let mut draw = RandomVariable {
            shape: if plug_in { String::new() } else { "gamma".into() },
            plug_in,
            ..RandomVariable::default()
        };
        fields.iter().try_for_each(|(name, value)| draw.set(name, value))?;
        // Version 1.4 sets the mean later, as a field of the variable.
        let waits = matches!(draw.shape.as_str(), "uniform" | "gamma") && draw.number(&["mean"]).is_none();
        if waits && !plug_in {
            return Ok(draw);
        }
        draw.size(0).map(|_| draw)
    }

    /// Sets one of its fields.
    ///
    /// # Errors
    /// What is wrong with it, and a hint.
    pub fn set(&mut self, name: &str, value: &ScriptValue) -> Result<(), Wrong> {
        match (name, value) {
            ("type", value) => self.shape = value.text().trim_start_matches("cvar-").to_lowercase(),
            ("randsrc", _) => {}
            ("parameters", value) => {
                for part in value.text().split(';').filter(|part| !part.trim().is_empty()) {
                    let (name, number) = part.split_once(':').unwrap_or((part, ""));
                    let number = super::lexer::number(number.trim()).ok_or_else(|| {
                        wrong(format!("`{part}` is no parameter"), "parameters=mean:16384;gamma:1.5")
                    })?;
                    self.put(name.trim(), number);
                }
            }
            ("randtable", value) => self.table = table(&value.text())?,
            ("min" | "max" | "mean" | "gamma" | "round" | "seed", ScriptValue::Number(number)) => {
                let scaled = name == "gamma" && *number >= 10.0;
                self.put(name, if scaled { number / 1000.0 } else { *number });
            }
            (name, _) => {
                return Err(wrong(
                    format!("`{name}={}` says nothing of a random variable", value.text()),
                    "type= mean= min= gamma= round= randtable= seed=",
                ));
            }
        }
        Ok(())
    }

    fn put(&mut self, name: &str, number: f64) {
        self.numbers.retain(|(known, _)| known != name);
        self.numbers.push((name.into(), number));
    }

    fn number(&self, names: &[&str]) -> Option<f64> {
        self.numbers.iter().find(|(name, _)| names.contains(&name.as_str())).map(|(_, number)| *number)
    }

    fn needed(&self, names: &[&str]) -> Result<f64, Wrong> {
        let missing = || {
            let hint = format!("it needs {}", names.join(" or "));
            wrong(format!("a random variable of type {} without {}", self.shape, names[0]), &hint)
        };
        self.number(names).filter(|number| number.is_finite() && *number >= 0.0).ok_or_else(missing)
    }

    /// Its mean, where one number must do.
    pub fn mean(&self) -> f64 {
        if let Some(mean) = self.number(&["mean"]) {
            return mean;
        }
        match self.size(1) {
            Ok(size) => mean_of(&size),
            Err(_) => 0.0,
        }
    }

    /// The sizes it stands for, none smaller than `least`.
    ///
    /// # Errors
    /// What is wrong with it, and a hint.
    pub fn size(&self, least: u64) -> Result<Size, Wrong> {
        let (low, step) = (self.number(&["min"]).unwrap_or(0.0), self.number(&["round"]).unwrap_or(1.0));
        let step = (step as u64).max(1);
        match self.shape.as_str() {
            "uniform" => {
                let (low, high) = match self.number(&["lower"]).zip(self.number(&["upper"])) {
                    Some(ends) => ends,
                    None => (low, (2.0 * self.needed(&["mean"])? - low).max(low)),
                };
                Ok(Size::Uniform {
                    least_bytes: (low as u64).max(least),
                    most_bytes: high as u64,
                    step_bytes: step,
                })
            }
            "gamma" => {
                let shape = self.number(&["gamma", "shape"]).unwrap_or(1.5);
                let mean = self.gamma_mean(shape)?;
                if shape <= 0.0 || mean <= 0.0 {
                    return Err(wrong("a gamma distribution without extent", "mean and gamma are above 0"));
                }
                if low > 0.0 || self.number(&["max"]).is_some() {
                    return self.quantiles(least);
                }
                Ok(Size::Gamma { mean_bytes: mean, shape })
            }
            "exponential" => {
                let mean = 1.0 / self.needed(&["rate", "lambda"])?.max(f64::MIN_POSITIVE);
                Ok(Size::Gamma { mean_bytes: mean, shape: 1.0 })
            }
            "erlang" => {
                let (shape, rate) = (self.needed(&["shape"])?.max(1.0), self.needed(&["rate"])?);
                Ok(Size::Gamma { mean_bytes: shape / rate.max(f64::MIN_POSITIVE), shape })
            }
            "tabular" => self.tabular(least),
            _ => self.quantiles(least),
        }
    }

    /// The same, none larger than some bound: of a gamma distribution as many quantiles as of others.
    ///
    /// # Errors
    /// What is wrong with it, and a hint.
    pub fn bounded(&self, least: u64) -> Result<Size, Wrong> {
        match self.size(least)? {
            Size::Gamma { mean_bytes, shape } => {
                Ok(equally_likely(least, |part| (mean_bytes / shape * gamma(shape, part)) as u64))
            }
            size => Ok(size),
        }
    }

    /// A table of ranges; where a mean is given, stretched to it.
    fn tabular(&self, least: u64) -> Result<Size, Wrong> {
        let own: f64 =
            self.table.iter().map(|[percent, low, high]| percent / 100.0 * (low + high) / 2.0).sum();
        if self.table.is_empty() || own <= 0.0 {
            return Err(wrong(
                "a tabular random variable without a table",
                "randtable={{50,1k,4k},{50,4k,1m}}",
            ));
        }
        let stretch = self.number(&["mean"]).map_or(1.0, |mean| mean / own);
        let row = |[percent, low, high]: &[f64; 3]| {
            let bytes = |end: f64| ((end * stretch) as u64).max(least);
            let (low, high) = (bytes(*low), bytes(*high));
            (Size::Uniform { least_bytes: low, most_bytes: high.max(low), step_bytes: 1 }, *percent)
        };
        Ok(Size::Blend(self.table.iter().map(row).collect()))
    }

    fn gamma_mean(&self, shape: f64) -> Result<f64, Wrong> {
        match self.number(&["scale"]) {
            Some(scale) => Ok(scale * shape),
            // As in the original, whose own variables have the shape for a mean where none is set.
            None if !self.plug_in && self.number(&["mean"]).is_none() => Ok(shape),
            None => self.needed(&["mean"]),
        }
    }

    fn quantiles(&self, least: u64) -> Result<Size, Wrong> {
        let at: Box<dyn Fn(f64) -> f64> = match self.shape.as_str() {
            "gamma" => {
                let low = self.number(&["min"]).unwrap_or(0.0);
                let shape = self.number(&["gamma", "shape"]).unwrap_or(1.5);
                let scale = (self.gamma_mean(shape)? - low).max(0.0) / shape;
                Box::new(move |part| low + scale * gamma(shape, part))
            }
            "normal" => {
                let (mean, sigma) = (self.needed(&["mean", "mu"])?, self.needed(&["sigma"])?);
                Box::new(move |part| mean + sigma * normal(part))
            }
            "lognormal" => {
                let (mean, sigma) = (self.needed(&["mean", "mu"])?, self.needed(&["sigma"])?);
                Box::new(move |part| (mean + sigma * normal(part)).exp())
            }
            "weibull" => {
                let (shape, scale) = (self.needed(&["shape"])?, self.needed(&["scale"])?);
                Box::new(move |part| scale * (-(1.0 - part).ln()).powf(1.0 / shape.max(1e-9)))
            }
            "triangular" => {
                let (low, high) = (self.needed(&["lower"])?, self.needed(&["upper"])?);
                let mode = self.needed(&["mode"])?.clamp(low, high.max(low));
                Box::new(move |part| triangular(low, high, mode, part))
            }
            other => {
                return Err(wrong(
                    format!("no random variable of type `{other}`"),
                    "uniform gamma tabular normal lognormal exponential erlang triangular weibull",
                ));
            }
        };
        let (low, high) = (self.number(&["min"]), self.number(&["max"]));
        let bytes = |part: f64| at(part).max(low.unwrap_or(0.0)).min(high.unwrap_or(f64::MAX)) as u64;
        Ok(equally_likely(least, bytes))
    }
}

/// The middles of a distribution's quantiles, by its inverse.
fn equally_likely(least: u64, bytes: impl Fn(f64) -> u64) -> Size {
    let middle = |number: u32| (f64::from(number) + 0.5) / f64::from(QUANTILES);
    let size = |number| (bytes(middle(number)).max(least), 100.0 / f64::from(QUANTILES));
    Size::Split((0..QUANTILES).map(size).collect())
}

/// Rows of a table: percent, smallest, largest.
fn table(text: &str) -> Result<Vec<[f64; 3]>, Wrong> {
    let row = |row: &str| -> Option<[f64; 3]> {
        let cells: Option<Vec<f64>> = row.split(',').map(super::lexer::number).collect();
        cells?.try_into().ok()
    };
    let rows: Option<Vec<[f64; 3]>> = text.split(';').map(row).collect();
    let rows =
        rows.ok_or_else(|| wrong("a row that is no percentage and two ends", "{{50,1k,4k},{50,4k,1m}}"))?;
    match rows.iter().map(|[percent, ..]| percent).sum::<f64>() {
        99.5..=100.5 => Ok(rows),
        sum => Err(wrong(format!("the table's percentages sum up to {sum}"), "they sum up to 100")),
    }
}

/// The mean of sizes.
pub fn mean_of(size: &Size) -> f64 {
    match size {
        Size::Fixed(bytes) => *bytes as f64,
        Size::Uniform { least_bytes, most_bytes, .. } => (*least_bytes as f64 + *most_bytes as f64) / 2.0,
        Size::Gamma { mean_bytes, .. } | Size::Normal { mean_bytes, .. } => *mean_bytes,
        Size::Poisson { mean } => *mean,
        Size::Split(table) => table.iter().map(|(bytes, percent)| *bytes as f64 * percent / 100.0).sum(),
        Size::Blend(table) => table.iter().map(|(size, percent)| mean_of(size) * percent / 100.0).sum(),
        Size::ResultOf(_) | Size::Whole => 0.0,
    }
}

fn triangular(low: f64, high: f64, mode: f64, part: f64) -> f64 {
    let width = (high - low).max(f64::MIN_POSITIVE);
    if part < (mode - low) / width {
        low + (part * width * (mode - low)).sqrt()
    } else {
        high - ((1.0 - part) * width * (high - mode)).sqrt()
    }
}

/// The quantile of the standard normal distribution, by halving; the distribution function is Abramowitz and Stegun's
/// 26.2.17, good to 7.5e-8.
fn normal(part: f64) -> f64 {
    let (mut low, mut high) = (-8.0, 8.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if below(middle) < part { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// The quantile of the gamma distribution of scale 1, by halving.
fn gamma(shape: f64, part: f64) -> f64 {
    let (mut low, mut high) = (0.0, shape + 20.0 * shape.sqrt() + 40.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if gamma_below(shape, middle) < part { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// The gamma distribution function, by its power series (Abramowitz and Stegun 6.5.29).
fn gamma_below(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let (mut term, mut sum, mut number) = (1.0 / shape, 1.0 / shape, shape);
    while term > sum * 1e-12 {
        number += 1.0;
        term *= x / number;
        sum += term;
    }
    (sum * (shape * x.ln() - x - gamma_ln(shape)).exp()).min(1.0)
}

/// The logarithm of the gamma function, by Stirling's series after shifting up (Abramowitz and Stegun 6.1.41).
fn gamma_ln(shape: f64) -> f64 {
    let (mut x, mut less) = (shape, 0.0);
    while x < 10.0 {
        less += x.ln();
        x += 1.0;
    }
    let half_ln_tau = 0.918_938_533_204_672_7;
    (x - 0.5) * x.ln() - x + half_ln_tau + 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) - less
}

fn below(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let sum = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_53];
    let tail = sum.iter().fold(0.0, |sum, factor| (sum + factor) * t);
    let upper = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * tail;
    if x < 0.0 { upper } else { 1.0 - upper }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(fields: &[(&str, ScriptValue)], plug_in: bool) -> Result<RandomVariable, Wrong> {
        let fields: Vec<_> = fields.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        RandomVariable::new(&fields, plug_in)
    }

    #[test]
    fn distributions_have_their_means() {
        let text = |text: &str| ScriptValue::Text(text.into());
        for (shape, parameters, mean) in [
            ("cvar-normal", "mean:5000;sigma:300", 5000.0),
            ("cvar-triangular", "lower:0;upper:900;mode:300", 400.0),
            ("cvar-weibull", "shape:1;scale:1000", 1000.0),
            ("cvar-erlang", "shape:2;rate:0.001", 2000.0),
            ("cvar-lognormal", "mean:8;sigma:0.5", (8.125f64).exp()),
        ] {
            let draw = drawn(&[("type", text(shape)), ("parameters", text(parameters))], true).unwrap();
            let found = mean_of(&draw.size(0).unwrap());
            assert!((found / mean - 1.0).abs() < 0.02, "{shape}: {found} for {mean}");
        }
        let number = ScriptValue::Number;
        let fields = [("type", text("gamma")), ("mean", number(9000.0)), ("min", number(1000.0))];
        let size = drawn(&fields, false).unwrap().size(0).unwrap();
        assert!((mean_of(&size) / 9000.0 - 1.0).abs() < 0.02, "{}", mean_of(&size));
        assert!(matches!(size, Size::Split(rows) if rows.iter().all(|(bytes, _)| *bytes >= 1000)));
        let size =
            drawn(&[("type", text("gamma")), ("gamma", number(3000.0))], false).unwrap().size(0).unwrap();
        assert_eq!(size, Size::Gamma { mean_bytes: 3.0, shape: 3.0 }, "the mean is then the shape");
        assert!(drawn(&[("type", text("cvar-gamma")), ("parameters", text("gamma:3"))], true).is_err());
        let wrong =
            drawn(&[("type", text("cvar-normal")), ("parameters", text("mean:1"))], true).unwrap_err();
        assert!(wrong.0.contains("without sigma"), "{wrong:?}");
    }

    #[test]
    fn a_table_is_stretched_to_its_mean() {
        let fields = [
            ("type", ScriptValue::Text("tabular".into())),
            ("mean", ScriptValue::Number(8192.0)),
            ("randtable", ScriptValue::Text("50,0,2048;50,2048,4096".into())),
        ];
        let size = drawn(&fields, false).unwrap().size(0).unwrap();
        assert!((mean_of(&size) - 8192.0).abs() < 2.0);
        assert!(drawn(&[("type", ScriptValue::Text("tabular".into()))], false).is_err());
    }
}

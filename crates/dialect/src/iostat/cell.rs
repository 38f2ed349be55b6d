//! One figure as it is printed: aligned, in the chosen unit, and coloured where somebody looks.

use super::columns::{Column, Quantity};
use super::command::Unit;

/// How figures are printed.
#[derive(Clone, Debug)]
pub struct FigureStyle {
    /// The unit of amounts.
    pub unit: Unit,
    /// Digits after the point.
    pub decimals: usize,
    /// Amounts with the unit that fits.
    pub human: bool,
    /// Colours; none where nobody looks.
    pub colours: Option<Colours>,
}

/// Colours as the second half of an escape sequence (SGR, ECMA-48). Source of names and defaults: iostat(1), S_COLORS_SGR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Colours {
    /// `H`: 75 % and more.
    high: String,
    /// `M`: 50 % and more.
    medium: String,
    /// `N`: any other figure.
    figure: String,
    /// `Z`: nothing.
    zero: String,
    /// `I`: names.
    name: String,
}

const HIGH_PERCENT: f64 = 75.0;
const MEDIUM_PERCENT: f64 = 50.0;

impl Colours {
    /// The defaults, changed by what `S_COLORS_SGR` says; what it says of others is theirs.
    pub fn new(sgr: &str) -> Self {
        let of = |key: &str, default: &str| {
            let given =
                sgr.split(':').filter_map(|entry| entry.split_once('=')).find(|(name, _)| *name == key);
            given
                .map(|(_, value)| value)
                .filter(|value| value.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'))
                .unwrap_or(default)
                .to_string()
        };
        Colours {
            high: of("H", "31;1"),
            medium: of("M", "35;1"),
            figure: of("N", "34;1"),
            zero: of("Z", "34;22"),
            name: of("I", "32;22"),
        }
    }

    fn of_figure(&self, shown: f64, percent: bool) -> &str {
        match shown {
            0.0 => &self.zero,
            shown if percent && shown >= HIGH_PERCENT => &self.high,
            shown if percent && shown >= MEDIUM_PERCENT => &self.medium,
            _ => &self.figure,
        }
    }
}

fn rounded(value: f64, decimals: usize) -> f64 {
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

fn painted(colour: &str, text: &str) -> String {
    format!("\x1b[{colour}m{text}\x1b[0m")
}

impl FigureStyle {
    /// A figure of a column, with the blank before it.
    pub fn cell(&self, column: &Column, value: f64) -> String {
        let (quantity, width) = (column.quantity, column.width);
        match quantity {
            Quantity::Percent => self.percent(value, width),
            Quantity::ByteRate | Quantity::TotalBytes | Quantity::Size if self.human => {
                self.fitting(quantity, value, width)
            }
            _ => {
                let (value, decimals) = self.scaled(quantity, value, self.decimals);
                self.figure(value, width, decimals, false)
            }
        }
    }

    /// A figure in its unit, and its digits after the point.
    pub fn scaled(&self, quantity: Quantity, value: f64, decimals: usize) -> (f64, usize) {
        let unit_bytes = [512.0, 1024.0, 1024.0 * 1024.0][self.unit as usize];
        match quantity {
            Quantity::TotalBytes => ((value / unit_bytes).trunc(), 0),
            Quantity::ByteRate => (value / unit_bytes, decimals),
            Quantity::Size => (value / 1024.0, decimals),
            Quantity::Number | Quantity::Percent => (value, decimals),
        }
    }

    /// A share, with the blank before it.
    pub fn percent(&self, value: f64, width: usize) -> String {
        match self.human {
            true => self.figure(value, width - 1, self.decimals.min(1), true) + "%",
            false => self.figure(value, width, self.decimals, true),
        }
    }

    fn figure(&self, value: f64, width: usize, decimals: usize, percent: bool) -> String {
        let text = format!(" {value:width$.decimals$}");
        let shown = text.trim().parse().unwrap_or(value);
        self.coloured(&text, shown, percent)
    }

    fn coloured(&self, text: &str, shown: f64, percent: bool) -> String {
        match &self.colours {
            Some(colours) => painted(colours.of_figure(shown, percent), text),
            None => text.to_string(),
        }
    }

    fn fitting(&self, quantity: Quantity, bytes: f64, width: usize) -> String {
        const LETTERS: [&str; 5] = ["k", "M", "G", "T", "P"];
        let (mut value, mut letter) = (bytes / 1024.0, 0);
        while value >= 1024.0 && letter + 1 < LETTERS.len() {
            value /= 1024.0;
            letter += 1;
        }
        // Whether it is coloured as nothing is decided before the unit is found: rates and totals are sectors then.
        let before = match quantity {
            Quantity::TotalBytes => bytes,
            Quantity::Size => rounded(bytes / 1024.0, self.decimals),
            _ => rounded(bytes / 512.0, self.decimals),
        };
        let (width, decimals) = (width - 1, self.decimals.min(1));
        self.coloured(&format!(" {value:width$.decimals$}"), before, false) + LETTERS[letter]
    }

    /// A name, padded by what follows it.
    pub fn name(&self, text: &str) -> String {
        self.colours.as_ref().map_or_else(|| text.to_string(), |colours| painted(&colours.name, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iostat::columns::table;

    /// What the original printed for the same amounts.
    #[test]
    fn amounts_are_the_originals() {
        let mut style = FigureStyle { unit: Unit::Kilo, decimals: 2, human: true, colours: None };
        let (rate, total) = (table("~_read/s")[0], table("~_read")[0]);
        for (kib, text) in [(6823.29, "6.7M"), (0.0, "0.0k"), (129.4, "129.4k"), (10_336_111.75, "9.9G")] {
            assert_eq!(style.cell(&rate, kib * 1024.0), format!(" {text:>12}"));
        }
        assert_eq!(style.cell(&total, 5e11 * 1024.0), "     465.7T");
        assert_eq!((style.percent(1.88, 6), style.percent(27.51, 7)), ("   1.9%".into(), "   27.5%".into()));
        style.human = false;
        assert_eq!(style.cell(&total, 1024.0 * 1206.5), "       1206");
        style.unit = Unit::Mega;
        assert_eq!(style.cell(&total, 1024.0 * 2047.0), "          1");
        style.decimals = 0;
        assert_eq!(style.percent(27.51, 7), "      28");
    }

    #[test]
    fn colours_tell_ranges_and_can_be_chosen() {
        let colours = Colours::new("H=33;1:N=x:Z=90");
        let style = FigureStyle { unit: Unit::Kilo, decimals: 2, human: false, colours: Some(colours) };
        assert_eq!(style.percent(80.0, 6), "\x1b[33;1m  80.00\x1b[0m");
        assert_eq!(style.percent(50.0, 6), "\x1b[35;1m  50.00\x1b[0m");
        assert_eq!(style.percent(0.001, 6), "\x1b[90m   0.00\x1b[0m");
        assert_eq!(style.percent(1.0, 6), "\x1b[34;1m   1.00\x1b[0m");
        assert_eq!(style.name("sda"), "\x1b[32;22msda\x1b[0m");
    }

    /// What the original printed of 16 and of 20 sectors in 3,360 s.
    #[test]
    fn an_amount_with_a_unit_is_nothing_by_its_sectors() {
        let colours = Some(Colours::new(""));
        let style = FigureStyle { unit: Unit::Kilo, decimals: 2, human: true, colours };
        let rate = table("~_read/s")[0];
        let cell = |sectors: f64| style.cell(&rate, sectors * 512.0 / 3360.0);
        assert_eq!(cell(16.0), "\x1b[34;22m         0.0\x1b[0mk");
        assert_eq!(cell(20.0), "\x1b[34;1m         0.0\x1b[0mk");
    }
}

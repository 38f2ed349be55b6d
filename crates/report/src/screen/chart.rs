//! A chart of curves over time in braille patterns (U+2800): each character holds two columns of four dots.

use super::canvas::{Area, Canvas, Ink};

/// One line of a chart.
pub struct Curve {
    pub name: &'static str,
    pub ink: Ink,
    /// At equal distances in time, oldest first.
    pub values: Vec<f64>,
}

impl Curve {
    fn moves(&self) -> bool {
        self.values.iter().any(|value| *value > 0.0)
    }
}

/// How a value at the scale is written.
pub type ScaleText<'a> = &'a dyn Fn(f64) -> String;

/// Columns that the numbers at the side take.
const LABEL: usize = 9;

/// Draws a chart with its title, a scale from 0 to the largest value, and a legend where several curves move.
pub fn draw(canvas: &mut Canvas, area: Area, title: &str, curves: &[Curve], label: ScaleText<'_>) {
    canvas.text(area, 0, 0, Ink::Dim, title);
    let (_, plot) = area.split(1);
    if plot.rows < 2 || plot.columns <= LABEL + 4 {
        return;
    }
    // What never moved is not drawn: a line along the bottom looks like a measurement.
    let moving: Vec<&Curve> = curves.iter().filter(|curve| curve.moves()).collect();
    if moving.is_empty() {
        return;
    }
    let values = moving.iter().flat_map(|curve| &curve.values);
    let most = values.copied().fold(0.0, f64::max).max(1.0);
    let mut column = title.chars().count() + 2;
    for curve in &moving {
        canvas.text(area, 0, column, curve.ink, curve.name);
        column += curve.name.len() + 1;
    }
    let middle = (plot.rows > 3).then(|| (plot.rows / 2, label(most / 2.0)));
    let labels = [(0, label(most)), (plot.rows - 1, "0".into())];
    for (row, text) in labels.into_iter().chain(middle) {
        canvas.text(plot, row, 0, Ink::Dim, &format!("{text:>LABEL$}"));
    }
    (0..plot.rows).for_each(|row| canvas.text(plot, row, LABEL, Ink::Dim, "▕"));
    let inner = Area { column: plot.column + LABEL + 1, columns: plot.columns - LABEL - 2, ..plot };
    for curve in moving {
        line(canvas, inner, curve, most);
    }
}

/// Draws one curve: dots joined from column to column, in characters of its own.
fn line(canvas: &mut Canvas, area: Area, curve: &Curve, most: f64) {
    let (across, down) = (area.columns * 2, area.rows * 4);
    let mut dots = vec![0u8; area.columns * area.rows];
    let height = |value: f64| down - 1 - ((value / most) * (down - 1) as f64).round() as usize;
    let mut before = None;
    for x in 0..across {
        let (least, largest, last) = values_at(&curve.values, x, across);
        let (mut top, mut bottom) = (height(largest), height(least));
        if let Some(before) = before {
            (top, bottom) = (top.min(before), bottom.max(before));
        }
        for y in top..=bottom {
            dots[(y / 4) * area.columns + x / 2] |= dot(x % 2, y % 4);
        }
        before = Some(height(last));
    }
    for (index, dots) in dots.into_iter().enumerate().filter(|(_, dots)| *dots > 0) {
        let pattern = char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' ');
        canvas.text(
            area,
            index / area.columns,
            index % area.columns,
            curve.ink,
            pattern.encode_utf8(&mut [0; 4]),
        );
    }
}

/// The least, the largest and the last value at one of so many places: of few values what lies between two of them, of many
/// all that fall on the place, so that no peak is lost.
fn values_at(values: &[f64], x: usize, across: usize) -> (f64, f64, f64) {
    let count = values.len();
    if count > across {
        let here = &values[x * count / across..(x + 1) * count / across];
        let least = here.iter().copied().fold(f64::INFINITY, f64::min);
        return (least, here.iter().copied().fold(0.0, f64::max), here[here.len() - 1]);
    }
    let at = x as f64 * (count - 1) as f64 / (across - 1) as f64;
    let (first, next) = (values[at as usize], values[(at as usize + 1).min(count - 1)]);
    let value = first + (next - first) * at.fract();
    (value, value, value)
}

/// The bit of a dot in a braille pattern: dots 1 to 3 and 7 stand at the left, 4 to 6 and 8 at the right.
const fn dot(x: usize, y: usize) -> u8 {
    match (x, y) {
        (0, 3) => 0x40,
        (_, 3) => 0x80,
        (x, y) => 1 << (x * 3 + y),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_that_falls_goes_from_corner_to_corner() {
        let mut canvas = Canvas::new(20, 4);
        let curve = Curve { name: "read", ink: Ink::Cyan, values: vec![8.0, 0.0] };
        let area = canvas.area();
        draw(&mut canvas, area, "load", &[curve], &|value| format!("{value:.0}"));
        let rows = canvas.rows();
        assert_eq!(rows[0], "load  read          ");
        assert!(rows[1].starts_with("        8▕⠙⠲⣄⡀ "), "{rows:?}");
        assert!(rows[3].starts_with("        0▕") && rows[3].ends_with("⠉⠳⢤ "), "{rows:?}");
    }

    #[test]
    fn a_peak_among_many_values_is_drawn() {
        let mut values = vec![1.0; 1000];
        values[501] = 8.0;
        assert_eq!(values_at(&values, 25, 50), (1.0, 8.0, 1.0));
    }

    #[test]
    fn what_never_moved_is_not_drawn() {
        let mut canvas = Canvas::new(30, 5);
        let still = Curve { name: "write", ink: Ink::Yellow, values: vec![0.0; 9] };
        let area = canvas.area();
        draw(&mut canvas, area, "load", &[still], &|value| format!("{value:.0}"));
        let text = canvas.rows().concat();
        assert!(
            !text.contains("write")
                && !text.chars().any(|letter| ('\u{2801}'..='\u{28ff}').contains(&letter))
        );
    }
}

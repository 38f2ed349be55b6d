//! The largest load that is still good, found by doubling and then halving what is between.

/// The largest number that is good; each number tried comes with whether it was. Doubles from 1 until one is not good, or there
/// are the most; then halves what is between. All points, by their number.
///
/// # Errors
/// That of a measurement.
pub fn largest_number<P>(
    most: u32,
    mut measure: impl FnMut(u32) -> Result<(P, bool), u8>,
) -> Result<Vec<P>, u8> {
    let (mut points, mut good, mut number) = (Vec::new(), 0, 1);
    let mut beyond = loop {
        let (point, is_good) = measure(number)?;
        points.push((number, point));
        if !is_good {
            break number;
        }
        good = number;
        if number >= most {
            break number + 1;
        }
        number = number.saturating_mul(2).min(most);
    };
    while beyond - good > 1 {
        let middle = good.midpoint(beyond);
        let (point, is_good) = measure(middle)?;
        points.push((middle, point));
        if is_good { good = middle } else { beyond = middle }
    }
    points.sort_by_key(|(number, _)| *number);
    Ok(points.into_iter().map(|(_, point)| point).collect())
}

/// How far a rate is doubled or halved from the first one, at most.
const STEPS: u32 = 14;

/// The same of a rate, as close as a part of it says: doubles or halves the first one until one is good and the next is not.
///
/// # Errors
/// That of a measurement.
pub fn largest_rate<P>(
    first: f64,
    close: f64,
    mut measure: impl FnMut(f64) -> Result<(P, bool), u8>,
) -> Result<Vec<P>, u8> {
    let (mut points, mut good, mut bad) = (Vec::new(), None, None);
    let mut rate = rounded(first);
    for step in 0..=STEPS {
        let (point, is_good) = measure(rate)?;
        points.push((rate, point));
        if is_good {
            good = Some(rate)
        } else {
            bad = Some(rate)
        }
        if (good.is_some() && bad.is_some()) || step == STEPS {
            break;
        }
        rate = rounded(if is_good { rate * 2.0 } else { rate / 2.0 });
    }
    while let (Some(below), Some(above)) = (good, bad) {
        let middle = rounded(f64::midpoint(below, above));
        if above / below <= 1.0 + close || middle <= below || middle >= above {
            break;
        }
        let (point, is_good) = measure(middle)?;
        points.push((middle, point));
        if is_good { good = Some(middle) } else { bad = Some(middle) }
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(points.into_iter().map(|(_, point)| point).collect())
}

/// Three digits, as a person would say it.
fn rounded(rate: f64) -> f64 {
    let unit = 10f64.powf(rate.max(1e-9).log10().floor() - 2.0);
    let digits = (rate / unit).round();
    if unit < 1.0 { digits / (1.0 / unit).round() } else { digits * unit }
}

/// The last of the points in their order that is good, with all below it.
pub fn last_good<P>(points: &[P], is_good: impl Fn(&P) -> bool) -> Option<usize> {
    points.iter().take_while(|point| is_good(point)).count().checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn largest(enough: u32, most: u32) -> (Vec<u32>, Option<u32>) {
        let mut tried = Vec::new();
        let points = largest_number(most, |number| {
            tried.push(number);
            Ok((number, number <= enough))
        });
        let points = points.unwrap();
        (tried, last_good(&points, |number| *number <= enough).map(|index| points[index]))
    }

    #[test]
    fn a_number_is_doubled_and_then_halved() {
        assert_eq!(largest(11, 1024), (vec![1, 2, 4, 8, 16, 12, 10, 11], Some(11)));
        assert_eq!(largest(1, 1024), (vec![1, 2], Some(1)));
        assert_eq!(largest(0, 1024), (vec![1], None));
        assert_eq!(largest(100, 10), (vec![1, 2, 4, 8, 10], Some(10)));
        assert_eq!(largest(9, 10), (vec![1, 2, 4, 8, 10, 9], Some(9)));
    }

    #[test]
    fn a_measurement_that_fails_ends_the_search() {
        assert_eq!(largest_number::<()>(8, |_| Err(130)), Err(130));
        assert_eq!(largest_rate::<()>(8.0, 0.1, |_| Err(2)), Err(2));
    }

    #[test]
    fn a_rate_is_found_from_below_and_from_above() {
        let find = |first: f64, enough: f64| {
            let points = largest_rate(first, 0.05, |rate| Ok((rate, rate <= enough))).unwrap();
            last_good(&points, |rate| *rate <= enough).map(|index| points[index])
        };
        for enough in [0.37, 9.4, 1234.0] {
            for first in [0.2, 8.0, 500.0] {
                let found = find(first, enough).unwrap();
                assert!(found <= enough && found * 1.06 > enough, "{first}: {found} of {enough}");
            }
        }
        assert_eq!(find(1.0, 0.0), None);
    }
}

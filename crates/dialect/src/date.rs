//! Dates as the tools write them.
//!
//! It refuses to know the zone: local time is told by its distance from Greenwich.

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The local date and time of a moment since 1970, as C's `ctime` writes it: `Sun Nov 22 00:14:21 2026`.
pub fn ctime(unix_ns: u64, east_s: i64) -> String {
    let (days, second) = days_and_seconds(unix_ns, east_s);
    let (year, month, day) = civil(days);
    let name = DAYS[days.rem_euclid(7) as usize];
    format!("{name} {} {day:2} {} {year}", MONTHS[month], clock(second))
}

/// The same as `2026-11-22 00:14:21`.
pub fn stamp(unix_ns: u64, east_s: i64) -> String {
    let (days, second) = days_and_seconds(unix_ns, east_s);
    let (year, month, day) = civil(days);
    format!("{year:04}-{:02}-{day:02} {}", month + 1, clock(second))
}

/// The same as C's `%FT%T%z` has it, perhaps with milliseconds: `2026-11-22T00:14:21.879+0100`.
pub fn iso_local(unix_ns: u64, east_s: i64, has_milliseconds: bool) -> String {
    let (days, second) = days_and_seconds(unix_ns, east_s);
    let (year, month, day) = civil(days);
    let fraction =
        if has_milliseconds { format!(".{:03}", unix_ns / 1_000_000 % 1000) } else { String::new() };
    let (sign, minutes) = (if east_s < 0 { '-' } else { '+' }, east_s.unsigned_abs() / 60);
    let clock = clock(second);
    format!(
        "{year:04}-{:02}-{day:02}T{clock}{fraction}{sign}{:02}{:02}",
        month + 1,
        minutes / 60,
        minutes % 60
    )
}

/// The same of Greenwich as `11/22/2026 00:14:21`.
pub fn american(unix_ns: u64) -> String {
    let (days, second) = days_and_seconds(unix_ns, 0);
    let (year, month, day) = civil(days);
    format!("{:02}/{day:02}/{year} {}", month + 1, clock(second))
}

/// The moment that [`ctime`] wrote, ns since 1970, taken as Greenwich's: the text does not name its zone.
pub fn parse_ctime(text: &str) -> Option<u64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, month, day, clock, year] = words.as_slice() else { return None };
    let month = MONTHS.iter().position(|name| name == month)? as i64 + 1;
    let (day, year): (i64, i64) = (day.parse().ok()?, year.parse().ok()?);
    let parts: Vec<i64> = clock.split(':').filter_map(|part| part.parse().ok()).collect();
    let [hour, minute, second] = parts.as_slice() else { return None };
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    u64::try_from(seconds).ok().map(|seconds| seconds * 1_000_000_000)
}

/// A moment of Greenwich as RFC 3339 has it, with as many places of the second as it needs: `2026-11-22T00:15:03.972Z`.
pub fn rfc3339(unix_ns: u64) -> String {
    let (days, second) = days_and_seconds(unix_ns, 0);
    let (year, month, day) = civil(days);
    let fraction = format!(".{:09}", unix_ns % 1_000_000_000);
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    format!("{year:04}-{:02}-{day:02}T{}{fraction}Z", month + 1, clock(second))
}

/// The moment that RFC 3339 writes, ns since 1970; none: it is none, or before 1970.
pub fn parse_rfc3339(text: &str) -> Option<u64> {
    let (date, time) = text.split_once(['T', 't'])?;
    let zone = time.find(['Z', 'z', '+', '-'])?;
    let (time, zone) = time.split_at(zone);
    let whole = |text: &str| text.parse::<u32>().ok().map(i64::from);
    let mut date = date.splitn(3, '-').map(whole);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut time = time.splitn(3, ':').map(whole);
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day) && year < 10_000;
    if !is_date || hour > 23 || minute > 59 || second > 60 || fraction.len() > 9 {
        return None;
    }
    let ns: i64 = if fraction.is_empty() { 0 } else { whole(&format!("{fraction:0<9}"))? };
    let east = match zone.split_at(1) {
        ("Z" | "z", "") => 0,
        (sign, distance) => {
            let (hours, minutes) = distance.split_once(':')?;
            let distance = (whole(hours)?.min(24) * 60 + whole(minutes)?.min(59)) * 60;
            if sign == "-" { -distance } else { distance }
        }
    };
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - east;
    u64::try_from(seconds.checked_mul(1_000_000_000)?.checked_add(ns)?).ok()
}

/// Local time as Go's `15:04:05 MST` writes it; the zone is named by its distance from Greenwich.
pub fn clock_with_zone(unix_ns: u64, east_s: i64) -> String {
    let (_, second) = days_and_seconds(unix_ns, east_s);
    let sign = if east_s < 0 { '-' } else { '+' };
    let minutes = east_s.unsigned_abs() / 60;
    let zone = match (minutes / 60, minutes % 60) {
        (0, 0) => "UTC".to_string(),
        (hours, 0) => format!("{sign}{hours:02}"),
        (hours, minutes) => format!("{sign}{hours:02}{minutes:02}"),
    };
    format!("{} {zone}", clock(second))
}

/// Days from 1970 to a date, month from 1 (Gregorian; the year is taken to begin in March).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, month) = (year.div_euclid(400), (month + 9) % 12);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn days_and_seconds(unix_ns: u64, east_s: i64) -> (i64, i64) {
    let seconds = (unix_ns / 1_000_000_000) as i64 + east_s;
    (seconds.div_euclid(86_400), seconds.rem_euclid(86_400))
}

fn clock(second: i64) -> String {
    format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

/// Year, month from 0 and day from 1 of a day since 1970 (Gregorian; the year is taken to begin in March).
fn civil(days: i64) -> (i64, usize, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 2, 0) } else { (month - 10, 1) };
    (era * 400 + year + next, month as usize, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_is_written_and_read() {
        let ns = 1_795_306_503_972_000_000;
        assert_eq!(rfc3339(ns), "2026-11-22T00:15:03.972Z");
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        for text in [
            "2026-11-22T00:15:03.972Z",
            "2026-11-22T01:45:03.972+01:30",
            "2026-11-21t23:15:03.972000000-01:00",
        ] {
            assert_eq!(parse_rfc3339(text), Some(ns), "{text}");
        }
        for text in [
            "",
            "2026-11-22",
            "2026-13-22T00:15:03Z",
            "2026-11-22T00:15:03",
            "2026-11-22T00:15Z",
            "-1-1-1T0:0:0Z",
            "1960-01-01T00:00:00Z",
            "2026-11-22T00:15:03.é+",
        ] {
            assert_eq!(parse_rfc3339(text), None, "{text}");
        }
        assert_eq!(clock_with_zone(ns, 0), "00:15:03 UTC");
        assert_eq!(clock_with_zone(ns, 19_800), "05:45:03 +0530");
    }

    #[test]
    fn dates_are_the_c_librarys() {
        assert_eq!(stamp(1_795_306_503_972_000_000, 0), "2026-11-22 00:15:03");
        assert_eq!(ctime(0, 0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(ctime(1_795_306_503_972_000_000, 0), "Sun Nov 22 00:15:03 2026");
        assert_eq!(ctime(951_782_400_000_000_000, 0), "Tue Feb 29 00:00:00 2000");
        assert_eq!(ctime(1_795_306_503_000_000_000, -3600), "Sat Nov 21 23:15:03 2026");
    }
}

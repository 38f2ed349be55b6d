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
    fn dates_are_the_c_librarys() {
        assert_eq!(stamp(1_795_306_503_972_000_000, 0), "2026-11-22 00:15:03");
        assert_eq!(ctime(0, 0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(ctime(1_795_306_503_972_000_000, 0), "Sun Nov 22 00:15:03 2026");
        assert_eq!(ctime(951_782_400_000_000_000, 0), "Tue Feb 29 00:00:00 2000");
        assert_eq!(ctime(1_795_306_503_000_000_000, -3600), "Sat Nov 21 23:15:03 2026");
    }
}

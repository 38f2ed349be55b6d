//! Dates as the tools write them.
//!
//! It refuses to know the zone: local time is told by its distance from Greenwich.

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The local date and time of a moment since 1970, as C's `ctime` writes it: `Sun Nov 22 00:14:21 2026`.
pub fn ctime(unix_ns: u64, east_s: i64) -> String {
    let seconds = (unix_ns / 1_000_000_000) as i64 + east_s;
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let name = DAYS[days.rem_euclid(7) as usize];
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{name} {} {day:2} {hour:02}:{minute:02}:{:02} {year}", MONTHS[month], second % 60)
}

/// The same as `2026-11-22 00:14:21`.
pub fn stamp(unix_ns: u64, east_s: i64) -> String {
    let seconds = (unix_ns / 1_000_000_000) as i64 + east_s;
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{:02}-{day:02} {hour:02}:{minute:02}:{:02}", month + 1, second % 60)
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

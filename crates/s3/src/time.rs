//! Times as requests and answers write them.

use std::fmt;

/// A second of UTC in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UtcTime {
    /// Seconds since 1970.
    pub unix: u64,
}

/// Months as HTTP dates write them.
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl UtcTime {
    /// Year, month (1 to 12) and day of the month: the civil date of a count of days, by Howard Hinnant's method.
    fn date(self) -> (u64, u64, u64) {
        let days = self.unix / 86400 + 719_468;
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        (era * 400 + year_of_era + u64::from(month <= 2), month, day)
    }

    /// `20130524`.
    pub fn day(self) -> String {
        let (year, month, day) = self.date();
        format!("{year:04}{month:02}{day:02}")
    }

    /// `2013-05-24T00:00:00Z`.
    pub fn iso(self) -> String {
        let ((year, month, day), of_day) = (self.date(), self.unix % 86400);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }

    /// Reads the date of an answer: `Fri, 24 May 2013 00:00:00 GMT`.
    pub fn parse_http(text: &str) -> Option<UtcTime> {
        let mut parts = text.split_whitespace().skip(1);
        let day: u64 = parts.next()?.parse().ok()?;
        let name = parts.next()?;
        let month = MONTHS.iter().position(|month| *month == name)? as u64 + 1;
        let year: u64 = parts.next()?.parse().ok()?;
        let mut clock = parts.next()?.split(':').map(|part| part.parse::<u64>().ok());
        let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
        UtcTime::of((year, month, day), (hour, minute, second))
    }

    /// Reads `2013-05-24T00:00:00Z`; parts of a second are left out.
    pub fn parse_iso(text: &str) -> Option<UtcTime> {
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        let mut date = date.splitn(3, '-').map(|part| part.parse::<u64>().ok());
        let time = time.split('.').next()?;
        let mut time = time.splitn(3, ':').map(|part| part.parse::<u64>().ok());
        let (date, time) =
            ((date.next()??, date.next()??, date.next()??), (time.next()??, time.next()??, time.next()??));
        UtcTime::of(date, time)
    }

    fn of((year, month, day): (u64, u64, u64), (hour, minute, second): (u64, u64, u64)) -> Option<UtcTime> {
        if !(1970..=9999).contains(&year)
            || !(1..=12).contains(&month)
            || !(1..=31).contains(&day)
            || hour > 23
            || minute > 59
            || second > 60
        {
            return None;
        }
        let (year, shifted) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let (era, of_era) = (year / 400, year % 400);
        let of_year = (153 * shifted + 2) / 5 + day - 1;
        let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
        Some(UtcTime { unix: days * 86400 + hour * 3600 + minute * 60 + second })
    }
}

/// `20130524T000000Z`.
impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((year, month, day), second) = (self.date(), self.unix % 86400);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_and_read() {
        for (unix, text) in [
            (0, "19700101T000000Z"),
            (1_369_353_600, "20130524T000000Z"),
            (1_709_210_096, "20240229T123456Z"),
        ] {
            assert_eq!(UtcTime { unix }.to_string(), text);
        }
        assert_eq!(
            UtcTime::parse_http("Fri, 24 May 2013 00:00:00 GMT"),
            Some(UtcTime { unix: 1_369_353_600 })
        );
        assert_eq!(
            UtcTime::parse_http("Thu, 29 Feb 2024 12:34:56 GMT"),
            Some(UtcTime { unix: 1_709_210_096 })
        );
        assert_eq!(UtcTime::parse_http("yesterday"), None);
        for text in ["2024-02-29T12:34:56Z", "2024-02-29T12:34:56.789Z"] {
            assert_eq!(UtcTime::parse_iso(text), Some(UtcTime { unix: 1_709_210_096 }));
        }
        for text in ["2024-13-29T12:34:56Z", "2024-02-29", "2024-02-29T12:34:56+01:00"] {
            assert_eq!(UtcTime::parse_iso(text), None);
        }
    }
}

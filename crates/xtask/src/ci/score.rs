//! Counting: what passed, failed and was skipped, and the reasons of every skip.

/// The counts of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Tests and steps that did what they should.
    pub passed: u64,
    /// Tests and steps that did not.
    pub failed: u64,
    /// `name: reason` of the tests and steps that could not be tried here.
    pub skips: Vec<String>,
}

impl Score {
    /// Counts one skip.
    pub fn skip(&mut self, name: &str, reason: &str) {
        self.skips.push(format!("{name}: {reason}"));
    }

    /// The line that those who read a run's end look for.
    pub fn closing_line(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skips.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_skip_is_counted_with_its_reason() {
        let mut score = Score { passed: 2, failed: 1, ..Score::default() };
        score.skip("xfs", "mkfs.xfs is not installed");
        assert_eq!(score.closing_line(), "2 passed, 1 failed, 1 skipped");
        assert_eq!(score.skips, ["xfs: mkfs.xfs is not installed"]);
    }
}

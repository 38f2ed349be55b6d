//! What the report must know that the plan does not say.

use super::lower::Pass;
use super::matrix::Matrix;
use super::settings::Settings;

#[derive(Clone, Debug, Default)]
pub struct ReportContext {
    /// What was asked for.
    pub settings: Settings,
    /// The sizes.
    pub matrix: Matrix,
    /// What each phase of the plan is.
    pub parts: Vec<Pass>,
    /// The command line.
    pub command: String,
    /// When the run began, as `ctime` writes it.
    pub began: String,
    /// Kernel and machine, as `uname -a` would begin.
    pub machine: String,
    /// Seconds that local time is east of Greenwich.
    pub east_s: i64,
    /// Whether more may be said than the original says.
    pub talks: bool,
}

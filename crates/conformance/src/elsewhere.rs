//! Systems other than Linux run neither cases nor exercises.

use iodyno_engine::Failure;
use iodyno_engine::worker::Worker;

pub mod cases {
    //! The refusal of cases.

    use super::{Failure, Worker};

    /// # Errors
    /// Always.
    pub fn drive(_worker: &mut Worker<'_>) -> Result<(), Failure> {
        (crate::facts::CASES.available)()
    }

    /// No process of a case exists here.
    pub fn serve_when_asked() {}
}

pub mod exercise {
    //! The refusal of exercises.

    use super::{Failure, Worker};

    /// # Errors
    /// Always.
    pub fn drive(_worker: &mut Worker<'_>) -> Result<(), Failure> {
        Err(Failure::new("exercises run on Linux only, so far"))
    }
}

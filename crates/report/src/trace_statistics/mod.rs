//! What a trace says about its load (`iodyno trace stat`), as text and as JSON (`iodyno.trace_statistics/1`).

mod json;
mod text;

pub use json::json;
pub use text::text;

/// Points of the hot-spot curve that text and JSON tell, percent of the footprint.
pub const HOT_SPOTS: [f64; 6] = [0.1, 1.0, 5.0, 10.0, 25.0, 50.0];
